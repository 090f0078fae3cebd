/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/match.h - which rows a selection takes, and into which group each goes
 *
 * A row's value of a name is its series label, else its sample label (a number in decimal), else
 * "". So for one series some matchers and group labels are settled at once, and the others depend
 * on the row's label set only: each label set is judged once a stream.
 *
 * A profile counts in a group when one of its rows does; one without rows counts as if it had one
 * without sample labels.
 */
#ifndef DECIMA_STORAGE_MEMORY_MATCH_H
#define DECIMA_STORAGE_MEMORY_MATCH_H

#include <decima/plugin.h>

#include "core/base/intern.h"
#include "plugins/storage/memory/view.h"

#define MATCH_NONE UINT32_MAX /* the row is not taken */

struct group {
	const uint32_t *values; /* [by->n] in texts */
	uint32_t series;	/* when grouped by series, else DCM_NONE */
};

/* Rows of all selections go into the same groups: by the texts of their labels. */
struct groups {
	const struct dcm_group_by *by; /* n may be 0 */
	bool by_series;		       /* each series is a group of its own */
	struct intern texts;
	struct arena arena;
	VEC(struct group) v;
	struct hindex index;
};
int groups__init(struct groups *g, const struct dcm_group_by *by, bool by_series); /* -ENOMEM */
void groups__fini(struct groups *g);
/* Ids in the order of their labels' texts; [g->v.n], caller frees; NULL when memory ran out. */
uint32_t *groups__sorted(const struct groups *g, const struct dict *d);

struct match_verdict {
	uint32_t stream; /* of which this is the verdict; 0: none yet */
	uint32_t group;	 /* or MATCH_NONE */
};

struct match {
	const struct view *view;
	const struct dcm_host *host;
	const struct dcm_select *sel;
	struct groups *groups;
	struct match_verdict *sets; /* [view->counts.label_sets] */
	uint32_t *open;		    /* [sel->n_matchers] matchers that the series does not settle */
	uint32_t *values;	    /* [by->n] of the group being looked up, in groups->texts */
	/* of the stream at hand */
	uint32_t stream; /* counts from 1 */
	uint32_t series;
	uint32_t n_open;
};
int match__init(struct match *m, const struct view *v, const struct dcm_select *sel,
		const struct dcm_host *host, struct groups *groups);
void match__fini(struct match *m);

/* Begins with a stream: 1 when its series may be taken, 0 when no row can match, -ENOMEM. */
int match__stream(struct match *m, const struct view_stream *st);

/* True until match__row() has judged the label set in this stream. */
static inline bool match__is_new(const struct match *m, uint32_t label_set)
{
	return m->sets[label_set].stream != m->stream;
}

/* *ret_group: the row's group or MATCH_NONE. 0 or -ENOMEM. */
int match__row(struct match *m, uint32_t label_set, uint32_t *ret_group);

/* 1 when some row of the profile is taken, else 0; -ENOMEM. */
int match__profile(struct match *m, const struct profile *p);

/* A sample label as text: the string, or the number into buf. */
struct dcm_str match__label_text(const struct dict *d, const struct dcm_label *l, char buf[static 24]);

#endif
