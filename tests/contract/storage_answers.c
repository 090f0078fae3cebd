/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_answers.c - asks a store and writes down what it says
 */
#include "tests/contract/storage_answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/identity.h"
#include "core/batch/type.h"

void answers__put_hash(struct buf *out, struct dcm_hash h)
{
	buf__printf(out, "%016" PRIx64 "-%016" PRIx64, h.lo, h.hi);
}

void answers__put_type(struct buf *out, const struct dcm_type_info *info)
{
	buf__printf(out, "%.*s:%.*s:%.*s:%.*s:%.*s%s", STR_ARG(info->name),
		    STR_ARG(info->sample_type), STR_ARG(info->sample_unit), STR_ARG(info->period_type),
		    STR_ARG(info->period_unit), info->temporality == DCM_DELTA ? ":delta" : "");
}

static int put_type(void *ctx, const struct dcm_type_info *info)
{
	struct buf *out = ctx;

	answers__put_type(out, info);
	buf__printf(out, "|%u|%" PRIu64 "|%" PRId64 "|%" PRId64 "\n", info->temporality,
		    info->n_profiles, info->first_ms, info->last_ms);
	return 0;
}

static int put_name(void *ctx, struct dcm_str name, uint64_t n_series)
{
	buf__printf(ctx, "%.*s|%" PRIu64 "\n", STR_ARG(name), n_series);
	return 0;
}

static void put_labels(struct buf *out, const struct dcm_label_text *labels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		buf__printf(out, "%.*s=%.*s,", STR_ARG(labels[i].name), STR_ARG(labels[i].value));
}

static int put_series(void *ctx, const struct dcm_label_text *labels, uint32_t n)
{
	put_labels(ctx, labels, n);
	buf__byte(ctx, '\n');
	return 0;
}

static int put_points(void *ctx, const struct dcm_points *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		put_labels(ctx, p->labels, p->n_labels);
		buf__printf(ctx, "|%" PRId64 "|%" PRId64 "|%" PRId64 "|%u\n", p->t_ms[i],
			    p->value[i], p->duration_ns[i], p->n_profiles[i]);
	}
	return 0;
}

struct line {
	const char *p;
	size_t n;
};

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

void answers__sort_lines(struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->n; i++)
		n += text->data[i] == '\n';
	struct line *lines = calloc(n + 1, sizeof(*lines));
	struct buf sorted = { 0 };
	const char *p = (const char *)text->data;

	if (!lines) {
		text->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *end = strchr(p, '\n') + 1;
		lines[i] = (struct line){ p, (size_t)(end - p) };
		p = end;
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++)
		buf__append(&sorted, lines[i].p, lines[i].n);
	free(lines);
	buf__fini(text);
	*text = sorted;
}

/* The group's labels in the order asked for; the answer's series leaves the empty ones out. */
static void put_group(struct buf *out, const struct dcm_batch *b, uint32_t series,
		      const struct dcm_group_by *by)
{
	for (uint32_t i = 0; i < by->n; i++) {
		struct dcm_str value = batch__series_label(b, series, by->labels[i]);
		buf__printf(out, "%.*s=%.*s,", STR_ARG(by->labels[i]), STR_ARG(value));
	}
}

static void put_head(struct buf *out, const struct dcm_batch *b, const struct dcm_profile *p,
		     const struct dcm_group_by *by)
{
	put_group(out, b, p->series, by);
	buf__printf(out, "|head|%" PRId64 "|%" PRId64 "|%" PRId64, p->time_ns, p->duration_ns, p->period);
	for (uint32_t k = 0; k < p->n_types; k++) {
		char text[1024];

		type__format(b, &b->types[p->type_off + k], text, sizeof(text));
		buf__printf(out, "|%s", text);
	}
	buf__byte(out, '\n');
}

struct merged_row {
	struct dcm_hash stack;
	uint32_t profile;
	int64_t values[2];
};

static int compare_rows(const void *a, const void *b)
{
	const struct merged_row *x = a, *y = b;

	if (x->profile != y->profile)
		return x->profile < y->profile ? -1 : 1;
	if (x->stack.lo != y->stack.lo)
		return x->stack.lo < y->stack.lo ? -1 : 1;
	return x->stack.hi < y->stack.hi ? -1 : x->stack.hi > y->stack.hi;
}

/* Equal stacks may come in several rows of an answer: they add up. */
static void put_rows(struct buf *out, const struct dcm_batch *b, const struct dcm_group_by *by)
{
	struct merged_row *rows = calloc(b->n_rows + 1, sizeof(*rows));
	size_t n = 0;

	if (!rows) {
		out->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < b->n_profiles; i++)
		for (uint32_t r = 0; r < b->profiles[i].n_rows; r++, n++) {
			const struct dcm_profile *p = &b->profiles[i];

			rows[n] = (struct merged_row){
				.stack = identity__stack(b, b->row_stacks[p->row_off + r]), .profile = i
			};
			for (uint32_t k = 0; k < p->n_types && k < 2; k++)
				rows[n].values[k] = b->values[p->value_off + (uint64_t)r * p->n_types + k];
		}
	qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n;) {
		struct merged_row sum = rows[i++];

		for (; i < n && compare_rows(&sum, &rows[i]) == 0; i++)
			for (unsigned k = 0; k < 2; k++)
				sum.values[k] += rows[i].values[k];
		put_group(out, b, b->profiles[sum.profile].series, by);
		buf__byte(out, '|');
		answers__put_hash(out, sum.stack);
		buf__printf(out, "|%" PRId64 "|%" PRId64 "\n", sum.values[0], sum.values[1]);
	}
	free(rows);
}

static void put_side(void *ctx, uint32_t selection, uint64_t n_profiles, int64_t duration_ns, int64_t period)
{
	buf__printf(ctx, "side|%u|%" PRIu64 "|%" PRId64 "|%" PRId64 "\n", selection, n_profiles,
		    duration_ns, period);
}

static int ask_merge(struct storage *s, const struct asked *a, struct buf *out, struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	struct dcm_builder *b = s->host.builder_new(&s->host, 0);
	struct dcm_select sel[2] = { a->sel[0], a->sel[1] };
	struct dcm_budget own = { 0 };

	if (!b)
		return -ENOMEM;
	for (uint32_t k = 0; k < a->n_sel; k++) {
		sel[k].budget = sel[k].budget ? sel[k].budget : &own;
		sel[k].budget->side = put_side;
		sel[k].budget->side_ctx = out;
	}
	int r = s->ops->merge(s->instance, sel, a->n_sel, &a->by, &s->host, b, err);
	for (uint32_t k = 0; k < a->n_sel; k++)
		sel[k].budget->side = NULL;

	if (r == 0)
		r = s->host.seal(b, &batch, err);
	s->host.builder_free(b);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < batch->n_profiles; i++)
		put_head(out, batch, &batch->profiles[i], &a->by);
	put_rows(out, batch, &a->by);
	if (out->error)
		return out->error;
	if (out->n)
		answers__sort_lines(out);
	return 0;
}

int answers__ask(struct storage *s, const struct asked *a, struct buf *out, struct dcm_error *err)
{
	switch (a->what) {
	case ASK_TYPES:
		return s->ops->types(s->instance, &a->sel[0], put_type, out, err);
	case ASK_LABELS:
		return s->ops->labels(s->instance, &a->sel[0], put_name, out, err);
	case ASK_VALUES:
		return s->ops->values(s->instance, &a->sel[0], a->name, put_name, out, err);
	case ASK_SERIES:
		return s->ops->series(s->instance, &a->sel[0], put_series, out, err);
	case ASK_POINTS:
		return s->ops->time_series(s->instance, &a->sel[0], a->step_ms, &a->by, put_points,
					   out, err);
	case ASK_MERGE:
		return ask_merge(s, a, out, err);
	default:
		return -EINVAL;
	}
}

bool answers__differ(const struct buf *expected, const struct buf *got, struct buf *out)
{
	const char *x = expected->data ? (const char *)expected->data : "";
	const char *y = got->data ? (const char *)got->data : "";

	while (*x || *y) {
		size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");

		if (n != m || memcmp(x, y, n) != 0) {
			buf__printf(out, " expected: %.*s\n answered: %.*s", (int)n, x, (int)m, y);
			return true;
		}
		x += n + (x[n] == '\n');
		y += m + (y[m] == '\n');
	}
	return false;
}
