/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/pages.h - files that plugins offer to browsers (host->page()), and how they are answered
 *
 * A page is copied when it is offered, and packed unless it came so, and gone when its owner withdraws. Each has an ETag of its
 * content (RFC 9110, 8.8.3), another one in gzip; what browsers have already is answered with 304. Pages whose path
 * changes with their content may be kept for a year, others are asked for each time.
 *
 * The page "/" is the application: it answers each path of one segment without a dot that nobody else does, so that
 * the application's own addresses ("/compare") can be opened and sent around. With a slash behind them they lead there
 * (308), since the page's relative links would not.
 *
 * Any thread.
 */
#ifndef DECIMA_NET_PAGES_H
#define DECIMA_NET_PAGES_H

#include "core/base/cleanup.h"
#include "core/net/http.h"

struct pages;

struct pages *pages__new(void); /* NULL: no memory */
void pages__free(struct pages *p);
DEFINE_CLEANUP(struct pages *, pages__free);

/* host->page(), of the owner until it withdraws. -EINVAL, -EEXIST, -ENOMEM. */
int pages__offer(struct pages *p, const void *owner, const struct dcm_page *page, struct dcm_error *err);
/* All of an owner's; it may have none. */
void pages__withdraw(struct pages *p, const void *owner);

/* Is there one for this path, still encoded? */
bool pages__have(struct pages *p, struct dcm_str path);

/* Answers GET and HEAD; 404 where there is none. */
void pages__answer(struct pages *p, const struct http_request *req, struct http_response *resp);

#endif
