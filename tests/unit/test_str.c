/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_str.c - text questions against naive oracles
 *
 * Edit distance: the textbook recursion. UTF-8: encode every code point and compare the set of
 * texts that are accepted, and iconv on random bytes.
 */
#include <iconv.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static struct dcm_str random_str(struct random *r, char *room, size_t max, const char *alphabet)
{
	uint32_t n = (uint32_t)random__below(r, max + 1);

	random__text(r, room, n, alphabet, strlen(alphabet));
	return (struct dcm_str){ room, n };
}

static void test_basics(void **state)
{
	struct dcm_str none = { NULL, 0 };

	(void)state;
	assert_true(str__eq(none, STR("")));
	assert_true(str__eq(str__of(NULL), none));
	assert_true(str__eq(str__of("abc"), STR("abc")));
	assert_false(str__eq(STR("abc"), STR("abd")));
	assert_false(str__eq(STR("abc"), STR("ab")));
	assert_true(str__eq(STR("a\0b"), (struct dcm_str){ "a\0b", 3 }));
	assert_true(str__starts(STR("abc"), STR("ab")));
	assert_true(str__starts(none, none));
	assert_false(str__starts(STR("ab"), STR("abc")));
	assert_false(str__starts(STR("xab"), STR("ab")));
	assert_true(str__ends(STR("abc"), STR("bc")));
	assert_true(str__ends(none, none));
	assert_false(str__ends(STR("bc"), STR("abc")));
	assert_false(str__ends(STR("abx"), STR("ab")));
}

static void test_media_type(void **state)
{
	(void)state;
	assert_true(str__eq(str__media_type(STR("text/plain")), STR("text/plain")));
	assert_true(str__eq(str__media_type(STR("text/plain; charset=utf-8")), STR("text/plain")));
	assert_true(str__eq(str__media_type(STR("text/plain ;charset=utf-8")), STR("text/plain")));
	assert_true(str__eq(str__media_type(STR("text/plain\t; a=b")), STR("text/plain")));
	assert_true(str__eq(str__media_type(STR("")), STR("")));
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void test_cmp(void **state)
{
	struct random r = { 2 };
	char a[8], b[8];

	(void)state;
	assert_int_equal(str__cmp((struct dcm_str){ NULL, 0 }, STR("")), 0);
	assert_true(str__cmp(STR("\xff"), STR("a")) > 0); /* bytes are unsigned */
	for (int i = 0; i < 20000; i++) {
		struct dcm_str x = random_str(&r, a, 7, "ab\xff"), y = random_str(&r, b, 7, "ab\xff");
		char xz[8] = { 0 }, yz[8] = { 0 };

		memcpy(xz, x.p, x.n);
		memcpy(yz, y.p, y.n);
		assert_int_equal(sign(str__cmp(x, y)), sign(strcmp(xz, yz)));
		assert_int_equal(sign(str__cmp(x, y)), -sign(str__cmp(y, x)));
		assert_int_equal(str__cmp(x, y) == 0, str__eq(x, y));
	}
}

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment as it is defined, by recursion over the ends. */
static unsigned naive_distance(const char *a, uint32_t n, const char *b, uint32_t m)
{
	unsigned d;

	if (n == 0 || m == 0)
		return n + m;
	d = naive_distance(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
	d = min_of(d, naive_distance(a, n - 1, b, m) + 1);
	d = min_of(d, naive_distance(a, n, b, m - 1) + 1);
	if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1])
		d = min_of(d, naive_distance(a, n - 2, b, m - 2) + 1);
	return d;
}

static void test_distance(void **state)
{
	struct random r = { 3 };
	char a[8], b[8], longer[200];

	(void)state;
	assert_int_equal(str__distance(STR("frequncy"), STR("frequency"), 3), 1);
	assert_int_equal(str__distance(STR("lisetn"), STR("listen"), 3), 1);
	for (int i = 0; i < 3000; i++) {
		struct dcm_str x = random_str(&r, a, 6, "abc"), y = random_str(&r, b, 6, "abc");
		unsigned want = naive_distance(x.p, x.n, y.p, y.n);

		for (unsigned limit = 0; limit < 8; limit++)
			assert_int_equal(str__distance(x, y, limit), min_of(want, limit + 1));
		assert_int_equal(str__distance(x, y, UINT_MAX), want);
	}
	memset(longer, 'a', sizeof(longer));
	assert_int_equal(
		str__distance((struct dcm_str){ longer, 129 }, (struct dcm_str){ longer, 129 }, 5), 6);
	assert_int_equal(
		str__distance((struct dcm_str){ longer, 128 }, (struct dcm_str){ longer, 128 }, 5), 0);
	assert_int_equal(str__distance((struct dcm_str){ longer, 200 }, STR("a"), UINT_MAX), UINT_MAX);
}

static unsigned encode(uint32_t c, char *p)
{
	if (c < 0x80)
		return p[0] = (char)c, 1;
	if (c < 0x800) {
		p[0] = (char)(0xc0 | (c >> 6));
		p[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		p[0] = (char)(0xe0 | (c >> 12));
		p[1] = (char)(0x80 | ((c >> 6) & 0x3f));
		p[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	p[0] = (char)(0xf0 | (c >> 18));
	p[1] = (char)(0x80 | ((c >> 12) & 0x3f));
	p[2] = (char)(0x80 | ((c >> 6) & 0x3f));
	p[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Every code point up to 0x1fffff as its shortest form, cut short, and in longer forms. */
static void test_utf8_code_points(void **state)
{
	char p[4], put[4];

	(void)state;
	for (uint32_t c = 0; c < 0x200000; c++) {
		unsigned n = encode(c, p);
		bool ok = c < 0x110000 && (c < 0xd800 || c > 0xdfff);

		assert_int_equal(str__utf8_len(p, n), ok ? n : 0);
		if (ok) {
			assert_int_equal(str__utf8_char(p, n), c);
			assert_int_equal(str__utf8_put(c, put), n);
			assert_memory_equal(put, p, n);
		}
		for (unsigned cut = 0; cut < n; cut++)
			assert_int_equal(str__utf8_len(p, cut), 0);
	}
	assert_int_equal(str__utf8_len("\xc0\x80", 2), 0);
	assert_int_equal(str__utf8_len("\xc1\xbf", 2), 0);
	assert_int_equal(str__utf8_len("\xe0\x9f\xbf", 3), 0);
	assert_int_equal(str__utf8_len("\xf0\x8f\xbf\xbf", 4), 0);
}

static bool iconv_accepts(iconv_t cd, struct dcm_str s)
{
	char in_room[16], out_room[64], *in = in_room, *out = out_room;
	size_t n_in = s.n, n_out = sizeof(out_room);

	memcpy(in_room, s.p, s.n);
	iconv(cd, NULL, NULL, NULL, NULL);
	return iconv(cd, &in, &n_in, &out, &n_out) != (size_t)-1 && n_in == 0;
}

static void test_utf8_random(void **state)
{
	static const char bytes[] =
		"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xe0\xe1\xed\xee\xf0\xf1\xf4\xf5";
	iconv_t cd = iconv_open("UTF-32LE", "UTF-8");
	struct random r = { 4 };
	unsigned n_ok = 0;
	char room[8];

	(void)state;
	if (cd == (iconv_t)-1)
		skip_because("iconv has no UTF-32");
	for (int i = 0; i < 200000; i++) {
		struct dcm_str s = random_str(&r, room, 5, bytes);
		bool ok = str__is_utf8(s);

		assert_int_equal(ok, iconv_accepts(cd, s));
		n_ok += ok && s.n > 1;
	}
	assert_true(n_ok > 100);
	iconv_close(cd);
}

static void test_cut(void **state)
{
	struct random r = { 5 };
	char text[64];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		size_t n = 0, m;

		while (n < sizeof(text) - 4)
			n += encode((uint32_t)random__below(&r, 4) == 0
					    ? 'a'
					    : (uint32_t)random__below(&r, 0xd800),
				    text + n);
		for (m = 0; m <= n; m++) {
			size_t k = str__utf8_cut(text, m);

			assert_true(k <= m && m - k < 4);
			assert_true(str__is_utf8((struct dcm_str){ text, (uint32_t)k }));
			/* the largest: one character more would not fit */
			if (k < n)
				assert_true(k + str__utf8_len(text + k, n - k) > m);
		}
	}
	/* What is no UTF-8 is not searched for a better place. */
	assert_int_equal(str__utf8_cut("\x80\x80\x80\x80", 4), 4);
	assert_int_equal(str__utf8_cut("", 0), 0);
}

static void test_clean(void **state)
{
	struct random r = { 6 };
	char text[16], before[16];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		random__text(&r, text, sizeof(text), "a\n\x1b\x7f\xc2\x85\x9b\xa0\xe2\x80\xff\0", 12);
		memcpy(before, text, sizeof(text));
		str__clean(text, sizeof(text));
		assert_true(str__is_utf8((struct dcm_str){ text, sizeof(text) }));
		for (size_t j = 0; j < sizeof(text); j++) {
			unsigned char c = (unsigned char)text[j];

			assert_true(c >= 0x20 && c != 0x7f);
			assert_true(text[j] == before[j] || text[j] == '?');
			if (j && (unsigned char)text[j - 1] == 0xc2)
				assert_true(c >= 0xa0);
		}
		if (before[0] == 'a')
			assert_int_equal(text[0], 'a');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basics),
		cmocka_unit_test(test_media_type),
		cmocka_unit_test(test_cmp),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_utf8_code_points),
		cmocka_unit_test(test_utf8_random),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
