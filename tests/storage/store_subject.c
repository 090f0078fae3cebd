/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_subject.c - the local store, as the checkers of crashes and faults drive a store
 */
#include "tests/storage/store_subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"
#include "tests/storage/block_rows.h"

#define FIRST_MS INT64_C(1700000000000)
#define HOUR_MS	 INT64_C(3600000)
enum { WRITE_MAX = 8, STATUSES = 4096 };

struct subject_store {
	struct storage storage; /* for its host */
	struct store *store;
	unsigned complaints;
	int statuses[STATUSES]; /* of writes, by their first number: one that waits may be told much later */
};

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct subject_store *s = ctx;

	(void)sentence;
	s->complaints += level == DCM_LOG_ERROR;
}

static uint32_t number_string(struct dcm_builder *b, const char *what, uint64_t id)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%u", what, (unsigned)(id % 7));
	return builder__string(b, str__of(text));
}

/* At which hour a batch is, and back: in each sixteen all are out of order, and some late by many hours. */
static uint64_t swap(uint64_t id)
{
	return (id & ~UINT64_C(15)) | (id & 1) << 3 | (id & 2) << 1 | (id & 4) >> 1 | (id & 8) >> 3;
}

static struct dcm_batch *make_batch(uint64_t id)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct dcm_type type = { .temporality = DCM_DELTA };

	if (!b)
		return NULL;
	builder__set_source(b, (struct dcm_hash){ 7, 7 }, id);
	uint32_t name = number_string(b, "f", id);
	uint32_t function = builder__function(b, &(struct dcm_function){ .name = name });
	uint32_t location = builder__location(b,
					      &(struct dcm_location){ .mapping = DCM_NONE,
								      .process = DCM_NONE,
								      .addr_kind = DCM_ADDR_NONE },
					      &(struct dcm_line){ .function = function }, 1);
	uint32_t stack = builder__stack(b, &location, 1);
	struct dcm_pair pair = { builder__string(b, str__of("service_name")),
				 number_string(b, "s", id / 7) };
	struct dcm_label label = { .name = builder__string(b, str__of("id")),
				   .num = (int64_t)id,
				   .unit = 0 };
	uint32_t set = builder__label_set(b, &label, 1);
	type.name = type.sample_type = type.sample_unit = type.period_type = type.period_unit =
		builder__string(b, str__of("x"));
	builder__profile(
		b,
		&(struct dcm_profile){ .series = builder__series(b, &pair, 1),
				       .time_ns = (FIRST_MS + (int64_t)swap(id) * HOUR_MS) * 1000000 },
		&type, 1);
	int64_t value = (int64_t)id * 3 + 1;
	builder__row(b, stack, set, &value);
	return builder__seal(b, &batch, NULL) < 0 ? NULL : batch;
}

/* -------------------------------------------------------------------------------------------------
 * What is there
 */

struct collecting {
	struct subject_store *s;
	void (*each)(void *ctx, uint64_t id);
	void *ctx;
};

static void take(const struct collecting *c, const struct dict *d, int64_t time_ms, uint32_t stack,
		 uint32_t set, int64_t value)
{
	uint64_t id = swap((uint64_t)((time_ms - FIRST_MS) / HOUR_MS)), want = id % 7;
	const struct dict_label_set *labels = set < d->label_sets.n ? dict__label_set_at(d, set) : NULL;
	bool ok = labels && labels->n == 1 && labels->labels[0].num == (int64_t)id &&
		  value == (int64_t)id * 3 + 1 && stack < d->stacks.n &&
		  dict__stack_at(d, stack)->n == 1;

	if (ok) {
		uint32_t location;

		dict__stack_locations(d, dict__stack_at(d, stack), &location);
		const struct dict_lines *lines = atomic_load(&dict__location_at(d, location)->lines);
		const struct dcm_function *f = lines ? POOL_AT(&d->functions, struct dcm_function,
							       lines->v[0].function)
						     : NULL;
		struct dcm_str name = f ? dict__str(d, f->name) : STR("");

		ok = name.n == 2 && name.p[0] == 'f' && name.p[1] == (char)('0' + want);
	}
	c->s->complaints += !ok;
	c->each(c->ctx, id);
}

static void take_heads(const struct collecting *c, const struct heads *heads)
{
	for (size_t i = 0; i < heads->n; i++) {
		const struct streams *s = &heads->v[i]->streams;

		for (size_t j = 0; j < s->n; j++)
			for (size_t k = 0; k < s->v[j].profiles.n; k++) {
				const struct profile *p = s->v[j].profiles.v[k];

				take(c, s->dict, p->time_ms, p->rows[0].stack, p->rows[0].labels,
				     p->rows[0].value);
			}
	}
}

/* 0, or why it cannot be read at this moment. */
static int take_block(const struct collecting *c, struct stored *stored)
{
	plain_profiles profiles = { 0 };
	const struct block *block;
	struct era *era;
	int r = store__era(c->s->store, stored->entry.era, &era, NULL);

	if (r)
		return r;
	r = stored__block(stored, &block, NULL);
	if (r == 0)
		plain__read(&profiles, block, 0);
	for (size_t i = 0; i < profiles.n; i++) {
		const struct plain_profile *p = &profiles.v[i];

		take(c, era->dict, p->time_ms, p->rows[0].stack, p->rows[0].label_set,
		     p->rows[0].values[0]);
	}
	plain__fini(&profiles);
	era__unref(era);
	return r;
}

static void subject_ids(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct subject_store *s = store;
	struct collecting c = { s, each, ctx };

	for (size_t i = 0; i < s->store->blocks.n; i++)
		s->complaints += take_block(&c, s->store->blocks.v[i]) != 0;
	take_heads(&c, &s->store->sealing);
	take_heads(&c, &s->store->active);
}

/* -------------------------------------------------------------------------------------------------
 * The rest
 */

static void subject_close(void *store)
{
	struct subject_store *s = store;

	if (!s)
		return;
	store__close(s->store);
	free(s);
}

/* So that what there is can be read when the power has gone. */
static int open_all(struct store *store)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < store->blocks.n; i++) {
		const struct block *block;
		struct era *era = NULL;

		r = store__era(store, store->blocks.v[i]->entry.era, &era, NULL);
		if (r == 0)
			r = stored__block(store->blocks.v[i], &block, NULL);
		era__unref(era);
	}
	return r;
}

static int subject_open(struct vfs *v, const struct subject_setup *setup, void **ret,
			unsigned *ret_complaints)
{
	struct subject_store *s = NEW(struct subject_store);
	struct commit_found found;
	int r;

	if (!s)
		return -ENOMEM;
	storage__host(&s->storage);
	s->storage.real_ns = INT64_MAX / 2; /* nothing is of a time to come */
	struct store_options o = {
		.seal_ms = INT64_MAX / 10000000,
		.head_max_bytes = 1 << 20,
		.segment_bytes = setup->segment_bytes,
		.align = setup->align,
		.report = complain,
		.report_ctx = s,
	};
	r = store__open(&s->storage.host, v, &o, &found, &s->store, NULL);
	if (r == 0)
		r = open_all(s->store);
	if (r) {
		subject_close(s);
		return r;
	}
	*ret_complaints = s->complaints;
	*ret = s;
	return 0;
}

static void note_done(void *ctx, int status)
{
	*(int *)ctx = status;
}

static int subject_write(void *store, uint64_t from, unsigned n)
{
	struct dcm_batch *batches[WRITE_MAX] = { NULL };
	struct subject_store *s = store;
	int r = n > WRITE_MAX ? -EINVAL : 0, *status = &s->statuses[from % STATUSES];

	for (unsigned i = 0; i < n && r == 0; i++) {
		batches[i] = make_batch(from + i);
		r = batches[i] ? r : -ENOMEM;
	}
	*status = -EINPROGRESS;
	if (r == 0)
		r = store__write(s->store, batches, n, note_done, status, NULL);
	for (unsigned i = 0; i < WRITE_MAX; i++)
		batch__unref(batches[i]);
	return r ? r : *status;
}

static int subject_seal(void *store)
{
	return upkeep__seal(((struct subject_store *)store)->store, NULL);
}

static int subject_compact(void *store)
{
	int r = rework__compact(((struct subject_store *)store)->store, NULL);

	return r < 0 ? r : 0;
}

/* The block that goes is the one whose newest profile is the oldest. */
static int subject_retain(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct subject_store *s = store;
	struct collecting c = { s, each, ctx };
	struct stored *oldest = NULL;
	uint64_t bytes = upkeep__bytes(s->store), n = 0;

	for (size_t i = 0; i < s->store->blocks.n; i++)
		if (!oldest || s->store->blocks.v[i]->entry.last_ms < oldest->entry.last_ms)
			oldest = s->store->blocks.v[i];
	if (!oldest)
		return 0;
	int r = take_block(&c, oldest);
	return r ? r : expire__remove(s->store, INT64_MIN, bytes > 1 ? bytes - 1 : 1, &n, NULL);
}

static int subject_settle(void *store)
{
	return commit__settle(((struct subject_store *)store)->store->commit, NULL);
}

static int subject_probe(void *store)
{
	return commit__probe(((struct subject_store *)store)->store->commit, NULL);
}

const struct subject store_subject = {
	.open = subject_open,
	.close = subject_close,
	.write = subject_write,
	.seal = subject_seal,
	.compact = subject_compact,
	.retain = subject_retain,
	.settle = subject_settle,
	.probe = subject_probe,
	.ids = subject_ids,
};
