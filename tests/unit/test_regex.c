/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_regex.c - RE2's language on PCRE2's engine
 *
 * The oracle is Go's regexp: tests/data/config/regex/oracle.txt holds its answers to random
 * patterns. Beside that: the refusals by name, the shortcuts against the engine, patterns that make
 * a backtracking matcher explode, threads.
 */
#include "core/config/regex.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

static struct dcm_regex *compile(struct dcm_str pattern, uint32_t flags)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_regex *re = NULL;

	if (regex__new(pattern, flags, &re, &err))
		fail_msg("%s", err.text);
	return re;
}

/* ------------------------------------------------------------------------------------------------
 * Go's answers
 */

static unsigned hex(const char *p, unsigned n)
{
	char digits[9] = { 0 };

	memcpy(digits, p, n);
	return (unsigned)strtoul(digits, NULL, 16);
}

static void utf8(uint32_t c, struct buf *out)
{
	if (c < 0x80) {
		buf__byte(out, (uint8_t)c);
	} else if (c < 0x800) {
		buf__byte(out, (uint8_t)(0xc0 | c >> 6));
		buf__byte(out, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buf__byte(out, (uint8_t)(0xe0 | c >> 12));
		buf__byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf__byte(out, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

/* One field as Go's strconv.QuoteToASCII writes it; returns what follows its tab. */
static const char *unquote(const char *p, struct buf *out)
{
	static const char letters[] = "abfnrtv\\\"", values[] = "\a\b\f\n\r\t\v\\\"";

	buf__reset(out);
	buf__text(out, "");
	assert_int_equal(*p++, '"');
	while (*p != '"') {
		if (*p != '\\') {
			buf__byte(out, (uint8_t)*p++);
			continue;
		}
		const char *letter = strchr(letters, p[1]);
		if (letter) {
			buf__byte(out, (uint8_t)values[letter - letters]);
			p += 2;
		} else if (p[1] == 'x') {
			buf__byte(out, (uint8_t)hex(p + 2, 2));
			p += 4;
		} else {
			assert_int_equal(p[1], 'u');
			utf8(hex(p + 2, 4), out);
			p += 6;
		}
	}
	return p[1] == '\t' ? p + 2 : p + 1;
}

struct oracle {
	struct buf pattern, text, expanded;
	unsigned n_lines, n_loops;
};

/*
 * What a repeated group holds after a turn that matched nothing is the one thing in which Perl's
 * rules, PCRE2's, and Go's differ.
 */
static bool repeats_a_group(struct dcm_str pattern)
{
	for (uint32_t i = 0; i + 1 < pattern.n; i++)
		if (pattern.p[i] == ')' && strchr("*+?{", pattern.p[i + 1]))
			return true;
	return false;
}

static void compare_line(struct oracle *o, const char *line, uint32_t flags)
{
	const char *answer = unquote(unquote(line, &o->pattern), &o->text);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_regex *re = NULL;
	struct buf ours = { 0 };

	o->n_lines++;
	int r = regex__new(buf__view(&o->pattern), flags, &re, &err);
	if (str__starts(str__of(answer), STR("error"))) {
		if (!r)
			fail_msg("Go refuses %s", line);
		assert_int_equal(r, -EINVAL);
		return;
	}
	if (r)
		fail_msg("%s: %s", line, err.text);
	bool yes = str__starts(str__of(answer), STR("yes"));
	if (regex__match(re, buf__view(&o->text)) != yes)
		fail_msg("flags %u, matching: %s", flags, line);
	r = regex__replace(re, buf__view(&o->text), STR("<$0|$1|${2}|$x>"), &ours);
	if (r != yes)
		fail_msg("flags %u, replacing: %s", flags, line);
	if (yes) {
		unquote(answer + 4, &o->expanded);
		bool same = str__eq(buf__view(&o->expanded), buf__view(&ours));
		if (!same && repeats_a_group(buf__view(&o->pattern)))
			o->n_loops++;
		else if (!same)
			fail_msg("flags %u, ours is %s: %s", flags, (const char *)ours.data, line);
	}
	buf__fini(&ours);
	regex__free(re);
}

static void agrees_with_go(void **state)
{
	static const uint32_t flags[] = { 0, REGEX_NO_JIT, REGEX_NO_SHORTCUT };
	struct oracle o = { 0 };
	char line[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		FILE *f = fopen(TEST_SRCDIR "/tests/data/config/regex/oracle.txt", "re");
		assert_non_null(f);
		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			compare_line(&o, line, flags[i]);
		}
		fclose(f);
	}
	assert_true(o.n_lines >= 3000);
	assert_true(o.n_loops < o.n_lines / 100);
	buf__fini(&o.pattern);
	buf__fini(&o.text);
	buf__fini(&o.expanded);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

static void refusals_name_construct_and_offset(void **state)
{
	static const struct {
		const char *pattern, *sentence;
	} cases[] = {
		{ "ab(?=c)", "RE2's syntax has no lookahead (offset 2)" },
		{ "(?!c)", "RE2's syntax has no lookahead (offset 0)" },
		{ "(?<=c)", "RE2's syntax has no lookbehind (offset 0)" },
		{ "(?<!c)", "RE2's syntax has no lookbehind (offset 0)" },
		{ "(?>c)", "RE2's syntax has no atomic groups (offset 0)" },
		{ "(a)\\1", "RE2's syntax has no backreferences: \\1 (offset 3)" },
		{ "(a)\\g1",
		  "RE2's syntax has no backreferences and subroutine calls: \\g (offset 3)" },
		{ "(?P=x)", "RE2's syntax has no backreferences (offset 0)" },
		{ "a*+", "RE2's syntax has no possessive quantifiers: *+ (offset 1)" },
		{ "a{2}+", "RE2's syntax has no possessive quantifiers: {2}+ (offset 1)" },
		{ "(?R)", "RE2's syntax has no recursion (offset 0)" },
		{ "(?1)", "RE2's syntax has no recursion (offset 0)" },
		{ "(?&x)", "RE2's syntax has no recursion (offset 0)" },
		{ "(?P>x)", "RE2's syntax has no recursion (offset 0)" },
		{ "(?(1)a|b)", "RE2's syntax has no conditionals (offset 0)" },
		{ "(?C1)", "RE2's syntax has no callouts (offset 0)" },
		{ "(?|a)", "RE2's syntax has no branch resets (offset 0)" },
		{ "(?#a)", "RE2's syntax has no comments (offset 0)" },
		{ "(*ACCEPT)", "RE2's syntax has no verbs: (*...) (offset 0)" },
		{ "a\\Kb", "RE2's syntax has no resetting the match's start: \\K (offset 1)" },
		{ "\\R", "RE2's syntax has no Perl's further classes: \\R (offset 0)" },
		{ "\\X", "RE2's syntax has no Perl's further classes: \\X (offset 0)" },
		{ "\\C", "RE2's syntax has no single bytes: \\C (offset 0)" },
		{ "(?x)a b", "RE2's syntax has no flag x (offset 0)" },
		{ "\\q", "\\q is no escape (offset 0)" },
		{ "a\\", "a backslash ends the pattern (offset 1)" },
		{ "*a", "there is nothing to repeat before * (offset 0)" },
		{ "a|*", "there is nothing to repeat before * (offset 2)" },
		{ "a**", "a quantifier follows a quantifier (use a group) (offset 2)" },
		{ "a{1001}", "{1001} must count up, and to 1000 at most (offset 1)" },
		{ "a{3,2}", "{3,2} must count up, and to 1000 at most (offset 1)" },
		{ "x(a", "a ( has no ) (offset 1)" },
		{ "a)", "a ) has no ( (offset 1)" },
		{ "x[a", "a [ has no ] (offset 1)" },
		{ "[z-a]",
		  "a range in a class must go from a lower character to a higher one (offset 1)" },
		{ "[[:foo:]]", "there is no class [:foo:] (offset 1)" },
		{ "\\p{", "\\p needs a Unicode class, as \\pL or \\p{Greek} (offset 0)" },
		{ "\\x{110000}", "\\x needs two hexadecimal digits, or a character's number in "
				 "braces (offset 0)" },
		{ "(?P<1 >a)",
		  "a group's name must be letters, digits and _, and end in > (offset 0)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		char whole[400];

		snprintf(whole, sizeof(whole), "regular expression \"%s\": %s", cases[i].pattern,
			 cases[i].sentence);
		assert_int_equal(regex__check(str__of(cases[i].pattern), &err), -EINVAL);
		assert_string_equal(err.text, whole);
	}
}

static void limits_are_sentences(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i <= REGEX_MAX_BYTES; i++)
		buf__byte(&b, 'a');
	assert_int_equal(regex__check(buf__view(&b), &err), -EFBIG);
	b.n--;
	assert_int_equal(regex__check(buf__view(&b), &err), 0);
	buf__reset(&b);
	for (int i = 0; i < REGEX_MAX_GROUPS; i++)
		buf__text(&b, "(a)");
	assert_int_equal(regex__check(buf__view(&b), &err), 0);
	buf__text(&b, "(a)");
	assert_int_equal(regex__check(buf__view(&b), &err), -EINVAL);
	assert_non_null(strstr(err.text, "more than 63 groups"));
	buf__reset(&b);
	for (int i = 0; i < 300; i++)
		buf__text(&b, "(?:");
	assert_int_equal(regex__check(buf__view(&b), &err), -EINVAL);
	assert_non_null(strstr(err.text, "nested deeper than 200"));
	assert_int_equal(regex__check(STR("(((a{1000}){1000}){1000}){1000}"), &err), -EINVAL);
	assert_int_equal(regex__check(STR("a\xff"), &err), -EINVAL);
	assert_string_equal(err.text, "the regular expression is not UTF-8");
	assert_int_equal(regex__check(STR("\\p{Klingon}"), &err), -EINVAL);
	buf__fini(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Matching
 */

static void shortcuts_say_what_the_engine_says(void **state)
{
	static const char *const patterns[] = {
		"",	   "a",		"foo",	 "foo|bar",   "foo|bar|",  "(foo|bar)",	 "^foo$",
		"^(a|b)$", ".*",	".+",	 "(.*)",      "(.+)",	   "foo.*",	 ".*foo",
		".*foo.*", ".+foo.+",	".+foo", "foo.+",     "a.*|.*b|c", "(?:a|.+b)",	 ".*?foo",
		"a\\.b",   "\\Qa.b\\E", "^a|b$", "(a)|b",     "a(b)",	   "(?:foo.*)$", "..*",
		"foo.",	   "a$b",	"a^b",	 "(a|b).*",   "((a))",	   "(a)b",	 "$",
		"^",	   ".*.*",	"a.*b",	 "(^foo|b$)", "(foo|)",	   "(foo)$$",	 "()",
	};
	static const char *const texts[] = {
		"",    "a",	 "b",	"c",   "ab",   "foo",	"bar",	 "xfoo", "foox", "xfoox",
		"xfo", "foofoo", "a.b", "axb", "a\nb", "foo\n", "\nfoo", "foob", "ax",	 "xb",
	};

	(void)state;
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		for (uint32_t search = 0; search <= REGEX_SEARCH; search += REGEX_SEARCH) {
			struct dcm_regex *fast = compile(str__of(patterns[p]), search);
			struct dcm_regex *slow = compile(str__of(patterns[p]), search | REGEX_NO_SHORTCUT);
			for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
				struct dcm_str text = str__of(texts[t]);
				if (regex__match(fast, text) != regex__match(slow, text))
					fail_msg("\"%s\" on \"%s\", search %u", patterns[p],
						 texts[t], search);
			}
			regex__free(fast);
			regex__free(slow);
		}
	}
}

static void case_may_be_ignored(void **state)
{
	struct dcm_regex *re = compile(STR("foo|B\xc3\x84R"), REGEX_IGNORE_CASE);

	(void)state;
	assert_true(regex__matches(re, STR("FOO")));
	assert_true(regex__matches(re, STR("b\xc3\xa4r")));
	assert_false(regex__matches(re, STR("fo")));
	regex__free(re);
}

/*
 * Each would take a backtracking matcher longer than the universe has; the answers are still right.
 */
static void explosions_are_answered(void **state)
{
	static const char *const patterns[] = { "(a+)+b",   "(a|a)*b",	  "(a*)*b",
						"(x+x+)+y", "(.*a){20}b", "((a|b)*c)*d" };
	char text[3001];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		for (uint32_t flags = 0; flags <= REGEX_NO_JIT; flags += REGEX_NO_JIT) {
			struct dcm_regex *re = compile(str__of(patterns[i]), flags);
			char first = patterns[i][1] == 'x' ? 'x' : 'a';
			memset(text, first, sizeof(text) - 1);
			struct dcm_str no = { text, sizeof(text) - 1 };
			assert_int_equal(regex__match(re, no), 0);
			text[sizeof(text) - 2] = patterns[i][strlen(patterns[i]) - 1];
			int r = regex__match(re, no);
			/* "((a|b)*c)*d" needs a c before its d. */
			assert_int_equal(r, patterns[i][strlen(patterns[i]) - 1] == 'd' ? 0 : 1);
			regex__free(re);
		}
	}
}

/* A match that ends before the text is none of the whole, by whichever matcher; of a part it is. */
static void explosions_end_with_the_text(void **state)
{
	char text[1001];

	(void)state;
	for (uint32_t flags = 0; flags <= REGEX_NO_JIT; flags += REGEX_NO_JIT) {
		struct dcm_regex *whole = compile(STR("(a.*)*b"), flags),
				 *part = compile(STR("(a.*)*b"), flags | REGEX_SEARCH);
		struct dcm_str all = { text, sizeof(text) - 1 };

		memset(text, 'a', sizeof(text));
		text[10] = 'b';
		assert_int_equal(regex__match(whole, all), 0);
		assert_int_equal(regex__match(part, all), 1);
		text[all.n - 1] = 'b';
		assert_int_equal(regex__match(whole, all), 1);
		regex__free(whole);
		regex__free(part);
	}
}

/*
 * What even the breadth-first matcher is not let loose on ends, and counts as no match.
 */
static void hopeless_matches_end(void **state)
{
	enum { BYTES = 32 << 20 };
	struct dcm_regex *re = compile(STR("(a+)+b"), 0);
	char *text = malloc(BYTES);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', BYTES);
	assert_int_equal(regex__match(re, (struct dcm_str){ text, BYTES }), -E2BIG);
	assert_int_equal(regex__n_failed(re), 1);
	assert_false(regex__matches(re, (struct dcm_str){ text, BYTES }));
	assert_int_equal(regex__n_failed(re), 2);
	struct regex_groups groups;
	assert_int_equal(regex__groups(re, (struct dcm_str){ text, BYTES }, &groups), -E2BIG);
	assert_int_equal(regex__n_failed(re), 3);
	free(text);
	regex__free(re);
}

static void bad_utf8_is_a_character(void **state)
{
	struct dcm_regex *re = compile(STR("(..)-(.*)"), REGEX_NO_SHORTCUT);
	struct dcm_str text = STR("\xff"
				  "a-\xfe"
				  "b");
	struct regex_groups g;

	(void)state;
	assert_int_equal(regex__groups(re, text, &g), 1);
	assert_int_equal(g.n, 3);
	/* Groups are parts of the text that was given. */
	assert_ptr_equal(g.v[1].p, text.p);
	assert_int_equal(g.v[1].n, 2);
	assert_ptr_equal(g.v[2].p, text.p + 3);
	assert_int_equal(g.v[2].n, 2);
	regex__free(re);
}

static void templates_are_gos(void **state)
{
	/* Expected: what Go's ExpandString("...") gives for the same match. */
	static const struct {
		const char *template, *result;
	} cases[] = {
		{ "$1", "ab" },		{ "${1}x", "abx" },
		{ "$1x", "" },		{ "$$1", "$1" },
		{ "$", "$" },		{ "a$", "a$" },
		{ "${", "${" },		{ "${1", "${1" },
		{ "$name", "cd" },	{ "${name}", "cd" },
		{ "$nam", "" },		{ "$01", "" },
		{ "$0", "abcd" },	{ "$9", "" },
		{ "$-", "$-" },		{ "$$$1", "$ab" },
		{ "$1$name", "abcd" },	{ "$1-$2", "ab-cd" },
		{ "${1}${2}", "abcd" }, { "", "" },
		{ "$99999999999", "" },
	};
	struct dcm_regex *re = compile(STR("(ab)(?P<name>cd)(x)?"), 0);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = { 0 };

		buf__text(&out, "");
		assert_int_equal(regex__replace(re, STR("abcd"), str__of(cases[i].template), &out), 1);
		struct dcm_str result = buf__view(&out);
		if (!str__eq(result, str__of(cases[i].result)))
			fail_msg("%s gives %.*s", cases[i].template, STR_ARG(result));
		buf__fini(&out);
	}
	regex__free(re);
}

static void *match_often(void *regex)
{
	for (int i = 0; i < 20000; i++) {
		char text[32];
		int n = snprintf(text, sizeof(text), "pod-%d-x", i);
		struct regex_groups g;

		if (regex__groups(regex, (struct dcm_str){ text, (uint32_t)n }, &g) != 1 ||
		    g.v[1].n != (uint32_t)n - 6)
			return "wrong";
	}
	return NULL;
}

static void threads_share_a_regex(void **state)
{
	struct dcm_regex *re = compile(STR("pod-(\\d+)-[a-z]"), 0);
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, match_often, re), 0);
	for (size_t i = 0; i < 8; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	regex__free(re);
}

static void memory_may_run_out(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_regex *re = NULL;
		struct buf out = { 0 };
		int r = regex__new(STR("(?P<n>a+)[bc]|x\\sy"), 0, &re, &err);

		if (!r)
			r = regex__replace(re, STR("aa\xff"), STR("$n"), &out);
		if (!r)
			r = regex__replace(re, STR("aab"), STR("$n"), &out);
		if (r == 1)
			r = out.error;
		failmalloc__disarm();
		if (r)
			assert_int_equal(r, -ENOMEM);
		buf__fini(&out);
		regex__free(re);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_go),
		cmocka_unit_test(refusals_name_construct_and_offset),
		cmocka_unit_test(limits_are_sentences),
		cmocka_unit_test(shortcuts_say_what_the_engine_says),
		cmocka_unit_test(case_may_be_ignored),
		cmocka_unit_test(explosions_are_answered),
		cmocka_unit_test(explosions_end_with_the_text),
		cmocka_unit_test(hopeless_matches_end),
		cmocka_unit_test(bad_utf8_is_a_character),
		cmocka_unit_test(templates_are_gos),
		cmocka_unit_test(threads_share_a_regex),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
