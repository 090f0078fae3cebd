/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/spool_rig.c - a spool on the simulated disk of the local store's tests, and batches that know their number
 */
#include "tests/unit/spool_rig.h"

#include <errno.h>
#include <string.h>

#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static void count_lost(void *ctx, const char *reason, uint64_t n)
{
	struct rig *s = ctx;

	if (strcmp(reason, "spool_full") == 0)
		s->full += n;
	else if (strcmp(reason, "spool_expired") == 0)
		s->expired += n;
	else if (strcmp(reason, "spool_damaged") == 0)
		s->damaged += n;
	else
		fail();
}

void rig__reopen(struct rig *s)
{
	assert_int_equal(spool__open(sim__vfs(s->sim), &s->config, &s->spool, NULL), 0);
}

void rig__begin_at(struct rig *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->sim = sim__new(seed, SIM_SUBSET);
	s->clock = clock__fake(0, 1000 * SECOND);
	s->config = (struct spool_config){ .max_bytes = 64 << 20,
					   .aside_bytes = 1 << 20,
					   .max_age_ns = 100 * SECOND,
					   .fed_bytes = 64 << 20,
					   .clock = &s->clock,
					   .lost = count_lost,
					   .ctx = s };
}

void rig__begin(struct rig *s)
{
	rig__begin_at(s, 1);
	rig__reopen(s);
}

void rig__end(struct rig *s)
{
	spool__close(s->spool);
	assert_int_equal(sim__n_open(s->sim), 0);
	sim__free(s->sim);
}

void rig__restart(struct rig *s, bool power_cut)
{
	spool__close(s->spool);
	s->spool = NULL;
	sim__restart(s->sim, power_cut);
	rig__reopen(s);
}

struct dcm_batch *rig__batch_of(uint64_t number)
{
	struct dcm_batch *b = random_batch__of((struct dcm_hash){ 1, 2 }, number, number % 7,
					       RANDOM_ONE_PROFILE, RANDOM_BASE_NS);

	assert_non_null(b);
	return b;
}

int rig__try_append(struct rig *s, uint64_t first, uint32_t n)
{
	struct dcm_batch *batches[8] = { 0 };
	int r;

	for (uint32_t i = 0; i < n; i++)
		batches[i] = rig__batch_of(first + i);
	/* The group's name is its first number, as if the batches stayed where they are. */
	r = spool__append(s->spool, (const void *)(uintptr_t)(first + 1), batches, n, NULL);
	for (uint32_t i = 0; i < n; i++)
		batch__unref(batches[i]);
	return r;
}

void rig__append(struct rig *s, uint64_t first, uint32_t n)
{
	assert_int_equal(rig__try_append(s, first, n), 0);
}

uint64_t rig__rows_of(uint64_t number)
{
	struct dcm_batch *b = rig__batch_of(number);
	uint64_t n = batch__n_rows(b);

	batch__unref(b);
	return n;
}

void rig__assert_same(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct buf x = { 0 }, y = { 0 };

	assert_int_equal(wire__encode(a, &x), 0);
	assert_int_equal(wire__encode(b, &y), 0);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.data, y.data, x.n);
	buf__fini(&x);
	buf__fini(&y);
}

int64_t rig__next(struct rig *s, struct spool_item *ret)
{
	struct dcm_batch *expected;
	int64_t number;
	int r = spool__next(s->spool, ret);

	if (r == -EAGAIN || (r < 0 && sim__is_cut(s->sim)))
		return -1;
	assert_int_equal(r, 0);
	number = (int64_t)ret->batch->id.sequence;
	expected = rig__batch_of((uint64_t)number);
	rig__assert_same(ret->batch, expected);
	assert_int_equal(ret->rows, batch__n_rows(expected));
	batch__unref(expected);
	batch__unref(ret->batch);
	return number;
}

void rig__deliver(struct rig *s, int64_t expected)
{
	struct spool_item item;

	assert_int_equal(rig__next(s, &item), expected);
	spool__settle(s->spool, &item, 0);
}

void rig__assert_empty(struct rig *s)
{
	struct spool_view v;
	struct spool_item item;

	spool__view(s->spool, &v);
	assert_int_equal(v.n_batches, 0);
	assert_int_equal(v.n_rows, 0);
	assert_int_equal(v.bytes, 0);
	assert_int_equal(rig__next(s, &item), -1);
}

void rig__pass(struct rig *s, int64_t ns)
{
	s->clock.fake_mono_ns += ns;
	s->clock.fake_real_ns += ns;
}
