/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/tiny_store.c - the smallest store over the real log, manifest and commit order
 *
 * A number is a profile that starts at so many milliseconds and has one row, whose stack and value
 * follow from it, as its series does. The head is in memory; blocks are real ones, read anew
 * whenever somebody asks. Single-threaded.
 */
#include "tests/storage/tiny_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/compact_plan.h"
#include "plugins/storage/local/log_file.h"
#include "plugins/storage/local/rewrite.h"

enum {
	FRAME_TYPE = 7,
	FILLER_MAX = 1500,
	COMPACT_MAX = 4,
	LOG_KIND = 2,
	N_SERIES = 3,
	N_STACKS = 5000,
	TYPE = 5
};
#define LOG_PATH "eras/blocks.log"

typedef VEC(uint64_t) numbers;

struct tiny_block {
	struct manifest_block entry;
	struct block_map map;
};

struct tiny {
	struct vfs *vfs;
	struct commit *commit;
	unsigned deviations, complaints;
	numbers head;
	VEC(struct tiny_block) blocks; /* as they were written */
	struct log_file *log; /* a record for each block there ever was: its number and filler */
	numbers records;
};

/* A frame's bytes: the number, and as many as it says, each of which says so too. */
static size_t make_payload(uint8_t to[static 8 + FILLER_MAX], uint64_t id)
{
	uint64_t h = hash__mix(0x7469, id);
	size_t n = h % 4 ? h / 4 % 40 : h / 4 % FILLER_MAX;

	le__put64(to, id);
	memset(to + 8, (uint8_t)(h >> 56), n);
	return 8 + n;
}

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct tiny *t = ctx;

	(void)sentence;
	t->complaints += level == DCM_LOG_ERROR;
}

static int take_frame(void *ctx, const struct frame *f)
{
	uint8_t expected[8 + FILLER_MAX];
	struct tiny *t = ctx;
	uint64_t id;

	if (f->n < 8 || f->type != FRAME_TYPE) {
		t->complaints++;
		return 0;
	}
	id = le__get64(f->payload);
	if (make_payload(expected, id) != f->n || memcmp(expected, f->payload, f->n) != 0)
		t->complaints++;
	return vec__push(&t->head, id) ? 0 : -ENOMEM;
}

/* ---- numbers as profiles ---- */

static uint32_t stack_of(uint64_t id)
{
	return (uint32_t)(hash__mix(7, id) % N_STACKS);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The chunk of those of the numbers, which ascend, that are of the series. */
static int write_chunk(struct block_writer *w, const numbers *ids, uint32_t series)
{
	struct chunk_profile *profiles = mem__zalloc(ids->n, sizeof(*profiles));
	uint32_t *stacks = mem__zalloc(ids->n, sizeof(*stacks));
	int64_t *values = mem__zalloc(ids->n, sizeof(*values));
	struct chunk_source from = {
		.series = series,
		.n_types = 1,
		.types = { TYPE },
		.profiles = profiles,
		.stacks = stacks,
		.values = values,
	};
	int rc = profiles && stacks && values ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < ids->n; i++) {
		if (ids->v[i] % N_SERIES != series)
			continue;
		profiles[from.n_profiles++] = (struct chunk_profile){ .time_ms = (int64_t)ids->v[i],
								      .n_rows = 1 };
		stacks[from.n_rows] = stack_of(ids->v[i]);
		values[from.n_rows++] = (int64_t)ids->v[i] + 1;
	}
	if (!rc && from.n_profiles)
		rc = block_writer__chunk(w, &from);
	free(profiles);
	free(stacks);
	free(values);
	return rc;
}

struct sealing {
	struct vfs *vfs;
	const numbers *ids;
	uint64_t lsn;
};

static int write_ids(void *ctx, struct vfs_file *f, struct manifest_block *entry, struct dcm_error *err)
{
	const struct sealing *s = ctx;
	struct block_file out = { .file = f };
	struct block_options o = { .era = 1 };
	struct block_writer *w = NULL;
	struct block_info info;
	int rc = block_file__make_id(s->vfs, o.id);

	(void)err;
	if (!rc) {
		w = block_writer__new(&o, block_file__put, &out);
		rc = w ? 0 : -ENOMEM;
	}
	for (uint32_t series = 0; !rc && series < N_SERIES; series++)
		rc = write_chunk(w, s->ids, series);
	if (!rc)
		rc = block_writer__finish(w, &info);
	if (!rc)
		rc = block_file__end(&out);
	block_writer__free(w);
	block_file__fini(&out);
	if (!rc) {
		block_file__describe(&info, entry);
		entry->last_lsn = s->lsn;
	}
	return rc;
}

/* What reads a chunk. */
struct reading {
	struct chunk_cursor *cur;
	struct chunk_profiles profiles;
	uint32_t stacks[N_STACKS];
	void (*each)(void *ctx, uint64_t id);
	void *ctx;
};

static int read_chunk(struct reading *rd, const struct block *b, uint64_t at)
{
	const uint32_t *stacks = rd->stacks;
	struct chunk_page page;
	uint32_t n = 0;
	struct chunk c;
	int rc = block__chunk(b, at, &c);

	if (!rc)
		rc = c.entry->n_stacks <= N_STACKS ? chunk__stacks(&c, rd->stacks, NULL) : -EBADMSG;
	if (!rc)
		rc = chunk__profiles(&c, CHUNK_WANT_TIMES | CHUNK_WANT_ROWS, &rd->profiles);
	if (!rc)
		rc = chunk_cursor__begin(rd->cur, &c, 0, true, 1);
	while (!rc && (rc = chunk_cursor__next(rd->cur, &page)) > 0) {
		rc = 0;
		for (uint32_t k = 0; k < page.n && n < rd->profiles.n; k++, n++) {
			const uint64_t id = (uint64_t)rd->profiles.time_ms[n];
			const int64_t value = chunk__value(&c.types[0], page.values[0][k]);

			if (c.entry->series != id % N_SERIES || rd->profiles.n_rows[n] != 1 ||
			    stacks[page.ranks[k]] != stack_of(id) || value != (int64_t)id + 1)
				rc = -EBADMSG;
			rd->each(rd->ctx, id);
		}
	}
	return rc || n == rd->profiles.n ? rc : -EBADMSG;
}

/*
 * Calls each() with every number of a block. 0, -ENOMEM, or -EBADMSG when something is not what was
 * written.
 */
static int read_ids(const struct block *b, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct reading rd = { .cur = chunk_cursor__new(), .each = each, .ctx = ctx };
	int rc = rd.cur ? 0 : -ENOMEM;

	for (uint64_t i = 0; !rc && i < b->info.n_chunks; i++)
		rc = read_chunk(&rd, b, i);
	chunk_profiles__fini(&rd.profiles);
	chunk_cursor__free(rd.cur);
	return rc;
}

static void ignore(void *ctx, uint64_t id)
{
	(void)ctx;
	(void)id;
}

static int load_block(struct tiny *t, const struct manifest_block *entry)
{
	struct tiny_block block = { .entry = *entry };
	int rc = vec__reserve(&t->blocks, 1) ? 0 : -ENOMEM;

	if (!rc)
		rc = block_map__open(&block.map, t->vfs, entry, NULL);
	if (!rc)
		rc = read_ids(&block.map.block, ignore, NULL);
	if (!rc) {
		t->blocks.v[t->blocks.n++] = block;
		return 0;
	}
	block_map__close(&block.map);
	if (rc != -EBADMSG && rc != -ENOENT)
		return rc;
	t->complaints++; /* of a missing one commit__open() said so too */
	return 0;
}

/* ---- the store ---- */

static int take_record(void *ctx, const struct frame *f)
{
	uint8_t expected[8 + FILLER_MAX];
	struct tiny *t = ctx;
	uint64_t number = f->n < 8 ? 0 : le__get64(f->payload);

	if (make_payload(expected, number) != f->n || memcmp(expected, f->payload, f->n) != 0)
		t->complaints++;
	return vec__push(&t->records, number) ? 0 : -ENOMEM;
}

static bool has_record(const struct tiny *t, uint64_t number)
{
	for (size_t i = 0; i < t->records.n; i++)
		if (t->records.v[i] == number)
			return true;
	return false;
}

static int by_writing(const void *a, const void *b)
{
	const struct tiny_block *x = a, *y = b;

	return manifest_block__compare(&x->entry, &y->entry);
}

static int load_blocks(void *ctx, const struct manifest *m, struct dcm_error *err)
{
	struct log_found found = { .n_lost = 0 };
	struct tiny *t = ctx;
	int rc = log_file__open(t->vfs, LOG_PATH, LOG_KIND, take_record, t, &found, &t->log, err);

	t->complaints += found.n_lost > 0;
	for (size_t i = 0; !rc && i < m->blocks.n; i++) {
		t->complaints += !has_record(t, m->blocks.v[i].number);
		rc = load_block(t, &m->blocks.v[i]);
	}
	if (t->blocks.n > 1)
		qsort(t->blocks.v, t->blocks.n, sizeof(t->blocks.v[0]), by_writing);
	return rc;
}

static int sync_records(void *ctx, struct dcm_error *err)
{
	struct tiny *t = ctx;

	return t->deviations & DEVIATE_NO_RECORD_SYNC ? 0 : log_file__sync(t->log, err);
}

/* Makes the block part of the store, with its record, in the place of others. */
static int apply(struct tiny *t, const struct manifest_block *entry, const uint64_t *remove,
		 size_t n_remove, uint64_t sealed_lsn)
{
	uint8_t payload[8 + FILLER_MAX];
	uint64_t lsn;
	int rc = log_file__append(t->log, FRAME_TYPE, payload, make_payload(payload, entry->number),
				  &lsn, NULL);

	if (rc) {
		commit__discard_block(t->commit, entry);
		return rc;
	}
	return commit__apply(t->commit,
			     &(struct commit_change){
				     .add = entry,
				     .n_add = 1,
				     .remove = remove,
				     .n_remove = n_remove,
				     .sealed_lsn = sealed_lsn,
				     .sync = sync_records,
				     .ctx = t,
			     },
			     NULL);
}

static void tiny_close(void *store)
{
	struct tiny *t = store;

	if (!t)
		return;
	commit__close(t->commit);
	log_file__close(t->log);
	vec__fini(&t->records);
	for (size_t i = 0; i < t->blocks.n; i++)
		block_map__close(&t->blocks.v[i].map);
	vec__fini(&t->blocks);
	vec__fini(&t->head);
	free(t);
}

static int tiny_open(struct vfs *v, const struct subject_setup *setup, void **ret, unsigned *ret_complaints)
{
	struct tiny *t = NEW(struct tiny);
	struct commit_found found;
	int rc;

	if (!t)
		return -ENOMEM;
	t->vfs = v;
	t->deviations = setup->deviations;
	struct commit_options options = {
		.wal = {
			.segment_bytes = setup->segment_bytes,
			.pending_max_bytes = 1 << 20,
			.align = setup->align,
			.report = complain,
			.report_ctx = t,
		},
		.each = take_frame,
		.loaded = load_blocks,
		.ctx = t,
	};
	rc = commit__open(v, &options, &found, &t->commit, NULL);
	if (rc) {
		tiny_close(t);
		return rc;
	}
	*ret_complaints = t->complaints;
	*ret = t;
	return 0;
}

static int tiny_write(void *store, uint64_t from, unsigned n)
{
	uint8_t payload[8 + FILLER_MAX];
	struct tiny *t = store;
	struct wal *w = commit__wal(t->commit);
	uint64_t lsn = 0;

	for (uint64_t id = from; id < from + n; id++) {
		int rc = vec__reserve(&t->head, 1) ? 0 : -ENOMEM;

		if (!rc)
			rc = wal__append(w, FRAME_TYPE, payload, make_payload(payload, id), &lsn, NULL);
		if (rc)
			return rc;
		t->head.v[t->head.n++] = id;
	}
	if (t->deviations & DEVIATE_ACK_EARLY)
		return 0;
	int rc = wal__sync(w, lsn, NULL);
	if (!rc && !(t->deviations & DEVIATE_NO_NOTE))
		commit__note_log(t->commit, NULL);
	return rc;
}

static void remove_early(struct tiny *t, const uint64_t *remove, size_t n)
{
	char path[BLOCK_PATH_BYTES];

	for (size_t i = 0; t->deviations & DEVIATE_REMOVE_EARLY && i < n; i++)
		vfs__unlink(t->vfs, commit__block_path(path, remove[i]));
}

/*
 * Opens a block that was written, makes it part of the store in the place of the first n, and
 * leaves it as the first. Whatever fails, the store is as before.
 */
static int replace(struct tiny *t, const struct manifest_block *entry, size_t n, uint64_t sealed_lsn)
{
	struct tiny_block block = { .entry = *entry };
	uint64_t remove[COMPACT_MAX];
	int rc = block_map__open(&block.map, t->vfs, entry, NULL);

	for (size_t b = 0; b < n; b++)
		remove[b] = t->blocks.v[b].entry.number;
	if (rc) {
		commit__discard_block(t->commit, entry);
		return rc;
	}
	remove_early(t, remove, n);
	rc = apply(t, entry, remove, n, sealed_lsn);
	if (rc) {
		block_map__close(&block.map);
		return rc;
	}
	for (size_t b = 0; b < n; b++)
		block_map__close(&t->blocks.v[b].map);
	if (n == 0) {
		t->blocks.v[t->blocks.n++] = block;
		return 0;
	}
	t->blocks.n -= n - 1;
	memmove(t->blocks.v + 1, t->blocks.v + n, (t->blocks.n - 1) * sizeof(t->blocks.v[0]));
	t->blocks.v[0] = block;
	return 0;
}

static int tiny_seal(void *store)
{
	struct tiny *t = store;
	struct manifest_block entry;
	const struct sealing sealing = { t->vfs, &t->head, wal__cut(commit__wal(t->commit)) };
	int rc;

	if (t->head.n == 0)
		return 0;
	if (!vec__reserve(&t->blocks, 1))
		return -ENOMEM;
	qsort(t->head.v, t->head.n, sizeof(t->head.v[0]), by_number);
	rc = commit__write_block(t->commit, write_ids, (void *)(uintptr_t)&sealing, &entry, NULL);
	if (rc)
		return rc;
	if (t->deviations & DEVIATE_FORGET_EARLY)
		wal__forget(commit__wal(t->commit), sealing.lsn, NULL);
	rc = replace(t, &entry, 0, sealing.lsn);
	if (!rc)
		t->head.n = 0;
	return rc;
}

static int tiny_compact(void *store)
{
	struct tiny *t = store;
	const struct block *blocks[COMPACT_MAX];
	const size_t n = t->blocks.n < COMPACT_MAX ? t->blocks.n : COMPACT_MAX;
	struct rewrite rw = { .commit = t->commit,
			      .vfs = t->vfs,
			      .job = { .blocks = blocks, .n_blocks = (uint32_t)n },
			      .level = 1,
			      .zstd_level = 1 };
	struct rewrite_made made = { .bad_block = 0 };
	int rc;

	if (n < 2)
		return 0;
	for (size_t b = 0; b < n; b++)
		blocks[b] = &t->blocks.v[b].map.block;
	rw.last_lsn = t->blocks.v[n - 1].entry.last_lsn;
	rc = rewrite__write(&rw, &made, NULL);
	if (!rc)
		rc = replace(t, &made.blocks.v[0], n, 0);
	rewrite_made__fini(&made);
	return rc ? rc : 1;
}

static int tiny_retain(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct tiny *t = store;
	int rc;

	if (t->blocks.n == 0)
		return 0;
	rc = read_ids(&t->blocks.v[0].map.block, each, ctx);
	if (rc)
		return rc;
	rc = commit__apply(
		t->commit,
		&(struct commit_change){ .remove = &t->blocks.v[0].entry.number, .n_remove = 1 }, NULL);
	if (rc)
		return rc;
	block_map__close(&t->blocks.v[0].map);
	t->blocks.n--;
	memmove(t->blocks.v, t->blocks.v + 1, t->blocks.n * sizeof(t->blocks.v[0]));
	return 0;
}

static int tiny_settle(void *store)
{
	return commit__settle(((struct tiny *)store)->commit, NULL);
}

static int tiny_probe(void *store)
{
	return commit__probe(((struct tiny *)store)->commit, NULL);
}

static void tiny_ids(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct tiny *t = store;

	for (size_t i = 0; i < t->head.n; i++)
		each(ctx, t->head.v[i]);
	for (size_t b = 0; b < t->blocks.n; b++)
		t->complaints += read_ids(&t->blocks.v[b].map.block, each, ctx) != 0;
}

const struct subject tiny_subject = {
	.open = tiny_open,
	.close = tiny_close,
	.write = tiny_write,
	.seal = tiny_seal,
	.compact = tiny_compact,
	.retain = tiny_retain,
	.settle = tiny_settle,
	.probe = tiny_probe,
	.ids = tiny_ids,
};
