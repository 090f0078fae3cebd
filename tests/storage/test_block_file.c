/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_block_file.c - a block's file is the one that the manifest means, or is
 * refused and set aside
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/rewrite.h"
#include "tests/storage/block_rows.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"

static const struct random_block_shape shape = {
	.first_ms = 1700000000000, .span_ms = 7200000, .n_series = 4, .max_profiles = 9, .max_rows = 80
};

/* A simulated disk, a store on it, and a block of random content, in memory and as a file. */
struct place {
	struct sim *sim;
	struct vfs *vfs;
	struct commit *commit;
	struct random_block block;
	struct manifest_block entry;
	struct dcm_error err;
};

/* The bytes of p->block, in pieces of all sizes. */
static int write_pieces(void *ctx, struct vfs_file *f, struct manifest_block *entry, struct dcm_error *err)
{
	const struct random_block *b = ctx;
	struct block_file out = { .file = f };
	struct random r = { 3 };
	int rc = 0;

	(void)err;
	for (size_t at = 0, n; rc == 0 && at < b->bytes.n; at += n) {
		n = 1 + random__below(&r, 3000);
		n = n < b->bytes.n - at ? n : b->bytes.n - at;
		rc = block_file__put(&out, b->bytes.data + at, n);
	}
	if (rc == 0)
		rc = block_file__end(&out);
	block_file__fini(&out);
	block_file__describe(&b->block.info, entry);
	return rc;
}

static int no_frame(void *ctx, const struct frame *f)
{
	(void)ctx;
	(void)f;
	return 0;
}

static void open_store(struct place *p)
{
	const struct commit_options o = {
		.wal = { .segment_bytes = 1 << 16, .pending_max_bytes = 1 << 20, .align = 512 },
		.each = no_frame
	};
	struct commit_found found;

	assert_int_equal(commit__open(p->vfs, &o, &found, &p->commit, &p->err), 0);
}

static void place__init(struct place *p, uint64_t seed)
{
	struct random r = { seed };

	*p = (struct place){ .sim = sim__new(seed, SIM_SUBSET), .err = DCM_ERROR_INIT };
	assert_non_null(p->sim);
	p->vfs = sim__vfs(p->sim);
	random_block__init(&p->block, &r, &shape);
	open_store(p);
	assert_int_equal(commit__write_block(p->commit, write_pieces, &p->block, &p->entry, &p->err), 0);
	assert_int_equal(commit__apply(p->commit,
				       &(struct commit_change){ .add = &p->entry, .n_add = 1 }, &p->err),
			 0);
}

static void place__fini(struct place *p)
{
	commit__close(p->commit);
	random_block__fini(&p->block);
	assert_int_equal(sim__n_open(p->sim), 0);
	sim__free(p->sim);
}

static uint8_t *file_of(const struct place *p, size_t *ret_n)
{
	char path[BLOCK_PATH_BYTES];

	return sim__peek(p->sim, commit__block_path(path, p->entry.number), ret_n);
}

struct reading {
	uint64_t n_bytes, n_chunks, stop_at;
};

static int stop_at(void *ctx, uint64_t n_bytes)
{
	struct reading *r = ctx;

	r->n_bytes += n_bytes;
	return ++r->n_chunks == r->stop_at ? -ECANCELED : 0;
}

/* Who reads is told of each chunk, and may end it. */
static void check_reading(const struct block *b)
{
	struct reading all = { 0 }, some = { .stop_at = 2 };
	uint64_t first;

	assert_int_equal(block__verify(b, stop_at, &all, &first), 0);
	assert_int_equal(all.n_chunks, b->info.n_chunks);
	assert_true(all.n_bytes > b->info.bytes / 4 && all.n_bytes < b->info.bytes);
	assert_int_equal(block__verify(b, stop_at, &some, &first), -ECANCELED);
	assert_int_equal(some.n_chunks, 2);
}

static void what_was_written_opens(void **state)
{
	(void)state;
	struct block_map m;
	struct place p;
	uint64_t first;

	place__init(&p, 31);
	assert_int_equal(p.entry.n_rows, p.block.block.info.n_rows);
	assert_true(p.entry.n_chunks > 3);
	commit__close(p.commit);
	p.commit = NULL;
	sim__restart(p.sim, true);
	open_store(&p);
	assert_int_equal(block_map__open(&m, p.vfs, &p.entry, &p.err), 0);
	assert_true(m.file.n == p.block.bytes.n);
	assert_memory_equal(m.file.p, p.block.bytes.data, m.file.n);
	assert_memory_equal(&m.block.info, &p.block.block.info, sizeof(m.block.info));
	assert_int_equal(block__verify(&m.block, NULL, NULL, &first), 0);
	check_reading(&m.block);
	block_map__close(&m);
	place__fini(&p);
}

static void another_file_is_refused(void **state)
{
	(void)state;
	struct block_map m;
	struct place p;

	place__init(&p, 32);
	struct manifest_block entry = p.entry;

	entry.bytes++;
	assert_int_equal(block_map__open(&m, p.vfs, &entry, &p.err), -EBADMSG);
	assert_non_null(strstr(p.err.text, ".blk: it has"));
	entry = p.entry;
	entry.check ^= 1;
	assert_int_equal(block_map__open(&m, p.vfs, &entry, &p.err), -EBADMSG);
	assert_non_null(strstr(p.err.text, "another block"));
	entry = p.entry;
	entry.id[5] ^= 1;
	assert_int_equal(block_map__open(&m, p.vfs, &entry, NULL), -EBADMSG);
	entry = p.entry;
	entry.era++;
	assert_int_equal(block_map__open(&m, p.vfs, &entry, NULL), -EBADMSG);
	entry.number++;
	assert_int_equal(block_map__open(&m, p.vfs, &entry, NULL), -ENOENT);
	place__fini(&p);
}

/* Each byte of the file: the block is refused, or the chunk is found, or nobody reads the byte. */
static void damage_is_found(void **state)
{
	(void)state;
	unsigned n_refused = 0, n_chunks = 0;
	struct place p;
	size_t n;

	place__init(&p, 33);
	uint8_t *bytes = file_of(&p, &n);
	for (size_t at = 0; at < n; at += 7) {
		struct block_map m;
		uint64_t first = UINT64_MAX;
		int64_t found = 0;

		bytes[at] ^= 0x20;
		int r = block_map__open(&m, p.vfs, &p.entry, NULL);

		assert_true(r == 0 || r == -EBADMSG);
		n_refused += r < 0;
		if (r == 0)
			found = block__verify(&m.block, NULL, NULL, &first);
		assert_true(found >= 0 && found <= 1);
		assert_true(found == 0 || first < p.entry.n_chunks);
		n_chunks += (unsigned)found;
		block_map__close(&m);
		bytes[at] ^= 0x20;
	}
	/* All but the few zeros between sections. */
	assert_true(n_refused > 300 && n_chunks > 100 && n_refused + n_chunks + 10 > n / 7);
	place__fini(&p);
}

/* A block set aside outlives its removal, and a power cut. */
static void set_aside(void **state)
{
	(void)state;
	struct place p;
	size_t n;

	place__init(&p, 34);
	assert_int_equal(sim__n_names(p.sim, QUARANTINE_DIR), 0);
	assert_int_equal(block_file__set_aside(p.vfs, p.entry.number + 1, &p.err), -ENOENT);
	assert_int_equal(block_file__set_aside(p.vfs, p.entry.number, &p.err), 0);
	assert_int_equal(block_file__set_aside(p.vfs, p.entry.number, &p.err), 0);
	assert_int_equal(commit__apply(p.commit,
				       &(struct commit_change){ .remove = &p.entry.number, .n_remove = 1 },
				       &p.err),
			 0);
	assert_null(file_of(&p, &n));
	commit__close(p.commit);
	p.commit = NULL;
	sim__restart(p.sim, true);
	open_store(&p);
	assert_int_equal(sim__n_names(p.sim, QUARANTINE_DIR), 1);
	const uint8_t *aside = sim__peek(p.sim, "quarantine/00000000000000000001.blk", &n);
	assert_non_null(aside);
	assert_true(n == p.block.bytes.n);
	assert_memory_equal(aside, p.block.bytes.data, n);
	place__fini(&p);
}

/* -------------------------------------------------------------------------------------------------
 * Blocks written anew
 */

static int drop_all(void *ctx, const struct compact_place *p)
{
	(void)ctx;
	(void)p;
	return COMPACT_DROP;
}

static void all_may_be_dropped(void **state)
{
	(void)state;
	const struct compact_filter filter = { .chunk = drop_all };
	struct rewrite_made made = { .bad_block = 0 };
	struct block_map m;
	struct place p;

	place__init(&p, 37);
	assert_int_equal(block_map__open(&m, p.vfs, &p.entry, &p.err), 0);
	const struct block *const blocks[] = { &m.block };
	const struct rewrite rw = { .commit = p.commit,
				    .vfs = p.vfs,
				    .job = { .blocks = blocks, .n_blocks = 1, .filter = &filter } };
	assert_int_equal(rewrite__write(&rw, &made, &p.err), 0);
	assert_int_equal(made.blocks.n, 0);
	assert_null(sim__peek(p.sim, "blocks/00000000000000000002.blk", &(size_t){ 0 }));
	rewrite_made__fini(&made);
	block_map__close(&m);
	place__fini(&p);
}

/*
 * What is left of a block with a damaged chunk becomes another one, and the damaged one is set
 * aside.
 */
static void the_rest_is_rescued(void **state)
{
	(void)state;
	struct rewrite_made made = { .bad_block = 7 };
	struct compact_lost lost = { 0 };
	struct block_map m, rest;
	struct place p;
	uint64_t first;
	size_t n;

	place__init(&p, 38);
	file_of(&p, &n)[100] ^= 1; /* within the rows of the first chunk */
	assert_int_equal(block_map__open(&m, p.vfs, &p.entry, &p.err), 0);
	assert_int_equal(block__verify(&m.block, NULL, NULL, &first), 1);
	assert_int_equal(first, 0);
	const struct block *const blocks[] = { &m.block };
	struct rewrite rw = { .commit = p.commit,
			      .vfs = p.vfs,
			      .job = { .blocks = blocks, .n_blocks = 1 },
			      .last_lsn = 9,
			      .level = 1 };
	assert_int_equal(rewrite__write(&rw, &made, &p.err), -EBADMSG);
	assert_int_equal(made.bad_block, 0);
	assert_int_equal(made.blocks.n, 0);
	rw.job.lost = &lost;
	assert_int_equal(rewrite__write(&rw, &made, &p.err), 0);
	assert_int_equal(made.blocks.n, 1);
	const struct manifest_block *entry = &made.blocks.v[0];

	assert_true(lost.n_chunks == 1 && lost.n_rows > 0);
	assert_true(entry->n_rows > 0 && entry->n_chunks > 0);
	assert_true(entry->last_lsn == 9 && entry->level == 1 && entry->era == p.entry.era);
	assert_int_equal(block_file__set_aside(p.vfs, p.entry.number, &p.err), 0);
	assert_int_equal(
		commit__apply(p.commit,
			      &(struct commit_change){
				      .add = entry, .n_add = 1, .remove = &p.entry.number, .n_remove = 1 },
			      &p.err),
		0);
	assert_int_equal(block_map__open(&rest, p.vfs, entry, &p.err), 0);
	assert_int_equal(block__verify(&rest.block, NULL, NULL, &first), 0);
	block_map__close(&rest);
	block_map__close(&m);
	rewrite_made__fini(&made);
	assert_int_equal(sim__n_names(p.sim, QUARANTINE_DIR), 1);
	place__fini(&p);
}

static void every_call_may_fail(void **state)
{
	(void)state;
	static const enum sim_fault faults[] = { FAULT_EIO, FAULT_ENOSPC, FAULT_SHORT, FAULT_EINTR };
	struct place p;

	place__init(&p, 35);
	for (unsigned f = 0; f < sizeof(faults) / sizeof(faults[0]); f++)
		for (uint64_t n = 1;; n++) {
			struct manifest_block entry;
			struct block_map m;

			sim__fail(p.sim, n, faults[f], false);
			int r = block_map__open(&m, p.vfs, &p.entry, NULL);

			block_map__close(&m);
			r = r ? r : block_file__set_aside(p.vfs, p.entry.number, NULL);
			r = r ? r : commit__write_block(p.commit, write_pieces, &p.block, &entry, NULL);
			if (r == 0)
				commit__discard_block(p.commit, &entry);
			if (!sim__failed(p.sim)) {
				assert_int_equal(r, 0);
				break;
			}
		}
	sim__fail(p.sim, 0, FAULT_NONE, false);
	place__fini(&p);
}

static void no_memory(void **state)
{
	(void)state;
	struct place p;

	place__init(&p, 36);
	FAILMALLOC_SWEEP (i) {
		struct block_map m;
		uint64_t first;
		int64_t r = block_map__open(&m, p.vfs, &p.entry, NULL);

		if (r == 0)
			r = block__verify(&m.block, NULL, NULL, &first);
		block_map__close(&m);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
	}
	place__fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_opens), cmocka_unit_test(another_file_is_refused),
		cmocka_unit_test(damage_is_found),	  cmocka_unit_test(set_aside),
		cmocka_unit_test(all_may_be_dropped),	  cmocka_unit_test(the_rest_is_rescued),
		cmocka_unit_test(every_call_may_fail),	  cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
