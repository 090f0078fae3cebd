/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_replay.c - which frames of segments made by hand count, case by case
 *
 * A segment is written down as its head's three LSNs and its frames; a frame's payload is the
 * letter of its segment, so that the answer, a text of "LSN LETTER" pairs, tells which copy was
 * taken.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/disk/replay.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

struct segment {
	uint64_t synced, tail, next;
	struct {
		uint64_t lsn, synced;
		bool damaged;
	} frames[8]; /* until lsn 0 */
	bool bad_head;
};

#define WHOLE(l, s)                                                                                \
	{                                                                                          \
		.lsn = (l), .synced = (s)                                                          \
	}
#define DAMAGED(l, s)                                                                              \
	{                                                                                          \
		.lsn = (l), .synced = (s), .damaged = true                                         \
	}

struct answer {
	char text[400];
	unsigned n_reports;
};

static void write_file(struct vfs *v, uint64_t number, const void *p, size_t n)
{
	char path[WAL_PATH_BYTES];
	struct vfs_file *f;

	assert_int_equal(vfs__open(v, wal__path(path, number), VFS_WRITE | VFS_CREATE, &f), 0);
	assert_int_equal(vfs__write(f, p, n, 0), 0);
	vfs__close(f);
}

static void write_segment(struct vfs *v, uint64_t number, const struct segment *s)
{
	struct frames_head h = {
		.kind = WAL_KIND,
		.align = 8,
		.number = number,
		.salt = 1000 + number,
		.synced_lsn = s->synced,
		.tail_lsn = s->tail,
		.next_lsn = s->next,
	};
	uint8_t head[FRAMES_HEAD_BYTES], letter = (uint8_t)('a' + number - 1);
	struct buf b = { .n = 0 };

	frames__put_head(head, &h);
	if (s->bad_head)
		head[20] ^= 1;
	buf__append(&b, head, sizeof(head));
	for (int i = 0; s->frames[i].lsn; i++) {
		struct buf one = { .n = 0 };

		frames__put(&one, s->frames[i].lsn, 1, &letter, 1);
		frames__seal(&one, &h, s->frames[i].synced);
		if (s->frames[i].damaged)
			one.data[FRAME_HEAD_BYTES] ^= 1;
		buf__append(&b, one.data, one.n);
		buf__fini(&one);
	}
	write_file(v, number, b.data, b.n);
	buf__fini(&b);
}

static int note(void *ctx, const struct frame *f)
{
	struct answer *a = ctx;
	size_t n = strlen(a->text);

	snprintf(a->text + n, sizeof(a->text) - n, "%s%" PRIu64 "%c", n ? " " : "", f->lsn,
		 f->payload[0]);
	return 0;
}

static void report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	assert_int_equal(level, DCM_LOG_ERROR);
	assert_non_null(strstr(sentence, "lost"));
	((struct answer *)ctx)->n_reports++;
}

static struct replay replayed(const struct segment *segments, size_t n, uint64_t sealed,
			      const char *expected)
{
	struct sim *sim = sim__new(1, SIM_PREFIX);
	struct vfs *v = sim__vfs(sim);
	struct answer a = { .n_reports = 0 };
	struct replay r = { .loaded = 0 };

	assert_int_equal(vfs__mkdir(v, WAL_DIR), 0);
	for (size_t i = 0; i < n; i++)
		write_segment(v, i + 1, &segments[i]);
	assert_int_equal(replay__scan(&r, v, NULL), 0);
	assert_int_equal(replay__each(&r, v, sealed, note, &a, report, &a, NULL), 0);
	assert_string_equal(a.text, expected);
	assert_int_equal(a.n_reports > 0, r.n_lost > 0);
	replay__fini(&r);
	sim__free(sim);
	return r; /* its numbers */
}

#define REPLAYED(sealed, expected, ...)                                                            \
	({                                                                                         \
		const struct segment s_[] = { __VA_ARGS__ };                                       \
		replayed(s_, sizeof(s_) / sizeof(s_[0]), sealed, expected);                        \
	})

static void test_plain(void **state)
{
	struct replay r;

	(void)state;
	r = REPLAYED(0, "1a 2a 3a 4b",
		     { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 0), WHOLE(3, 2) } },
		     { .synced = 3, .tail = 3, .next = 4, .frames = { WHOLE(4, 3) } });
	assert_true(r.tail_lsn == 4 && r.max_lsn == 4 && r.durable_lsn == 3 && r.n_frames == 4 &&
		    r.n_lost == 0);
	r = REPLAYED(2, "3a", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 0), WHOLE(3, 2) } });
	assert_true(r.tail_lsn == 3);
	r = REPLAYED(9, "", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 0), WHOLE(3, 2) } });
	assert_true(r.tail_lsn == 9 && r.max_lsn == 9 && r.n_lost == 0);
}

/* A hole that nobody was promised ends the log; what is behind it is given up. */
static void test_torn(void **state)
{
	struct replay r;

	(void)state;
	r = REPLAYED(0, "1a", { .next = 1, .frames = { WHOLE(1, 0), DAMAGED(2, 1), WHOLE(3, 1) } });
	assert_true(r.tail_lsn == 1 && r.max_lsn == 3 && r.n_lost == 0 && r.n_bad_bytes > 0);
	/* The next process begins behind it, and the old 3 never comes back. */
	r = REPLAYED(0, "1a 4b", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(3, 1) } },
		     { .synced = 1, .tail = 1, .next = 4, .frames = { WHOLE(4, 3) } });
	assert_true(r.n_lost == 0 && r.max_lsn == 4);
	/* Not even when what it has itself is torn as well. */
	r = REPLAYED(0, "1a", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 1), WHOLE(3, 1) } },
		     { .synced = 1, .tail = 1, .next = 4, .frames = { DAMAGED(4, 3) } });
	assert_true(r.n_lost == 0 && r.tail_lsn == 1 && r.max_lsn == 3);
}

/* A hole that somebody was promised is counted and stepped over. */
static void test_damaged(void **state)
{
	struct replay r;

	(void)state;
	r = REPLAYED(0, "1a 4a",
		     { .next = 1, .frames = { WHOLE(1, 0), DAMAGED(2, 1), DAMAGED(3, 2), WHOLE(4, 3) } });
	assert_true(r.n_lost == 2 && r.n_frames == 2 && r.tail_lsn == 4);
	/* Promised by the next segment's head alone. */
	r = REPLAYED(0, "1a 3b", { .next = 1, .frames = { WHOLE(1, 0), DAMAGED(2, 1) } },
		     { .synced = 2, .tail = 2, .next = 3, .frames = { WHOLE(3, 2) } });
	assert_true(r.n_lost == 1);
	/* A segment whose head is gone. */
	r = REPLAYED(0, "3b", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 1) }, .bad_head = true },
		     { .synced = 2, .tail = 2, .next = 3, .frames = { WHOLE(3, 2) } });
	assert_true(r.n_lost == 2 && r.n_bad_files == 1);
	/* LSNs that do not exist are not lost. */
	r = REPLAYED(0, "1a 6b", { .next = 1, .frames = { WHOLE(1, 0), DAMAGED(2, 1) } },
		     { .synced = 2, .tail = 2, .next = 5, .frames = { DAMAGED(5, 4), WHOLE(6, 5) } });
	assert_true(r.n_lost == 2);
}

/* A group written again to another segment: any copy that is whole serves, each once. */
static void test_copies(void **state)
{
	struct replay r;

	(void)state;
	r = REPLAYED(
		0, "1a 2b 3b 4b", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 1), WHOLE(3, 1) } },
		{ .synced = 1, .tail = 3, .next = 4, .frames = { WHOLE(2, 1), WHOLE(3, 1), WHOLE(4, 3) } });
	assert_true(r.n_frames == 4);
	/* The second writing was cut short: the first one serves. */
	r = REPLAYED(0, "1a 2b 3a", { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 1), WHOLE(3, 1) } },
		     { .synced = 1, .tail = 3, .next = 4, .frames = { WHOLE(2, 1), DAMAGED(3, 1) } });
	assert_true(r.n_lost == 0);
	/* A frame where its segment's head says that there is none does not count. */
	r = REPLAYED(0, "1a", { .next = 1, .frames = { WHOLE(1, 0) } },
		     { .synced = 1, .tail = 1, .next = 9, .frames = { WHOLE(2, 1) } });
	assert_true(r.max_lsn == 8);
}

static void test_files(void **state)
{
	struct sim *sim = sim__new(1, SIM_PREFIX);
	struct vfs *v = sim__vfs(sim);
	struct replay r = { .loaded = 0 };
	struct vfs_file *f;

	(void)state;
	assert_int_equal(replay__scan(&r, v, NULL), -ENOENT);
	replay__fini(&r);
	r = (struct replay){ .loaded = 0 };
	assert_int_equal(vfs__mkdir(v, WAL_DIR), 0);
	write_file(v, 5, "", 0);
	write_file(v, 6, "short", 5);
	/* Names that are not segments. */
	assert_int_equal(vfs__open(v, "wal/00000000000000000007.txt", VFS_WRITE | VFS_CREATE, &f), 0);
	vfs__close(f);
	assert_int_equal(vfs__open(v, "wal/8.wal", VFS_WRITE | VFS_CREATE, &f), 0);
	vfs__close(f);
	assert_int_equal(replay__scan(&r, v, NULL), 0);
	assert_int_equal(r.files.n, 2);
	assert_int_equal(r.n_bad_files, 2);
	assert_int_equal(r.max_lsn, 0);
	replay__fini(&r);
	sim__free(sim);
}

static int refuse(void *ctx, const struct frame *f)
{
	(void)ctx;
	return f->lsn == 2 ? -EDOM : 0;
}

static void test_refused_and_no_memory(void **state)
{
	const struct segment s = { .next = 1, .frames = { WHOLE(1, 0), WHOLE(2, 1), WHOLE(3, 2) } };
	struct sim *sim = sim__new(1, SIM_PREFIX);
	struct vfs *v = sim__vfs(sim);

	(void)state;
	assert_int_equal(vfs__mkdir(v, WAL_DIR), 0);
	write_segment(v, 1, &s);
	FAILMALLOC_SWEEP (i) {
		struct replay r = { .loaded = 0 };
		int rc = replay__scan(&r, v, NULL);

		if (!rc)
			rc = replay__each(&r, v, 0, refuse, NULL, NULL, NULL, NULL);
		failmalloc__disarm();
		assert_true(rc == -ENOMEM || (rc == -EDOM && r.n_frames == 1));
		replay__fini(&r);
	}
	sim__free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	cmocka_unit_test(test_torn),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_copies),
		cmocka_unit_test(test_files),	cmocka_unit_test(test_refused_and_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
