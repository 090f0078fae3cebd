/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/rules.h - compiled relabelling rules, and the labels that they run over
 *
 * Text only: relabel.h brings it to batches. The order in which labels are visited and overwritten
 * is that of Prometheus' labels.Builder, because labelmap shows it when two names become one. Upper
 * and lower case are those of ASCII letters.
 *
 * A map belongs to one thread; compiled rules may be used by any number.
 */
#ifndef DECIMA_PIPELINE_RULES_H
#define DECIMA_PIPELINE_RULES_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/vec.h"

/* Sample labels look like this to a rule. */
#define RULES_SAMPLE_PREFIX "__sample_"

struct label_entry {
	struct dcm_str name, value;
	bool is_added; /* set by a rule */
	bool is_removed; /* and nothing else is known of it; kept only for names with RULES_SAMPLE_PREFIX */
};

struct label_map {
	VEC(struct label_entry) v; /* unique names */
	struct arena arena;	   /* texts that rules made */
	struct buf scratch, name;
	/* texts since the reset of which a rule's regex could not tell whether they match: no */
	uint32_t n_undecided;
};
void label_map__fini(struct label_map *m);
/* Empty again, memory kept. */
void label_map__reset(struct label_map *m);
/* Appends one that the series has; the name is not there yet. Texts are borrowed. 0 or -ENOMEM. */
int label_map__put(struct label_map *m, struct dcm_str name, struct dcm_str value);
/* Orders by name: once, before the rules run. */
void label_map__sort(struct label_map *m);
/* "" when there is none. */
struct dcm_str label_map__get(const struct label_map *m, struct dcm_str name);

struct rules;
/* Copies everything. -EINVAL names the rule by its number from 1; -ENOMEM. */
int rules__new(const struct dcm_relabel_rule *rules, uint32_t n, struct rules **ret,
	       struct dcm_error *err);
void rules__free(struct rules *r); /* NULL is fine */
DEFINE_CLEANUP(struct rules *, rules__free);

/*
 * 1: kept, the map holds what came out. 0: a rule dropped it. -ENOMEM, -EFBIG (a text over 64 KiB,
 * or more than 1,024 labels on the way).
 */
int rules__run(const struct rules *r, struct label_map *m);

/* Might some rule look at a label whose name begins with RULES_SAMPLE_PREFIX? */
bool rules__may_read_samples(const struct rules *r);
/* How far may what comes out depend on the label of that name? The less is certain. */
enum rules_use {
	RULES_IGNORE,	  /* not at all */
	RULES_READ_NAME,  /* on whether it is there: labeldrop, labelkeep */
	RULES_READ_VALUE, /* on what it says */
};
enum rules_use rules__use(const struct rules *r, struct dcm_str name);

#endif
