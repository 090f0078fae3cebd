/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_varints.c - numbers many at a time against one bit after the other
 *
 * Each case lies in a block of its own size, so that the sanitizers see a byte too far.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec/varints.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { LEAD = 2, BYTES_MAX = 200, BEHIND_MAX = 40, ROOM_MAX = BYTES_MAX + VARINTS_SPARE };

struct sample {
	uint8_t *data; /* LEAD bytes, then [n], then what is behind */
	size_t n, n_behind;
};

/* Numbers of up to one, two, three or four bytes, of which the last may be cut off. */
static void put_numbers(struct random *r, uint8_t *p, size_t n)
{
	uint64_t limit = (uint64_t)1 << (7 * (1 + random__below(r, 4)));

	for (size_t i = 0; i < n; i++) {
		uint64_t v = random__wide(r) % limit;
		for (; i + 1 < n && v >= 0x80; v >>= 7)
			p[i++] = (uint8_t)(v | 0x80);
		p[i] = (uint8_t)v;
	}
}

/* Bytes as they come, with numbers of any length. */
static void put_bytes(struct random *r, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random__next(r);
}

static struct sample make_sample(struct random *r)
{
	struct sample s = {
		.n = random__below(r, BYTES_MAX + 1),
		.n_behind = random__below(r, 2) ? random__below(r, BEHIND_MAX) : 0,
	};

	s.data = malloc(LEAD + s.n + s.n_behind);
	assert_non_null(s.data);
	s.data[0] = 0xff; /* no end of a number, but the one behind it is */
	s.data[1] = (uint8_t)random__below(r, 0x80);
	if (random__below(r, 4))
		put_numbers(r, s.data + LEAD, s.n);
	else
		put_bytes(r, s.data + LEAD, s.n);
	memset(s.data + LEAD + s.n, (int)random__below(r, 256), s.n_behind);
	return s;
}

/* The same by the definition: 0 to max numbers into v; where it stopped. */
static size_t expect(const struct sample *s, struct varints *ret)
{
	size_t at = 0;

	while (at < s->n && ret->n < ret->max) {
		uint32_t v = 0;
		size_t i = 0;
		for (; i < 3 && at + i < s->n; i++) {
			v |= (uint32_t)(s->data[LEAD + at + i] & 0x7f) << (7 * i);
			if (s->data[LEAD + at + i] < 0x80)
				break;
		}
		if (i == 3 || at + i == s->n)
			break;
		v -= ret->base;
		ret->v[ret->n++] = v;
		ret->largest = v > ret->largest ? v : ret->largest;
		at += i + 1;
	}
	return at;
}

static void check(const struct sample *s, const struct varints *given, bool plain)
{
	uint32_t want[ROOM_MAX], *v = malloc((given->max ? given->max : 1) * sizeof(*v));
	assert_non_null(v);
	memset(want, 0, sizeof(want));
	memset(v, 0, given->max * sizeof(*v));
	struct varints a = *given, b = *given;
	a.v = want;
	b.v = v;

	size_t at = expect(s, &a);
	const uint8_t *p = s->data + LEAD, *end = p + s->n;
	const uint8_t *stop = plain ? varints__read_plain(p, end, &b)
				    : varints__read(p, end, end + s->n_behind, &b);
	assert_int_equal(stop - p, at);
	assert_int_equal(a.n, b.n);
	assert_int_equal(a.largest, b.largest);
	assert_memory_equal(want, v, a.n * sizeof(*v));
	free(v);
}

static void as_one_by_one(void **state)
{
	struct random r = { 5 };

	(void)state;
	for (int i = 0; i < 30000; i++) {
		struct sample s = make_sample(&r);
		struct varints to = { .base = (uint32_t)random__below(&r, 2) };
		to.max = (uint32_t)(random__below(&r, 4) ? s.n + VARINTS_SPARE
							 : random__below(&r, s.n + 1));
		to.n = to.max ? (uint32_t)random__below(&r, to.max < 5 ? to.max : 5) : 0;
		to.largest = (uint32_t)random__below(&r, 2) * 77;
		check(&s, &to, true);
		check(&s, &to, false);
		free(s.data);
	}
}

static void counts_ends(void **state)
{
	static uint8_t bytes[5000];
	struct random r = { 6 };
	uint64_t want = 0;

	(void)state;
	for (size_t n = 0; n < sizeof(bytes); n++) {
		assert_int_equal(varints__count(bytes, n), want);
		bytes[n] = n < 3000 ? 0 : (uint8_t)random__next(&r);
		want += bytes[n] < 0x80;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_one_by_one),
		cmocka_unit_test(counts_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
