/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_log_file.c - a dictionary's log: what is appended is there, whatever the end
 * of the file looks like
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugins/storage/local/log_file.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

#define PATH "d/log"
enum { KIND = 5 };

struct seen {
	char text[300]; /* the records, which are words, with blanks between */
	int refuse;
};

static int see(void *ctx, const struct frame *f)
{
	struct seen *s = ctx;
	size_t n = strlen(s->text);

	snprintf(s->text + n, sizeof(s->text) - n, "%s%.*s", n ? " " : "", (int)f->n,
		 (const char *)f->payload);
	return s->refuse;
}

static int read_image(struct vfs *v, const char *path, struct seen *to, struct log_found *found)
{
	struct vfs_map image = { .vfs = NULL };
	int r = vfs__map(v, path, LOG_FILE_MAX_BYTES, &image);

	if (r == 0)
		r = log_file__read_map(&image, path, KIND, see, to, found, NULL);
	vfs_map__fini(&image);
	return r;
}

static struct vfs *disk(struct sim **ret)
{
	*ret = sim__new(1, SIM_SUBSET);
	assert_int_equal(vfs__mkdir(sim__vfs(*ret), "d"), 0);
	assert_int_equal(vfs__sync_dir(sim__vfs(*ret), "."), 0);
	return sim__vfs(*ret);
}

static struct log_file *opened(struct vfs *v, const char *expected, uint64_t n_lost)
{
	struct seen s = { .refuse = 0 }, again = { .refuse = 0 };
	struct log_file *l = NULL;
	struct log_found found;

	assert_int_equal(log_file__open(v, PATH, KIND, see, &s, &found, &l, NULL), 0);
	assert_string_equal(s.text, expected);
	assert_true(found.n_lost == n_lost);
	if (read_image(v, PATH, &again, &found) != -ENOENT)
		assert_string_equal(again.text, expected);
	return l;
}

static void append(struct log_file *l, const char *word, int sync)
{
	uint64_t before = log_file__last_lsn(l), lsn = 0;

	assert_int_equal(log_file__append(l, 1, word, strlen(word), &lsn, NULL), 0);
	assert_true(lsn == before + 1 && log_file__last_lsn(l) == lsn);
	if (sync) {
		assert_int_equal(log_file__sync(l, NULL), 0);
		assert_true(log_file__synced_lsn(l) == lsn);
	} else {
		assert_true(log_file__synced_lsn(l) < lsn);
	}
}

static void test_grows(void **state)
{
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);

	(void)state;
	assert_int_equal(log_file__sync(l, NULL), 0);
	assert_int_equal(log_file__append(l, 1, "", 0, &(uint64_t){ 0 }, NULL), -EINVAL);
	append(l, "one", 0);
	append(l, "two", 1);
	append(l, "three", 1);
	append(l, "given-up", 0);
	log_file__close(l);
	sim__restart(sim, true);
	l = opened(v, "one two three", 0);
	append(l, "four", 1);
	log_file__close(l);
	sim__restart(sim, true);
	log_file__close(opened(v, "one two three four", 0));
	sim__free(sim);
}

static void read_records(struct vfs *v, uint64_t lsn, const char *expected)
{
	struct seen s = { .refuse = 0 };
	struct vfs_file *f = NULL;
	struct log_found found;
	struct buf b = { 0 };

	assert_int_equal(log_file__read_records(v, PATH, lsn, &b), 0);
	assert_int_equal(vfs__open(v, "d/copy", VFS_WRITE | VFS_CREATE | VFS_NEW, &f), 0);
	assert_int_equal(vfs__write(f, b.data, b.n, 0), 0);
	vfs__close(f);
	assert_int_equal(read_image(v, "d/copy", &s, &found), 0);
	assert_string_equal(s.text, expected);
	assert_true(found.n_lost == 0 && found.n_bad_bytes == 0);
	assert_int_equal(vfs__unlink(v, "d/copy"), 0);
	buf__fini(&b);
}

static void test_begins(void **state)
{
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);
	struct buf b = { 0 };
	size_t n;

	(void)state;
	assert_int_equal(log_file__read_records(v, PATH, 1, &b), -ENOENT);
	append(l, "one", 1);
	append(l, "two", 0);
	append(l, "three", 1);
	log_file__close(l);
	read_records(v, 0, "");
	read_records(v, 1, "one");
	read_records(v, 2, "one two");
	read_records(v, 3, "one two three");
	read_records(v, UINT64_MAX, "one two three");
	sim__peek(sim, PATH, &n)[0] ^= 1;
	assert_int_equal(log_file__read_records(v, PATH, 1, &b), 0);
	assert_int_equal(b.n, n);
	buf__fini(&b);
	sim__free(sim);
}

/* A directory that has gone for a while has a log when it is back, and not a new one. */
static void test_vanished(void **state)
{
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);
	struct dcm_error err = DCM_ERROR_INIT;
	struct seen s = { .refuse = 0 };
	struct log_found found;

	(void)state;
	append(l, "one", 1);
	log_file__close(l);
	sim__vanish(sim, true);
	assert_int_equal(log_file__open(v, PATH, KIND, see, &s, &found, &l, &err), -ENOENT);
	assert_non_null(strstr(err.text, PATH ": cannot read"));
	sim__vanish(sim, false);
	l = opened(v, "one", 0);
	append(l, "two", 1);
	log_file__close(l);
	log_file__close(opened(v, "one two", 0));
	sim__free(sim);
}

/* A frame behind a torn one verifies, and must not come back behind a new one. */
static void test_torn(void **state)
{
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);
	size_t n;

	(void)state;
	append(l, "one", 1);
	append(l, "two", 1);
	append(l, "old-3", 0);
	append(l, "old-4", 1);
	log_file__close(l);
	uint8_t *p = sim__peek(sim, PATH, &n);
	p[n - 2 * frames__size(5) + FRAME_HEAD_BYTES] ^= 1;
	l = opened(v, "one two", 0);
	append(l, "new-3", 1);
	log_file__close(l);
	sim__restart(sim, true);
	log_file__close(opened(v, "one two new-3", 0));
	sim__free(sim);
}

/* A record that was synced, and that a later one says was, is lost and told. */
static void test_damaged(void **state)
{
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);
	struct seen s = { .refuse = 0 };
	struct log_found found;
	uint8_t *p;
	size_t n;

	(void)state;
	append(l, "one", 1);
	append(l, "two", 1);
	append(l, "three", 1);
	log_file__close(l);
	p = sim__peek(sim, PATH, &n);
	p[FRAMES_HEAD_BYTES + frames__size(3) + FRAME_HEAD_BYTES] ^= 1;
	l = opened(v, "one three", 1);
	append(l, "four", 1);
	log_file__close(l);
	log_file__close(opened(v, "one three four", 1));
	/* Another kind's, a damaged head, nothing at all. */
	assert_int_equal(log_file__open(v, PATH, KIND + 1, see, &s, &found, &l, NULL), -EUCLEAN);
	p = sim__peek(sim, PATH, &n);
	p[30] ^= 1;
	assert_int_equal(log_file__open(v, PATH, KIND, see, &s, &found, &l, NULL), -EUCLEAN);
	assert_int_equal(read_image(v, "d/none", &s, &found), -ENOENT);
	sim__free(sim);
}

static uint64_t n_pages_lost;
static uint64_t pages_lost(struct vfs *v)
{
	(void)v;
	return n_pages_lost;
}
static int lose_page(void *ctx, const struct frame *f)
{
	(void)ctx;
	n_pages_lost += f->lsn == 1;
	return 0;
}

/* What reads as zeroes after it was verified is not believed, and what was lost before is no obstacle. */
static void test_lost_while_it_is_read(void **state)
{
	struct vfs_map image = { .vfs = NULL };
	struct log_found found;
	struct vfs_ops ops;
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);
	struct dcm_error err = DCM_ERROR_INIT;
	struct seen s = { .refuse = 0 };
	(void)state;

	append(l, "one", 0);
	append(l, "two", 1);
	log_file__close(l);
	ops = *v->ops;
	ops.n_lost = pages_lost;
	v->ops = &ops;
	assert_int_equal(vfs__map(v, PATH, LOG_FILE_MAX_BYTES, &image), 0);
	assert_int_equal(log_file__read_map(&image, PATH, KIND, lose_page, NULL, &found, &err), -EIO);
	assert_non_null(strstr(err.text, PATH ": a part of it was lost"));
	assert_int_equal(n_pages_lost, 1);
	assert_int_equal(log_file__read_map(&image, PATH, KIND, see, &s, &found, NULL), 0);
	assert_string_equal(s.text, "one two");
	vfs_map__fini(&image);
	sim__free(sim);
}

/* Whichever call fails, the records wait and the next sync writes them. */
static void test_faults(void **state)
{
	bool failed = true;

	(void)state;
	for (uint64_t i = 1; failed; i++) {
		struct sim *sim;
		struct vfs *v = disk(&sim);
		struct log_file *l = opened(v, "", 0);

		append(l, "one", 0);
		sim__fail(sim, i, FAULT_EIO, false);
		int rc = log_file__sync(l, NULL);
		append(l, "two", 0);
		rc |= log_file__sync(l, NULL);
		failed = sim__failed(sim);
		assert_true(failed || rc == 0);
		sim__fail(sim, 0, FAULT_NONE, false);
		append(l, "three", 1);
		log_file__close(l);
		sim__restart(sim, true);
		log_file__close(opened(v, "one two three", 0));
		sim__free(sim);
	}
}

static void test_no_memory(void **state)
{
	struct sim *sim;
	struct vfs *v = disk(&sim);
	struct log_file *l = opened(v, "", 0);

	(void)state;
	append(l, "one", 1);
	append(l, "two", 1);
	log_file__close(l);
	FAILMALLOC_SWEEP (i) {
		struct seen s = { .refuse = 0 };
		struct log_found found;
		uint64_t lsn;
		int rc;

		l = NULL;
		rc = log_file__open(v, PATH, KIND, see, &s, &found, &l, NULL);
		if (!rc)
			rc = log_file__append(l, 1, "three", 5, &lsn, NULL);
		failmalloc__disarm();
		assert_true(rc == 0 || rc == -ENOMEM);
		log_file__close(l);
	}
	struct seen refusing = { .refuse = -EDOM };
	struct log_found found;
	assert_int_equal(log_file__open(v, PATH, KIND, see, &refusing, &found, &l, NULL), -EDOM);
	sim__free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),	 cmocka_unit_test(test_begins),
		cmocka_unit_test(test_vanished), cmocka_unit_test(test_torn),
		cmocka_unit_test(test_damaged),	 cmocka_unit_test(test_lost_while_it_is_read),
		cmocka_unit_test(test_faults),	 cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
