/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_damaged_copy.c - a check says of a damaged store that it is not sound
 *
 * What is restored from is checked first (`decima store restore`), so what a check calls sound must
 * have all that was acknowledged. Of each kind of file one is damaged in many places, cut off, or
 * taken away while the store is closed; then the directory cannot be read, or the check finds
 * something, or everything is there.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/batch/batch.h"
#include "plugins/storage/local/backup.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/reader.h"
#include "plugins/storage/local/removal.h"
#include "core/disk/replay.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

#define COPY "copy"

static void write_some(struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b->next_sequence,
							   b->next_sequence, 0, RANDOM_BASE_NS);

		b->next_sequence++;
		assert_non_null(batch);
		content__write(&b->told, b->store, &batch, 1);
		batch__unref(batch);
	}
}

/*
 * The copy of a store with two blocks, a dictionary, and frames of the log beyond them, made by the
 * store itself or beside it, is the disk.
 */
static void begin(struct bench *b, bool beside)
{
	bench__init(b, 1);
	for (int i = 0; i < 2; i++) {
		write_some(b, 6);
		assert_int_equal(upkeep__seal(b->store, NULL), 0);
	}
	write_some(b, 6);
	assert_int_equal(beside ? reader__backup(sim__vfs(b->sim), COPY, NULL)
				: backup__make(sim__vfs(b->sim), b->store->commit, COPY, NULL),
			 0);
	store__close(b->store);
	b->store = NULL;
	sim__restart(b->sim, true);
	sim__enter(b->sim, COPY);
}

static void ignore(void *ctx, enum dcm_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

/* False when it cannot be read, or the check has found something. */
static bool is_sound(struct bench *b, struct store **ret)
{
	struct store_options o = b->options;

	o.report = ignore;
	*ret = NULL;
	return reader__open(&b->storage.host, sim__vfs(b->sim), &o, ret, NULL) == 0 &&
	       inspect__check(*ret, &(struct inspect_how){ .report = NULL, .ctx = NULL }, NULL) == 0;
}

struct found {
	unsigned n_sound, n_lost; /* of these: it lacks something all the same */
};

static void look(struct bench *b, struct found *f)
{
	struct content there = { 0 };
	struct store *s;

	if (is_sound(b, &s)) {
		f->n_sound++;
		content__add_store(&there, s);
		content__settle(&there);
		f->n_lost += content__differences(&there, &b->told) > 0;
		content__fini(&there);
	}
	store__close(s);
}

static struct found flip_all_over(struct bench *b, const char *path)
{
	struct found f = { 0 };
	uint8_t *bytes;
	size_t n, step;

	bytes = sim__peek(b->sim, path, &n);
	assert_non_null(bytes);
	step = n / 80 + 1;
	for (size_t at = 0; at < n; at += step) {
		bytes[at] ^= 0x20;
		look(b, &f);
		bytes[at] ^= 0x20;
	}
	return f;
}

struct names {
	char v[16][128];
	unsigned n;
	const char *dir;
};

static int note_name(void *ctx, const char *name)
{
	struct names *all = ctx;

	assert_true(all->n < 16);
	snprintf(all->v[all->n++], sizeof(all->v[0]), "%s/%s", all->dir, name);
	return 0;
}

static void list_files(struct bench *b, struct names *ret)
{
	static const char *const dirs[] = { BLOCKS_DIR, ERAS_DIR, WAL_DIR };

	*ret = (struct names){ .v = { MANIFEST_PATH }, .n = 1 };
	for (unsigned i = 0; i < 3; i++) {
		const unsigned n = ret->n;

		ret->dir = dirs[i];
		assert_int_equal(vfs__list(sim__vfs(b->sim), dirs[i], note_name, ret), 0);
		assert_true(ret->n > n);
	}
}

/* What may be lost of a file without a loss of data: the copy of a manifest, and where a log ends. */
static void test_what_is_sound_is_whole(void **state)
{
	struct names files = { .n = 1 };
	(void)state;

	for (unsigned i = 0; i < 2 * files.n; i++) {
		struct found damaged, gone = { 0 };
		struct bench b;

		begin(&b, i % 2);
		content__settle(&b.told);
		list_files(&b, &files);
		const char *path = files.v[i / 2];
		look(&b, &gone);
		assert_int_equal(gone.n_sound, 1);
		damaged = flip_all_over(&b, path);
		assert_int_equal(vfs__unlink(sim__vfs(b.sim), path), 0);
		look(&b, &gone);
		if (damaged.n_lost || gone.n_lost)
			fail_msg("%s: damaged, %u of %u; gone, %u", path, damaged.n_lost,
				 damaged.n_sound, gone.n_lost);
		bench__fini(&b);
	}
	assert_true(files.n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_sound_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
