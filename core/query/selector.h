/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/selector.h - type{label="value", l!="v", l=~"re", l!~"re"}: text to matchers, and back
 *
 * Grammar (Prometheus' vector selector, with Parca's type in the place of the metric's name):
 *
 *	selector := [type] ["{" [matcher {"," matcher} [","]] "}"]
 *	type     := name ":" sample_type ":" sample_unit ":" period_type ":" period_unit [":delta"]
 *	matcher  := label ("=" | "!=" | "=~" | "!~") string
 *	label    := bare | string       bare: UTF-8 but for space, controls, quotes, { } , = ! ~
 *	string   := "..." | '...' | `...`
 *
 * Strings have Go's escapes (\n \t \" \x41 \101 \u00e9 ...), but for those in backquotes, which
 * have none.
 *
 * Regexes are anchored and of RE2's subset (core/config/regex.h). A label that is not there equals
 * "". Limits: 64 KiB of text, 1,000 matchers, 4 KiB a regex. A selector is constant once made: any
 * number of threads may use one.
 */
#ifndef DECIMA_QUERY_SELECTOR_H
#define DECIMA_QUERY_SELECTOR_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/cleanup.h"

#define SELECTOR_MAX_BYTES    65536u
#define SELECTOR_MAX_MATCHERS 1000u
#define SELECTOR_MAX_NAMES    32u

struct selector {
	struct arena arena;	      /* everything below */
	struct dcm_str type;	      /* as written; "" when it was left out */
	struct dcm_matcher *matchers; /* [n_matchers], in the order written */
	uint32_t n_matchers;
};

enum selector_flag {
	SELECTOR_TYPE_OPTIONAL = 1, /* lists and routes: "{job=\"api\"}" and "" are fine */
};

/*
 * -EINVAL says where: `column 14: expected "=", "!=", "=~" or "!~" after the label "job"` (columns
 * count characters from 1); -E2BIG when a limit is exceeded; -ENOMEM.
 */
int selector__parse(struct dcm_str text, unsigned flags, struct selector **ret, struct dcm_error *err);
void selector__free(struct selector *s);
DEFINE_CLEANUP(struct selector *, selector__free);

/*
 * The names in a list of labels, between commas: each a string as in a selector, or what stands up to the
 * comma, whatever it is, where that does not begin with a quote; "" where nothing does. They are the
 * arena's, or parts of `text`. -EINVAL says where, -E2BIG: more than SELECTOR_MAX_NAMES; -ENOMEM.
 */
int selector__names(struct dcm_str text, struct arena *arena, struct dcm_str **ret, uint32_t *ret_n,
		    struct dcm_error *err);
/* A label's name as a selector has it: bare where it can be, else in quotes. No bare one has a "=" or a comma. */
void selector__put_name(struct dcm_str name, struct buf *out);

/* The canonical text, which parses to the same selector. Failures stick to the buffer. */
void selector__format(const struct selector *s, struct buf *out);

/*
 * What the selector says of [from_ms, to_ms); borrows the selector and the budget (which may be
 * NULL).
 */
struct dcm_select selector__select(const struct selector *s, int64_t from_ms, int64_t to_ms,
				   struct dcm_budget *budget);

/*
 * Does one matcher accept a label's value? A missing label's is "". One of which the regex cannot
 * tell (core/config/regex.h) does not match it, and counts below.
 */
bool selector__accepts(const struct dcm_matcher *m, struct dcm_str value);
/*
 * How often, since it was parsed, a regex of the selector could not tell, whoever had asked: here
 * or in a store.
 */
uint64_t selector__n_undecided(const struct selector *s);

/*
 * Does the selector take a profile of a batch, by its series labels alone (routing)? Labels of
 * samples are not looked at: a name that the series lacks counts as "". The type fits when it is
 * one of the profile's, or was left out.
 */
bool selector__takes(const struct selector *s, const struct dcm_batch *batch, uint32_t profile);

#endif
