/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/content.c - one hash of all that a batch says, whatever the order in which it says it
 *
 * Each (stack, label set, column) of a profile gets a hash H; the profile's sum of value * H modulo
 * the prime 2^127 - 1 does not change when rows are ordered, split or joined otherwise, and rows
 * that sum up to 0 vanish. Profiles are added up modulo 2^128. Everything is hashed from its texts,
 * without the hashes that came with the batch, so that it can judge them. Slow (each row hashes its
 * stack anew unless it is that of the row before) and without memory of its own.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/batch/batch.h"

typedef unsigned __int128 u128;
#define PRIME ((((u128)1) << 127) - 1)

static u128 as_u128(struct dcm_hash h)
{
	return (u128)h.hi << 64 | h.lo;
}

static struct dcm_hash as_hash(u128 v)
{
	return (struct dcm_hash){ .lo = (uint64_t)v, .hi = (uint64_t)(v >> 64) };
}

/* v modulo 2^127 - 1, where 2^127 counts as 1. */
static u128 reduce(u128 v)
{
	v = (v & PRIME) + (v >> 127);
	return v >= PRIME ? v - PRIME : v;
}

/* a * h modulo the prime; h below it. */
static u128 times(uint64_t a, u128 h)
{
	u128 low = (u128)a * (uint64_t)h;
	u128 high = (u128)a * (uint64_t)(h >> 64); /* to be shifted by 64; below 2^127 */
	/* high * 2^64 = (its upper bits) * 2^127 + (its lower 63 bits) * 2^64 */
	u128 folded = (high >> 63) + ((high & (((u128)1 << 63) - 1)) << 64);

	return reduce(reduce(low) + reduce(folded));
}

static u128 add_times(u128 sum, int64_t value, u128 h)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	u128 product = times(size, h);

	return reduce(sum + (value < 0 ? PRIME - product : product));
}

/* A running hash: the state is hashed with what comes next, so that nothing needs a buffer. */
static void mix(struct dcm_hash *h, const void *p, size_t n)
{
	struct {
		struct dcm_hash state, next;
		uint64_t n;
	} both = { *h, hash__bytes128(p, n), n };

	*h = hash__bytes128(&both, sizeof(both));
}

static void mix_number(struct dcm_hash *h, uint64_t v)
{
	mix(h, &v, sizeof(v));
}

static void mix_string(struct dcm_hash *h, const struct dcm_batch *b, uint32_t id)
{
	mix(h, b->strings[id].p, b->strings[id].n);
}

static void mix_mapping(struct dcm_hash *h, const struct dcm_batch *b, uint32_t id)
{
	mix_number(h, id != DCM_NONE);
	if (id == DCM_NONE)
		return;
	const struct dcm_mapping *m = &b->mappings[id];
	const uint64_t numbers[] = { m->start, m->limit, m->offset, m->kind };
	mix(h, numbers, sizeof(numbers));
	mix_string(h, b, m->file);
	mix_string(h, b, m->build_id);
}

static void mix_function(struct dcm_hash *h, const struct dcm_batch *b, uint32_t id)
{
	mix_number(h, id != DCM_NONE);
	if (id == DCM_NONE)
		return;
	const struct dcm_function *f = &b->functions[id];
	bool has_system_name = b->strings[f->system_name].n > 0;
	mix_string(h, b, f->name);
	mix_string(h, b, has_system_name ? f->system_name : f->name);
	mix_string(h, b, f->file);
	mix_number(h, (uint64_t)f->start_line);
}

static void mix_location(struct dcm_hash *h, const struct dcm_batch *b, uint32_t id)
{
	const struct dcm_location *l = &b->locations[id];
	const uint64_t numbers[] = { l->address, l->addr_kind, l->kind, l->process != DCM_NONE,
				     l->n_lines };

	mix(h, numbers, sizeof(numbers));
	mix_mapping(h, b, l->mapping);
	if (l->process != DCM_NONE) {
		const struct dcm_process *p = &b->processes[l->process];
		const uint64_t who[] = { p->pid, p->generation, p->start_ns };
		mix(h, who, sizeof(who));
	}
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct dcm_line *line = &b->lines[l->line_off + i];
		mix_function(h, b, line->function);
		mix_number(h, (uint64_t)line->line);
		mix_number(h, line->column);
	}
}

static struct dcm_hash stack_content(const struct dcm_batch *b, uint32_t stack)
{
	struct dcm_span span = b->stacks[stack];
	struct dcm_hash h = { .lo = span.n };

	for (uint32_t i = 0; i < span.n; i++)
		mix_location(&h, b, b->stack_locations[span.off + i]);
	return h;
}

static struct dcm_hash label_set_content(const struct dcm_batch *b, uint32_t label_set)
{
	struct dcm_span span = b->label_sets[label_set];
	struct dcm_hash h = { .lo = span.n };

	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_label *l = &b->labels[span.off + i];
		bool is_number = l->unit != DCM_NONE;
		mix_string(&h, b, l->name);
		mix_number(&h, is_number);
		mix_string(&h, b, is_number ? l->unit : l->str);
		mix_number(&h, (uint64_t)l->num);
	}
	return h;
}

static struct dcm_hash head_content(const struct dcm_batch *b, const struct dcm_profile *p)
{
	struct dcm_span series = b->series[p->series];
	struct dcm_hash h = { .lo = series.n, .hi = p->n_types };
	const uint64_t numbers[] = { (uint64_t)p->time_ns, (uint64_t)p->duration_ns, (uint64_t)p->period };

	mix(&h, numbers, sizeof(numbers));
	for (uint32_t i = 0; i < series.n; i++) {
		mix_string(&h, b, b->pairs[series.off + i].name);
		mix_string(&h, b, b->pairs[series.off + i].value);
	}
	for (uint32_t k = 0; k < p->n_types; k++) {
		const struct dcm_type *t = &b->types[p->type_off + k];
		mix_string(&h, b, t->name);
		mix_string(&h, b, t->sample_type);
		mix_string(&h, b, t->sample_unit);
		mix_string(&h, b, t->period_type);
		mix_string(&h, b, t->period_unit);
		mix_number(&h, t->temporality);
	}
	return h;
}

/* The sum over the profile's rows and columns of value * H(stack, label set, column). */
static u128 rows_content(const struct dcm_batch *b, const struct dcm_profile *p)
{
	uint32_t last_stack = DCM_NONE;
	struct {
		struct dcm_hash stack, label_set;
		uint64_t column;
	} key = { 0 };
	u128 sum = 0;

	for (uint32_t r = 0; r < p->n_rows; r++) {
		uint32_t stack = b->row_stacks[p->row_off + r];
		if (stack != last_stack)
			key.stack = stack_content(b, stack);
		last_stack = stack;
		key.label_set = label_set_content(b, b->row_labels[p->row_off + r]);
		const int64_t *values = &b->values[p->value_off + (uint64_t)r * p->n_types];
		for (key.column = 0; key.column < p->n_types; key.column++) {
			u128 h = reduce(as_u128(hash__bytes128(&key, sizeof(key))));
			sum = add_times(sum, values[key.column], h);
		}
	}
	return sum;
}

struct dcm_hash batch__content(const struct dcm_batch *b)
{
	u128 sum = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++) {
		struct dcm_hash h = head_content(b, &b->profiles[i]);
		struct dcm_hash rows = as_hash(rows_content(b, &b->profiles[i]));
		mix(&h, &rows, sizeof(rows));
		sum += as_u128(h);
	}
	struct dcm_hash h = as_hash(sum);
	mix_number(&h, b->n_profiles);
	return h;
}
