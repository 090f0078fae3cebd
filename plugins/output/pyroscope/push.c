/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/push.c - a profile as requests of push.v1
 */
#include "plugins/output/pyroscope/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "plugins/output/delivery/legacy_name.h"
#include "plugins/output/delivery/profile_id.h"

/* Fields of proto/push/v1/push.proto. */
enum {
	REQUEST_SERIES = 1,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	LABEL_NAME = 1,
	LABEL_VALUE = 2,
	SAMPLE_PPROF = 1,
	SAMPLE_ID = 2
};

enum { GZIP_LENGTH_BYTES = 4, UUID_TEXT = 37 };

/* ---- labels ---- */

static void put_label(struct buf *series, struct dcm_str name, struct dcm_str value)
{
	struct buf label = { 0 };

	pb__put_str(&label, LABEL_NAME, name);
	pb__put_str(&label, LABEL_VALUE, value);
	pb__put_nested(series, SERIES_LABELS, &label);
	buf__fini(&label);
}

static void put_labels(struct buf *series, const struct dcm_batch *b, const struct dcm_profile *profile)
{
	const struct dcm_span span = b->series[profile->series];
	const struct dcm_type *type = &b->types[profile->type_off];
	struct buf name = { 0 };
	bool has_service = false;

	put_label(series, STR("__name__"), b->strings[type->name]);
	if (type->temporality == DCM_DELTA)
		put_label(series, STR("__delta__"), STR("false"));
	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_pair *pair = &b->pairs[span.off + i];

		if (str__starts(b->strings[pair->name], STR("__")))
			continue;
		buf__reset(&name);
		legacy_name__put_pair(&name, b, span, i);
		has_service |= str__eq(buf__view(&name), STR("service_name"));
		put_label(series, buf__view(&name), b->strings[pair->value]);
		if (name.error)
			series->error = name.error;
	}
	buf__fini(&name);
	if (!has_service)
		put_label(series, STR("service_name"), STR("unknown"));
}

/* ---- samples ---- */

/* Version 8 of RFC 9562, 5.8. */
static void make_id(const struct dcm_batch *b, uint32_t profile, uint32_t part, char ret[static UUID_TEXT])
{
	const struct dcm_hash h = profile_id__of(b, profile, part);

	snprintf(ret, UUID_TEXT, "%08llx-%04llx-8%03llx-%04llx-%012llx",
		 (unsigned long long)h.hi >> 32, (unsigned long long)h.hi >> 16 & 0xffff,
		 (unsigned long long)h.hi & 0xfff, ((unsigned long long)h.lo >> 48 & 0x3fff) | 0x8000,
		 (unsigned long long)h.lo & 0xffffffffffff);
}

static void put_sample(struct buf *series, const uint8_t *pprof, size_t n, const char *id)
{
	struct buf sample = { 0 };

	pb__put_bytes(&sample, SAMPLE_PPROF, pprof, n);
	pb__put_str(&sample, SAMPLE_ID, str__of(id));
	pb__put_nested(series, SERIES_SAMPLES, &sample);
	buf__fini(&sample);
}

/* What gzip says at its end of what it has packed (RFC 1952, 2.3.1). */
static uint32_t plain_bytes(const uint8_t *gzip, size_t n)
{
	return n < GZIP_LENGTH_BYTES ? 0 : le__get32(gzip + n - GZIP_LENGTH_BYTES);
}

/* Rows of the profile as the only one of a batch that has all else of the other. */
static int encode_rows(const struct dcm_host *host, const struct dcm_batch *b, uint32_t profile,
		       const struct push_progress *from, uint32_t n, uint8_t **ret, size_t *ret_n,
		       struct dcm_error *err)
{
	struct dcm_profile p = b->profiles[profile];
	struct dcm_batch view = *b;

	p.row_off += from->rows;
	p.value_off += (uint64_t)from->rows * p.n_types;
	p.n_rows = n;
	p.time_ns += from->parts * INT64_C(1000000);
	/* None at all would make a state of it for some. */
	if (from->parts && p.duration_ns)
		p.duration_ns = 1;
	view.profiles = &p;
	view.n_profiles = 1;
	return host->encode(host, &view, 0, "pprof", ret, ret_n, err);
}

static bool adds_up(const struct dcm_batch *b, const struct dcm_profile *p)
{
	for (uint32_t i = 0; i < p->n_types; i++)
		if (b->types[p->type_off + i].temporality != DCM_DELTA)
			return false;
	return true;
}

static uint32_t smaller(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* The next part's pprof, of as many rows as the limits let it have. */
static int encode_part(const struct dcm_host *host, const struct dcm_batch *b, uint32_t profile,
		       const struct push_limits *limits, const struct push_progress *from,
		       struct push_progress *ret_to, uint8_t **ret, size_t *ret_n, struct dcm_error *err)
{
	const struct dcm_profile *p = &b->profiles[profile];
	const bool parts = adds_up(b, p);
	const uint32_t left = p->n_rows - from->rows;
	uint32_t n = left;

	if (parts && limits->rows)
		n = smaller(n, (uint64_t)limits->rows);
	/* One that was small for its rows' sake does not keep those behind it small. */
	if (parts && from->most)
		n = smaller(n, (uint64_t)from->most * 2);
	for (;; n /= 2) {
		int r = encode_rows(host, b, profile, from, n, ret, ret_n, err);

		if (r < 0)
			return r == -ENOMEM ? -EAGAIN : -EILSEQ;
		if (!parts || !limits->bytes || n <= 1 || plain_bytes(*ret, *ret_n) <= limits->bytes)
			break;
		free(*ret);
		*ret = NULL;
	}
	*ret_to = (struct push_progress){ .rows = from->rows + n, .parts = from->parts + 1, .most = n };
	return 0;
}

int push__request(const struct dcm_host *host, const struct dcm_batch *b, uint32_t profile,
		  const struct push_limits *limits, const struct push_progress *from,
		  struct push_progress *ret_to, struct buf *out, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *pprof = NULL;
	struct buf series = { 0 };
	char id[UUID_TEXT];
	size_t n = 0;
	int r = encode_part(host, b, profile, limits, from, ret_to, &pprof, &n, err);

	if (r < 0)
		return r;
	put_labels(&series, b, &b->profiles[profile]);
	make_id(b, profile, from->parts, id);
	put_sample(&series, pprof, n, id);
	pb__put_nested(out, REQUEST_SERIES, &series);
	buf__fini(&series);
	return out->error ? error__set(err, -EAGAIN, "no memory for a request") : 0;
}
