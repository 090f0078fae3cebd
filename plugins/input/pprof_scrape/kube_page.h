/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_page.h - the objects of a page of a list, one after the other
 *
 * JSON as a tree is ten times as large as its text, and a page has hundreds of objects: so one object
 * is a tree at a time.
 */
#ifndef DECIMA_PPROF_SCRAPE_KUBE_PAGE_H
#define DECIMA_PPROF_SCRAPE_KUBE_PAGE_H

#include <jansson.h>
#include <stddef.h>

/* An object of the page, which is gone after the call. */
typedef void (*kube_item_fn)(void *ctx, json_t *object);

/*
 * Calls `item` for each of the list's "items". *ret_meta is its "metadata", the caller's. NULL, or what
 * is wrong with the page; objects before that were handed over.
 */
const char *kube_page__read(const char *text, size_t n, kube_item_fn item, void *ctx, json_t **ret_meta);

#endif
