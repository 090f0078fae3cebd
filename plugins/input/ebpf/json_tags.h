/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/json_tags.h - rows of tags out of what Kubernetes and container runtimes write
 *
 * Pure; any thread.
 */
#ifndef DECIMA_EBPF_JSON_TAGS_H
#define DECIMA_EBPF_JSON_TAGS_H

#include <jansson.h>

#include "plugins/input/ebpf/tags.h"

/* The string that an object has under this key, borrowed; "" when there is none. */
struct dcm_str json_tags__text(const json_t *object, const char *key);

/* Adds it as a row of this name. */
void json_tags__add(struct buf *rows, const char *name, const json_t *object, const char *key);

/*
 * Labels or annotations: rows PREFIX_KEY=VALUE and PREFIXpresent_KEY=true of each, as Prometheus
 * names them.
 */
void json_tags__add_map(struct buf *rows, const char *prefix, json_t *map);

#endif
