/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/regex.h - regular expressions: RE2's syntax, PCRE2's engine
 *
 * The pattern is read by our own scanner (core/config/regex_syntax.h), which refuses whatever RE2
 * and Go's regexp do not have (lookaround, backreferences, atomic groups, possessive quantifiers,
 * recursion, conditionals, callouts, \K \R \X \C ...) and rewrites what the two mean differently.
 * The whole text must match unless REGEX_SEARCH is given; `.` matches a newline too, `$` only the
 * very end: as in Prometheus. Bytes that are not UTF-8 count as U+FFFD each. One difference is
 * left: (?i) does not make \p{Lu} match lower case.
 *
 * Cost: literals, alternatives of literals, and those with `.*` or `.+` around them are compared
 * without PCRE2. Others run under the JIT where the process may have executable memory. A match
 * that backtracks too long is answered by PCRE2's breadth-first matcher instead, in time linear in
 * text times pattern.
 *
 * Limits: patterns of 4 KiB, 63 groups, repeats of 1000. Threads: a compiled regex may be used by
 * any number at once. Sources: github.com/google/re2/wiki/Syntax, pkg.go.dev/regexp/syntax,
 * pcre2pattern(3), pcre2api(3).
 */
#ifndef DECIMA_CONFIG_REGEX_H
#define DECIMA_CONFIG_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"

#define REGEX_MAX_BYTES	 4096
#define REGEX_MAX_GROUPS 63

enum regex_flag {
	REGEX_SEARCH = 1,      /* a match anywhere in the text will do */
	REGEX_IGNORE_CASE = 2, /* as (?i) in front */
	REGEX_NO_JIT = 4,      /* for tests: PCRE2's interpreter */
	REGEX_NO_SHORTCUT = 8, /* for tests: PCRE2 even for literals */
};

/*
 * 0, -EINVAL with a sentence that names the construct and its offset, -EFBIG (pattern too long),
 * -ENOMEM.
 */
int regex__new(struct dcm_str pattern, uint32_t flags, struct dcm_regex **ret_regex,
	       struct dcm_error *err);
void regex__free(struct dcm_regex *re);
DEFINE_CLEANUP(struct dcm_regex *, regex__free);

/* As regex__new(), without keeping anything: for checking options. */
int regex__check(struct dcm_str pattern, struct dcm_error *err);

/* 1: matches, 0: does not, -E2BIG: too expensive to tell, -ENOMEM. */
int regex__match(const struct dcm_regex *re, struct dcm_str text);

/* regex__match() == 1: what could not be told counts as no match. */
bool regex__matches(const struct dcm_regex *re, struct dcm_str text);
/*
 * How many texts, of all the functions here, could not be told: whoever takes them for no match
 * says so to those who rely on it.
 */
uint64_t regex__n_failed(const struct dcm_regex *re);

struct regex_groups {
	uint32_t n; /* 1 + the pattern's groups */
	/* [n] parts of the text, [0] the whole match; p NULL: the group took no part. */
	struct dcm_str v[REGEX_MAX_GROUPS + 1];
};

/* As regex__match(); fills groups when 1. */
int regex__groups(const struct dcm_regex *re, struct dcm_str text, struct regex_groups *ret_groups);

/*
 * Appends the template with $1, ${1}, $name, ${name} replaced and $$ as $: Go's Regexp.Expand. A
 * name goes as far as letters, digits and _ do; unknown ones are empty; a $ that begins none stands
 * for itself.
 */
void regex__expand(const struct dcm_regex *re, const struct regex_groups *groups,
		   struct dcm_str template, struct buf *out);

/*
 * The two at once. 1: matched and appended; 0: no match; negative: see regex__match(); out->error
 * is the caller's.
 */
int regex__replace(const struct dcm_regex *re, struct dcm_str text, struct dcm_str template,
		   struct buf *out);

#endif
