/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_le.c - bytes written one by one against the numbers, at every alignment
 */
#include <string.h>

#include "core/base/le.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { ROUNDS = 1000 };

/* The number that n bytes make, by the definition of little-endian. */
static uint64_t by_bytes(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static void test_get(void **state)
{
	struct random r = { 1 };
	uint8_t bytes[16];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		for (size_t b = 0; b < sizeof(bytes); b++)
			bytes[b] = (uint8_t)random__next(&r);
		for (size_t at = 0; at < 8; at++) {
			assert_int_equal(le__get16(bytes + at), by_bytes(bytes + at, 2));
			assert_int_equal(le__get32(bytes + at), by_bytes(bytes + at, 4));
			assert_true(le__get64(bytes + at) == by_bytes(bytes + at, 8));
		}
	}
}

/* What is put is read again, and the bytes around it stay. */
static void test_put(void **state)
{
	struct random r = { 2 };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t v = random__wide(&r);
		uint8_t bytes[18], around[18];

		for (size_t at = 1; at < 9; at++) {
			memset(around, 0xa5, sizeof(around));
			memset(bytes, 0xa5, sizeof(bytes));
			le__put64(bytes + at, v);
			assert_true(by_bytes(bytes + at, 8) == v);
			assert_memory_equal(bytes, around, at);
			assert_memory_equal(bytes + at + 8, around, sizeof(around) - at - 8);
			le__put32(bytes + at, (uint32_t)~v);
			assert_true(by_bytes(bytes + at, 8) == (v >> 32 << 32 | (uint32_t)~v));
			le__put16(bytes + at + 4, 0x1234);
			assert_true(by_bytes(bytes + at + 4, 2) == 0x1234);
			assert_true(by_bytes(bytes + at, 4) == (uint32_t)~v);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
