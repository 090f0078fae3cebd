/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/batch_judge.c - batch_judge__fault(): the rules of a batch, written down a second time
 *
 * Plain loops over the public tables; tables are compared pairwise, so it is for small batches.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/identity.h"
#include "tests/unit/batch_judge.h"

static char found[256];

static const char *fault(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *fault(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	return found;
}

/* Leaves the caller with the fault, when the condition does not hold. */
#define MUST(condition, i)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return fault("entry %llu: not %s", (unsigned long long)(i), #condition);   \
	} while (0)

static bool span_within(struct dcm_span s, uint64_t n)
{
	return s.off <= n && s.n <= n - s.off;
}

static const char *judge_strings(const struct dcm_batch *b, bool overlay)
{
	MUST(b->n_strings >= 1 && b->strings[0].n == 0, 0);
	for (uint32_t i = 0; i < b->n_strings; i++) {
		MUST(str__is_utf8(b->strings[i]) && b->strings[i].n <= 3u << 20, i);
		for (uint32_t k = 0; k < i && !overlay; k++)
			MUST(!str__eq(b->strings[i], b->strings[k]), i);
	}
	return NULL;
}

static const char *judge_dictionary(const struct dcm_batch *b)
{
	for (uint32_t i = 0; i < b->n_mappings; i++) {
		const struct dcm_mapping *m = &b->mappings[i];
		MUST(m->file < b->n_strings && m->build_id < b->n_strings, i);
		MUST(m->kind <= DCM_MAPPING_ANON && m->start <= m->limit, i);
		struct dcm_str id = b->strings[m->build_id];
		MUST(id.n <= 128, i);
		for (uint32_t k = id.n == 17 && id.p[0] == '~'; k < id.n; k++)
			MUST(strchr("0123456789abcdef", id.p[k]) && id.p[k], i);
	}
	for (uint32_t i = 0; i < b->n_functions; i++) {
		const struct dcm_function *f = &b->functions[i];
		MUST(f->name < b->n_strings && f->system_name < b->n_strings && f->file < b->n_strings, i);
	}
	for (uint32_t i = 0; i < b->n_lines; i++)
		MUST(b->lines[i].function == DCM_NONE || b->lines[i].function < b->n_functions, i);
	return NULL;
}

static const char *judge_stacks(const struct dcm_batch *b)
{
	for (uint32_t i = 0; i < b->n_locations; i++) {
		const struct dcm_location *l = &b->locations[i];
		MUST(l->mapping == DCM_NONE || l->mapping < b->n_mappings, i);
		MUST(l->process == DCM_NONE || l->process < b->n_processes, i);
		MUST(l->process == DCM_NONE || l->addr_kind == DCM_ADDR_RUNTIME, i);
		MUST(l->addr_kind <= DCM_ADDR_RUNTIME && l->kind <= DCM_FRAME_NOTE, i);
		MUST(l->address == 0 || l->addr_kind != DCM_ADDR_NONE, i);
		MUST(l->unnamed < DCM_UNNAMED_N && l->reserved == 0, i);
		MUST(l->n_lines == 0 || l->unnamed == 0, i);
		MUST(span_within((struct dcm_span){ l->line_off, l->n_lines }, b->n_lines), i);
		MUST(l->n_lines <= 1024, i);
	}
	for (uint32_t i = 0; i < b->n_stacks; i++)
		MUST(span_within(b->stacks[i], b->n_stack_locations) && b->stacks[i].n <= 4096, i);
	for (uint32_t i = 0; i < b->n_stack_locations; i++)
		MUST(b->stack_locations[i] < b->n_locations, i);
	return NULL;
}

static const char *judge_labels(const struct dcm_batch *b)
{
	for (uint32_t i = 0; i < b->n_series; i++) {
		struct dcm_span s = b->series[i];
		MUST(span_within(s, b->n_pairs) && s.n <= 256, i);
		for (uint32_t k = s.off; k < s.off + s.n; k++) {
			const struct dcm_pair *p = &b->pairs[k];
			MUST(p->name < b->n_strings && p->value < b->n_strings, k);
			MUST(b->strings[p->name].n && b->strings[p->value].n, k);
			MUST(k == s.off || str__cmp(b->strings[p[-1].name], b->strings[p->name]) < 0, k);
		}
	}
	MUST(b->n_label_sets >= 1 && b->label_sets[0].n == 0, 0);
	for (uint32_t i = 0; i < b->n_label_sets; i++) {
		struct dcm_span s = b->label_sets[i];
		MUST(span_within(s, b->n_labels) && s.n <= 256, i);
		for (uint32_t k = s.off; k < s.off + s.n; k++) {
			const struct dcm_label *l = &b->labels[k];
			MUST(l->name < b->n_strings && b->strings[l->name].n && l->str < b->n_strings, k);
			MUST(l->unit == DCM_NONE || l->unit < b->n_strings, k);
			MUST(l->unit == DCM_NONE ? b->strings[l->str].n && !l->num : !l->str, k);
			MUST(k == s.off || str__cmp(b->strings[l[-1].name], b->strings[l->name]) < 0, k);
		}
	}
	return NULL;
}

static const char *judge_profiles(const struct dcm_batch *b)
{
	for (uint32_t i = 0; i < b->n_types; i++) {
		const struct dcm_type *t = &b->types[i];
		MUST(t->name < b->n_strings && b->strings[t->name].n, i);
		MUST(t->sample_type < b->n_strings && b->strings[t->sample_type].n, i);
		MUST(t->sample_unit < b->n_strings && t->period_type < b->n_strings, i);
		MUST(t->period_unit < b->n_strings && t->temporality <= DCM_CUMULATIVE, i);
	}
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const struct dcm_profile *p = &b->profiles[i];
		MUST(p->series < b->n_series && p->n_types >= 1 && p->n_types <= 16, i);
		MUST(span_within((struct dcm_span){ p->type_off, p->n_types }, b->n_types), i);
		MUST(p->time_ns >= 0 && p->duration_ns >= 0 && p->period >= 0, i);
		MUST(p->row_off <= b->n_rows && p->n_rows <= b->n_rows - p->row_off, i);
		MUST(p->value_off <= b->n_values, i);
		MUST((uint64_t)p->n_rows * p->n_types <= b->n_values - p->value_off, i);
		MUST(p->reserved == 0 && p->reserved2 == 0, i);
	}
	for (uint64_t i = 0; i < b->n_rows; i++)
		MUST(b->row_stacks[i] < b->n_stacks && b->row_labels[i] < b->n_label_sets, i);
	return NULL;
}

/* In what a builder made, no two entries are equal. */
static const char *judge_uniqueness(const struct dcm_batch *b)
{
	for (uint32_t i = 0; i < b->n_stacks; i++) {
		for (uint32_t k = 0; k < i; k++) {
			struct dcm_span x = b->stacks[i], y = b->stacks[k];
			MUST(x.n != y.n || (x.n && memcmp(b->stack_locations + x.off,
							  b->stack_locations + y.off,
							  x.n * sizeof(uint32_t)) != 0),
			     i);
		}
	}
	for (uint32_t i = 0; i < b->n_locations; i++) {
		for (uint32_t k = 0; k < i; k++) {
			const struct dcm_location *x = &b->locations[i], *y = &b->locations[k];
			MUST(x->address != y->address || x->mapping != y->mapping ||
				     x->process != y->process || x->kind != y->kind ||
				     x->addr_kind != y->addr_kind || x->n_lines != y->n_lines ||
				     (x->n_lines && memcmp(b->lines + x->line_off, b->lines + y->line_off,
							   x->n_lines * sizeof(*b->lines)) != 0),
			     i);
		}
	}
	return NULL;
}

const char *batch_judge__fault(const struct dcm_batch *b, bool overlay)
{
	const char *text = judge_strings(b, overlay);

	if (!text)
		text = judge_dictionary(b);
	if (!text)
		text = judge_stacks(b);
	if (!text)
		text = judge_labels(b);
	if (!text)
		text = judge_profiles(b);
	if (!text && !overlay)
		text = judge_uniqueness(b);
	return text;
}

bool batch_judge__same_stack(const struct dcm_batch *a, uint32_t of_a, const struct dcm_batch *b,
			     uint32_t of_b)
{
	const struct dcm_hash x = identity__stack(a, of_a), y = identity__stack(b, of_b);

	return x.lo == y.lo && x.hi == y.hi;
}
