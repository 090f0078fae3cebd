/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_secret.c - a text, or a file that is read again when it changes
 */
#include "core/net/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#define S INT64_C(1000000000)

DEFINE_FOLDER(dir, "secret", 0700);

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text, size_t n)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	fwrite(text, 1, n, f);
	fclose(f);
}

static void texts_are_as_they_are(void **state)
{
	struct secret s = secret__of("k", " t ", NULL), none = secret__of("k", "", "");
	int fault = 0;

	(void)state;
	assert_string_equal(secret__get(&s, S, &fault, NULL), " t ");
	assert_true(secret__is_given(&s));
	assert_false(secret__is_given(&none));
	assert_string_equal(secret__get(&none, S, &fault, NULL), "");
	secret__fini(&s);
	secret__fini(&none);
}

static void files_are_read_again(void **state)
{
	struct secret s;
	int fault = 0;

	(void)state;
	put("a", "\n one \r\n", 8);
	s = secret__of("key", NULL, path_of("a"));
	assert_string_equal(secret__get(&s, S, &fault, NULL), "one");
	assert_int_equal(s.version, 1);
	/* Of the same size, and within the clock's tick. */
	put("a", "\n two \r\n", 8);
	assert_string_equal(secret__get(&s, S + S / 2, &fault, NULL), "one");
	assert_string_equal(secret__get(&s, 2 * S, &fault, NULL), "two");
	assert_int_equal(s.version, 2);
	/* What is written and says the same is no other version. */
	put("a", "two\n", 4);
	assert_string_equal(secret__get(&s, 3 * S, &fault, NULL), "two");
	assert_int_equal(s.version, 2);
	put("a", "", 0);
	assert_string_equal(secret__get(&s, 4 * S, &fault, NULL), "");
	secret__fini(&s);
}

static void says_what_is_wrong(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct secret s = secret__of("key", NULL, path_of("none"));
	char expected[400];
	int fault = 0;

	(void)state;
	assert_null(secret__get(&s, S, &fault, &err));
	assert_int_equal(fault, -EACCES);
	snprintf(expected, sizeof(expected),
		 "key %s: No such file or directory; put it there, readable for our user",
		 path_of("none"));
	assert_string_equal(err.text, expected);
	/* It may come at any time: nobody waits a second for it. */
	put("none", "here", 4);
	s.file = path_of("none");
	assert_string_equal(secret__get(&s, S, &fault, &err), "here");
	/* One that goes is missed. */
	assert_int_equal(unlink(path_of("none")), 0);
	assert_null(secret__get(&s, 2 * S, &fault, &err));
	put("none", "a\0b", 3);
	assert_null(secret__get(&s, 2 * S, &fault, &err));
	assert_non_null(strstr(err.text, "is not text"));
	secret__fini(&s);
	s = secret__of("key", NULL, dir);
	assert_null(secret__get(&s, 2 * S, &fault, &err));
	assert_non_null(strstr(err.text, "is no regular file"));
	secret__fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_as_they_are),
		cmocka_unit_test(files_are_read_again),
		cmocka_unit_test(says_what_is_wrong),
	};
	return cmocka_run_group_tests_name("secret", tests, make_dir, remove_dir);
}
