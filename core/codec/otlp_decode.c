/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_decode.c - an OTLP request into a builder: dictionary, resources, scopes, profiles
 *
 * Time is linear in the bytes. Memory beside the builder's: at most twice the bytes that are allowed, as entries of tables and
 * rows are limited to one for 16 of these, those that take more than 32 count for several.
 */
#include "core/codec/otlp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "core/codec/foreign.h"
#include "core/codec/otlp_input.h"
#include "core/codec/pprof.h"

#define BYTES_PER_ENTRY 16
#define ENTRIES_MIN	4096
#define CELLS_MIN	((uint64_t)4 << 20)
#define CELLS_PER_BYTE	64

/* ---- faults and numbers ---- */

static int set_fault(struct otlp_input *in, int code, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static int set_fault(struct otlp_input *in, int code, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	return error__set(in->err, code, "%s", text);
}

int otlp_input__fault(struct otlp_input *in, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int e = set_fault(in, -EINVAL, fmt, ap);
	va_end(ap);
	return e;
}

int otlp_input__excess(struct otlp_input *in, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int e = set_fault(in, -E2BIG, fmt, ap);
	va_end(ap);
	return e;
}

int otlp_input__check(struct otlp_input *in, const char *what, const struct pb_reader *r)
{
	return r->fault ? otlp_input__fault(in, "%s: %s", what, r->fault) : 0;
}

int otlp_input__charge(struct otlp_input *in, uint64_t n)
{
	if (in->max_entries < n)
		return otlp_input__excess(
			in,
			"more entries in its tables, or samples, than so many bytes should need");
	in->max_entries -= n;
	return 0;
}

int otlp_input__message(struct otlp_input *in, const char *what, const struct pb_field *f)
{
	return f->type == PB_BYTES
		       ? 0
		       : otlp_input__fault(in, "%s has wire type %u, and is no message", what, f->type);
}

int otlp_input__numbers(struct otlp_input *in, const char *what, const struct pb_field *f,
			bool is_fixed, otlp_number_fn take, void *ctx)
{
	uint64_t v;
	int e = 0;

	if (f->type == (is_fixed ? PB_FIXED64 : PB_VARINT))
		return take(in, ctx, f->value);
	if (f->type != PB_BYTES)
		return otlp_input__fault(in, "%s have wire type %u", what, f->type);
	for (const uint8_t *p = f->p, *end = p + f->n; e == 0 && p < end;) {
		if (is_fixed) {
			if (end - p < 8)
				return otlp_input__fault(in, "%s are cut off", what);
			memcpy(&v, p, sizeof(v));
			p += sizeof(v);
		} else {
			p = pb__varint(p, end, &v);
			if (!p)
				return otlp_input__fault(in, "%s are cut off", what);
		}
		e = take(in, ctx, v);
	}
	return e;
}

int otlp_input__fields(struct otlp_input *in, const char *what, struct otlp_piece at, uint32_t n,
		       uint64_t *ret, uint32_t *ret_present)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f;
	uint32_t present = 0;

	for (uint32_t i = 0; i <= n; i++)
		ret[i] = 0;
	while (pb__next(&r, &f)) {
		if (f.number > n)
			continue;
		if (f.type != PB_VARINT)
			return otlp_input__fault(in, "field %u of %s has wire type %u, and is no number",
						 f.number, what, f.type);
		ret[f.number] = f.value;
		present |= 1u << f.number;
	}
	if (ret_present)
		*ret_present = present;
	return otlp_input__check(in, what, &r);
}

/* ---- types ---- */

struct value_type {
	struct dcm_str type, unit;
	uint64_t temporality; /* until 1.8: 1 delta, 2 cumulative */
};

static int read_value_type(struct otlp_input *in, const char *what, const struct pb_field *f,
			   struct value_type *ret)
{
	uint64_t v[4];
	int e = otlp_input__message(in, what, f);

	if (e == 0)
		e = otlp_input__fields(in, what, otlp_input__piece(in, f), 3, v, NULL);
	if (e == 0)
		e = otlp_tables__text(in, what, v[1], &ret->type);
	if (e == 0)
		e = otlp_tables__text(in, what, v[2], &ret->unit);
	ret->temporality = v[3];
	return e;
}

static bool is_one_of(struct dcm_str s, const char *const *names)
{
	for (; *names; names++)
		if (str__eq(s, str__of(*names)))
			return true;
	return false;
}

/* A value is of the time from start to end; a heap in use, or what counts since a start, that profilers send all the same, is not. */
static enum dcm_temporality temporality_of(const struct otlp_input *in, const struct value_type *t)
{
	static const char *const gauges[] = { "inuse_space", "inuse_objects", "goroutine",
					      "goroutines", NULL };
	static const char *const totals[] = { "alloc_space", "alloc_objects", "contentions",
					      "delay", NULL };

	if (in->o->has_temporality)
		return in->o->temporality;
	if (is_one_of(t->type, gauges))
		return DCM_GAUGE;
	if (t->temporality)
		return t->temporality == 2 ? DCM_CUMULATIVE : DCM_DELTA;
	return is_one_of(t->type, totals) && in->profile.duration_ns == 0 ? DCM_CUMULATIVE : DCM_DELTA;
}

static int add_types(struct otlp_input *in, const struct value_type *types, uint32_t n,
		     const struct value_type *period)
{
	struct otlp_profile *p = &in->profile;
	struct dcm_str names[TYPES_MAX], name = in->o->name;

	for (uint32_t i = 0; i < n; i++) {
		names[i] = types[i].type;
		if (names[i].n == 0)
			return otlp_input__fault(in, "its sample_type has no type");
	}
	if (n == 0)
		return otlp_input__fault(in, "it has no sample_type");
	if (name.n == 0)
		name = str__eq(period->type, STR("cpu")) ? STR("process_cpu")
							 : decode__usual_name(names, n);
	p->type_off = (uint32_t)in->types.n;
	p->n_types = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct dcm_type made = {
			.name = decode__type_part(in->b, name),
			.sample_type = decode__type_part(in->b, types[i].type),
			.sample_unit = decode__type_part(in->b, types[i].unit),
			.period_type = decode__type_part(in->b, period->type),
			.period_unit = decode__type_part(in->b, period->unit),
			.temporality = temporality_of(in, &types[i]),
		};
		if (!vec__push(&in->types, made))
			return error__nomem(in->err);
	}
	return 0;
}

/* ---- a profile ---- */

/* What of a profile is known before its samples are read. */
struct head {
	struct value_type types[TYPES_MAX], period;
	uint32_t n_types;
	size_t n_samples;
	struct dcm_str format, payload;
};

static int take_location_index(struct otlp_input *in, void *ctx, uint64_t v)
{
	int e = otlp_input__charge(in, 1);

	(void)ctx;
	if (e == 0 && !vec__push(&in->profile.locations, v < DCM_NONE ? (uint32_t)v : DCM_NONE))
		e = error__nomem(in->err);
	return e;
}

static int take_profile_attribute(struct otlp_input *in, void *ctx, uint64_t v)
{
	(void)ctx;
	return otlp_labels__attribute(in, v);
}

static int take_time(struct otlp_input *in, const char *what, const struct pb_field *f, int64_t *ret)
{
	if (f->type != PB_VARINT && f->type != PB_FIXED64)
		return otlp_input__fault(in, "%s is no number", what);
	if (f->value > INT64_MAX)
		return otlp_input__fault(in, "%s is negative, or beyond the year 2262", what);
	*ret = (int64_t)f->value;
	return 0;
}

static int take_sample_type(struct otlp_input *in, const struct pb_field *f, struct head *h)
{
	/* One that is sent again is the same message, until 1.7 it is another type. */
	if (!in->layout->is_ranged)
		h->n_types = 0;
	if (h->n_types == TYPES_MAX)
		return otlp_input__excess(in, "more than %d sample types", TYPES_MAX);
	return read_value_type(in, "sample_type", f, &h->types[h->n_types++]);
}

static int take_text(struct otlp_input *in, const char *what, const struct pb_field *f,
		     struct dcm_str *ret)
{
	int e = otlp_input__message(in, what, f);

	if (e == 0)
		*ret = otlp_input__view(f);
	return e;
}

static int take_head(struct otlp_input *in, const struct pb_field *f, struct head *h)
{
	const struct otlp_layout *l = in->layout;
	struct otlp_profile *p = &in->profile;

	if (f->number == 1)
		return take_sample_type(in, f, h);
	if (f->number == 2) {
		h->n_samples++;
		return 0;
	}
	if (f->number == l->profile.time)
		return take_time(in, "its time", f, &p->time_ns);
	if (f->number == l->profile.duration)
		return take_time(in, "its duration", f, &p->duration_ns);
	if (f->number == l->profile.period)
		return take_time(in, "its period", f, &p->period);
	if (f->number == l->profile.period_type)
		return read_value_type(in, "period_type", f, &h->period);
	if (f->number == l->profile.format)
		return take_text(in, "original_payload_format", f, &h->format);
	if (f->number == l->profile.payload)
		return take_text(in, "original_payload", f, &h->payload);
	if (f->number == l->profile.attribute_indices)
		return otlp_input__numbers(in, "attribute_indices of the profile", f, false,
					   take_profile_attribute, NULL);
	if (f->number == l->profile.location_indices)
		return otlp_input__numbers(in, "location_indices", f, false, take_location_index, NULL);
	if (f->number == l->profile.attributes)
		return otlp_labels__key_value(in, "", f);
	return 0;
}

static int read_head(struct otlp_input *in, const struct pb_field *profile, struct head *h)
{
	struct pb_reader r = otlp_input__within(profile);
	struct pb_field f;
	int e = 0;

	while (e == 0 && pb__next(&r, &f))
		e = take_head(in, &f, h);
	if (e == 0)
		e = otlp_input__check(in, "its fields", &r);
	if (e == 0 && in->profile.duration_ns > INT64_MAX - in->profile.time_ns)
		e = otlp_input__fault(in, "its end is beyond the year 2262");
	if (e == 0 && in->profile.time_ns == 0)
		in->profile.time_ns = in->o->time_ns;
	return e;
}

static void refuse_payload(struct otlp_input *in, struct dcm_str format)
{
	struct decode_notes *notes = in->o->notes;

	if (!notes || notes->n_refused++ > 0)
		return;
	notes->refusal = (struct dcm_error)DCM_ERROR_INIT;
	error__set(&notes->refusal,
		   -EINVAL, "profile %u has no samples but an original_payload of format \"%.*s\", which is not read: send samples, or pprof",
		   in->n_profiles - 1, (int)(format.n < 64 ? format.n : 64), format.p);
}

/* A profile that is all in its payload. */
static int read_payload(struct otlp_input *in, const struct head *h)
{
	struct decode_options o = *in->o;
	struct dcm_label_text labels[LABELS_MAX];

	if (!str__eq(h->format, STR("pprof"))) {
		refuse_payload(in, h->format);
		return 0;
	}
	for (size_t i = 0; i < in->labels.n; i++)
		labels[i] = in->labels.v[i].text;
	o.labels = labels;
	o.n_labels = (uint32_t)in->labels.n;
	o.time_ns = in->profile.time_ns;
	return pprof__read((const uint8_t *)h->payload.p, h->payload.n, &o, in->b, in->err);
}

static int read_samples(struct otlp_input *in, const struct pb_field *profile)
{
	struct pb_reader r = otlp_input__within(profile);
	struct pb_field f;
	size_t i = 0;
	int e = 0;

	while (e == 0 && builder__error(in->b) == 0 && pb__next(&r, &f))
		if (f.number == 2)
			e = otlp_samples__read(in, i++, &f);
	return e;
}

static int list_tables(struct otlp_input *in, const struct pb_field *holder)
{
	struct pb_reader r = otlp_input__within(holder);
	struct pb_field f;
	int e = otlp_input__message(in, "the dictionary", holder);

	while (e == 0 && pb__next(&r, &f))
		e = otlp_tables__list(in, &f);
	return e == 0 ? otlp_input__check(in, "the dictionary", &r) : e;
}

static int read_within(struct otlp_input *in, const struct pb_field *f)
{
	struct head h = { .period = { STR(""), STR(""), 0 }, .format = STR(""), .payload = STR("") };
	int e = otlp_input__message(in, "it", f);

	if (e == 0 && in->layout->has_tables_in_profile) {
		e = list_tables(in, f);
		if (e == 0)
			e = otlp_tables__begin(in);
	}
	if (e == 0)
		e = read_head(in, f, &h);
	if (e == 0)
		e = otlp_labels__series(in, &in->profile.series);
	if (e < 0)
		return e;
	if (h.n_samples == 0)
		return h.payload.n ? read_payload(in, &h) : 0;
	e = add_types(in, h.types, h.n_types, &h.period);
	return e == 0 ? read_samples(in, f) : e;
}

static int read_profile(struct otlp_input *in, const struct pb_field *f)
{
	size_t mark = in->labels.n;

	if (in->n_profiles == OTLP_MAX_PROFILES)
		return otlp_input__excess(in, "more than %d profiles", OTLP_MAX_PROFILES);
	in->n_profiles++;
	in->profile.time_ns = in->profile.duration_ns = in->profile.period = 0;
	in->profile.locations.n = 0;
	in->profile.range_stack = in->profile.group = DCM_NONE;
	int e = read_within(in, f);
	if (e < 0 && e != -ENOMEM)
		error__prefix(in->err, "profile %u", in->n_profiles - 1);
	if (in->layout->has_tables_in_profile)
		otlp_tables__end(in);
	in->labels.n = mark;
	return e;
}

/* ---- scopes and resources ---- */

/* Resource { attributes = 1 } */
static int read_resource_labels(struct otlp_input *in, const struct pb_field *resource)
{
	struct pb_reader r = otlp_input__within(resource);
	struct pb_field f;
	int e = otlp_input__message(in, "a resource", resource);

	while (e == 0 && pb__next(&r, &f))
		if (f.number == 1)
			e = otlp_labels__key_value(in, "", &f);
	return e == 0 ? otlp_input__check(in, "a resource", &r) : e;
}

/* InstrumentationScope { name = 1, version = 2, attributes = 3 } */
static int read_scope_labels(struct otlp_input *in, const struct pb_field *scope)
{
	struct pb_reader r = otlp_input__within(scope);
	struct pb_field f;
	int e = otlp_input__message(in, "a scope", scope);

	while (e == 0 && pb__next(&r, &f)) {
		if (f.number == 1 && f.type == PB_BYTES)
			e = otlp_labels__text(in, "otel_scope_name", otlp_input__view(&f));
		else if (f.number == 2 && f.type == PB_BYTES)
			e = otlp_labels__text(in, "otel_scope_version", otlp_input__view(&f));
		else if (f.number == 3)
			e = otlp_labels__key_value(in, "otel_scope_", &f);
	}
	return e == 0 ? otlp_input__check(in, "a scope", &r) : e;
}

typedef int (*read_fn)(struct otlp_input *in, const struct pb_field *f);

/* What holds others says first, in field 1, what is common to those in field 2. */
static int read_both(struct otlp_input *in, const char *what, const struct pb_field *holder,
		     const read_fn read[2])
{
	size_t mark = in->labels.n;
	struct pb_field f;
	int e = otlp_input__message(in, what, holder);

	for (uint32_t k = 0; k < 2; k++) {
		struct pb_reader r = otlp_input__within(holder);
		while (e == 0 && pb__next(&r, &f))
			if (f.number == k + 1)
				e = read[k](in, &f);
		if (e == 0)
			e = otlp_input__check(in, what, &r);
	}
	in->labels.n = mark;
	return e;
}

static int read_scope(struct otlp_input *in, const struct pb_field *f)
{
	static const read_fn read[] = { read_scope_labels, read_profile };

	return read_both(in, "scope_profiles", f, read);
}

static int read_resource(struct otlp_input *in, const struct pb_field *f)
{
	static const read_fn read[] = { read_resource_labels, read_scope };

	in->shared.n = 0;
	return read_both(in, "resource_profiles", f, read);
}

/* ---- all of it ---- */

static int read_dictionary(struct otlp_input *in)
{
	struct pb_reader r = pb__reader(in->data, in->n);
	struct pb_field f;
	int e = 0;

	if (in->layout->has_tables_in_profile)
		return 0;
	while (e == 0 && pb__next(&r, &f))
		if (f.number == 2)
			e = list_tables(in, &f);
	if (e == 0 && r.fault)
		e = otlp_input__fault(in, "at byte %zu: %s", (size_t)(r.p - in->data), r.fault);
	return e == 0 ? otlp_tables__begin(in) : e;
}

static int read_request(struct otlp_input *in)
{
	struct pb_reader r = pb__reader(in->data, in->n);
	struct pb_field f;
	int e = read_dictionary(in);

	if (e == 0)
		e = otlp_labels__callers(in);
	while (e == 0 && pb__next(&r, &f))
		if (f.number == 1)
			e = read_resource(in, &f);
	if (e == 0 && r.fault)
		e = otlp_input__fault(in, "at byte %zu: %s", (size_t)(r.p - in->data), r.fault);
	return e == 0 ? otlp_samples__add(in) : e;
}

static void input_fini(struct otlp_input *in)
{
	otlp_tables__end(in);
	vec__fini(&in->labels);
	vec__fini(&in->shared);
	vec__fini(&in->profile.locations);
	vec__fini(&in->types);
	vec__fini(&in->groups);
	vec__fini(&in->rows);
	vec__fini(&in->values);
	hindex__fini(&in->group_index);
	arena__fini(&in->arena);
}

static int read_as(const struct otlp_layout *layout, const uint8_t *data, size_t n,
		   const struct decode_options *o, struct dcm_builder *b, struct dcm_error *err)
{
	uint64_t max_bytes = decode__max_bytes(o, DECODE_MAX_BYTES);
	/* Of ranges until 1.7: what a builder could hold, and what so many bytes may need. */
	uint64_t cells = CELLS_MIN + CELLS_PER_BYTE * (uint64_t)n;
	struct otlp_input in = {
		.data = data,
		.n = n,
		.layout = layout,
		.o = o,
		.b = b,
		.err = err,
		.max_entries = ENTRIES_MIN + max_bytes / BYTES_PER_ENTRY,
		.max_cells = cells < 4 * max_bytes ? cells : 4 * max_bytes,
	};

	if (n > max_bytes)
		return error__set(err, -E2BIG, "otlp: %zu bytes, more than the limit of %llu", n,
				  (unsigned long long)max_bytes);
	int e = read_request(&in);
	input_fini(&in);
	if (e < 0 && e != -ENOMEM)
		error__prefix(err, "otlp %s", layout->name);
	if (e == -EINVAL)
		foreign__tell("otlp", data, n, err);
	return e;
}

static int read_current(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_builder *b, struct dcm_error *err)
{
	if (o->notes)
		o->notes->version = otlp_layout__current.name;
	return read_as(&otlp_layout__current, data, n, o, b, err);
}

static int read_any(const uint8_t *data, size_t n, const struct decode_options *o,
		    struct dcm_builder *b, struct dcm_error *err)
{
	bool told;
	const struct otlp_layout *layout = otlp_layout__of(data, n, o->likely_version, &told, err);

	if (!layout)
		return -EINVAL;
	if (o->notes) {
		o->notes->old_version = layout != &otlp_layout__current ? layout->name : NULL;
		o->notes->version = layout->name;
		o->notes->is_version_told = told;
	}
	return read_as(layout, data, n, o, b, err);
}

int otlp__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		 struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_any, data, n, o, ret, err);
}

int otlp__decode_current(const uint8_t *data, size_t n, const struct decode_options *o,
			 struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_current, data, n, o, ret, err);
}
