/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/flush.c - a window becomes a sealed batch
 */
#include "plugins/input/ebpf/flush.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/locate.h"
#include "plugins/input/ebpf/tags.h"

/* One reason of quality: how many samples of a comm it befell. */
struct quality {
	uint32_t comm; /* of the window's texts; 0: not known */
	int64_t hz;    /* how often was sampled, where that is the reason; else 0 */
	char reason[96];
	uint64_t n_samples;
};

struct work {
	struct flush *f;
	const struct aggregate *a;
	struct dcm_builder *b;
	struct locate locate;
	uint32_t *texts;	    /* [texts]: the builder's ids; DCM_NONE: not added yet */
	struct aggregate_row *rows; /* sorted by series and stack */
	VEC(struct quality) quality;
	struct hindex quality_index;
	int error;
};

static uint32_t text_of(struct work *w, uint32_t id)
{
	if (w->texts[id] == DCM_NONE)
		w->texts[id] = w->f->host->add_string(w->b, intern__text(&w->a->texts, id));
	return w->texts[id];
}

static uint32_t string(struct work *w, const char *s)
{
	return w->f->host->add_string(w->b, str__of(s));
}

/* ------------------------------------------------------------------------------------------------
 * Quality
 */

static void quality_add(struct work *w, uint32_t comm, uint64_t n, const char *kind, const char *reason)
{
	struct quality q = { .comm = comm };
	uint64_t h;
	uint32_t row, at;

	if (n == 0)
		return;
	snprintf(q.reason, sizeof(q.reason), "%s: %s", kind, reason);
	h = hash__mix(hash__bytes(q.reason, strlen(q.reason), 0), comm);
	for (at = hindex__first(&w->quality_index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&w->quality_index, h, at, &row)) {
		struct quality *old = &w->quality.v[row];

		if (old->comm == comm && strcmp(old->reason, q.reason) == 0) {
			old->n_samples += n;
			return;
		}
	}
	q.n_samples = n;
	if (!vec__push(&w->quality, q) ||
	    hindex__insert(&w->quality_index, h, (uint32_t)(w->quality.n - 1)) < 0)
		w->error = -ENOMEM;
}

static void quality_of_row(struct work *w, const struct aggregate_row *r, const struct locate_stack *s)
{
	uint32_t comm = w->a->series.v[r->series].comm;

	if (s->truncated)
		quality_add(w, comm, r->n_samples, "truncated", s->truncated);
	for (unsigned why = 0; why < DCM_UNNAMED_N; why++)
		if (s->unnamed >> why & 1)
			quality_add(w, comm, r->n_samples, "unnamed", locate__unnamed_text(why));
}

/*
 * How long the window was, in whole milliseconds: a store keeps such a number in a byte, and the
 * nanoseconds of when a thread woke up in four. Ends are cut, not lengths, so that windows add up to
 * the time that went by.
 */
static int64_t whole_ms(const struct aggregate *a)
{
	const int64_t ms = 1000000, length = a->end_mono_ns / ms * ms - a->start_mono_ns / ms * ms;

	return length > 0 ? length : a->end_mono_ns - a->start_mono_ns;
}

static void quality_profile(struct work *w)
{
	static const char *const losses[] = {
#define AGGREGATE_X(name, text) text,
		AGGREGATE_LOSSES(AGGREGATE_X)
#undef AGGREGATE_X
	};
	const struct dcm_host *host = w->f->host;
	struct dcm_type type = {
		.name = string(w, "decima_quality"),
		.sample_type = string(w, "samples"),
		.sample_unit = string(w, "count"),
		.temporality = DCM_DELTA,
	};
	struct dcm_profile head = {
		.series = host->add_series(w->b, NULL, 0),
		.time_ns = w->a->start_real_ns,
		.duration_ns = whole_ms(w->a),
	};

	for (int i = 0; i < AGGREGATE_LOSS_N; i++)
		quality_add(w, 0, w->a->lost[i], "lost", losses[i]);
	quality_add(w, 0, w->a->n_reduced, "reduced", w->a->reduced_why);
	if (w->quality.n && w->a->n_reduced)
		w->quality.v[w->quality.n - 1].hz = w->a->reduced_hz;
	if (w->quality.n == 0)
		return;
	host->add_profile(w->b, &head, &type, 1);
	for (size_t i = 0; i < w->quality.n; i++) {
		const struct quality *q = &w->quality.v[i];
		struct dcm_label comm = { .name = string(w, "comm"),
					  .str = text_of(w, q->comm),
					  .unit = DCM_NONE };
		struct dcm_label hz = { .name = string(w, "frequency"),
					.num = q->hz,
					.unit = string(w, "hertz") };
		uint32_t note = locate__note(w->b, host, q->reason);
		int64_t value = (int64_t)q->n_samples;

		host->add_row(w->b, host->add_stack(w->b, &note, 1),
			      host->add_label_set(w->b, q->hz ? &hz : &comm, q->hz || q->comm ? 1 : 0),
			      &value);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Profiles
 */

static uint32_t add_text(struct work *w, struct dcm_str text)
{
	return w->f->host->add_string(w->b, text);
}

static uint32_t series_of(struct work *w, const struct aggregate_series *s)
{
	struct dcm_str at = intern__text(&w->a->texts, s->tags), name, value;
	struct dcm_pair pairs[TAGS_MAX + 2];
	uint32_t n = 0;

	pairs[n++] = (struct dcm_pair){ string(w, "comm"), text_of(w, s->comm) };
	pairs[n++] = (struct dcm_pair){ string(w, "service_name"), text_of(w, s->service) };
	while (n < TAGS_MAX + 2 && tags__next(&at, &name, &value))
		pairs[n++] = (struct dcm_pair){ add_text(w, name), add_text(w, value) };
	return w->f->host->add_series(w->b, pairs, n);
}

static uint32_t labels_of(struct work *w, const struct aggregate_row *r)
{
	const struct settings_labels *on = &w->f->labels;
	struct dcm_str at = intern__text(&w->a->texts, r->tags), name, value;
	struct dcm_label labels[TAGS_MAX + 4];
	uint32_t n = 0;

	/* What found no room is added up over all threads and CPUs. */
	if (r->stack == AGGREGATE_OVERFLOW)
		return 0;
	if (on->cpu)
		labels[n++] = (struct dcm_label){ .name = string(w, "cpu"), .num = r->cpu };
	if (on->pid)
		labels[n++] = (struct dcm_label){ .name = string(w, "pid"), .num = r->pid };
	if (on->thread_name)
		labels[n++] = (struct dcm_label){ .name = string(w, "thread_name"),
						  .str = text_of(w, r->thread_name),
						  .unit = DCM_NONE };
	if (on->thread_id)
		labels[n++] = (struct dcm_label){ .name = string(w, "tid"), .num = r->tid };
	while (n < TAGS_MAX + 4 && tags__next(&at, &name, &value))
		labels[n++] = (struct dcm_label){ .name = add_text(w, name),
						  .str = add_text(w, value),
						  .unit = DCM_NONE };
	return w->f->host->add_label_set(w->b, labels, n);
}

static int by_series_and_stack(const void *pa, const void *pb)
{
	const struct aggregate_row *a = pa, *b = pb;

	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void cpu_profiles(struct work *w, struct locate_stack *scratch)
{
	const struct dcm_host *host = w->f->host;
	struct dcm_type type = {
		.name = string(w, "process_cpu"),
		.sample_type = string(w, "cpu"),
		.sample_unit = string(w, "nanoseconds"),
		.period_type = string(w, "cpu"),
		.period_unit = string(w, "nanoseconds"),
		.temporality = DCM_DELTA,
	};
	struct dcm_profile head = {
		.time_ns = w->a->start_real_ns,
		.duration_ns = whole_ms(w->a),
		.period = w->f->period_ns,
	};
	uint32_t stack = 0;

	for (size_t i = 0; i < w->a->rows.n && !w->error && !w->locate.error; i++) {
		const struct aggregate_row *r = &w->rows[i];
		int64_t value = (int64_t)r->cpu_ns;

		if (i == 0 || w->rows[i - 1].series != r->series) {
			head.series = series_of(w, &w->a->series.v[r->series]);
			host->add_profile(w->b, &head, &type, 1);
		}
		if (i == 0 || w->rows[i - 1].stack != r->stack) {
			locate__stack(&w->locate, r->stack, scratch);
			stack = host->add_stack(w->b, scratch->locations, scratch->n);
		}
		quality_of_row(w, r, scratch);
		host->add_row(w->b, stack, labels_of(w, r), &value);
	}
}

static int build(struct work *w)
{
	struct locate_stack *scratch = NEW(struct locate_stack);
	size_t n_texts = w->a->texts.n, n_rows = w->a->rows.n;

	w->texts = mem__zalloc(n_texts, sizeof(*w->texts));
	w->rows = mem__dup(w->a->rows.v, n_rows * sizeof(*w->rows));
	if (!scratch || !w->texts || !w->rows) {
		free(scratch);
		return -ENOMEM;
	}
	memset(w->texts, 0xff, n_texts * sizeof(*w->texts));
	qsort(w->rows, n_rows, sizeof(*w->rows), by_series_and_stack);
	locate__prepare(&w->locate);
	cpu_profiles(w, scratch);
	quality_profile(w);
	free(scratch);
	return w->error ? w->error : w->locate.error;
}

static bool is_empty(const struct aggregate *a)
{
	uint64_t n = a->rows.n + a->n_reduced;

	for (int i = 0; i < AGGREGATE_LOSS_N; i++)
		n += a->lost[i];
	return n == 0;
}

int flush__batch(struct flush *f, const struct aggregate *a, struct dcm_builder *builder,
		 struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct work w = { .f = f, .a = a, .b = builder };
	struct dcm_batch *discarded = NULL;
	int r = -ENOMEM;

	if (is_empty(a)) {
		*ret_batch = NULL;
		return 0;
	}
	if (locate__init(&w.locate, f->host, f->files, a, builder) == 0) {
		w.locate.symbols = f->symbols;
		r = build(&w);
	}
	if (w.locate.kallsyms_error)
		f->kallsyms_error = w.locate.kallsyms_error;
	locate__fini(&w.locate);
	hindex__fini(&w.quality_index);
	vec__fini(&w.quality);
	free(w.texts);
	free(w.rows);
	if (r == 0)
		return f->host->seal(builder, ret_batch, err);
	/* Sealing is what empties a builder. */
	if (f->host->seal(builder, &discarded, NULL) == 0)
		f->host->batch_unref(discarded);
	return error__nomem(err);
}
