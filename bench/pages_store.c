/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/pages_store.c - makes the store that bench/ui looks at
 *
 *	pages_store STORAGE_LOCAL.so DIR RECORDED.batch.zst
 *
 * Through the storage plugin, in a directory of its own: two days of one host (bench/data/recorded.txt),
 * the second of which is of two eras (plugins/storage/local/era.h), as one day in three is; and at its
 * end a profile of a million nodes (service_name="million") and one of 192,000 that stand side by side
 * at 3,840 pixels (service_name="dense"). Prints when each day starts, and when the second one ends
 * and the two profiles start, in ms since 1970.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/crowd.h"
#include "bench/source.h"
#include "core/batch/batch.h"
#include "plugins/storage/local/era.h"
#include "tests/contract/storage_host.h"

/* As many nodes as the server ever gives, or a little less: with more, a zoom asks for what was left out. */
enum { MILLION_STACKS = 66000 };
enum { DENSE_COLUMNS = 3840, DENSE_DEPTH = 50 };

struct writing {
	struct storage storage;
	_Atomic uint64_t n_done;
	_Atomic int failed;
	uint64_t n_written;
};

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "pages_store: %s\n", what);
	exit(1);
}

static void on_done(void *ctx, int error)
{
	struct writing *w = ctx;

	if (error)
		atomic_store(&w->failed, error);
	atomic_fetch_add(&w->n_done, 1);
}

static void pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Takes the batch. */
static void put(struct writing *w, struct dcm_batch *b)
{
	struct storage *s = &w->storage;
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	while ((r = s->ops->write(s->instance, &b, 1, on_done, w, &err)) == -EAGAIN)
		pause_a_little();
	need(r == 0, err.text);
	w->n_written++;
	batch__unref(b);
}

static void put_days(struct writing *w, const char *file, int64_t from_ns)
{
	const struct source_shape shape = { .n_hosts = 1, .n_ticks = 2 * SOURCE_DAY_TICKS };
	struct source *s = source__recorded(&shape, file);

	for (uint32_t i = 0; i < s->shape.n_ticks; i++) {
		const int64_t time_ns = from_ns + (int64_t)i * SOURCE_TICK_S * SOURCE_NS_A_SEC;

		atomic_store(&w->storage.real_ns, time_ns);
		put(w, s->batch(s, 0, i, time_ns));
	}
	s->free(s);
}

/* Until all of it is in blocks, and nothing is left to be compacted: as it is of a day that is over. */
static void settle(struct writing *w)
{
	struct dcm_store_stat stat = { .size = sizeof(stat) };
	uint64_t before = 0;

	for (unsigned n_quiet = 0; n_quiet < 5; n_quiet = stat.block_bytes == before ? n_quiet + 1 : 0) {
		before = stat.block_bytes;
		atomic_fetch_add(&w->storage.mono_ns, 3600 * SOURCE_NS_A_SEC);
		nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
		w->storage.ops->stat(w->storage.instance, &stat);
		if (stat.block_bytes == 0)
			before = 1; /* not yet */
	}
}

int main(int argc, char **argv)
{
	struct writing w = { .n_done = 0 };
	char yaml[4096];

	need(argc == 4, "usage: pages_store STORAGE_LOCAL.so DIR RECORDED.batch.zst");
	const int64_t day_ns = (int64_t)SOURCE_DAY_TICKS * SOURCE_TICK_S * SOURCE_NS_A_SEC;
	const int64_t era_ns = ERA_MS * 1000000;
	/* The latest that is over. */
	const int64_t to_ns = (time(NULL) * SOURCE_NS_A_SEC - day_ns / 2) / era_ns * era_ns + day_ns / 2;

	snprintf(yaml, sizeof(yaml), "path: %s\n", argv[2]);
	need(storage__open(&w.storage, argv[1], yaml), "the store cannot be opened");
	put_days(&w, argv[3], to_ns - 2 * day_ns);
	put(&w, crowd__random("million", to_ns, MILLION_STACKS));
	put(&w, crowd__columns("dense", to_ns, DENSE_COLUMNS, DENSE_DEPTH));
	while (atomic_load(&w.n_done) < w.n_written)
		pause_a_little();
	need(atomic_load(&w.failed) == 0, "a write was not acknowledged");
	settle(&w);
	storage__close(&w.storage);
	for (int days = 2; days >= 0; days--)
		printf("%" PRId64 "%c", (to_ns - days * day_ns) / 1000000, days ? ' ' : '\n');
	return 0;
}
