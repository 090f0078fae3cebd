/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_args.c - verbs, options, operands, and what wrong usage gets
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/main/args.h"

static struct {
	const char *verb, *file, *set0, *set1;
	bool flag;
	int n_operands;
	const char *operand;
} seen;

static int remember(const struct args *a)
{
	seen.verb = a->verb->name;
	seen.file = args__get(a, "file", "none");
	seen.set0 = args__nth(a, "set", 0);
	seen.set1 = args__nth(a, "set", 1);
	seen.flag = args__has(a, "flag");
	seen.n_operands = a->n_operands;
	seen.operand = a->n_operands ? a->operands[a->n_operands - 1] : NULL;
	return 42;
}

static const char *const choices[] = { "red", "green", NULL };
static const struct args_option options[] = {
	{ "file", 'f', ARGS_FILE, "FILE", NULL, false, "a file" },
	{ "set", 0, ARGS_TEXT, "K=V", NULL, true, "many" },
	{ "flag", 'x', ARGS_FLAG, NULL, NULL, false, "a flag" },
	{ "color", 0, ARGS_CHOICE, "C", choices, false, "a choice" },
	{ 0 },
};
static const struct args_option *const tables[] = { options, NULL };
static const struct args_verb verbs[] = {
	{ "run", "", 0, 0, false, tables, "runs", NULL, remember },
	{ "query top", "SELECTOR", 1, 1, false, tables, "asks", NULL, remember },
	{ "record", "[CMD]", 0, -1, true, tables, "records", "Details\n\nin two paragraphs.", remember },
	{ 0 },
};

static int call(const char *line)
{
	char text[256], *argv[32];
	int argc = 0;

	memset(&seen, 0, sizeof(seen));
	snprintf(text, sizeof(text), "decima %s", line);
	for (char *save, *w = strtok_r(text, " ", &save); w && argc < 31; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	/* The words must outlive the call, as the process's own do. */
	static char kept[32][256];
	for (int i = 0; i < argc; i++) {
		snprintf(kept[i], sizeof(kept[i]), "%s", argv[i]);
		argv[i] = kept[i];
	}
	return args__main(verbs, "run", argc, argv);
}

static void test_verbs(void **state)
{
	(void)state;
	assert_int_equal(call(""), 42);
	assert_string_equal(seen.verb, "run");
	assert_int_equal(call("--flag"), 42);
	assert_string_equal(seen.verb, "run");
	assert_true(seen.flag);
	assert_int_equal(call("query top a"), 42);
	assert_string_equal(seen.verb, "query top");
	assert_string_equal(seen.operand, "a");
	assert_int_equal(call("qery top a"), EXIT_USAGE);
	assert_int_equal(call("query tpo a"), EXIT_USAGE);
	assert_int_equal(call("query"), EXIT_USAGE);
	assert_int_equal(call("query --help"), EXIT_DONE);
	assert_int_equal(call("query"), EXIT_USAGE);
	assert_null(seen.verb);
}

static void test_values(void **state)
{
	(void)state;
	assert_int_equal(call("run -f a"), 42);
	assert_string_equal(seen.file, "a");
	assert_int_equal(call("run -fa --set k=v --set=l=w"), 42);
	assert_string_equal(seen.file, "a");
	assert_string_equal(seen.set0, "k=v");
	assert_string_equal(seen.set1, "l=w");
	assert_int_equal(call("run --file=b -x"), 42);
	assert_string_equal(seen.file, "b");
	assert_true(seen.flag);
	assert_int_equal(call("run"), 42);
	assert_string_equal(seen.file, "none");
	assert_int_equal(call("run --color green"), 42);
}

static void test_operands(void **state)
{
	(void)state;
	assert_int_equal(call("record -x -- cmd --flag -f"), 42);
	assert_int_equal(seen.n_operands, 3);
	assert_string_equal(seen.operand, "-f");
	assert_int_equal(call("record cmd --file b"), 42);
	assert_int_equal(seen.n_operands, 3);
	assert_string_equal(seen.file, "none");
	assert_int_equal(call("query top --flag a"), 42);
	assert_int_equal(call("query top a --flag"), 42);
	assert_true(seen.flag);
	assert_int_equal(call("query top -"), 42);
	assert_string_equal(seen.operand, "-");
}

static void test_wrong_usage(void **state)
{
	static const char *const lines[] = { "run --fil x",  "run --file",    "run -q",
					     "run --flag=1", "run -xf",	      "run operand",
					     "query top",    "query top a b", "run --color blue",
					     "run -f a -f b" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(call(lines[i]), EXIT_USAGE);
		assert_null(seen.verb);
	}
}

static void test_help(void **state)
{
	(void)state;
	assert_int_equal(call("--help"), EXIT_DONE);
	assert_int_equal(call("--version"), EXIT_DONE);
	assert_int_equal(call("record --help"), EXIT_DONE);
	assert_null(seen.verb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs),	 cmocka_unit_test(test_values),
		cmocka_unit_test(test_operands), cmocka_unit_test(test_wrong_usage),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
