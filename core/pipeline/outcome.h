/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/outcome.h - what relabelling makes of one set of labels, remembered by content
 *
 * The key is the text of a series' labels and of the sample labels that the rules read; so what is
 * remembered holds for every batch. Texts of an outcome live until the cache forgets:
 * outcome_cache__trim(), which its owner calls between batches. Single-threaded.
 */
#ifndef DECIMA_PIPELINE_OUTCOME_H
#define DECIMA_PIPELINE_OUTCOME_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/vec.h"
#include "core/pipeline/rules.h"

enum outcome_fate {
	OUTCOME_SAME,	   /* as it came */
	OUTCOME_CHANGED,   /* labels, and edits of sample labels */
	OUTCOME_DROPPED,   /* by a rule */
	OUTCOME_TOO_LARGE, /* more labels than a series may have */
};

/*
 * A sample label that a rule wrote; value "" takes it away. The name is without
 * RULES_SAMPLE_PREFIX.
 */
struct outcome_edit {
	struct dcm_str name, value;
};

struct outcome {
	enum outcome_fate fate;
	bool is_undecided; /* a rule's regex could not tell whether it matches, and counted as no match */
	uint32_t n_labels, n_edits;
	const struct dcm_label_text *labels; /* [n_labels], by name, without `__` ones */
	const struct outcome_edit *edits;    /* [n_edits], by name */
	uint32_t edits_id;		     /* equal edits have equal ids, 0 for none */
	struct dcm_str key;
	/*
	 * Scratch of overlay.c: the series in the overlay that is being made, valid when stamp is
	 * its number.
	 */
	uint64_t stamp;
	uint32_t series;
};

struct outcome_cache {
	const struct rules *rules; /* NULL: none */
	const struct dcm_label_text *externals;
	uint32_t n_externals;
	uint64_t max_bytes;

	struct arena arena;
	struct hindex index;
	VEC(struct outcome *) outcomes;
	struct hindex edits_index; /* rows: outcomes whose edits were the first of their kind */
	uint32_t n_edits_ids;
	struct label_map map;
	struct buf key;
};

void outcome_cache__fini(struct outcome_cache *c);
/* Forgets everything when it has grown beyond max_bytes. */
void outcome_cache__trim(struct outcome_cache *c);

/*
 * What the rules may look at of a label set: equal texts have equal outcomes. Appended to `out`.
 * `use` [n_strings]: an enum rules_use for each name.
 */
void outcome__project(const struct dcm_batch *batch, uint32_t label_set, const uint8_t *use,
		      struct buf *out);

/*
 * What becomes of a series with these sample labels. label_set 0 is the empty one; of the set's
 * labels only those that `use` marks count (NULL: none). 0 or -ENOMEM.
 */
int outcome_cache__get(struct outcome_cache *c, const struct dcm_batch *batch, uint32_t series,
		       uint32_t label_set, const uint8_t *use, struct outcome **ret);

/*
 * A sample label's value as rules see it: text, or the number in decimal, which is written into
 * `number`.
 */
struct dcm_str outcome__sample_value(const struct dcm_batch *batch, const struct dcm_label *label,
				     char number[static 24]);

#endif
