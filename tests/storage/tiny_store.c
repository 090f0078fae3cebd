/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/tiny_store.c - the smallest store over the real log, manifest and commit order
 *
 * The head and the content of every block are in memory. A block is its numbers, 8 bytes each. Single-threaded.
 */
#include "tests/storage/tiny_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/log_file.h"

enum { FRAME_TYPE = 7, FILLER_MAX = 1500, COMPACT_MAX = 4, LOG_KIND = 2 };
#define LOG_PATH "eras/blocks.log"

typedef VEC(uint64_t) numbers;

struct tiny_block {
	uint64_t number;
	numbers ids;
};

struct tiny {
	struct vfs *vfs;
	struct commit *commit;
	unsigned deviations, complaints;
	numbers head;
	VEC(struct tiny_block) blocks;
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

static int load_block(struct tiny *t, const struct manifest_block *entry)
{
	struct tiny_block block = { .number = entry->number };
	char path[BLOCK_PATH_BYTES];
	struct buf b = { .n = 0 };
	int rc = vfs__read_file(t->vfs, commit__block_path(path, entry->number), 1 << 20, &b);

	if (rc == -ENOENT) {
		t->complaints++; /* commit__open() said so too */
		rc = 0;
	} else if (!rc && (b.n != entry->bytes || hash__bytes(b.data ? b.data : (void *)"", b.n,
							      entry->number) != entry->check)) {
		t->complaints++;
	} else if (!rc) {
		for (size_t i = 0; !rc && i < b.n; i += 8)
			rc = vec__push(&block.ids, le__get64(b.data + i)) ? 0 : -ENOMEM;
		if (!rc && !vec__push(&t->blocks, block))
			rc = -ENOMEM;
		if (rc)
			vec__fini(&block.ids);
	}
	buf__fini(&b);
	return rc;
}

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
		vec__fini(&t->blocks.v[i].ids);
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
	return t->deviations & DEVIATE_ACK_EARLY ? 0 : wal__sync(w, lsn, NULL);
}

static int write_ids(void *ctx, struct vfs_file *f, struct manifest_block *entry, struct dcm_error *err)
{
	const numbers *ids = ctx;
	struct buf b = { .n = 0 };
	int rc;

	(void)err;
	for (size_t i = 0; i < ids->n; i++)
		buf__le64(&b, ids->v[i]);
	rc = b.error ? b.error : vfs__write(f, b.data, b.n, 0);
	entry->bytes = b.n;
	entry->check = hash__bytes(b.data ? b.data : (void *)"", b.n, entry->number);
	entry->n_rows = ids->n;
	buf__fini(&b);
	return rc;
}

static void remove_early(struct tiny *t, const uint64_t *remove, size_t n)
{
	char path[BLOCK_PATH_BYTES];

	for (size_t i = 0; t->deviations & DEVIATE_REMOVE_EARLY && i < n; i++)
		vfs__unlink(t->vfs, commit__block_path(path, remove[i]));
}

static int tiny_seal(void *store)
{
	struct tiny *t = store;
	struct manifest_block entry;
	uint64_t lsn = wal__cut(commit__wal(t->commit));
	int rc;

	if (t->head.n == 0)
		return 0;
	if (!vec__reserve(&t->blocks, 1))
		return -ENOMEM;
	rc = commit__write_block(t->commit, write_ids, &t->head, &entry, NULL);
	if (rc)
		return rc;
	if (t->deviations & DEVIATE_FORGET_EARLY)
		wal__forget(commit__wal(t->commit), lsn, NULL);
	rc = apply(t, &entry, NULL, 0, lsn);
	if (rc)
		return rc;
	struct tiny_block *block = &t->blocks.v[t->blocks.n++];
	*block = (struct tiny_block){ .number = entry.number };
	memcpy(&block->ids, &t->head, sizeof(t->head));
	memset(&t->head, 0, sizeof(t->head));
	return 0;
}

static int merge(struct tiny *t, size_t n, numbers *ids)
{
	for (size_t b = 0; b < n; b++)
		for (size_t i = 0; i < t->blocks.v[b].ids.n; i++)
			if (!vec__push(ids, t->blocks.v[b].ids.v[i]))
				return -ENOMEM;
	return 0;
}

static void drop_blocks(struct tiny *t, size_t n)
{
	for (size_t b = 0; b < n; b++)
		vec__fini(&t->blocks.v[b].ids);
	t->blocks.n -= n;
	memmove(t->blocks.v, t->blocks.v + n, t->blocks.n * sizeof(t->blocks.v[0]));
}

static int tiny_compact(void *store)
{
	struct tiny *t = store;
	struct manifest_block entry;
	uint64_t remove[COMPACT_MAX];
	size_t n = t->blocks.n < COMPACT_MAX ? t->blocks.n : COMPACT_MAX;
	numbers ids = { .n = 0 };
	int rc;

	if (n < 2)
		return 0;
	for (size_t b = 0; b < n; b++)
		remove[b] = t->blocks.v[b].number;
	rc = merge(t, n, &ids);
	if (!rc)
		rc = commit__write_block(t->commit, write_ids, &ids, &entry, NULL);
	if (!rc) {
		remove_early(t, remove, n);
		rc = apply(t, &entry, remove, n, 0);
	}
	if (rc) {
		vec__fini(&ids);
		return rc;
	}
	drop_blocks(t, n - 1);
	vec__fini(&t->blocks.v[0].ids);
	t->blocks.v[0] = (struct tiny_block){ .number = entry.number };
	memcpy(&t->blocks.v[0].ids, &ids, sizeof(ids));
	return 0;
}

static int tiny_retain(void *store, void (*each)(void *ctx, uint64_t id), void *ctx)
{
	struct tiny *t = store;
	int rc;

	if (t->blocks.n == 0)
		return 0;
	for (size_t i = 0; i < t->blocks.v[0].ids.n; i++)
		each(ctx, t->blocks.v[0].ids.v[i]);
	rc = commit__apply(t->commit,
			   &(struct commit_change){ .remove = &t->blocks.v[0].number, .n_remove = 1 },
			   NULL);
	if (!rc)
		drop_blocks(t, 1);
	return rc;
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
		for (size_t i = 0; i < t->blocks.v[b].ids.n; i++)
			each(ctx, t->blocks.v[b].ids.v[i]);
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
