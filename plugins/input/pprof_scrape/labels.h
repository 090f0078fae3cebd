/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/labels.h - the labels of a target, for as long as it is known
 *
 * Made once and never changed: 8 bytes a label. Its texts are shared (texts.h), and the list of names
 * is as well, which most targets that were found alike have in common. Targets of one address, one for
 * each profile, hold the same. Calls on the loop's thread; labels that somebody holds may be read
 * anywhere.
 */
#ifndef DECIMA_PPROF_SCRAPE_LABELS_H
#define DECIMA_PPROF_SCRAPE_LABELS_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "plugins/input/pprof_scrape/texts.h"

struct labels {
	struct texts *texts;
	struct text *names; /* the list, as a text: the addresses of the [n] names, all different */
	uint32_t n_holders, n;
	struct text *values[]; /* [n], none empty */
};

/* Held once. Of labels [n] the first of a name counts, and an empty value is none. NULL: no memory. */
struct labels *labels__new(struct texts *texts, const struct dcm_label_text *from, uint32_t n);
struct labels *labels__hold(struct labels *l);
void labels__release(struct labels *l); /* NULL is fine */

/* Of the same texts, in the same order. */
bool labels__are_same(const struct labels *a, const struct labels *b);

/*
 * Writes the labels, and of `more` (NULL: none) those of other names, to `to`, which has room for both.
 * Returns how many there are. Both are of the same texts.
 */
uint32_t labels__view(const struct labels *l, const struct labels *more, struct dcm_label_text *to);

#endif
