/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_samples.c - samples of OTLP as rows of (series, 10 s) profiles
 *
 * From 1.8 a sample has one value, or timestamps that count 1 each, or a value for each timestamp. Until 1.7 it has a value for
 * each type, and timestamps that say when it was seen; where there is one type and its value is their number, or there is one
 * for each, they are as later, and otherwise all of it is at the first.
 */
#include "core/codec/otlp_input.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

#define WINDOW_NS INT64_C(10000000000)

/* One sample. Its lists are left where they are, and gone through once it is known how long they are. */
struct sample {
	uint64_t stack, n_locations; /* the index of a stack; or where a range begins, and its length */
	uint64_t link;
	bool has_link;
	struct otlp_labels labels;
	uint64_t n_values, n_times;
	int64_t values[TYPES_MAX]; /* the first of them */
	int64_t first_time_ns;
};

static int take_attribute(struct otlp_input *in, void *ctx, uint64_t v)
{
	struct otlp_labels *l = ctx;

	if (l->n == LABELS_MAX)
		return otlp_input__excess(in, "a sample has more than %d attributes", LABELS_MAX);
	if (v >= in->tables[OTLP_ATTRIBUTES].n)
		return otlp_input__fault(in, "attribute %lld of an attribute_table of %zu",
					 (long long)v, in->tables[OTLP_ATTRIBUTES].n);
	l->attributes[l->n++] = (uint32_t)v;
	return 0;
}

static int take_value(struct otlp_input *in, void *ctx, uint64_t v)
{
	struct sample *s = ctx;

	(void)in;
	if (s->n_values < TYPES_MAX)
		s->values[s->n_values] = (int64_t)v;
	s->n_values++;
	return 0;
}

static int take_time(struct otlp_input *in, void *ctx, uint64_t v)
{
	struct sample *s = ctx;

	if (v > INT64_MAX - (uint64_t)WINDOW_NS)
		return otlp_input__fault(in, "a timestamp is beyond the year 2262");
	if (s->n_times++ == 0)
		s->first_time_ns = (int64_t)v;
	return 0;
}

static int take_number(struct otlp_input *in, struct sample *s, const struct pb_field *f)
{
	if (f->type != PB_VARINT)
		return otlp_input__fault(in, "field %u of a sample has wire type %u", f->number, f->type);
	if (f->number == 1) {
		s->stack = f->value;
	} else if (f->number == in->layout->sample.link) {
		s->link = f->value;
		s->has_link = true;
	} else {
		s->n_locations = f->value;
	}
	return 0;
}

static int take_field(struct otlp_input *in, struct sample *s, const struct pb_field *f)
{
	const struct otlp_layout *l = in->layout;

	if (f->number == l->sample.values)
		return otlp_input__numbers(in, "values of a sample", f, false, take_value, s);
	if (f->number == l->sample.attributes)
		return otlp_input__numbers(in, "attribute_indices of a sample", f, false,
					   take_attribute, &s->labels);
	if (f->number == l->sample.timestamps)
		return otlp_input__numbers(in, "timestamps of a sample", f, !l->is_ranged, take_time, s);
	if (f->number == 1 || f->number == l->sample.link || (l->is_ranged && f->number == 2))
		return take_number(in, s, f);
	return 0;
}

/* ---- stacks ---- */

/* Ranges may overlap, so that few bytes can be many stacks: there is a limit on what they are together. */
static int find_range(struct otlp_input *in, const struct sample *s, uint32_t *ret)
{
	struct otlp_profile *p = &in->profile;
	uint32_t ids[STACK_MAX_DEPTH];
	int e = 0;

	if (s->n_locations > p->locations.n || s->stack > p->locations.n - s->n_locations)
		return otlp_input__fault(
			in, "a sample's locations are %lld of %lld on, of location_indices of %zu",
			(long long)s->n_locations, (long long)s->stack, p->locations.n);
	if (s->n_locations > STACK_MAX_DEPTH)
		return otlp_input__excess(in, "a stack has more than %d locations", STACK_MAX_DEPTH);
	if (p->range_stack == DCM_NONE || p->range_start != s->stack || p->range_n != s->n_locations) {
		if (in->max_cells < s->n_locations)
			return otlp_input__excess(in,
						  "its stacks have too many locations together");
		in->max_cells -= s->n_locations;
		for (uint64_t i = 0; e == 0 && i < s->n_locations; i++)
			e = otlp_tables__location(in, p->locations.v[s->stack + i], &ids[i]);
		if (e < 0)
			return e;
		p->range_start = (uint32_t)s->stack;
		p->range_n = (uint32_t)s->n_locations;
		p->range_stack = builder__stack(in->b, ids, p->range_n);
	}
	*ret = p->range_stack;
	return 0;
}

/* ---- profiles of the batch ---- */

static bool is_group(const struct otlp_input *in, const struct otlp_group *a, const struct otlp_group *b)
{
	return a->series == b->series && a->n_types == b->n_types && a->time_ns == b->time_ns &&
	       a->duration_ns == b->duration_ns && a->period == b->period &&
	       (a->type_off == b->type_off || memcmp(in->types.v + a->type_off, in->types.v + b->type_off,
						     a->n_types * sizeof(*in->types.v)) == 0);
}

static uint64_t hash_of(const struct otlp_input *in, const struct otlp_group *g)
{
	uint64_t h = hash__bytes(in->types.v + g->type_off, g->n_types * sizeof(*in->types.v), g->series);

	h = hash__mix(h, (uint64_t)g->time_ns);
	h = hash__mix(h, (uint64_t)g->duration_ns);
	h = hash__mix(h, (uint64_t)g->period);
	return hash__bytes(&h, sizeof(h), (uint64_t)(uintptr_t)in->data); /* which senders cannot know */
}

static int find_group(struct otlp_input *in, int64_t time_ns, int64_t duration_ns, uint32_t *ret)
{
	struct otlp_profile *p = &in->profile;
	const struct otlp_group new = {
		.series = p->series,
		.type_off = p->type_off,
		.n_types = p->n_types,
		.time_ns = time_ns,
		.duration_ns = duration_ns,
		.period = p->period,
		.first = DCM_NONE,
		.last = DCM_NONE,
	};

	if (p->group != DCM_NONE && is_group(in, &in->groups.v[p->group], &new)) {
		*ret = p->group;
		return 0;
	}
	uint64_t h = hash_of(in, &new);
	uint32_t row, at = hindex__first(&in->group_index, h, &row);
	for (; row != HINDEX_NONE; at = hindex__next(&in->group_index, h, at, &row))
		if (is_group(in, &in->groups.v[row], &new))
			break;
	if (row == HINDEX_NONE) {
		if (in->groups.n == OTLP_MAX_PROFILES)
			return otlp_input__excess(in, "more than %d profiles of 10 s", OTLP_MAX_PROFILES);
		row = (uint32_t)in->groups.n;
		if (!vec__push(&in->groups, new) || hindex__insert(&in->group_index, h, row) < 0)
			return error__nomem(in->err);
	}
	*ret = p->group = row;
	return 0;
}

/* The profile of a timestamp. */
static int find_window(struct otlp_input *in, int64_t time_ns, uint32_t *ret)
{
	const struct otlp_profile *p = &in->profile;
	int64_t start = time_ns - time_ns % WINDOW_NS, duration = WINDOW_NS;

	if (time_ns >= p->time_ns && time_ns - p->time_ns < p->duration_ns) {
		start = time_ns - (time_ns - p->time_ns) % WINDOW_NS;
		if (p->duration_ns - (start - p->time_ns) < WINDOW_NS)
			duration = p->duration_ns - (start - p->time_ns);
	}
	return find_group(in, start, duration, ret);
}

/* ---- rows ---- */

struct spot {
	uint32_t stack, label_set;
};

static int add_row(struct otlp_input *in, uint32_t group, struct spot at, const int64_t *values)
{
	struct otlp_group *g = &in->groups.v[group];
	uint32_t row = (uint32_t)in->rows.n;
	bool is_zero = true;

	for (uint32_t i = 0; i < g->n_types; i++)
		is_zero &= values[i] == 0;
	if (is_zero)
		return 0;
	int e = otlp_input__charge(in, 1 + g->n_types / 4); /* of 32 bytes, each */
	if (e < 0)
		return e;
	if (!vec__reserve(&in->values, g->n_types) ||
	    !vec__push(&in->rows,
		       (struct otlp_row){ at.stack, at.label_set, DCM_NONE, (uint32_t)in->values.n }))
		return error__nomem(in->err);
	for (uint32_t i = 0; i < g->n_types; i++)
		in->values.v[in->values.n++] = values[i];
	if (g->last == DCM_NONE)
		g->first = row;
	else
		in->rows.v[g->last].next = row;
	g->last = row;
	return 0;
}

/* A sample's list of values beside its list of timestamps: what falls into one window in turn is one row. */
struct walk {
	struct spot at;
	struct pb_reader values; /* of the message, which is gone through for its next value */
	const uint8_t *p, *end;	 /* in a packed list of them */
	bool has_values;
	uint32_t group;
	int64_t sum;
};

static bool next_value(struct otlp_input *in, struct walk *w, int64_t *ret)
{
	struct pb_field f;
	uint64_t v = 1;

	while (w->has_values && w->p == w->end && pb__next(&w->values, &f)) {
		if (f.number != in->layout->sample.values)
			continue;
		if (f.type == PB_VARINT) {
			*ret = (int64_t)f.value;
			return true;
		}
		w->p = f.p;
		w->end = f.p + f.n;
	}
	if (w->has_values)
		w->p = w->p == w->end ? NULL : pb__varint(w->p, w->end, &v);
	*ret = (int64_t)v;
	return !w->has_values || w->p;
}

static int end_run(struct otlp_input *in, struct walk *w)
{
	int e = w->group == DCM_NONE ? 0 : add_row(in, w->group, w->at, &w->sum);

	w->sum = 0;
	return e;
}

static int walk_time(struct otlp_input *in, void *ctx, uint64_t time_ns)
{
	struct walk *w = ctx;
	int64_t value = 0;
	uint32_t group;
	int e = find_window(in, (int64_t)time_ns, &group);

	if (e == 0 && !next_value(in, w, &value)) /* they were counted */
		e = otlp_input__fault(in, "a sample has fewer values than timestamps");
	if (e == 0 && group != w->group)
		e = end_run(in, w);
	if (e < 0)
		return e;
	w->group = group;
	if (__builtin_add_overflow(w->sum, value, &w->sum))
		return otlp_input__fault(in, "the values of a sample are more than 2^63 together");
	return 0;
}

static int add_timed(struct otlp_input *in, const struct pb_field *f, const struct sample *s,
		     struct spot at)
{
	/* A count until 1.7 is of all timestamps. */
	bool has_values = s->n_values == s->n_times && !(s->n_times == 1 && s->n_values == 0);
	struct walk w = {
		.at = at, .values = otlp_input__within(f), .has_values = has_values, .group = DCM_NONE
	};
	struct pb_reader r = otlp_input__within(f);
	struct pb_field times;
	int e = 0;

	while (e == 0 && pb__next(&r, &times))
		if (times.number == in->layout->sample.timestamps)
			e = otlp_input__numbers(in, "timestamps of a sample", &times,
						!in->layout->is_ranged, walk_time, &w);
	return e == 0 ? end_run(in, &w) : e;
}

static int count_fault(struct otlp_input *in, const struct sample *s)
{
	if (s->n_values == 0 && s->n_times == 0)
		return otlp_input__fault(in, "a sample has neither values nor timestamps");
	return otlp_input__fault(in, "a sample has %llu values for %llu timestamps and %u types",
				 (unsigned long long)s->n_values, (unsigned long long)s->n_times,
				 in->profile.n_types);
}

static int add_sample(struct otlp_input *in, const struct pb_field *f, const struct sample *s,
		      struct spot at)
{
	const struct otlp_profile *p = &in->profile;
	bool is_count = in->layout->is_ranged && s->n_values == 1 && s->n_times > 0 &&
			(uint64_t)s->values[0] == s->n_times;
	uint32_t group;
	int e;

	if (p->n_types == 1 && s->n_times && (s->n_values == 0 || s->n_values == s->n_times || is_count))
		return add_timed(in, f, s, at);
	if (s->n_values != p->n_types || (s->n_times && !in->layout->is_ranged))
		return count_fault(in, s);
	e = s->n_times ? find_window(in, s->first_time_ns, &group)
		       : find_group(in, p->time_ns, p->duration_ns, &group);
	return e == 0 ? add_row(in, group, at, s->values) : e;
}

static int read_sample(struct otlp_input *in, const struct pb_field *f)
{
	struct pb_reader r = otlp_input__within(f);
	struct sample s;
	struct spot at = { 0, 0 };
	struct pb_field field;
	int e = otlp_input__message(in, "a sample", f);

	s.stack = s.n_locations = s.link = s.n_values = s.n_times = 0;
	s.has_link = false;
	s.labels.n = 0;
	s.first_time_ns = 0;
	while (e == 0 && pb__next(&r, &field))
		e = take_field(in, &s, &field);
	if (e == 0)
		e = otlp_input__check(in, "a sample", &r);
	if (e < 0)
		return e;
	s.labels.link = s.has_link || (!in->layout->is_ranged && in->tables[OTLP_LINKS].n)
				? (s.link < DCM_NONE ? (uint32_t)s.link : DCM_NONE - 1)
				: DCM_NONE;
	e = in->layout->is_ranged ? find_range(in, &s, &at.stack)
				  : otlp_tables__stack(in, s.stack, &at.stack);
	if (e == 0)
		e = otlp_labels__set(in, &s.labels, &at.label_set);
	return e == 0 ? add_sample(in, f, &s, at) : e;
}

int otlp_samples__read(struct otlp_input *in, size_t i, const struct pb_field *f)
{
	int e = read_sample(in, f);

	if (e < 0 && e != -ENOMEM)
		error__prefix(in->err, "sample %zu", i);
	return e;
}

int otlp_samples__add(struct otlp_input *in)
{
	for (size_t i = 0; i < in->groups.n; i++) {
		const struct otlp_group *g = &in->groups.v[i];
		const struct dcm_profile head = {
			.series = g->series,
			.time_ns = g->time_ns,
			.duration_ns = g->duration_ns,
			.period = g->period,
		};
		if (g->first == DCM_NONE)
			continue;
		builder__profile(in->b, &head, in->types.v + g->type_off, g->n_types);
		for (uint32_t row = g->first; row != DCM_NONE; row = in->rows.v[row].next) {
			const struct otlp_row *r = &in->rows.v[row];
			builder__row(in->b, r->stack, r->label_set, in->values.v + r->value_off);
		}
	}
	return 0;
}
