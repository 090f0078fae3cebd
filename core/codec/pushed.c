/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pushed.c - requests that carry pprofs with the labels of their series: Pyroscope's push.v1, Parca's WriteRaw
 */
#include "core/codec/pushed.h"

#include <errno.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/builder.h"
#include "core/codec/pprof.h"
#include "core/deflate/deflate.h"

enum {
	MAX_LABELS = 256,    /* of a series, the caller's among them */
	MAX_PROFILES = 65536 /* of a request */
};

#define SAMPLE_TYPE(name, temporality)                                                             \
	{                                                                                          \
		{ "" name, sizeof(name) - 1 }, temporality                                         \
	}
static const struct dcm_temporality_of temporalities[] = {
	SAMPLE_TYPE("inuse_space", DCM_GAUGE), SAMPLE_TYPE("inuse_objects", DCM_GAUGE),
	SAMPLE_TYPE("alloc_space", DCM_DELTA), SAMPLE_TYPE("alloc_objects", DCM_DELTA),
	SAMPLE_TYPE("contentions", DCM_DELTA), SAMPLE_TYPE("delay", DCM_DELTA),
};
enum { N_GAUGES = 2, N_TEMPORALITIES = sizeof(temporalities) / sizeof(temporalities[0]) };

/* What the two differ in. */
struct dialect {
	const char *name;
	uint32_t series;     /* number of the field */
	uint32_t normalized; /* of another: addresses are the ELF files' already; 0: there is none */
	bool has_label_sets; /* labels stand in a message of their own */
	bool takes_gauges;   /* what is in use is a gauge whatever the profile's duration says */
};
static const struct dialect push_v1 = { "push.v1", 1, 0, false, true };
static const struct dialect write_raw = { "writeraw", 2, 3, true, false };

struct request {
	const struct dialect *dialect;
	const struct decode_options *o;
	struct dcm_builder *b;
	struct dcm_error *err;
	uint64_t left; /* bytes that raw profiles may yet have */
	uint32_t n_series, n_profiles;
	bool is_normalized;
	/* Of the series at hand: */
	struct dcm_str name;
	bool has_differences; /* __delta__="false" */
	struct dcm_label_text labels[MAX_LABELS];
	uint32_t n_labels;
};

static int fault(struct request *q, const char *what)
{
	return error__set(q->err, -EINVAL, "%s: series %u: %s", q->dialect->name, q->n_series, what);
}

static bool is_message(const struct pb_field *f, uint32_t number)
{
	return f->number == number && f->type == PB_BYTES;
}

/* ---- labels ---- */

static int put_label(struct request *q, struct dcm_str name, struct dcm_str value)
{
	if (str__eq(name, STR("__name__"))) {
		q->name = value;
		return 0;
	}
	if (str__eq(name, STR("__delta__")))
		q->has_differences = str__eq(value, STR("false"));
	if (name.n == 0)
		return fault(q, "a label has no name");
	if (str__starts(name, STR("__")) || value.n == 0)
		return 0;
	if (q->n_labels == MAX_LABELS)
		return error__set(q->err, -E2BIG, "%s: series %u: more than %d labels",
				  q->dialect->name, q->n_series, MAX_LABELS);
	q->labels[q->n_labels++] = (struct dcm_label_text){ name, value };
	return 0;
}

static int read_label(struct request *q, const struct pb_field *pair)
{
	struct pb_reader r = pb__reader(pair->p, pair->n);
	struct dcm_str name = STR(""), value = STR("");
	struct pb_field f;

	while (pb__next(&r, &f)) {
		if (is_message(&f, 1))
			name = pb__str(&f);
		else if (is_message(&f, 2))
			value = pb__str(&f);
	}
	return r.fault ? fault(q, r.fault) : put_label(q, name, value);
}

static int read_label_set(struct request *q, const struct pb_field *set)
{
	struct pb_reader r = pb__reader(set->p, set->n);
	struct pb_field f;
	int e = 0;

	while (e == 0 && pb__next(&r, &f))
		if (is_message(&f, 1))
			e = read_label(q, &f);
	return e == 0 && r.fault ? fault(q, r.fault) : e;
}

/* The sender's labels, behind which come the caller's: these win. */
static int read_labels(struct request *q, const struct pb_field *series)
{
	struct pb_reader r = pb__reader(series->p, series->n);
	struct pb_field f;
	int e = 0;

	q->name = q->o->name;
	q->has_differences = false;
	q->n_labels = 0;
	while (e == 0 && pb__next(&r, &f))
		if (is_message(&f, 1))
			e = q->dialect->has_label_sets ? read_label_set(q, &f) : read_label(q, &f);
	if (e == 0 && r.fault)
		e = fault(q, r.fault);
	for (uint32_t i = 0; e == 0 && i < q->o->n_labels; i++) {
		for (uint32_t k = 0; k < q->n_labels; k++)
			if (str__eq(q->labels[k].name, q->o->labels[i].name))
				q->labels[k--] = q->labels[--q->n_labels];
		e = put_label(q, q->o->labels[i].name, q->o->labels[i].value);
	}
	return e;
}

/* ---- profiles ---- */

static int read_profile(struct request *q, const struct pb_field *raw)
{
	struct decode_options o = *q->o;
	CLEANUP(buf__fini)
	struct buf unpacked = { 0 };
	const uint8_t *plain = raw->p;
	size_t n = raw->n;
	int r = 0;

	if (q->n_profiles++ == MAX_PROFILES)
		return error__set(q->err, -E2BIG, "%s: more than %d profiles", q->dialect->name,
				  MAX_PROFILES);
	o.name = q->name;
	o.labels = q->labels;
	o.n_labels = q->n_labels;
	o.has_elf_addresses = q->is_normalized;
	if (q->dialect->takes_gauges) {
		o.temporalities = temporalities;
		o.n_temporalities = q->has_differences ? N_TEMPORALITIES : N_GAUGES;
	}
	o.max_bytes = q->left + 1; /* 0 would be the usual limit */
	if (deflate__is_compressed(raw->p, raw->n)) {
		r = deflate__unpack(raw->p, raw->n, q->left, &unpacked, q->err);
		plain = unpacked.data;
		n = unpacked.n;
	} else if (raw->n > q->left)
		r = error__set(q->err, -E2BIG, "more than the limit of %llu bytes",
			       (unsigned long long)decode__max_bytes(q->o, DECODE_MAX_BYTES));
	if (r == 0) {
		q->left -= n;
		r = pprof__read(plain, n, &o, q->b, q->err);
	}
	if (r < 0 && r != -ENOMEM)
		error__prefix(q->err, "%s: series %u, profile %u", q->dialect->name, q->n_series,
			      q->n_profiles - 1);
	return r;
}

static int read_sample(struct request *q, const struct pb_field *sample)
{
	struct pb_reader r = pb__reader(sample->p, sample->n);
	struct pb_field f;
	int e = 0;

	while (e == 0 && pb__next(&r, &f))
		if (is_message(&f, 1))
			e = read_profile(q, &f);
	return e == 0 && r.fault ? fault(q, r.fault) : e;
}

static int read_series(struct request *q, const struct pb_field *series)
{
	struct pb_reader r = pb__reader(series->p, series->n);
	struct pb_field f;
	int e = read_labels(q, series);

	while (e == 0 && pb__next(&r, &f))
		if (is_message(&f, 2))
			e = read_sample(q, &f);
	q->n_series++;
	return e;
}

/* It stands behind the series as a rule. */
static bool is_normalized(const struct dialect *dialect, const uint8_t *data, size_t n)
{
	struct pb_reader r = pb__reader(data, n);
	struct pb_field f;
	bool is = false;

	while (dialect->normalized && pb__next(&r, &f))
		if (f.number == dialect->normalized && f.type == PB_VARINT)
			is = f.value;
	return is;
}

static int read_request(const struct dialect *dialect, const uint8_t *data, size_t n,
			const struct decode_options *o, struct dcm_builder *b, struct dcm_error *err)
{
	struct request q = {
		.dialect = dialect, .o = o, .b = b, .err = err, .left = decode__max_bytes(o, DECODE_MAX_BYTES)
	};
	struct pb_reader r = pb__reader(data, n);
	struct pb_field f;
	int e = 0;

	q.is_normalized = is_normalized(dialect, data, n);
	while (e == 0 && pb__next(&r, &f))
		if (is_message(&f, dialect->series))
			e = read_series(&q, &f);
	if (e == 0 && r.fault)
		e = error__set(err, -EINVAL, "%s: byte %zu: %s", dialect->name,
			       (size_t)(r.p - data), r.fault);
	return e;
}

static int read_push_v1(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_builder *b, struct dcm_error *err)
{
	return read_request(&push_v1, data, n, o, b, err);
}

static int read_write_raw(const uint8_t *data, size_t n, const struct decode_options *o,
			  struct dcm_builder *b, struct dcm_error *err)
{
	return read_request(&write_raw, data, n, o, b, err);
}

int pushed__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		   struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_push_v1, data, n, o, ret, err);
}

int pushed__decode_raw(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_write_raw, data, n, o, ret, err);
}
