/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/relabel.h - Prometheus' relabelling, over the labels of a batch
 *
 * Rules (struct dcm_relabel_rule, all actions) run over each series of a batch. Sample labels are
 * visible to a rule as `__sample_NAME`, numbers in decimal:
 *  - a rule that reads one and writes a normal label promotes it: the profile is split, a part for
 *    each outcome;
 *  - a rule that writes `__sample_NAME` sets that sample label on every row of the series
 *    (demotes);
 *  - labeldrop, labelkeep and an empty value remove it from the rows;
 *  - keep and drop that read one decide row by row.
 * When the rules are through, labels of the series that begin with `__` are removed. External
 * labels come first, and only where the series has no label of that name.
 *
 * What leaves is an overlay: new series, label sets and row columns where they changed, everything
 * else the parent's (in its table of strings a text may stand twice). An unchanged batch leaves as
 * it came. What came of a series (and of those sample labels that the rules read) is remembered by
 * content, so that one met before costs a lookup. What rules drop is filtered, not lost.
 *
 * Not thread-safe: one owner. Source: prometheus.io, configuration, relabel_config; rules.h.
 */
#ifndef DECIMA_PIPELINE_RELABEL_H
#define DECIMA_PIPELINE_RELABEL_H

#include <decima/plugin.h>

#include "core/base/log.h"
#include "core/stats/stats.h"

#include "core/base/cleanup.h"

struct relabel;

struct relabel_config {
	const struct dcm_relabel_rule *rules; /* [n_rules]; copied */
	uint32_t n_rules;
	const struct dcm_label_text *externals; /* [n_externals]; copied; empty values are left out */
	uint32_t n_externals;
	uint64_t cache_bytes; /* of remembered outcomes; beyond it they are forgotten at once; 0: 16 MiB */
};

/* -EINVAL: a rule that cannot be (rules.h) or two externals of one name; -ENOMEM. */
int relabel__new(const struct relabel_config *config, struct relabel **ret, struct dcm_error *err);
void relabel__free(struct relabel *r); /* NULL is fine */
DEFINE_CLEANUP(struct relabel *, relabel__free);

/* What did not come through. Rows of a profile that is filtered whole are counted too. */
struct relabel_counts {
	uint64_t n_profiles_filtered, n_rows_filtered;
	uint64_t n_rows_lost; /* more than 256 labels or 64 KiB of them: the rules must not do that */
	/*
	 * For which a regex was too expensive to tell (core/config/regex.h), and was taken for no
	 * match; and those of them that were left out for it: lost, for nobody can say that they
	 * should have been. They are not among the filtered ones.
	 */
	uint64_t n_rows_undecided, n_rows_undecided_lost;
	uint64_t n_rows_no_memory; /* -ENOMEM: what was not left out yet, and does not come either */
};

/*
 * *ret is a new reference to the batch itself or to an overlay of it; NULL when nothing is left.
 * `counts` is added to; may be NULL. 0 or -ENOMEM.
 */
int relabel__apply(struct relabel *r, struct dcm_batch *batch, struct dcm_batch **ret,
		   struct relabel_counts *counts, struct dcm_error *err);

/*
 * Counts in stats, for the instance `who`, what relabelling and selecting could not tell or could not bring through,
 * adds what was not told to *n_undecided, and says so in the log the first time. Both may be NULL.
 */
void relabel_counts__tell(const struct relabel_counts *counts, const struct log *log,
			  struct stats *stats, const char *who, _Atomic uint64_t *n_undecided);

/* The metrics of *n_undecided and of the profiles that were filtered. */
#define UNDECIDED_NAME "decima_undecided_rows_total"
#define UNDECIDED_HELP                                                                             \
	"Rows for which a regular expression of rules or selector could not be decided, and "      \
	"counted as no match."
#define FILTERED_NAME "decima_filtered_profiles_total"
#define FILTERED_HELP "Profiles that the selector or the rules left out."

#endif
