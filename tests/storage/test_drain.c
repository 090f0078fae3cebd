/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_drain.c - a local store that stops in order leaves the next start little to read
 *
 * The plugin itself, in a directory of its own.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/batch/batch.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

#define SECOND_NS  INT64_C(1000000000)
#define LOCAL_FILE TEST_BUILDDIR "/plugins/.libs/storage_local.so"

DEFINE_FOLDER(dir, "drain", 0700);

static void begin(struct storage *s)
{
	char yaml[128];

	snprintf(yaml, sizeof(yaml), "{ path: \"%s/store\", seal_interval: 1h, retention: 0 }", dir);
	assert_true(storage__open(s, LOCAL_FILE, yaml));
}

/* Bytes of batches, which the log has about as many of. */
static void write_bytes(struct storage *s, uint64_t bytes)
{
	static uint64_t seed;

	for (uint64_t done = 0; done < bytes; seed++) {
		struct dcm_batch *b = random_batch__of((struct dcm_hash){ 1, 2 }, seed, seed,
						       RANDOM_NASTY, RANDOM_BASE_NS);

		assert_non_null(b);
		done += b->bytes;
		assert_int_equal(s->ops->write(s->instance, &b, 1, NULL, NULL, NULL), 0);
		batch__unref(b);
	}
}

static unsigned n_blocks(void)
{
	char path[64];
	unsigned n = 0;
	struct dirent *e;

	snprintf(path, sizeof(path), "%s/store/blocks", dir);
	DIR *d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		n += strstr(e->d_name, ".blk") != NULL;
	closedir(d);
	return n;
}

static void drain(struct storage *s, int64_t left_ns)
{
	assert_int_equal(s->plugin->lifecycle->drain(s->instance, s->host.mono_ns(&s->host) + left_ns), 0);
}

static void test_a_large_log_is_sealed_when_there_is_time(void **state)
{
	struct storage s;
	(void)state;

	begin(&s);
	write_bytes(&s, 1 << 20);
	drain(&s, 100 * SECOND_NS);
	assert_int_equal(n_blocks(), 0); /* a moment's work for a start */
	write_bytes(&s, 96 << 20);
	drain(&s, 0);
	assert_int_equal(n_blocks(), 0); /* no time is left */
	drain(&s, 100 * SECOND_NS);
	assert_true(n_blocks() > 0);
	storage__close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_large_log_is_sealed_when_there_is_time),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
