/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_buf.c - appends against a plain array, limits, JSON against jansson
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { MODEL_MAX = 1 << 16 };

struct model {
	unsigned char bytes[MODEL_MAX];
	size_t n;
};

static void model_add(struct model *m, const void *p, size_t n)
{
	assert_true(n <= MODEL_MAX - m->n);
	memcpy(m->bytes + m->n, p, n);
	m->n += n;
}

/* The same random append to both; the varint by the definition in protobuf's documentation. */
static void append_random(struct random *r, struct buf *b, struct model *m)
{
	char text[300];
	uint64_t v = random__wide(r);
	size_t n = random__below(r, sizeof(text) - 1);

	random__text(r, text, n, "abc\0\xff", 5);
	text[n] = '\0';
	switch (random__below(r, 8)) {
	case 0:
		buf__append(b, text, n);
		model_add(m, text, n);
		break;
	case 1:
		buf__text(b, text);
		model_add(m, text, strlen(text));
		break;
	case 2:
		buf__byte(b, (uint8_t)v);
		model_add(m, &(uint8_t){ (uint8_t)v }, 1);
		break;
	case 3:
		buf__printf(b, "%s|%llu", text, (unsigned long long)v);
		n = (size_t)snprintf((char *)m->bytes + m->n, MODEL_MAX - m->n, "%s|%llu", text,
				     (unsigned long long)v);
		m->n += n;
		break;
	case 4:
		buf__varint(b, v);
		do {
			model_add(m, &(uint8_t){ (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)) }, 1);
			v >>= 7;
		} while (v);
		break;
	case 5:
		buf__le64(b, v);
		for (int i = 0; i < 8; i++, v >>= 8)
			model_add(m, &(uint8_t){ (uint8_t)v }, 1);
		break;
	case 6:
		buf__le32(b, (uint32_t)v);
		for (int i = 0; i < 4; i++, v >>= 8)
			model_add(m, &(uint8_t){ (uint8_t)v }, 1);
		break;
	default:
		buf__str(b, (struct dcm_str){ n ? text : NULL, (uint32_t)n });
		model_add(m, text, n);
		break;
	}
}

static void test_appends(void **state)
{
	static struct model m;
	struct random r = { 8 };
	struct buf b = { 0 };

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		m.n = 0;
		buf__reset(&b);
		while (m.n < MODEL_MAX - 400) {
			append_random(&r, &b, &m);
			assert_int_equal(b.n, m.n);
			assert_int_equal(b.data[b.n], 0);
		}
		assert_int_equal(b.error, 0);
		assert_memory_equal(b.data, m.bytes, m.n);
	}
	buf__fini(&b);
	assert_null(b.data);
}

static int64_t unzigzag(const struct buf *b)
{
	uint64_t v = 0;

	for (size_t i = 0; i < b->n; i++)
		v |= (uint64_t)(b->data[i] & 0x7f) << (7 * i);
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static void test_zigzag(void **state)
{
	static const int64_t edges[] = { 0, -1, 1, -64, 64, INT64_MAX, INT64_MIN };
	struct random r = { 9 };
	struct buf b = { 0 };

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		int64_t v = i < 7 ? edges[i] : (int64_t)random__wide(&r) * (i % 2 ? 1 : -1);

		buf__reset(&b);
		buf__zigzag(&b, v);
		assert_true(unzigzag(&b) == v);
		if (v >= -64 && v < 64)
			assert_int_equal(b.n, 1);
	}
	buf__fini(&b);
}

/* Whatever is appended: either all of it, or -EFBIG and nothing; then nothing ever again. */
static void test_limit(void **state)
{
	static struct model m;
	struct random r = { 10 };

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct buf b = { .limit = 1 + random__below(&r, 600) };
		size_t before;

		m.n = 0;
		do {
			before = m.n;
			append_random(&r, &b, &m);
		} while (m.n <= b.limit);
		assert_int_equal(b.error, -EFBIG);
		assert_int_equal(b.n, before);
		assert_true(b.cap <= b.limit + 1 || b.cap <= 64);
		if (b.data) {
			assert_memory_equal(b.data, m.bytes, before);
			assert_int_equal(b.data[b.n], 0);
		}
		buf__byte(&b, 1);
		buf__printf(&b, "x");
		buf__varint(&b, 1);
		assert_null(buf__reserve(&b, 0));
		assert_int_equal(b.n, before);
		buf__reset(&b);
		assert_int_equal(b.error, 0);
		buf__byte(&b, 1);
		assert_int_equal(b.n, 1);
		buf__fini(&b);
	}
}

/* Exactly to the limit is fine, for each kind of append. */
static void test_full(void **state)
{
	struct buf b = { .limit = 3 };

	(void)state;
	buf__text(&b, "abc");
	assert_int_equal(b.error, 0);
	buf__text(&b, "");
	assert_int_equal(b.error, 0);
	buf__reset(&b);
	buf__printf(&b, "%d", 123);
	assert_int_equal(b.error, 0);
	buf__reset(&b);
	buf__varint(&b, 1 << 20);
	assert_int_equal(b.error, 0);
	assert_int_equal(b.n, 3);
	buf__reset(&b);
	buf__varint(&b, 1 << 21);
	assert_int_equal(b.error, -EFBIG);
	buf__fini(&b);
	assert_null(buf__reserve(&b, SIZE_MAX));
	assert_int_equal(b.error, -EFBIG);
	buf__fini(&b);
}

static void test_take(void **state)
{
	struct buf b = { 0 };
	uint8_t *p;
	size_t n;

	(void)state;
	assert_true(str__eq(buf__view(&b), STR("")));
	buf__text(&b, "hello");
	assert_true(str__eq(buf__view(&b), STR("hello")));
	p = buf__take(&b, &n);
	assert_int_equal(n, 5);
	assert_string_equal((char *)p, "hello");
	assert_null(b.data);
	free(p);
	p = buf__take(&b, &n);
	assert_null(p);
	assert_int_equal(n, 0);
}

/* What a JSON reader must get: the text with U+FFFD for each byte that is not UTF-8. */
static struct dcm_str repaired(struct dcm_str s, char *room)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s.n;) {
		unsigned len = str__utf8_len(s.p + i, s.n - i);

		memcpy(room + n, len ? s.p + i : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
		i += len ? len : 1;
	}
	return (struct dcm_str){ room, n };
}

static void test_json(void **state)
{
	static const char bytes[] =
		"ab\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\0";
	struct random r = { 11 };
	struct buf b = { 0 };

	(void)state;
	for (unsigned i = 0; i < 30000; i++) {
		char text[24], room[72];
		struct dcm_str s = { text, (uint32_t)random__below(&r, sizeof(text)) }, want, got;
		json_error_t error;
		json_t *json;

		random__text(&r, text, s.n, bytes, sizeof(bytes));
		buf__reset(&b);
		buf__json(&b, s);
		assert_int_equal(b.error, 0);
		json = json_loadb((char *)b.data, b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
		assert_non_null(json);
		want = repaired(s, room);
		got = (struct dcm_str){ json_string_value(json), (uint32_t)json_string_length(json) };
		assert_true(str__eq(got, want));
		json_decref(json);
	}
	buf__reset(&b);
	buf__json(&b, STR("a\n\x01\"\xff"));
	assert_true(str__eq(buf__view(&b), STR("\"a\\n\\u0001\\\"\xef\xbf\xbd\"")));
	buf__fini(&b);
}

static void test_no_memory(void **state)
{
	struct buf b = { 0 };

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct buf c = { 0 };

		for (int j = 0; j < 100; j++) {
			buf__printf(&c, "%0100d", j);
			buf__json(&c, STR("\x01"));
			buf__varint(&c, UINT64_MAX);
		}
		if (failmalloc__disarm())
			assert_int_equal(c.error, -ENOMEM);
		else
			assert_int_equal(c.n, 100 * (100 + 8 + 10));
		buf__fini(&c);
	}
	buf__text(&b, "abc");
	failmalloc__arm(1);
	assert_null(buf__reserve(&b, 1000));
	failmalloc__disarm();
	assert_int_equal(b.error, -ENOMEM);
	assert_string_equal((char *)b.data, "abc");
	buf__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appends),	  cmocka_unit_test(test_zigzag),
		cmocka_unit_test(test_limit),	  cmocka_unit_test(test_full),
		cmocka_unit_test(test_take),	  cmocka_unit_test(test_json),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
