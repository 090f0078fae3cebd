/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_log_frames.c - the layout of a log, and what is left of one after damage
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/disk/frames.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { N_FRAMES = 6 };

static const struct frames_head head = {
	.kind = 1,
	.align = 512,
	.number = 7,
	.salt = 0x1122334455667788,
	.synced_lsn = 3,
	.tail_lsn = 4,
	.next_lsn = 9,
};

/* A file with a group of three frames at 512, and one of three at 1024. */
static void make_file(struct buf *b)
{
	static const uint32_t sizes[N_FRAMES] = { 1, 8, 60, 100, 7, 200 };
	uint8_t bytes[FRAMES_HEAD_BYTES], payload[200];
	struct buf group = { .n = 0 };

	frames__put_head(bytes, &head);
	buf__append(b, bytes, sizeof(bytes));
	for (unsigned i = 0; i < N_FRAMES; i++) {
		if (i % 3 == 0) {
			while (b->n % head.align)
				buf__byte(b, 0);
			buf__reset(&group);
		}
		memset(payload, (int)(i + 1), sizeof(payload));
		frames__put(&group, 9 + i, (uint16_t)(100 + i), payload, sizes[i]);
		if (i % 3 == 2) {
			frames__seal(&group, &head, i < 3 ? 4 : 11);
			buf__append(b, group.data, group.n);
		}
	}
	buf__fini(&group);
	assert_int_equal(b->error, 0);
}

static void test_layout(void **state)
{
	struct buf b = { .n = 0 };
	uint8_t *p, *f;

	(void)state;
	make_file(&b);
	p = b.data;
	assert_memory_equal(p, "DCMLOG\r\n", 8);
	assert_int_equal(le__get16(p + 8), 1);
	assert_int_equal(le__get16(p + 10), head.kind);
	assert_int_equal(le__get32(p + 12), head.align);
	assert_true(le__get64(p + 16) == head.number && le__get64(p + 24) == head.salt);
	assert_true(le__get64(p + 32) == 3 && le__get64(p + 40) == 4 && le__get64(p + 48) == 9);
	assert_true(le__get64(p + 56) == hash__bytes(p, 56, 0x646563696d616c67));
	f = p + 1024;
	assert_memory_equal(f, "DFRM", 4);
	assert_int_equal(le__get32(f + 4), 100);
	assert_true(le__get64(f + 8) == 12);
	assert_int_equal(le__get16(f + 16), 103);
	assert_int_equal(le__get16(f + 18), 0);
	assert_int_equal(le__get32(f + 20), 1);
	assert_int_equal(le__get32(f + 24), (uint32_t)hash__bytes(f + 32, 100, head.salt ^ 12));
	assert_int_equal(le__get32(f + 28), (uint32_t)hash__bytes(f, 28, head.salt));
	/* 100 bytes are padded to 104, and the next frame follows. */
	assert_memory_equal(f + 32 + 104, "DFRM", 4);
	buf__fini(&b);
}

/* Which of the frames are found, as bits; each one that is must be as it was written. */
static unsigned found(const uint8_t *p, size_t n, size_t *ret_n_bad)
{
	struct frames_cursor c = { .p = p, .n = n, .head = head };
	struct frame f;
	unsigned bits = 0;

	while (frames__next(&c, &f)) {
		unsigned i = (unsigned)(f.lsn - 9);

		assert_true(i < N_FRAMES && f.type == 100 + i && f.synced_lsn == (i < 3 ? 4u : 11u));
		for (uint32_t k = 0; k < f.n; k++)
			assert_int_equal(f.payload[k], i + 1);
		assert_false(bits & 1u << i);
		bits |= 1u << i;
	}
	*ret_n_bad = c.n_bad_bytes;
	return bits;
}

static void test_whole(void **state)
{
	struct buf b = { .n = 0 };
	struct frames_head h;
	size_t n_bad;

	(void)state;
	make_file(&b);
	assert_int_equal(frames__get_head(b.data, b.n, &h), 0);
	assert_memory_equal(&h, &head, sizeof(h));
	assert_int_equal(found(b.data, b.n, &n_bad), (1 << N_FRAMES) - 1);
	assert_int_equal(n_bad, 0);
	buf__fini(&b);
}

/* Every byte in turn is changed: at most the frame around it is lost. */
static void test_flips(void **state)
{
	struct buf b = { .n = 0 };
	struct frames_head h;

	(void)state;
	make_file(&b);
	for (size_t at = 0; at < b.n; at++) {
		uint8_t *copy = malloc(b.n);
		size_t n_bad;

		assert_non_null(copy);
		memcpy(copy, b.data, b.n);
		copy[at] ^= (uint8_t)(1u << at % 8);
		if (at < FRAMES_HEAD_BYTES) {
			assert_int_equal(frames__get_head(copy, b.n, &h), -EUCLEAN);
		} else {
			unsigned lost = (unsigned)((1 << N_FRAMES) - 1) & ~found(copy, b.n, &n_bad);

			assert_true((lost & (lost - 1)) == 0);
			assert_true(!lost || n_bad > 0);
		}
		free(copy);
	}
	buf__fini(&b);
}

/* Every length: the frames that are whole are found. */
static void test_truncated(void **state)
{
	struct buf b = { .n = 0 };
	unsigned last = 0;

	(void)state;
	make_file(&b);
	for (size_t n = FRAMES_HEAD_BYTES; n <= b.n; n++) {
		uint8_t *copy = malloc(n);
		size_t n_bad;

		assert_non_null(copy);
		memcpy(copy, b.data, n);
		unsigned now = found(copy, n, &n_bad);

		assert_true((now & last) == last && (now & (now + 1)) == 0);
		last = now;
		free(copy);
	}
	assert_int_equal(last, (1 << N_FRAMES) - 1);
	buf__fini(&b);
}

/* Frames of another file, zeros, and heads that break a rule. */
static void test_foreign(void **state)
{
	struct buf b = { .n = 0 };
	struct frames_head h = head;
	uint8_t bytes[FRAMES_HEAD_BYTES] = { 0 };
	struct frame f;

	(void)state;
	make_file(&b);
	struct frames_cursor c = { .p = b.data, .n = b.n, .head = head };
	c.head.salt++;
	assert_false(frames__next(&c, &f));
	assert_true(c.n_bad_bytes > 100);
	assert_int_equal(frames__get_head(bytes, sizeof(bytes), &h), -EUCLEAN);
	assert_int_equal(frames__get_head(b.data, FRAMES_HEAD_BYTES - 1, &h), -EUCLEAN);

	struct frames_head bad[] = { head, head, head, head, head };
	bad[0].align = 4;
	bad[1].align = 24;
	bad[2].tail_lsn = 2;
	bad[3].next_lsn = 4;
	bad[4].align = 2 * FRAMES_ALIGN_MAX;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		frames__put_head(bytes, &bad[i]);
		assert_int_equal(frames__get_head(bytes, sizeof(bytes), &h), -EUCLEAN);
	}
	frames__put_head(bytes, &head);
	le__put16(bytes + 8, 2);
	le__put64(bytes + 56, hash__bytes(bytes, 56, 0x646563696d616c67));
	assert_int_equal(frames__get_head(bytes, sizeof(bytes), &h), -EPROTONOSUPPORT);
	buf__fini(&b);
}

/* Sealed twice, for two files: the later one counts. */
static void test_sealed_again(void **state)
{
	struct frames_head other = head;
	struct buf b = { .n = 0 };
	struct frame f;

	(void)state;
	frames__put(&b, 20, 5, "abc", 3);
	frames__seal(&b, &head, 4);
	other.salt = 99;
	frames__seal(&b, &other, 18);
	struct frames_cursor c = { .p = b.data, .n = b.n, .head = other };
	c.head.align = FRAME_ALIGN;
	assert_false(frames__next(&c, &f)); /* it begins behind a head */
	buf__fini(&b);

	for (size_t i = 0; i < FRAMES_HEAD_BYTES; i++)
		buf__byte(&b, 0);
	struct buf g = { .n = 0 };
	frames__put(&g, 20, 5, "abc", 3);
	frames__seal(&g, &head, 4);
	frames__seal(&g, &other, 18);
	buf__append(&b, g.data, g.n);
	c = (struct frames_cursor){ .p = b.data, .n = b.n, .head = other };
	c.head.align = FRAME_ALIGN;
	assert_true(frames__next(&c, &f));
	assert_true(f.lsn == 20 && f.synced_lsn == 18 && f.n == 3 && f.at == FRAMES_HEAD_BYTES);
	assert_false(frames__next(&c, &f));
	buf__fini(&g);
	buf__fini(&b);
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct buf b = { .n = 0 };

		frames__put(&b, 1, 1, "abc", 3);
		failmalloc__disarm();
		assert_true(b.error == 0 ? b.n == frames__size(3) : b.error == -ENOMEM && b.n == 0);
		buf__fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),	  cmocka_unit_test(test_whole),
		cmocka_unit_test(test_flips),	  cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_foreign),	  cmocka_unit_test(test_sealed_again),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
