/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_sha256.c - SHA-256 by FIPS 180-4's and NIST's examples, in whatever pieces it
 * comes
 */
#include <string.h>

#include "core/base/sha256.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static void assert_hash(struct sha256 *s, const char *want)
{
	uint8_t hash[SHA256_BYTES];
	char text[2 * SHA256_BYTES + 1];

	sha256__end(s, hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	assert_string_equal(text, want);
}

static void test_examples(void **state)
{
	static const struct {
		const char *text, *hash;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	static char million[1000000];
	struct sha256 s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sha256__init(&s);
		sha256__add(&s, cases[i].text, strlen(cases[i].text));
		assert_hash(&s, cases[i].hash);
	}
	memset(million, 'a', sizeof(million));
	sha256__init(&s);
	sha256__add(&s, million, sizeof(million));
	assert_hash(&s, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length of which the last block may be, at once and in pieces. */
static void test_pieces(void **state)
{
	struct random r = { 7 };
	uint8_t bytes[300], whole[SHA256_BYTES], pieces[SHA256_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random__next(&r);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct sha256 a, b;

		sha256__init(&a);
		sha256__add(&a, bytes, n);
		sha256__end(&a, whole);
		sha256__init(&b);
		for (size_t at = 0, some; at < n; at += some) {
			some = 1 + (size_t)random__next(&r) % (n - at);
			sha256__add(&b, bytes + at, some);
		}
		sha256__add(&b, NULL, 0);
		sha256__end(&b, pieces);
		assert_memory_equal(whole, pieces, sizeof(whole));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
