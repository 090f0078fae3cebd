/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pprof_decode.c - a pprof into a builder: the first pass, types, samples
 *
 * Time is linear in the bytes. Memory beside the builder's: the unpacked bytes, and at most half as
 * much for tables, as entries are limited to one for 16 bytes that are allowed.
 */
#include "core/codec/pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "core/batch/type.h"
#include "core/deflate/deflate.h"
#include "core/codec/foreign.h"
#include "core/codec/legacy.h"
#include "core/codec/pprof_input.h"
#include "core/codec/varints.h"

#define BYTES_PER_ENTRY 16
#define ENTRIES_MIN	4096
#define MAX_COMMENTS	4096 /* later ones are not looked at */

/* The samples whose ids the first pass counts: the first ones, and then one of so many. */
enum { COUNTED_FIRST = 1024, COUNTED_EACH = 8 };

static void input_fini(struct pprof_input *in)
{
	vec__fini(&in->strings);
	vec__fini(&in->mappings);
	vec__fini(&in->functions);
	vec__fini(&in->locations);
	vec__fini(&in->sample_types);
	vec__fini(&in->comments);
	free(in->string_ids);
	free(in->label_names);
	free(in->in_mappings);
	pprof_ids__fini(&in->mapping_ids);
	pprof_ids__fini(&in->function_ids);
	pprof_ids__fini(&in->location_ids);
	arena__fini(&in->arena);
}

/* ------------------------------------------------------------------------------------------------
 * The first pass: where messages are, and the profile's own numbers
 */

enum profile_field {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRING_TABLE = 6,
	TIME_NANOS = 9,
	DURATION_NANOS = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12,
	COMMENT = 13,
};

static int head_fault(struct pprof_input *in, const char *field, const char *fault)
{
	return error__set(in->err, -EINVAL, "pprof: %s %s", field, fault);
}

/* Where messages of this kind are listed; NULL for another field. */
static struct pprof_pieces *list_of(struct pprof_input *in, uint32_t field)
{
	switch (field) {
	case SAMPLE_TYPE:
		return &in->sample_types;
	case MAPPING:
		return &in->mappings;
	case LOCATION:
		return &in->locations;
	case FUNCTION:
		return &in->functions;
	case STRING_TABLE:
		return &in->strings;
	default:
		return NULL;
	}
}

static int list(struct pprof_input *in, struct pprof_pieces *list, const struct pb_field *f)
{
	if (f->type != PB_BYTES)
		return error__set(in->err, -EINVAL, "pprof: field %u of the profile has wire type %u",
				  f->number, f->type);
	if (in->max_entries-- == 0)
		return error__set(
			in->err, -E2BIG,
			"pprof: more entries in its tables than so many bytes should need");
	struct pprof_piece piece = { (uint32_t)(f->p - in->data), (uint32_t)f->n };
	return vec__push(list, piece) ? 0 : error__nomem(in->err);
}

static int list_comment(struct pprof_input *in, uint64_t index)
{
	struct pprof_piece piece = { index < UINT32_MAX ? (uint32_t)index : UINT32_MAX, 0 };

	if (in->comments.n < MAX_COMMENTS && !vec__push(&in->comments, piece))
		return error__nomem(in->err);
	return 0;
}

/* One comment's string index, or several packed ones. */
static int list_comments(struct pprof_input *in, const struct pb_field *f)
{
	uint64_t index;
	int r = 0;

	if (f->type == PB_VARINT)
		return list_comment(in, f->value);
	if (f->type != PB_BYTES)
		return head_fault(in, "comment", "is no number");
	for (const uint8_t *p = f->p, *end = f->p + f->n; r == 0 && p < end;) {
		p = pb__varint(p, end, &index);
		if (!p)
			return head_fault(in, "comment", "is cut off");
		r = list_comment(in, index);
	}
	return r;
}

static int take_number(struct pprof_input *in, const struct pb_field *f, const char *name, int64_t *ret)
{
	if (f->type != PB_VARINT)
		return head_fault(in, name, "is no number");
	if ((int64_t)f->value < 0)
		return head_fault(in, name, "is negative");
	*ret = (int64_t)f->value;
	return 0;
}

/*
 * How many ids a sample has: as nearly all are written, packed and first. Otherwise at most as many
 * as it has bytes.
 */
static uint64_t count_ids(const struct pb_field *f)
{
	struct pb_reader r = pb__reader(f->p, f->n);
	struct pb_field ids;

	if (pb__next(&r, &ids) && ids.number == 1 && ids.type == PB_BYTES)
		return varints__count(ids.p, ids.n);
	return f->n;
}

static int take_sample(struct pprof_input *in, const struct pb_field *f)
{
	if (f->type != PB_BYTES)
		return head_fault(in, "sample", "is no message");
	/* Some tell enough of all: to look into each would be a tenth of the time of decoding. */
	if (in->n_samples < COUNTED_FIRST || in->n_samples % COUNTED_EACH == 0) {
		in->n_counted++;
		in->n_counted_ids += count_ids(f);
	}
	in->n_samples++;
	return 0;
}

static int take_field(struct pprof_input *in, const struct pb_field *f)
{
	struct pprof_pieces *pieces = list_of(in, f->number);

	if (pieces)
		return list(in, pieces, f);
	switch (f->number) {
	case SAMPLE:
		return take_sample(in, f);
	case PERIOD_TYPE:
		if (f->type != PB_BYTES)
			return head_fault(in, "period_type", "is no message");
		in->period_type = (struct pprof_piece){ (uint32_t)(f->p - in->data), (uint32_t)f->n };
		return 0;
	case TIME_NANOS:
		return take_number(in, f, "time_nanos", &in->time_ns);
	case DURATION_NANOS:
		return take_number(in, f, "duration_nanos", &in->duration_ns);
	case PERIOD:
		return take_number(in, f, "period", &in->period);
	case COMMENT:
		return list_comments(in, f);
	default:
		return 0;
	}
}

/*
 * About how many ids all samples have, and a sixteenth more where not all were counted. Should it
 * be too few, columns grow. Both factors are below 2^32, as is the number of bytes.
 */
static uint64_t expected_ids(const struct pprof_input *in)
{
	if (in->n_counted == in->n_samples)
		return in->n_counted_ids;
	uint64_t about = in->n_counted_ids * in->n_samples / in->n_counted;
	return about + about / 16;
}

static int scan(struct pprof_input *in)
{
	struct pb_reader r = pb__reader(in->data, in->n);
	struct pb_field f;

	while (pb__next(&r, &f)) {
		int e = take_field(in, &f);
		if (e < 0)
			return e;
	}
	if (r.fault)
		return error__set(in->err, -EINVAL, "pprof: at byte %zu: %s",
				  (size_t)(r.p - in->data), r.fault);
	if (in->strings.n == 0 || in->strings.v[0].n != 0)
		return error__set(in->err, -EINVAL, "pprof: %s",
				  in->strings.n ? "string_table[0] is not \"\""
						: "it has no string_table");
	if (in->sample_types.n == 0 || in->sample_types.n > TYPES_MAX)
		return error__set(in->err, in->sample_types.n ? -E2BIG : -EINVAL,
				  "pprof: it has %zu sample types; 1 to %d are possible",
				  in->sample_types.n, TYPES_MAX);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Types, series, and our own comments
 */

/* A sample or period type's texts. */
struct value_type {
	struct dcm_str type, unit;
};

static int read_value_type(struct pprof_input *in, struct pprof_place at, struct pprof_piece piece,
			   struct value_type *ret)
{
	static const char *const names[] = { NULL, "type", "unit" };
	uint64_t v[3];

	int r = pprof_input__numbers(in, at, piece, names, 2, v, NULL);
	if (r == 0)
		r = pprof_input__text(in, at, names[1], v[1], &ret->type);
	return r < 0 ? r : pprof_input__text(in, at, names[2], v[2], &ret->unit);
}

/* What a comment "decima: type .." says. */
struct told_type {
	struct type_text text;
	enum dcm_temporality temporality;
};

/* "name:..:delta", "name:.. gauge", "name:.. cumulative" */
static bool parse_told(struct dcm_str s, struct told_type *ret)
{
	static const char *const words[] = {
		[DCM_DELTA] = ":delta", [DCM_GAUGE] = " gauge", [DCM_CUMULATIVE] = " cumulative"
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!str__ends(s, str__of(words[i])))
			continue;
		ret->temporality = (enum dcm_temporality)i;
		if (words[i][0] == ' ')
			s.n -= (uint32_t)strlen(words[i]);
		return type__parse(s, &ret->text, NULL) == 0;
	}
	return false;
}

static struct dcm_str after(struct dcm_str s, struct dcm_str prefix)
{
	return (struct dcm_str){ s.p + prefix.n, s.n - prefix.n };
}

/*
 * Reads our comments: types into told[*ret_n_told], labels into the input's. What is not of their
 * form is another's comment.
 */
static int read_comments(struct pprof_input *in, struct told_type told[TYPES_MAX], size_t *ret_n_told)
{
	const struct dcm_str type = STR("decima: type "), label = STR("decima: label ");
	size_t n_told = 0;

	*ret_n_told = 0;
	in->labels = arena__zalloc(&in->arena, LABELS_MAX, sizeof(*in->labels));
	if (!in->labels)
		return error__nomem(in->err);
	for (size_t i = 0; i < in->comments.n; i++) {
		struct dcm_str s;
		int r = pprof_input__text(in, (struct pprof_place){ "comment", i }, "it",
					  in->comments.v[i].off, &s);
		if (r < 0)
			return r;
		if (str__starts(s, type) && n_told < TYPES_MAX)
			n_told += parse_told(after(s, type), &told[n_told]);
		if (!str__starts(s, label) || in->n_labels == LABELS_MAX)
			continue;
		struct dcm_str pair = after(s, label);
		const char *equals = memchr(pair.p, '=', pair.n);
		if (!equals || equals == pair.p)
			continue;
		uint32_t n_name = (uint32_t)(equals - pair.p);
		in->labels[in->n_labels++] = (struct dcm_label_text){
			{ pair.p, n_name }, { equals + 1, pair.n - n_name - 1 }
		};
	}
	*ret_n_told = n_told;
	return 0;
}

/*
 * The series and, in order, what our comments say about the sample types (when there is no name).
 */
static int read_origin(struct pprof_input *in, struct told_type *told, size_t *ret_n_told)
{
	struct told_type ignored[TYPES_MAX];
	bool named = in->o->name.n > 0 || in->o->n_labels > 0;
	int r = read_comments(in, named ? ignored : told, ret_n_told);

	if (r < 0 || !named)
		return r;
	*ret_n_told = 0;
	in->n_labels = in->o->n_labels;
	in->labels = arena__alloc(&in->arena, in->n_labels * sizeof(*in->labels));
	if (!in->labels)
		return error__nomem(in->err);
	for (uint32_t i = 0; i < in->n_labels; i++)
		in->labels[i] = in->o->labels[i];
	return 0;
}

/* Comments count when there is one for each sample type, and when they mean these. */
static bool told_fits(const struct pprof_input *in, const struct told_type *told, size_t n_told,
		      const struct value_type *types)
{
	if (n_told != in->sample_types.n)
		return false;
	for (size_t i = 0; i < n_told; i++)
		if (!str__eq(told[i].text.sample_type, types[i].type) ||
		    !str__eq(told[i].text.sample_unit, types[i].unit))
			return false;
	return true;
}

static int read_types(struct pprof_input *in, struct dcm_type *ret)
{
	struct told_type told[TYPES_MAX];
	struct value_type types[TYPES_MAX], period = { STR(""), STR("") };
	struct dcm_str sample_types[TYPES_MAX];
	size_t n = in->sample_types.n, n_told;

	int r = read_origin(in, told, &n_told);
	if (r == 0 && in->period_type.n)
		r = read_value_type(in, (struct pprof_place){ "period_type", 0 }, in->period_type,
				    &period);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct pprof_place at = { "sample_type", i };
		r = read_value_type(in, at, in->sample_types.v[i], &types[i]);
		if (r == 0 && types[i].type.n == 0)
			r = pprof_input__fault(in, at, "its type is empty");
		sample_types[i] = types[i].type;
	}
	if (r < 0)
		return r;
	bool is_told = told_fits(in, told, n_told, types);
	struct dcm_str name = in->o->name;
	if (name.n == 0)
		name = decode__usual_name(sample_types, n);
	for (size_t i = 0; i < n; i++) {
		const struct type_text *t = &told[i].text;
		ret[i] = (struct dcm_type){
			.name = decode__type_part(in->b, is_told ? t->name : name),
			.sample_type = decode__type_part(in->b, types[i].type),
			.sample_unit = decode__type_part(in->b, types[i].unit),
			.period_type = decode__type_part(in->b, is_told ? t->period_type : period.type),
			.period_unit = decode__type_part(in->b, is_told ? t->period_unit : period.unit),
			.temporality = is_told && !in->o->has_temporality
					       ? told[i].temporality
					       : decode__temporality(in->o, name, types[i].type,
								     in->is_total ? 0 : in->duration_ns),
		};
	}
	return 0;
}

static int add_profile(struct pprof_input *in)
{
	struct dcm_type types[TYPES_MAX];
	int r = read_types(in, types);
	if (r < 0)
		return r;
	struct decode_options series = { .labels = in->labels, .n_labels = in->n_labels };
	struct dcm_profile head = {
		.series = decode__series(&series, in->b),
		.time_ns = in->time_ns ? in->time_ns : in->o->time_ns,
		.duration_ns = in->duration_ns,
		.period = in->period,
	};
	builder__profile(in->b, &head, types, (uint32_t)in->sample_types.n);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Samples
 */

struct sample {
	uint32_t n_locations, max_locations, n_values;
	uint32_t *locations; /* the builder's room for [max_locations] */
	int64_t values[TYPES_MAX];
	struct pprof_labels *labels;
	uint32_t label_set;
};

static inline int add_location(struct pprof_input *in, struct pprof_place at, struct sample *s,
			       uint64_t id)
{
	uint32_t location = pprof_ids__find(&in->location_ids, id);

	if (__builtin_expect(location == DCM_NONE, 0))
		return pprof_input__fault(in, at, "location id %llu does not exist",
					  (unsigned long long)id);
	if (__builtin_expect(s->n_locations == s->max_locations, 0))
		return error__set(in->err, -E2BIG, "pprof: %s %zu: more than %d locations", at.what,
				  at.i, STACK_MAX_DEPTH);
	s->locations[s->n_locations++] = location;
	return 0;
}

static inline int add_value(struct pprof_input *in, struct pprof_place at, struct sample *s, uint64_t value)
{
	if (__builtin_expect(s->n_values == in->sample_types.n, 0))
		return pprof_input__fault(in, at, "more values than the %zu sample types",
					  in->sample_types.n);
	s->values[s->n_values++] = (int64_t)value;
	return 0;
}

/*
 * Packed ids as long as they are what nearly all are: plain and of up to three bytes. Returns where
 * the others begin; that is p when one of them is of no location.
 */
static const uint8_t *read_plain_ids(const struct pprof_input *in, const uint8_t *p,
				     const uint8_t *end, struct sample *s)
{
	/* Ids count from 1, and our rows from 0. */
	struct varints rows = { s->locations, s->n_locations, s->max_locations, .base = 1 };
	const uint8_t *behind = varints__read(p, end, in->data + in->n, &rows);

	if (rows.largest >= in->location_ids.n_plain)
		return p;
	s->n_locations = rows.n;
	return behind;
}

static int read_locations(struct pprof_input *in, struct pprof_place at, const struct pb_field *f,
			  struct sample *s)
{
	if (f->type == PB_VARINT)
		return add_location(in, at, s, f->value);
	if (f->type != PB_BYTES)
		return pprof_input__fault(in, at, "location_id has wire type %u", f->type);
	const uint8_t *end = f->p + f->n;
	for (const uint8_t *p = read_plain_ids(in, f->p, end, s); p < end;) {
		uint64_t id;
		p = pb__varint(p, end, &id);
		if (!p)
			return pprof_input__fault(in, at, "location_id is cut off");
		int r = add_location(in, at, s, id);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_values(struct pprof_input *in, struct pprof_place at, const struct pb_field *f,
		       struct sample *s)
{
	if (f->type == PB_VARINT)
		return add_value(in, at, s, f->value);
	if (f->type != PB_BYTES)
		return pprof_input__fault(in, at, "value has wire type %u", f->type);
	for (const uint8_t *p = f->p, *end = f->p + f->n; p < end;) {
		uint64_t value;
		p = pb__varint(p, end, &value);
		if (!p)
			return pprof_input__fault(in, at, "value is cut off");
		int r = add_value(in, at, s, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int note_label(struct pprof_input *in, struct pprof_place at, const struct pb_field *f,
		      struct pprof_labels *labels)
{
	if (f->type != PB_BYTES)
		return pprof_input__fault(in, at, "label has wire type %u", f->type);
	if (labels->n == LABELS_MAX)
		return error__set(in->err, -E2BIG, "pprof: %s %zu: more than %d labels", at.what,
				  at.i, LABELS_MAX);
	labels->pieces[labels->n++] = (struct pprof_piece){ (uint32_t)(f->p - in->data), (uint32_t)f->n };
	return 0;
}

static bool all_zero(const struct sample *s)
{
	for (uint32_t i = 0; i < s->n_values; i++)
		if (s->values[i])
			return false;
	return true;
}

static int read_fields(struct pprof_input *in, struct pprof_place at, struct pb_reader r,
		       struct sample *s)
{
	struct pb_field f;
	int e = 0;

	s->n_locations = s->n_values = s->labels->n = 0;
	while (e == 0 && pb__next(&r, &f)) {
		if (f.number == 1)
			e = read_locations(in, at, &f, s);
		else if (f.number == 2)
			e = read_values(in, at, &f, s);
		else if (f.number == 3)
			e = note_label(in, at, &f, s->labels);
	}
	if (e == 0)
		e = pprof_input__check(in, at, &r);
	if (e == 0 && s->n_values != in->sample_types.n)
		e = pprof_input__fault(in, at, "%u values for %zu sample types", s->n_values,
				       in->sample_types.n);
	return e;
}

/* All but its stack is in *s then. */
static int read_sample(struct pprof_input *in, struct pprof_place at, const struct pb_field *f,
		       struct sample *s)
{
	int e = read_fields(in, at, pb__reader(f->p, f->n), s);

	s->label_set = 0;
	if (e == 0 && s->labels->n)
		e = pprof_labels__set(in, at, s->labels, &s->label_set);
	return e;
}

/*
 * Samples in turn: one is read while what the stacks of those before are compared with is fetched.
 */
struct samples {
	struct sample turns[BUILDER_STACKS_AHEAD + 1];
	uint64_t n_ended, n_added;
	struct pprof_labels labels;
};

static struct sample *turn_of(struct samples *s, uint64_t i)
{
	return &s->turns[i % (sizeof(s->turns) / sizeof(s->turns[0]))];
}

/* The row of the oldest sample that is not added yet, now that its stack is known. */
static void add_row(struct pprof_input *in, uint32_t stack, struct samples *s)
{
	const struct sample *oldest = turn_of(s, s->n_added++);

	builder__row(in->b, stack, oldest->label_set, oldest->values);
}

/*
 * A stack is unpacked to where it stays, should it be a new one. Ends early when the builder fails:
 * who seals it is told why.
 */
static int read_all(struct pprof_input *in, struct samples *s)
{
	struct pb_reader r = pb__reader(in->data, in->n);
	struct pprof_place at = { "sample", 0 };
	struct pb_field f;

	for (; at.i < in->n_samples && pb__next(&r, &f); at.i += f.number == SAMPLE) {
		struct sample *now = turn_of(s, s->n_ended);
		if (f.number != SAMPLE)
			continue;
		/* No id is shorter than a byte; and there is room to read them in steps. */
		now->max_locations = f.n < STACK_MAX_DEPTH ? (uint32_t)f.n + VARINTS_SPARE
							   : STACK_MAX_DEPTH;
		now->locations = builder__stack_begin(in->b, now->max_locations);
		if (!now->locations)
			return 0;
		int e = read_sample(in, at, &f, now);
		if (e < 0)
			return e;
		if (all_zero(now))
			continue;
		uint32_t stack = builder__stack_end(in->b, now->n_locations);
		s->n_ended++;
		if (stack != DCM_NONE)
			add_row(in, stack, s);
	}
	return 0;
}

/* Whatever came of the reading, no stack may be left waiting. */
static int read_samples(struct pprof_input *in)
{
	CLEANUP(mem__freep) struct samples *s = NEW(struct samples);
	if (!s)
		return error__nomem(in->err);
	for (size_t i = 0; i < sizeof(s->turns) / sizeof(s->turns[0]); i++)
		s->turns[i].labels = &s->labels;
	int r = read_all(in, s);
	for (uint32_t stack; (stack = builder__stack_last(in->b)) != DCM_NONE;)
		add_row(in, stack, s);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

/* is_total: the values are since a start, whatever the duration says. */
static int read_proto(const struct buf *bytes, const struct decode_options *o, bool is_total,
		      struct dcm_builder *b, struct dcm_error *err)
{
	struct pprof_input in = {
		.data = bytes->data,
		.n = bytes->n,
		.max_entries = ENTRIES_MIN + decode__max_bytes(o, DECODE_MAX_BYTES) / BYTES_PER_ENTRY,
		.o = o,
		.is_total = is_total,
		.b = b,
		.err = err,
	};

	int r = scan(&in);
	if (r == 0) {
		const struct builder_sizes sizes = {
			.strings = in.strings.n,
			.functions = in.functions.n,
			.locations = in.locations.n,
			.stacks = in.n_samples,
			.stack_locations = expected_ids(&in) + STACK_MAX_DEPTH, /* while the last is read */
			.rows = in.n_samples,
			.values = in.n_samples * in.sample_types.n,
		};
		builder__expect(b, &sizes);
		r = pprof_input__tables(&in);
	}
	if (r == 0)
		r = add_profile(&in);
	if (r == 0)
		r = read_samples(&in);
	input_fini(&in);
	return r;
}

/* One of the older formats, by way of profile.proto. */
static int read_legacy(const struct buf *bytes, const struct decode_options *o,
		       struct dcm_builder *b, struct dcm_error *err)
{
	struct decode_options told = *o;
	struct buf proto = { 0 };
	struct legacy_facts facts;

	int r = legacy__convert(bytes->data, bytes->n, decode__max_bytes(o, DECODE_MAX_BYTES),
				&proto, &facts, err);
	if (r == 0) {
		if (told.name.n == 0 && facts.name)
			told.name = str__of(facts.name);
		if (!told.has_temporality && facts.is_delta) {
			told.has_temporality = true;
			told.temporality = DCM_DELTA;
		}
		if (o->notes)
			o->notes->has_mean_sizes = facts.has_mean_sizes;
		r = read_proto(&proto, &told, facts.is_total, b, err);
	}
	buf__fini(&proto);
	return r;
}

/* Not compressed, or no longer. */
static int read_plain(const struct buf *bytes, const struct decode_options *o,
		      struct dcm_builder *b, struct dcm_error *err)
{
	uint64_t max_bytes = decode__max_bytes(o, DECODE_MAX_BYTES);

	if (bytes->n > max_bytes)
		return error__set(err, -E2BIG, "pprof: %zu bytes, more than the limit of %llu",
				  bytes->n, (unsigned long long)max_bytes);
	if (legacy__is(bytes->data, bytes->n))
		return read_legacy(bytes, o, b, err);
	int r = read_proto(bytes, o, false, b, err);
	if (r == -EINVAL)
		foreign__tell("pprof", bytes->data, bytes->n, err);
	return r;
}

int pprof__read(const uint8_t *data, size_t n, const struct decode_options *o,
		struct dcm_builder *b, struct dcm_error *err)
{
	struct buf plain = { 0 };

	if (!deflate__is_compressed(data, n)) {
		const struct buf bytes = { .data = (uint8_t *)(uintptr_t)data, .n = n };
		return read_plain(&bytes, o, b, err);
	}
	int r = deflate__unpack(data, n, decode__max_bytes(o, DECODE_MAX_BYTES), &plain, err);
	if (r < 0)
		error__prefix(err, "pprof");
	else
		r = read_plain(&plain, o, b, err);
	buf__fini(&plain);
	return r;
}

int pprof__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		  struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(pprof__read, data, n, o, ret, err);
}
