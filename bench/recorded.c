/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/recorded.c - reads, writes, describes and splits a recorded set
 */
#include "bench/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/codec/wire.h"

/* A frame of a megabyte may claim more than a machine has. */
enum { FILE_MAX_BYTES = 64 << 20, SET_MAX_BYTES = 512 << 20, ZSTD_LEVEL = 19 };

/* -------------------------------------------------------------------------------------------------
 * The file
 */

static int unpack(const struct buf *packed, struct buf *ret)
{
	const unsigned long long n = ZSTD_getFrameContentSize(packed->data, packed->n);
	uint8_t *room = n <= SET_MAX_BYTES ? buf__reserve(ret, n) : NULL;

	if (n > SET_MAX_BYTES) /* unknown and damaged are beyond it, too */
		return -EINVAL;
	if (!room)
		return ret->error;
	if (ZSTD_decompress(room, n, packed->data, packed->n) != n)
		return -EINVAL;
	ret->n = n;
	return 0;
}

int recorded__read(const char *path, struct dcm_batch **ret, struct dcm_error *err)
{
	struct buf packed = { 0 }, bytes = { 0 };
	int r = fd__read_path(AT_FDCWD, path, FILE_MAX_BYTES, &packed);

	if (r < 0) {
		error__sys(err, r, "%s", path);
	} else {
		r = unpack(&packed, &bytes);
		if (r < 0)
			error__sys(err, r, "%s: no recorded set", path);
		else
			r = wire__decode(bytes.data, bytes.n, ret, err);
	}
	buf__fini(&packed);
	buf__fini(&bytes);
	return r;
}

int recorded__write(const char *path, const struct dcm_batch *set, struct dcm_error *err)
{
	struct buf bytes = { 0 }, packed = { 0 };
	int r = wire__encode(set, &bytes);
	uint8_t *room = r == 0 ? buf__reserve(&packed, ZSTD_compressBound(bytes.n)) : NULL;

	if (!room) {
		r = error__nomem(err);
	} else {
		packed.n = ZSTD_compress(room, ZSTD_compressBound(bytes.n), bytes.data, bytes.n,
					 ZSTD_LEVEL);
		r = ZSTD_isError(packed.n) ? error__nomem(err)
					   : fd__replace(path, 0644, packed.data, packed.n, err);
	}
	buf__fini(&bytes);
	buf__fini(&packed);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * What is in it
 */

/* Of the window that begins with profile `at`: the profile behind its last. */
static uint32_t window_end(const struct dcm_batch *set, uint32_t at)
{
	const int64_t time_ns = set->profiles[at].time_ns;

	while (at < set->n_profiles && set->profiles[at].time_ns == time_ns)
		at++;
	return at;
}

int recorded__describe(const struct dcm_batch *set, struct buf *out)
{
	const struct dcm_hash content = batch__content(set);
	uint32_t n_windows = 0;
	uint64_t depth = 0;

	for (uint32_t i = 0; i < set->n_profiles; i = window_end(set, i))
		n_windows++;
	for (uint32_t i = 0; i < set->n_stacks; i++)
		depth += set->stacks[i].n;
	buf__printf(out, "content %016" PRIx64 "%016" PRIx64 "\n", content.hi, content.lo);
	buf__printf(out, "windows %u\n", n_windows);
	buf__printf(out, "profiles %u\n", set->n_profiles);
	buf__printf(out, "rows %" PRIu64 "\n", set->n_rows);
	buf__printf(out, "series %u\n", set->n_series);
	buf__printf(out, "stacks %u\n", set->n_stacks);
	buf__printf(out, "frames %" PRIu64 "\n", depth);
	buf__printf(out, "locations %u\n", set->n_locations);
	buf__printf(out, "label_sets %u\n", set->n_label_sets);
	return out->error;
}

/* -------------------------------------------------------------------------------------------------
 * Windows
 */

struct splitter {
	const struct dcm_batch *set;
	struct dcm_builder *builder;
	struct copier *copier; /* of one window */
	int64_t *sums;	       /* [set->n_stacks] of the profile at hand; NULL: labels stay */
};

/* The profile with one row for each stack; profiles of the sampler have one type. */
static void add_without_labels(struct splitter *s, const struct dcm_profile *p)
{
	const struct dcm_batch *set = s->set;
	const struct dcm_type *t = &set->types[p->type_off];
	const struct dcm_type type = { copier__string(s->copier, t->name),
				       copier__string(s->copier, t->sample_type),
				       copier__string(s->copier, t->sample_unit),
				       copier__string(s->copier, t->period_type),
				       copier__string(s->copier, t->period_unit),
				       t->temporality };
	const uint32_t *stacks = set->row_stacks + p->row_off;
	struct dcm_profile head = *p;

	for (uint32_t i = 0; i < p->n_rows; i++)
		s->sums[stacks[i]] += set->values[p->value_off + i];
	head.series = copier__series(s->copier, p->series);
	builder__profile(s->builder, &head, &type, 1);
	for (uint32_t i = 0; i < p->n_rows; i++) {
		if (!s->sums[stacks[i]])
			continue;
		builder__row(s->builder, copier__stack(s->copier, stacks[i]), 0, &s->sums[stacks[i]]);
		s->sums[stacks[i]] = 0;
	}
}

static int split_one(struct splitter *s, uint32_t begin, uint32_t end, struct dcm_batch **ret)
{
	s->copier = copier__new(s->set, s->builder);
	if (!s->copier)
		return -ENOMEM;
	for (uint32_t i = begin; i < end; i++) {
		const struct dcm_profile *p = &s->set->profiles[i];

		if (s->sums && p->n_types == 1)
			add_without_labels(s, p);
		else
			copier__profile(s->copier, i);
	}
	copier__free(s->copier);
	return builder__seal(s->builder, ret, NULL);
}

int recorded__split(const struct dcm_batch *set, bool labels, struct recorded_windows *ret)
{
	CLEANUP(mem__freep)
	int64_t *sums = labels ? NULL : mem__zalloc(set->n_stacks, sizeof(*sums));
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	struct splitter s = { .set = set, .builder = builder, .sums = sums };
	struct recorded_windows w = { .v = mem__zalloc(set->n_profiles, sizeof(struct dcm_batch *)) };
	int r = w.v && builder && (labels || sums) ? 0 : -ENOMEM;

	for (uint32_t i = 0, end; r == 0 && i < set->n_profiles; i = end) {
		end = window_end(set, i);
		r = split_one(&s, i, end, &w.v[w.n]);
		if (r == 0)
			w.n_rows += w.v[w.n++]->n_rows;
	}
	if (r < 0)
		recorded_windows__fini(&w);
	else
		*ret = w;
	return r;
}

void recorded_windows__fini(struct recorded_windows *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		batch__unref(w->v[i]);
	free(w->v);
	*w = (struct recorded_windows){ 0 };
}
