/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/relabel.c - Prometheus' relabelling, over the labels of a batch
 *
 * Two ways through. When no rule reads a sample label that the batch has, and none wrote one, an
 * outcome belongs to a whole profile: new series, new heads of profiles, and the rows stay the
 * parent's. Otherwise it belongs to (profile, label set), and the rows are dealt anew, a part for
 * each new series.
 */
#include "core/pipeline/relabel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/pipeline/outcome.h"
#include "core/pipeline/overlay.h"
#include "core/pipeline/projection.h"

#define CACHE_BYTES ((uint64_t)16 << 20)

/*
 * What becomes of the rows of one profile with one label set; valid while `profile` is that one's
 * number.
 */
struct set_fate {
	uint64_t profile;
	struct outcome *outcome;
	bool is_kept;
	uint32_t label_set; /* in the overlay */
	uint32_t part;
};

/* What becomes of one profile's rows with one projection; valid as above. */
struct judged {
	uint64_t profile;
	struct outcome *outcome;
};

/* A profile of the overlay: the rows of one profile that came to one series. */
struct part {
	uint32_t series;
	uint32_t n_rows, n_done;
	uint64_t row_off, value_off;
};

/* Which part of the profile at hand a series of the overlay has; valid as above. */
struct series_part {
	uint64_t profile;
	uint32_t part;
};

struct relabel {
	struct rules *rules; /* NULL: none */
	struct arena arena;  /* of the externals */
	struct outcome_cache cache;
	struct overlay overlay;

	/* Scratch of one apply(): */
	VEC(struct outcome *)
	by_series; /* [n_series]: what becomes of whole ones; NULL: not asked yet */
	VEC(uint8_t)
	use; /* [n_strings]: enum rules_use of sample labels' names; n 0: none is read */
	struct projections projections;
	VEC(struct judged) judged;	      /* by projection */
	VEC(struct set_fate) fates;	      /* [n_label_sets] */
	VEC(struct part) parts;		      /* of the profile at hand */
	VEC(struct series_part) series_parts; /* by series of the overlay */
	uint64_t n_profiles;		      /* counts up and never comes back: set_fate.profile */
};

/* ---- the object ---- */

static int copy_externals(struct relabel *r, const struct relabel_config *config, struct dcm_error *err)
{
	struct dcm_label_text *copy = arena__zalloc(&r->arena, config->n_externals, sizeof(*copy));
	uint32_t n = 0;

	if (config->n_externals > 0 && !copy)
		return error__nomem(err);
	for (uint32_t i = 0; i < config->n_externals; i++) {
		const struct dcm_label_text *from = &config->externals[i];

		for (uint32_t k = 0; k < n; k++)
			if (str__eq(copy[k].name, from->name))
				return error__set(err, -EINVAL, "external label \"%.*s\" is there twice",
						  STR_ARG(from->name));
		if (from->value.n == 0)
			continue;
		copy[n].name = arena__str(&r->arena, from->name);
		copy[n].value = arena__str(&r->arena, from->value);
		if (!copy[n].name.p || !copy[n].value.p)
			return error__nomem(err);
		n++;
	}
	r->cache.externals = copy;
	r->cache.n_externals = n;
	return 0;
}

int relabel__new(const struct relabel_config *config, struct relabel **ret, struct dcm_error *err)
{
	CLEANUP(relabel__freep) struct relabel *r = NEW(struct relabel);
	int e;

	if (!r)
		return error__nomem(err);
	r->cache.max_bytes = config->cache_bytes ? config->cache_bytes : CACHE_BYTES;
	e = copy_externals(r, config, err);
	if (e == 0 && config->n_rules > 0)
		e = rules__new(config->rules, config->n_rules, &r->rules, err);
	if (e < 0)
		return e;
	r->cache.rules = r->rules;
	*ret = take_ptr(r);
	return 0;
}

void relabel__free(struct relabel *r)
{
	if (!r)
		return;
	outcome_cache__fini(&r->cache);
	overlay__fini(&r->overlay);
	rules__free(r->rules);
	arena__fini(&r->arena);
	vec__fini(&r->by_series);
	vec__fini(&r->use);
	projections__fini(&r->projections);
	vec__fini(&r->judged);
	vec__fini(&r->fates);
	vec__fini(&r->parts);
	vec__fini(&r->series_parts);
	free(r);
}

/* ---- which sample labels matter ---- */

/* [n] zeroed elements in a vector of bytes or structs. */
#define resize_zeroed(vec, count)                                                                  \
	({                                                                                         \
		bool ok_;                                                                          \
		(vec)->n = 0;                                                                      \
		ok_ = vec__reserve((vec), (count));                                                \
		if (ok_ && (count) > 0) {                                                          \
			memset((vec)->v, 0, (count) * sizeof((vec)->v[0]));                        \
			(vec)->n = (count);                                                        \
		}                                                                                  \
		ok_;                                                                               \
	})

static int ask_rules(struct relabel *r, struct dcm_str name, enum rules_use *ret)
{
	struct label_map *m = &r->cache.map;
	char *text;

	label_map__reset(m);
	text = arena__printf(&m->arena, RULES_SAMPLE_PREFIX "%.*s", STR_ARG(name));
	if (!text)
		return -ENOMEM;
	*ret = rules__use(r->rules, str__of(text));
	return 0;
}

/* Finds out what rules do with the names of sample labels. *ret_any: they look at one. */
static int find_use(struct relabel *r, const struct dcm_batch *b, bool *ret_any)
{
	const uint8_t asked = 1;

	*ret_any = false;
	r->use.n = 0;
	if (!r->rules || b->n_labels == 0 || !rules__may_read_samples(r->rules))
		return 0;
	if (!resize_zeroed(&r->use, b->n_strings))
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_labels; i++) {
		uint8_t *use = &r->use.v[b->labels[i].name];
		enum rules_use found;

		if (*use)
			continue;
		if (ask_rules(r, batch__str(b, b->labels[i].name), &found) < 0)
			return -ENOMEM;
		*use = (uint8_t)(asked + found);
		*ret_any |= found != RULES_IGNORE;
	}
	for (uint32_t i = 0; i < b->n_strings; i++)
		r->use.v[i] = r->use.v[i] ? (uint8_t)(r->use.v[i] - asked) : RULES_IGNORE;
	return 0;
}

/* ---- whole profiles ---- */

/* Rows that do not come through. Of those that a rule kept, the label set became too large. */
static void count_left_out(struct relabel_counts *counts, const struct outcome *o, uint64_t n_rows)
{
	if (o->fate != OUTCOME_DROPPED)
		counts->n_rows_lost += n_rows;
	else if (o->is_undecided)
		counts->n_rows_undecided_lost += n_rows;
	else
		counts->n_rows_filtered += n_rows;
}

static void count_undecided(struct relabel_counts *counts, const struct outcome *o, uint64_t n_rows)
{
	if (o->is_undecided)
		counts->n_rows_undecided += n_rows;
}

static bool is_kept(const struct outcome *o)
{
	return o->fate == OUTCOME_SAME || o->fate == OUTCOME_CHANGED;
}

/*
 * What becomes of each series that has a profile. *ret_same: nothing changes. *ret_edits: sample
 * labels do.
 */
static int judge_series(struct relabel *r, const struct dcm_batch *b, bool *ret_same, bool *ret_edits)
{
	int e = 0;

	*ret_same = true;
	*ret_edits = false;
	if (!resize_zeroed(&r->by_series, b->n_series))
		return -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < b->n_profiles; i++) {
		struct outcome **o = &r->by_series.v[b->profiles[i].series];

		if (*o)
			continue;
		e = outcome_cache__get(&r->cache, b, b->profiles[i].series, 0, NULL, o);
		if (e < 0)
			break;
		*ret_same &= (*o)->fate == OUTCOME_SAME;
		*ret_edits |= is_kept(*o) && (*o)->n_edits > 0;
	}
	return e;
}

/* Rows stay where they are; profiles get other series, or are left out. */
static int relabel_profiles(struct relabel *r, const struct dcm_batch *b, struct relabel_counts *counts)
{
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		struct dcm_profile p = b->profiles[i];
		struct outcome *o = r->by_series.v[p.series];
		int e;

		count_undecided(counts, o, p.n_rows);
		if (!is_kept(o)) {
			counts->n_profiles_filtered += o->fate == OUTCOME_DROPPED && !o->is_undecided;
			count_left_out(counts, o, p.n_rows);
			continue;
		}
		e = overlay__series(&r->overlay, p.series, o, &p.series);
		if (e < 0 || !vec__push(&r->overlay.profiles, p))
			return -ENOMEM;
	}
	return 0;
}

/* ---- row by row ---- */

/* The part of this profile that belongs to a series of the overlay, made when new. */
static int part_of(struct relabel *r, uint32_t series, uint32_t *ret)
{
	struct series_part *known;

	while (r->series_parts.n <= series)
		if (!vec__push(&r->series_parts, (struct series_part){ 0 }))
			return -ENOMEM;
	known = &r->series_parts.v[series];
	if (known->profile != r->n_profiles) {
		if (!vec__push(&r->parts, (struct part){ .series = series }))
			return -ENOMEM;
		*known = (struct series_part){ r->n_profiles, (uint32_t)r->parts.n - 1 };
	}
	*ret = known->part;
	return 0;
}

/* The outcome for profile p (the n_profiles-th) and a label set: asked once for each projection. */
static int judge(struct relabel *r, const struct dcm_batch *b, const struct dcm_profile *p,
		 uint32_t label_set, struct outcome **ret)
{
	const uint8_t *use = r->use.n ? r->use.v : NULL;
	uint32_t projection;
	struct judged *j;
	int e = projections__of(&r->projections, b, label_set, use, &projection);

	if (e < 0)
		return e;
	while (r->judged.n <= projection)
		if (!vec__push(&r->judged, (struct judged){ 0 }))
			return -ENOMEM;
	j = &r->judged.v[projection];
	if (j->profile != r->n_profiles) {
		e = outcome_cache__get(&r->cache, b, p->series, label_set, use, &j->outcome);
		if (e < 0)
			return e;
		j->profile = r->n_profiles;
	}
	*ret = j->outcome;
	return 0;
}

/* What becomes of the rows of profile p with a label set. */
static int fate_of(struct relabel *r, const struct dcm_batch *b, const struct dcm_profile *p,
		   uint32_t label_set, struct set_fate **ret)
{
	struct set_fate *f = &r->fates.v[label_set];
	uint32_t series;
	int e;

	*ret = f;
	if (f->profile == r->n_profiles)
		return 0;
	f->profile = r->n_profiles;
	f->is_kept = false;
	e = judge(r, b, p, label_set, &f->outcome);
	if (e < 0 || !is_kept(f->outcome))
		return e;
	e = overlay__label_set(&r->overlay, label_set, f->outcome, &f->label_set);
	if (e == -EFBIG)
		return 0;
	if (e == 0)
		e = overlay__series(&r->overlay, p->series, f->outcome, &series);
	if (e == 0)
		e = part_of(r, series, &f->part);
	f->is_kept = e == 0;
	return e;
}

/* Counts the rows of each part of a profile; an empty profile has one part without rows. */
static int deal(struct relabel *r, const struct dcm_batch *b, const struct dcm_profile *p,
		struct relabel_counts *counts)
{
	struct set_fate *f;
	int e;

	r->n_profiles++;
	r->parts.n = 0;
	if (p->n_rows == 0)
		return fate_of(r, b, p, 0, &f);
	for (uint32_t i = 0; i < p->n_rows; i++) {
		e = fate_of(r, b, p, b->row_labels[p->row_off + i], &f);
		if (e < 0)
			return e;
		count_undecided(counts, f->outcome, 1);
		if (f->is_kept)
			r->parts.v[f->part].n_rows++;
		else
			count_left_out(counts, f->outcome, 1);
	}
	return 0;
}

/* Heads of a profile's parts, behind the rows that are there already. */
static int add_parts(struct relabel *r, const struct dcm_profile *p, uint64_t *n_rows, uint64_t *n_values)
{
	for (uint32_t i = 0; i < r->parts.n; i++) {
		struct part *part = &r->parts.v[i];
		struct dcm_profile head = *p;

		head.series = part->series;
		head.n_rows = part->n_rows;
		head.row_off = part->row_off = *n_rows;
		head.value_off = part->value_off = *n_values;
		if (!vec__push(&r->overlay.profiles, head))
			return -ENOMEM;
		*n_rows += part->n_rows;
		*n_values += (uint64_t)part->n_rows * p->n_types;
	}
	return 0;
}

static void copy_rows(struct relabel *r, const struct dcm_batch *b, const struct dcm_profile *p,
		      const struct overlay_rows *to)
{
	const size_t value_bytes = p->n_types * sizeof(to->values[0]);

	for (uint32_t i = 0; i < p->n_rows; i++) {
		const struct set_fate *f = &r->fates.v[b->row_labels[p->row_off + i]];
		struct part *part;
		uint64_t at;

		if (!f->is_kept)
			continue;
		part = &r->parts.v[f->part];
		at = part->row_off + part->n_done;
		to->stacks[at] = b->row_stacks[p->row_off + i];
		to->labels[at] = f->label_set;
		memcpy(to->values + part->value_off + (uint64_t)part->n_done * p->n_types,
		       b->values + p->value_off + (uint64_t)i * p->n_types, value_bytes);
		part->n_done++;
	}
}

static int relabel_rows(struct relabel *r, const struct dcm_batch *b, struct relabel_counts *counts)
{
	struct overlay_rows rows;
	uint64_t n_rows = 0, n_values = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++) {
		n_rows += b->profiles[i].n_rows;
		n_values += (uint64_t)b->profiles[i].n_rows * b->profiles[i].n_types;
	}
	if (overlay__rows(&r->overlay, n_rows, n_values, &rows) < 0 ||
	    projections__begin(&r->projections, b) < 0 || !resize_zeroed(&r->fates, b->n_label_sets))
		return -ENOMEM;
	n_rows = n_values = 0;
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const struct dcm_profile *p = &b->profiles[i];

		if (deal(r, b, p, counts) < 0 || add_parts(r, p, &n_rows, &n_values) < 0)
			return -ENOMEM;
		counts->n_profiles_filtered += r->parts.n == 0;
		copy_rows(r, b, p, &rows);
	}
	r->overlay.batch->n_rows = n_rows;
	r->overlay.batch->n_values = n_values;
	return 0;
}

/* ---- a batch ---- */

static int make_overlay(struct relabel *r, struct dcm_batch *b, bool by_row, struct dcm_batch **ret,
			struct relabel_counts *counts)
{
	int e = overlay__begin(&r->overlay, b);

	if (e < 0)
		return e;
	e = by_row ? relabel_rows(r, b, counts) : relabel_profiles(r, b, counts);
	if (e < 0 || r->overlay.profiles.n == 0) {
		overlay__cancel(&r->overlay);
		*ret = NULL;
		return e;
	}
	return overlay__finish(&r->overlay, ret);
}

static int apply(struct relabel *r, struct dcm_batch *b, struct dcm_batch **ret,
		 struct relabel_counts *counts)
{
	bool any_read, is_same = false, any_edits = true;
	int e;

	if (b->n_profiles == 0) {
		*ret = NULL;
		return 0;
	}
	outcome_cache__trim(&r->cache);
	e = find_use(r, b, &any_read);
	if (e == 0 && !any_read) {
		r->use.n = 0;
		e = judge_series(r, b, &is_same, &any_edits);
	}
	if (e < 0)
		return e;
	if (is_same) {
		for (uint32_t i = 0; i < b->n_profiles; i++)
			count_undecided(counts, r->by_series.v[b->profiles[i].series],
					b->profiles[i].n_rows);
		*ret = batch__ref(b);
		return 0;
	}
	return make_overlay(r, b, any_read || any_edits, ret, counts);
}

int relabel__apply(struct relabel *r, struct dcm_batch *batch, struct dcm_batch **ret,
		   struct relabel_counts *counts, struct dcm_error *err)
{
	struct relabel_counts now = { 0 };
	int e = apply(r, batch, ret, &now);

	if (e < 0)
		now = (struct relabel_counts){ .n_rows_no_memory = batch__n_rows(batch) };
	if (counts) {
		counts->n_profiles_filtered += now.n_profiles_filtered;
		counts->n_rows_filtered += now.n_rows_filtered;
		counts->n_rows_lost += now.n_rows_lost;
		counts->n_rows_undecided += now.n_rows_undecided;
		counts->n_rows_undecided_lost += now.n_rows_undecided_lost;
		counts->n_rows_no_memory += now.n_rows_no_memory;
	}
	return e < 0 ? error__nomem(err) : 0;
}

void relabel_counts__tell(const struct relabel_counts *counts, const struct log *log,
			  struct stats *stats, const char *who, _Atomic uint64_t *n_undecided)
{
	if (stats && counts->n_rows_lost > 0)
		stats__drop(stats, who, "labels_too_large", counts->n_rows_lost);
	if (stats && counts->n_rows_undecided_lost > 0)
		stats__drop(stats, who, "regex_undecided", counts->n_rows_undecided_lost);
	if (counts->n_rows_undecided == 0)
		return;
	if (*n_undecided == 0 && log)
		log__line(log, DCM_LOG_WARNING, who,
			  "a regular expression of its rules or its selector takes too long to "
			  "match some labels; it counts as no match, and the rows are counted in "
			  "decima_undecided_rows_total: write it simpler, without repeats in "
			  "repeats");
	*n_undecided += counts->n_rows_undecided;
}
