/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/labelset.h - the labels of a target while a discovery puts them together
 *
 * As Prometheus' maps of labels: what is put last under a name counts, and an empty value is none.
 * Labels that several targets share are put first and kept by labelset__share(); each target then
 * adds its own to them.
 */
#ifndef DECIMA_PPROF_SCRAPE_LABELSET_H
#define DECIMA_PPROF_SCRAPE_LABELSET_H

#include "plugins/input/pprof_scrape/groups.h"

/* Zeroed but for `to`, where texts and targets go. */
struct labelset {
	struct groups *to;
	VEC(struct dcm_label_text) v, shared;
	int error; /* the first: -ENOMEM, -E2BIG */
};
void labelset__fini(struct labelset *s);

/* The name lives as long as the program; the value is copied. */
void labelset__put(struct labelset *s, const char *name, struct dcm_str value);
void labelset__put_int(struct labelset *s, const char *name, int64_t value);
/* The name is the prefix, and the key with '_' for what a label's name cannot have. */
void labelset__put_key(struct labelset *s, const char *prefix, struct dcm_str key, struct dcm_str value);

/* What is there now is there again after each labelset__add(). */
void labelset__share(struct labelset *s);
/* Adds the target with that address, or HOST:PORT of it, with brackets around IPv6. */
void labelset__add(struct labelset *s, struct dcm_str address);
void labelset__add_port(struct labelset *s, struct dcm_str host, int64_t port);

#endif
