/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_error.c - sentences: codes, cuts, what input may not put into them
 */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static void test_set(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(error__set(&err, -EINVAL, "%s:%d: input %s", "a.yaml", 7, "ebpf"), -EINVAL);
	assert_string_equal(err.text, "a.yaml:7: input ebpf");
	assert_int_equal(error__set(&err, -ENOENT, "%s", ""), -ENOENT);
	assert_string_equal(err.text, "");
	assert_int_equal(error__nomem(&err), -ENOMEM);
	assert_string_equal(err.text, "out of memory");
}

static void test_sys(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char want[128];

	(void)state;
	assert_int_equal(error__sys(&err, -ENOENT, "/x: cannot open"), -ENOENT);
	snprintf(want, sizeof(want), "/x: cannot open: %s", strerror(ENOENT));
	assert_string_equal(err.text, want);
	assert_int_equal(error__sys(&err, -99999, "x"), -99999);
	assert_string_equal(err.text, "x: Unknown error");
}

static void test_prefix(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	error__set(&err, -EINVAL, "fault");
	error__prefix(&err, "object %d", 2);
	error__prefix(&err, "place");
	assert_string_equal(err.text, "place: object 2: fault");
	/* An error's own text may be an argument. */
	error__set(&err, -EINVAL, "again: %s", err.text);
	assert_string_equal(err.text, "again: place: object 2: fault");
}

static void test_null(void **state)
{
	struct dcm_error none = { .size = 0, .text = "untouched" };

	(void)state;
	assert_int_equal(error__set(NULL, -EINVAL, "x"), -EINVAL);
	assert_int_equal(error__sys(NULL, -EINVAL, "x"), -EINVAL);
	assert_int_equal(error__nomem(NULL), -ENOMEM);
	error__prefix(NULL, "x");
	assert_int_equal(error__set(&none, -EINVAL, "x"), -EINVAL);
	error__prefix(&none, "x");
	assert_string_equal(none.text, "untouched");
}

static void test_input_cannot_steer_the_terminal(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	error__set(&err, -EINVAL, "key \"%s\"", "a\nb\x1b[2J\x7f\xc2\x9b\xff\xc3\xa4");
	assert_string_equal(err.text, "key \"a?b?[2J????\xc3\xa4\"");
}

/* A struct of an older plugin, with less text: nothing is written behind its end. */
static void test_sizes(void **state)
{
	struct random r = { 1 };
	union {
		struct dcm_error err;
		unsigned char bytes[sizeof(struct dcm_error) + 64];
	} u;
	char source[3000];

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		size_t head = offsetof(struct dcm_error, text);
		size_t size = 1 + random__below(&r, sizeof(u.err) + 32), n = random__below(&r, 2500);
		size_t room = size > sizeof(u.err) ? sizeof(u.err) - head
			      : size > head	   ? size - head
						   : 0;

		/* two-byte characters, so that a cut can go wrong */
		for (size_t i = 0; i < n; i += 2)
			memcpy(source + i, "\xc3\xa4", 2);
		source[n & ~(size_t)1] = '\0';
		memset(&u, 0xee, sizeof(u));
		u.err.size = (uint32_t)size;
		if (round % 3 == 0) {
			error__set(&u.err, -EINVAL, "x%s", source);
		} else if (round % 3 == 1) {
			error__sys(&u.err, -EINVAL, "x%s", source);
		} else {
			if (room)
				u.err.text[0] = '\0';
			error__prefix(&u.err, "%s", source);
		}
		for (size_t i = head + room; i < sizeof(u); i++)
			assert_int_equal(u.bytes[i], 0xee);
		if (room == 0)
			continue;
		assert_non_null(memchr(u.err.text, '\0', room));
		assert_true(str__is_utf8(str__of(u.err.text)));
		assert_null(strchr(u.err.text, '?'));
		if (strlen(source) >= room + 1)
			assert_in_range(room - strlen(u.err.text), 1, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_sys),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_input_cannot_steer_the_terminal),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
