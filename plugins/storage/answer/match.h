/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/match.h - which rows a selection takes, and into which group each goes
 *
 * A row's value of a name is its series label, else its sample label (a number in decimal), else
 * "". So for one series some matchers and group labels are settled at once, and the others depend
 * on the row's label set only: each label set is judged once a stream.
 *
 * A profile counts in a group when one of its rows does; one without rows counts as if it had one
 * without sample labels.
 *
 * Threads: one a match.
 */
#ifndef DECIMA_STORAGE_ANSWER_MATCH_H
#define DECIMA_STORAGE_ANSWER_MATCH_H

#include <decima/plugin.h>

#include "core/base/vec.h"
#include "plugins/storage/answer/groups.h"
#include "plugins/storage/answer/view.h"

struct match_verdict {
	uint32_t stream; /* of which this is the verdict; 0: none yet */
	uint32_t group;	 /* or MATCH_NONE */
};

struct match {
	const struct view *view;
	const struct dict *dict; /* whose numbers series and label sets are: the answer's, or an era's */
	const struct dcm_select *sel;
	struct groups *groups;
	VEC(struct match_verdict) sets; /* by label set, as far as needed */
	uint32_t *open;	  /* [sel->n_matchers] matchers that the series does not settle */
	uint32_t *values; /* [by->n] of the group being looked up, in groups->texts */
	/* of the stream at hand */
	uint32_t stream; /* counts from 1 */
	uint32_t series;
	uint32_t n_open;
	bool settled; /* rows need not be looked at: all go the way of label set 0 */
};

/* With the answer's dictionary. 0 or -ENOMEM. */
int match__init(struct match *m, const struct view *v, const struct dcm_select *sel,
		struct groups *groups);
void match__fini(struct match *m);

/* Begins with a stream: 1 when its series may be taken, 0 when no row can match, -ENOMEM. */
int match__stream(struct match *m, uint32_t series);

/* Judges a label set that has no verdict in this stream. 0 or -ENOMEM. */
int match__judge(struct match *m, uint32_t label_set);

/* *ret_group: the row's group or MATCH_NONE. 0 or -ENOMEM. */
static inline int match__row(struct match *m, uint32_t label_set, uint32_t *ret_group)
{
	if (label_set >= m->sets.n || m->sets.v[label_set].stream != m->stream) {
		int r = match__judge(m, label_set);

		if (r < 0)
			return r;
	}
	*ret_group = m->sets.v[label_set].group;
	return 0;
}

/* One matcher on one value. */
bool match__accepts(const struct dcm_host *host, const struct dcm_matcher *matcher, struct dcm_str value);

/* A sample label as text: the string, or the number into buf. */
struct dcm_str match__label_text(const struct dict *d, const struct dcm_label *l, char buf[static 24]);

#endif
