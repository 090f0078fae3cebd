/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_names.c - names that a program says itself: the question, the answer, and a profile with them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/codec/pprof.h"
#include "plugins/input/pprof_scrape/names.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static void test_url(void **state)
{
	static const char *const of[][2] = {
		{ "http://h:1/pprof/heap", "http://h:1/pprof/symbol" },
		{ "http://h:1/x/pprof/profile?seconds=9&a=/b/c", "http://h:1/x/pprof/symbol" },
		{ "http://h:1/heap", "http://h:1/symbol" },
		{ "http://h:1/pprof/", "http://h:1/pprof/symbol" },
		{ "http://h:1", NULL },
		{ "http://h:1?x=/y", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct buf url = { 0 };

		assert_int_equal(names__url(str__of(of[i][0]), &url), of[i][1] != NULL);
		if (of[i][1])
			assert_string_equal((const char *)url.data, of[i][1]);
		buf__fini(&url);
	}
}

static void expect_name(struct names *n, uint64_t address, const char *name)
{
	struct dcm_str said = names__of(n, address);

	assert_int_equal(said.n, strlen(name));
	assert_memory_equal(said.p, name, said.n);
}

/* Asks for these [k], checks the question, and gives the answer. */
static int64_t ask(struct names *n, const uint64_t *addresses, size_t k, const char *question,
		   const char *answer)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < k; i++)
		expect_name(n, addresses[i], "");
	assert_int_equal(names__question(n, &text), 0);
	assert_true(str__eq(buf__view(&text), str__of(question)));
	buf__fini(&text);
	return names__answer(n, str__of(answer));
}

static void test_answers(void **state)
{
	static const uint64_t addresses[] = { 0x401152, 0x401136, 0x401152, UINT64_MAX,
					      0x10,	0x20,	  0x30 };
	struct names n = { 0 };

	(void)state;
	assert_int_equal(ask(&n, addresses, 7, "0x10+0x20+0x30+0x401136+0x401152+0xffffffffffffffff",
			     "num_symbols: 1\n"
			     "0x0000000000401136\tmain\r\n"
			     "0x401152 std::map<int, int>::at \n"
			     "0x401153 nobody_asked\n"
			     "\n---\n"
			     "0x10 ??\n"
			     "0x20 ??:0\n"
			     "0x30 0x30\n"
			     "0x 0x1\n"
			     "0x1ffffffffffffffff wide\n"
			     "0x20\n"
			     "0x401136main\n"
			     "0xffffffffffffffff last"),
			 3);
	expect_name(&n, 0x401136, "main");
	expect_name(&n, 0x401152, "std::map<int, int>::at");
	expect_name(&n, UINT64_MAX, "last");
	expect_name(&n, 0x401153, "");
	expect_name(&n, 0x10, "");
	expect_name(&n, 0x20, "");
	expect_name(&n, 0x30, "");
	names__fini(&n);
	/* Twice one address counts once; of two names the later one holds. */
	assert_int_equal(ask(&n, addresses, 1, "0x401152", "0x401152 a\n0x401152 b\n"), 1);
	expect_name(&n, 0x401152, "b");
	names__fini(&n);
	assert_int_equal(ask(&n, addresses, 1, "0x401152", ""), 0);
	names__fini(&n);
}

/* Each address has the name that it was answered with, whatever the order; beyond the bound there is none. */
static void test_many(void **state)
{
	enum { N = NAMES_MAX + 1000 };
	struct names n = { 0 };
	struct buf answer = { 0 }, question = { 0 };

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		names__of(&n, i * 7919 % N + 1);
	assert_int_equal(n.addresses.n, NAMES_MAX);
	assert_int_equal(names__question(&n, &question), 0);
	for (size_t i = NAMES_MAX; i-- > 0;)
		buf__printf(&answer, "0x%llx f%llu\n", (unsigned long long)n.addresses.v[i],
			    (unsigned long long)n.addresses.v[i]);
	assert_int_equal(names__answer(&n, buf__view(&answer)), NAMES_MAX);
	for (size_t i = 0; i < NAMES_MAX; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%llu", (unsigned long long)n.addresses.v[i]);
		expect_name(&n, n.addresses.v[i], name);
	}
	names__fini(&n);
	buf__fini(&answer);
	buf__fini(&question);
}

/* ---- in a profile ---- */

static const char heap[] = "heap profile: 2: 30 [ 3: 40] @ heapprofile\n"
			   "1: 10 [ 1: 10] @ 0x401136 0x401200\n"
			   "1: 20 [ 2: 30] @ 0x401152 0x401200\n"
			   "MAPPED_LIBRARIES:\n"
			   "00400000-00500000 r-xp 00000000 08:01 1 /usr/bin/server\n";

static bool name_of(void *ctx, uint64_t address, struct dcm_str *ret_name, struct dcm_str *ret_system_name)
{
	*ret_system_name = names__of(ctx, address);
	*ret_name = *ret_system_name;
	return ret_name->n > 0;
}

/* The function at a location's top; "" for none. */
static struct dcm_str name_at(const struct dcm_batch *b, uint32_t row, uint32_t depth)
{
	struct dcm_span stack = b->stacks[b->row_stacks[row]];
	const struct dcm_location *l = &b->locations[b->stack_locations[stack.off + depth]];

	return l->n_lines ? b->strings[b->functions[b->lines[l->line_off].function].name] : STR("");
}

static void test_profile(void **state)
{
	struct names n = { 0 };
	struct decode_options o = { .name_of = name_of, .name_ctx = &n };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;
	struct buf question = { 0 };

	(void)state;
	assert_int_equal(pprof__decode((const uint8_t *)heap, strlen(heap), &o, &b, &err), 0);
	assert_int_equal(b->n_lines, 0);
	batch__unref(b);
	/* Callers' addresses are of the call, not of what comes behind it. */
	assert_int_equal(names__question(&n, &question), 0);
	assert_true(str__eq(buf__view(&question), STR("0x401135+0x401151+0x4011ff")));
	buf__fini(&question);
	assert_int_equal(names__answer(&n, STR("0x401135 make\n0x4011ff main\n")), 2);
	assert_int_equal(pprof__decode((const uint8_t *)heap, strlen(heap), &o, &b, &err), 0);
	assert_int_equal(b->n_rows, 2);
	for (uint32_t row = 0; row < 2; row++) {
		const int64_t *values = b->values + (size_t)row * b->profiles[0].n_types;
		bool has_name = values[b->profiles[0].n_types - 1] == 10;

		assert_true(str__eq(name_at(b, row, 0), has_name ? STR("make") : STR("")));
		assert_true(str__eq(name_at(b, row, 1), STR("main")));
	}
	batch__unref(b);
	names__fini(&n);
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct names n = { 0 };
		struct buf question = { 0 };
		int r;
		int64_t named = 0;

		names__of(&n, 0x10);
		names__of(&n, 0x20);
		r = names__question(&n, &question);
		if (r == 0)
			named = names__answer(&n, STR("0x10 a\n0x20 b\n"));
		failmalloc__disarm();
		assert_true(r == -ENOMEM || named == -ENOMEM || named == 2);
		buf__fini(&question);
		names__fini(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_url),	  cmocka_unit_test(test_answers),
		cmocka_unit_test(test_many),	  cmocka_unit_test(test_profile),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("scrape_names", tests, NULL, NULL);
}
