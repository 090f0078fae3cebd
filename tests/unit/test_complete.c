/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_complete.c - what the last word of a line may become
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/str.h"
#include "core/main/complete.h"
#include "tests/unit/failmalloc.h"

static const char *const formats[] = { "text", "json", NULL };
static const struct args_option options[] = {
	{ "config", 'c', ARGS_FILE, "FILE", NULL, false, "a file" },
	{ "set", 0, ARGS_TEXT, "KEY=VALUE", NULL, true, "many\nand a second line" },
	{ "data", 0, ARGS_DIR, "DIR", NULL, false, "a directory" },
	{ "format", 'f', ARGS_CHOICE, "FORMAT", formats, false, "a choice" },
	{ "by", 0, ARGS_TEXT, "L,..", NULL, false, "labels" },
	{ "flag", 0, ARGS_FLAG, NULL, NULL, false, "" },
	{ 0 },
};
static const struct args_option *const tables[] = { options, NULL };
static const struct args_verb verbs[] = {
	{ "run", "", 0, 0, false, tables, "runs", NULL, NULL },
	{ "record", "[-- CMD ARG..]", 0, -1, true, tables, "records", NULL, NULL },
	{ "query types", "", 0, 0, false, tables, "lists", NULL, NULL },
	{ "query top", "SELECTOR", 1, 1, false, tables, "asks", NULL, NULL },
	{ "describe", "[KIND/NAME]", 0, 1, false, tables, "says", NULL, NULL },
	{ "convert", "IN OUT", 2, 2, false, tables, "converts", NULL, NULL },
	{ "strip", "FILE..", 1, -1, false, tables, "strips", NULL, NULL },
	{ 0 },
};

#define OPTIONS                                                                                    \
	"--config\ta file\n--set\tmany\n--data\ta directory\n--format\ta choice\n"                 \
	"--by\tlabels\n--flag\n--help\twhat the command does\n"

/* What was looked up, and what the line's --config was. */
static char looked_up[64];
static bool with_comma; /* a name is offered that a list has in quotes */

static void lookup(struct complete *c, const struct args *line, struct dcm_str placeholder)
{
	snprintf(looked_up, sizeof(looked_up), "%.*s of %s, %s", (int)placeholder.n, placeholder.p,
		 line->verb->name, args__get(line, "config", "none"));
	complete__add(c, "one", "first");
	complete__add(c, "other", NULL);
	complete__add(c, "two", "second");
	if (with_comma)
		complete__add(c, "x,\"y", NULL);
}

/* LINE is split at its blanks; one at its end begins an empty word. */
static void expect(const char *line, const char *want)
{
	struct complete c = { .verbs = verbs, .otherwise = "run", .lookup = lookup };
	char text[128];
	const char *words[16] = { text };
	int n = 1;

	looked_up[0] = '\0';
	snprintf(text, sizeof(text), "%s", line);
	for (char *p = text; *p; p++)
		if (*p == ' ') {
			*p = '\0';
			words[n++] = p + 1;
		}
	complete__words(&c, n, words);
	assert_int_equal(c.out.error, 0);
	if (!str__eq(buf__view(&c.out), str__of(want)))
		fail_msg("\"%s\": %.*s instead of %s", line, (int)c.out.n, (const char *)c.out.data, want);
	buf__fini(&c.out);
}

static void test_verbs(void **state)
{
	(void)state;
	expect("", "run\truns\nrecord\trecords\nquery\ttypes, top\ndescribe\tsays\n"
		   "convert\tconverts\nstrip\tstrips\n");
	expect("r", "run\truns\nrecord\trecords\n");
	expect("query", "query\ttypes, top\n");
	expect("query ", "types\tlists\ntop\tasks\n");
	expect("query to", "top\tasks\n");
	expect("qery ", "");
	expect("quer ", "");
	expect("query nothing ", "");
	expect("nothing", "");
}

static void test_options(void **state)
{
	(void)state;
	expect("-", OPTIONS "--version\twhich version this is\n");
	expect("--v", "--version\twhich version this is\n");
	expect("run --f", "--format\ta choice\n--flag\n");
	expect("run --format", "--format\ta choice\n");
	expect("run --fast", "");
	/* What is given is not offered again, unless it may come many times. */
	expect("--config a --set b=c --flag --format=json --",
	       "--set\tmany\n--data\ta directory\n--by\tlabels\n--help\twhat the command does\n");
	expect("run -fjson --fo", "");
	/* No operand can follow: what else there is. */
	expect("run ", OPTIONS);
	expect("convert a b ", OPTIONS);
	expect("convert -- a b ", "");
	/* Options that are none are passed over. */
	expect("query top --nothing --fl", "--flag\n");
}

static void test_values(void **state)
{
	(void)state;
	expect("run --format ", "text\njson\n");
	expect("run -f j", "json\n");
	expect("run --format=", "--format=text\n--format=json\n");
	expect("run --format=j", "--format=json\n");
	expect("run --flag=", "");
	expect("run --nothing=", "");
	expect("-c ", ":files\n");
	expect("run --config=x", ":files\n");
	expect("run --data ", ":dirs\n");
	expect("run --by ", "one\tfirst\nother\ntwo\tsecond\n");
	assert_string_equal(looked_up, "L of run, none");
	expect("run --by two,o", "two,one\tfirst\ntwo,other\n");
	expect("run --by=two,x,tw", "--by=two,x,two\tsecond\n");
	expect("run --set ", "one\tfirst\nother\ntwo\tsecond\n");
	assert_string_equal(looked_up, "KEY=VALUE of run, none");
}

/* As the lists of the API read them: a comma between quotes is the name's own. */
static void test_lists(void **state)
{
	(void)state;
	expect("run --by=\"a,b\",tw", "--by=\"a,b\",two\tsecond\n");
	expect("run --by=\"a,tw", "");
	expect("run --by 'a,o", "");
	expect("run --by `a\\`,o", "`a\\`,one\tfirst\n`a\\`,other\n");
	expect("run --by \"a\\\",b\",tw", "\"a\\\",b\",two\tsecond\n");
	/* Elsewhere a quote is a character of the name. */
	expect("run --by a\"b,tw", "a\"b,two\tsecond\n");
	expect("run --by x,\"t", "x,\"two\"\tsecond\n");
	with_comma = true;
	expect("run --by one,", "one,one\tfirst\none,other\none,two\tsecond\none,\"x,\\\"y\"\n");
	expect("run --by \"x,", "\"x,\\\"y\"\n");
	expect("query top x", "x,\"y\n");
	with_comma = false;
}

static void test_operands(void **state)
{
	(void)state;
	expect("query top -c x t", "two\tsecond\n");
	assert_string_equal(looked_up, "SELECTOR of query top, x");
	expect("describe o", "one\tfirst\nother\n");
	assert_string_equal(looked_up, "KIND/NAME of describe, none");
	expect("convert ", ":files\n");
	expect("convert - ", ":files\n");
	expect("strip a b c ", ":files\n");
	expect("record ", ":commands\n");
	expect("record -- ", ":commands\n");
	expect("record -- -", ":commands\n");
	/* The options behind a command are its own. */
	expect("record ls --f", ":files\n");
	expect("record -- ls x ", ":files\n");
}

static void test_no_lookup(void **state)
{
	struct complete c = { .verbs = verbs, .otherwise = "run" };
	const char *const words[] = { "query", "top", "" };

	(void)state;
	complete__words(&c, 3, words);
	assert_int_equal(c.out.n, 0);
	buf__fini(&c.out);
}

static void test_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct complete c = { .verbs = verbs, .otherwise = "run", .lookup = lookup };

		complete__words(&c, 1, (const char *const[]){ "" });
		complete__words(&c, 3, (const char *const[]){ "run", "--flag", "--" });
		if (failmalloc__disarm())
			assert_int_equal(c.out.error, -ENOMEM);
		else
			assert_int_equal(c.out.error, 0);
		buf__fini(&c.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs),  cmocka_unit_test(test_options),
		cmocka_unit_test(test_values), cmocka_unit_test(test_operands),
		cmocka_unit_test(test_lists),  cmocka_unit_test(test_no_lookup),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
