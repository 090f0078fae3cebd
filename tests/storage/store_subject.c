/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_subject.c - the local store, as the checkers of crashes and faults drive a
 * store
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
#include "plugins/storage/answer/walk.h"
#include "plugins/storage/local/backup.h"
#include "plugins/storage/local/compact_plan.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"
#include "tests/storage/block_rows.h"
#include "tests/storage/evict.h"

#define FIRST_MS INT64_C(1700000000000)
#define HOUR_MS	 INT64_C(3600000)
enum { WRITE_MAX = 8, STATUSES = 4096 };

struct subject_store {
	struct storage storage; /* for its host */
	struct store *store;
	unsigned complaints, deviations;
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

/*
 * At which hour a batch is, and back: in each sixteen all are out of order, and some late by many
 * hours.
 */
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

/* As questions find them. */
struct asking {
	struct collecting collecting;
	struct view view;
	struct groups groups;
	struct match match;
	struct meter meter;
	struct walk walk;
};

static int take_rows(void *ctx, const struct walk_rows *rows)
{
	const struct asking *a = ctx;

	for (uint32_t i = 0; i < rows->n; i++)
		take(&a->collecting, a->view.dict, rows->time_ms, rows->stacks[i],
		     rows->label_sets[i], rows->values[i]);
	return 0;
}

static void subject_ids(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct subject_store *s = store;
	struct asking a = { .collecting = { s, each, ctx }, .meter = { .host = &s->storage.host } };
	const struct walk_user user = { .stacks = true, .label_sets = true, .rows = take_rows, .ctx = &a };

	view__init(&a.view, &s->storage.host, &all, 1);
	int r = look__take(&a.view, s->store);
	if (r == 0)
		r = groups__init(&a.groups, NULL, false);
	if (r == 0)
		r = match__init(&a.match, &a.view, &all, &a.groups);
	if (r == 0)
		r = walk__init(&a.walk, &a.view, &a.match, &a.meter, &user);
	for (size_t i = 0; r == 0 && i < a.view.streams.n; i++)
		r = walk__stream(&a.walk, &a.view.streams.v[i]);
	s->complaints += r != 0;
	walk__fini(&a.walk);
	match__fini(&a.match);
	groups__fini(&a.groups);
	view__fini(&a.view);
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
	s->deviations = setup->deviations;
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
	if (r == 0 && s->deviations & DEVIATE_ACK_EARLY)
		return 0;
	return r ? r : *status;
}

static int subject_seal(void *store)
{
	struct subject_store *s = store;
	struct wal *w = commit__wal(s->store->commit);

	if (s->deviations & DEVIATE_FORGET_EARLY)
		wal__forget(w, wal__cut(w), NULL);
	return upkeep__seal(s->store, NULL);
}

/* commit_change.edit: as if nothing had been removed. */
static int unfilter(void *ctx, struct manifest *next, struct dcm_error *err)
{
	(void)ctx;
	(void)err;
	return manifest__set_extra(next, EXTRA_FILTERS, NULL, 0);
}

/* What the next compaction will read goes before the manifest knows of it; it has been opened. */
static void remove_early(struct store *s)
{
	char path[BLOCK_PATH_BYTES];
	struct compact_plan plan;

	if (compact_plan__choose(&plan, commit__manifest(s->commit), &compact_default_rules,
				 INT64_MAX / 2000000, NULL, NULL) != 1)
		return;
	for (uint32_t i = 0; i < plan.n; i++)
		vfs__unlink(s->vfs, commit__block_path(path, plan.inputs[i].number));
}

/* A rework_yield.fn: seals have their turn. What fails here, fails again when it is its own. */
static bool seal_meanwhile(void *store)
{
	upkeep__seal(store, NULL);
	return false;
}

static int subject_compact(void *store)
{
	struct subject_store *s = store;
	const struct rework_yield yield = { seal_meanwhile, s->store };

	if (s->deviations & DEVIATE_UNFILTER_EARLY)
		return commit__apply(s->store->commit, &(struct commit_change){ .edit = unfilter }, NULL);
	int r = removal__drain(s->store, NULL);
	if (r == 0 && s->deviations & DEVIATE_REMOVE_EARLY)
		remove_early(s->store);
	return r ? r : rework__compact(s->store, &yield, NULL);
}

/* A kind is a series' even or odd numbers. */
static bool subject_removed(unsigned kind, uint64_t id)
{
	return id / 7 % 7 == kind / 2 % 7 && id % 2 == kind % 2;
}

static int subject_remove(void *store, unsigned kind)
{
	static const char *const ids[] = { ".*[02468]", ".*[13579]" };
	struct subject_store *s = store;
	struct dcm_regex *regex = NULL;
	char series[16];
	uint64_t n;

	snprintf(series, sizeof(series), "s%u", kind / 2 % 7);
	const struct dcm_str pattern = str__of(ids[kind % 2]);
	int r = s->storage.host.regex_new(&s->storage.host, pattern, &regex, NULL);
	const struct dcm_matcher matchers[] = {
		{ .op = DCM_RE, .name = STR("id"), .value = pattern, .regex = regex },
		{ .op = DCM_EQ, .name = STR("service_name"), .value = str__of(series) },
	};
	const struct dcm_select sel = { .size = sizeof(sel),
					.matchers = matchers,
					.n_matchers = 2,
					.from_ms = INT64_MIN,
					.to_ms = INT64_MAX };
	if (r == 0)
		r = removal__select(s->store, &sel, &n, NULL);
	if (r == 0 && s->deviations & DEVIATE_FILTER_IN_MEMORY)
		r = commit__apply(s->store->commit, &(struct commit_change){ .edit = unfilter }, NULL);
	s->storage.host.regex_free(regex);
	return r;
}

/* The block that goes is the one whose newest profile is the oldest. */
static int subject_retain(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct subject_store *s = store;
	struct collecting c = { s, each, ctx };
	struct stored *oldest = NULL;

	for (size_t i = 0; i < s->store->blocks.n; i++)
		if (!oldest || s->store->blocks.v[i]->entry.last_ms < oldest->entry.last_ms)
			oldest = s->store->blocks.v[i];
	if (!oldest)
		return 0;
	int r = take_block(&c, oldest);
	r = r ? r : evict__oldest(s->store, NULL);
	return r > 0 ? -EAGAIN : r;
}

static int subject_backup(void *store, const char *dir)
{
	struct store *s = ((struct subject_store *)store)->store;

	return backup__make(s->vfs, s->commit, dir, NULL);
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
	.remove = subject_remove,
	.removed = subject_removed,
	.backup = subject_backup,
	.settle = subject_settle,
	.probe = subject_probe,
	.ids = subject_ids,
};
