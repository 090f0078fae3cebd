/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/relabel.h - Prometheus' relabelling, over the labels of a batch
 *
 * Rules (struct dcm_relabel_rule, all actions) run over each series of a batch. Sample labels are
 * visible to a rule as `__sample_NAME`:
 *  - a rule that reads one and writes a normal label promotes it: the profile is split, a part for
 *    each outcome;
 *  - a rule that writes `__sample_NAME` sets that sample label on every row of the series (demotes);
 *  - labeldrop, labelkeep and an empty value remove it from the rows.
 * keep and drop on a `__sample_` source decide row by row. When the rules are through, labels that
 * begin with `__` are removed. External labels come first, and only where the series has no label
 * of that name.
 *
 * What leaves is an overlay: new series, label sets and row columns where they changed, everything
 * else the parent's. An unchanged batch leaves as it came. Outcomes are remembered by the hash of
 * (series, the sample labels that the rules read), so that a series met before costs a lookup. What
 * rules drop is filtered, not lost.
 *
 * Not thread-safe: one owner (the cache). Source: prometheus.io, configuration, relabel_config;
 * Prometheus' model/relabel/relabel.go for what the page leaves open.
 */
#ifndef DECIMA_PIPELINE_RELABEL_H
#define DECIMA_PIPELINE_RELABEL_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"

struct relabel;

struct relabel_config {
	const struct dcm_relabel_rule *rules; /* [n_rules]; copied */
	uint32_t n_rules;
	const struct dcm_label_text *externals; /* [n_externals]; copied */
	uint32_t n_externals;
	uint32_t max_cached; /* outcomes remembered; 0: 65536 */
};

/*
 * -EINVAL: a rule that cannot be (regex, missing target_label, modulus 0): the sentence names it by
 * number from 1.
 */
int relabel__new(const struct relabel_config *config, struct relabel **ret, struct dcm_error *err);
void relabel__free(struct relabel *r);
DEFINE_CLEANUP(struct relabel *, relabel__free);

struct relabel_counts {
	uint64_t n_profiles_filtered, n_rows_filtered;
};

/*
 * *ret is a new reference to the batch itself or to an overlay of it; NULL when rules dropped
 * everything. 0, -ENOMEM, or -EFBIG (labels beyond 64 KiB for one series). counts is added to; may
 * be NULL.
 */
int relabel__apply(struct relabel *r, struct dcm_batch *batch, struct dcm_batch **ret,
		   struct relabel_counts *counts, struct dcm_error *err);

#endif
