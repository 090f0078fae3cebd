/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/regex.c - regular expressions: RE2's syntax, PCRE2's engine
 *
 * A text goes the cheapest way that can answer: comparison of bytes, JIT code, PCRE2's interpreter
 * where the JIT ran out of stack, its breadth-first matcher where backtracking ran out of patience.
 * Compiled code is read-only; what a match writes into (pcre2_match_data) comes from a small stock
 * inside the regex that threads exchange atomically, so that a match allocates nothing as a rule.
 */
#include "core/config/regex.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/regex_syntax.h"

enum {
	STOCK = 4,	      /* match data kept: threads that match one regex at once, as a rule */
	MATCH_STEPS = 100000, /* of backtracking before the breadth-first matcher: about 1 ms */
	HEAP_KIB = 16384,     /* of the interpreter's frames */
	DFA_INTS = 65536,     /* states of the breadth-first matcher, 256 KiB */
	DFA_WORK_MAX = 64 << 20, /* bytes of text times bytes of pattern that it is let loose on */
};

struct dcm_regex {
	struct regex_syntax syntax;
	char *source; /* the pattern as given, for names */
	bool search, use_branches;
	pcre2_general_context *general;
	pcre2_compile_context *compile;
	pcre2_match_context *match;
	pcre2_code *code;
	_Atomic(pcre2_match_data *) stock[STOCK];
	_Atomic uint64_t n_failed;
};

/* Through our own malloc, so that tests can make it fail. */
static void *pcre_malloc(size_t n, void *ctx)
{
	(void)ctx;
	return malloc(n);
}

static void pcre_free(void *p, void *ctx)
{
	(void)ctx;
	free(p);
}

/* ------------------------------------------------------------------------------------------------
 * Making one
 */

static int make_contexts(struct dcm_regex *re)
{
	re->general = pcre2_general_context_create(pcre_malloc, pcre_free, NULL);
	if (!re->general)
		return -ENOMEM;
	re->compile = pcre2_compile_context_create(re->general);
	re->match = pcre2_match_context_create(re->general);
	if (!re->compile || !re->match)
		return -ENOMEM;
	pcre2_set_newline(re->compile, PCRE2_NEWLINE_LF);
	pcre2_set_match_limit(re->match, MATCH_STEPS);
	pcre2_set_depth_limit(re->match, MATCH_STEPS);
	pcre2_set_heap_limit(re->match, HEAP_KIB);
	return 0;
}

static int compile(struct dcm_regex *re, struct dcm_str pattern, uint32_t flags, struct dcm_error *err)
{
	/* ALT_CIRCUMFLEX: (?m)^ matches behind the last newline too, as in RE2. */
	uint32_t options = PCRE2_UTF | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX |
			   PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_UTF_CHECK;
	const struct buf *p = &re->syntax.pattern;
	PCRE2_UCHAR text[200];
	PCRE2_SIZE offset;
	int code;

	if (!re->search)
		options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
	if (flags & REGEX_IGNORE_CASE)
		options |= PCRE2_CASELESS;
	re->code = pcre2_compile(p->data ? p->data : (PCRE2_SPTR) "", p->n, options, &code, &offset,
				 re->compile);
	if (!re->code && code == PCRE2_ERROR_HEAP_FAILED)
		return error__nomem(err);
	if (!re->code) {
		/* The offset is one of the rewritten pattern: no use to anybody. */
		pcre2_get_error_message(code, text, sizeof(text));
		return error__set(err, -EINVAL, "regular expression \"%.*s\": %s",
				  pattern.n > 200 ? (int)str__utf8_cut(pattern.p, 200)
						  : (int)pattern.n,
				  pattern.p, (const char *)text);
	}
	/* A process without executable memory (MemoryDenyWriteExecute) goes without. */
	if (!(flags & REGEX_NO_JIT))
		pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
	return 0;
}

int regex__new(struct dcm_str pattern, uint32_t flags, struct dcm_regex **ret_regex, struct dcm_error *err)
{
	if (pattern.n > REGEX_MAX_BYTES)
		return error__set(err, -EFBIG, "a regular expression of %u bytes; %d is the most, so split it up",
				  pattern.n, REGEX_MAX_BYTES);
	CLEANUP(regex__freep) struct dcm_regex *re = NEW(struct dcm_regex);
	if (!re)
		return error__nomem(err);
	re->search = flags & REGEX_SEARCH;
	re->source = mem__dup_str(pattern.n ? pattern.p : "", pattern.n);
	if (!re->source || make_contexts(re))
		return error__nomem(err);
	int r = regex_syntax__read(&re->syntax, pattern, re->search, err);
	if (!r)
		r = compile(re, pattern, flags, err);
	if (r)
		return r;
	re->use_branches = re->syntax.is_simple && !(flags & (REGEX_NO_SHORTCUT | REGEX_IGNORE_CASE));
	*ret_regex = take_ptr(re);
	return 0;
}

void regex__free(struct dcm_regex *re)
{
	if (!re)
		return;
	for (size_t i = 0; i < STOCK; i++)
		pcre2_match_data_free(atomic_load(&re->stock[i]));
	pcre2_code_free(re->code);
	pcre2_match_context_free(re->match);
	pcre2_compile_context_free(re->compile);
	pcre2_general_context_free(re->general);
	regex_syntax__fini(&re->syntax);
	free(re->source);
	free(re);
}

int regex__check(struct dcm_str pattern, struct dcm_error *err)
{
	struct dcm_regex *re = NULL;
	int r = regex__new(pattern, REGEX_NO_JIT, &re, err);

	regex__free(re);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Comparing bytes
 */

/* Does the literal stand in text[from, to)? */
static bool contains(struct dcm_str text, struct dcm_str literal, uint32_t from, uint32_t to)
{
	return from <= to && to - from >= literal.n &&
	       (literal.n == 0 || memmem(text.p + from, to - from, literal.p, literal.n));
}

static bool branch_matches(const struct regex_branch *b, struct dcm_str literal,
			   struct dcm_str text, bool search)
{
	/* A .+ takes at least one byte away from where the literal may stand. */
	uint32_t from = b->before == REGEX_PLUS, behind = b->after == REGEX_PLUS;

	if (text.n < literal.n + from + behind)
		return false;
	if (search || (b->before && b->after))
		return contains(text, literal, from, text.n - behind);
	if (b->before)
		return str__ends(text, literal);
	if (b->after)
		return str__starts(text, literal);
	return str__eq(text, literal);
}

static bool branches_match(const struct dcm_regex *re, struct dcm_str text)
{
	const char *literals = (const char *)re->syntax.literals.data;

	for (size_t i = 0; i < re->syntax.branches.n; i++) {
		const struct regex_branch *b = &re->syntax.branches.v[i];
		struct dcm_str literal = { b->n ? literals + b->off : "", b->n };

		if (branch_matches(b, literal, text, re->search))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * PCRE2
 */

static pcre2_match_data *take_data(struct dcm_regex *re)
{
	for (size_t i = 0; i < STOCK; i++) {
		pcre2_match_data *d = atomic_exchange_explicit(&re->stock[i], NULL, memory_order_acquire);
		if (d)
			return d;
	}
	return pcre2_match_data_create(re->syntax.n_groups + 1, re->general);
}

static void put_data(struct dcm_regex *re, pcre2_match_data *d)
{
	for (size_t i = 0; i < STOCK; i++) {
		pcre2_match_data *none = NULL;
		if (atomic_compare_exchange_strong_explicit(
			    &re->stock[i], &none, d, memory_order_release, memory_order_relaxed))
			return;
	}
	pcre2_match_data_free(d);
}

static bool ran_out(int rc)
{
	return rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT ||
	       rc == PCRE2_ERROR_HEAPLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT;
}

/* Whether there is a match, not where its groups are: 1, 0 or negative. */
static int match_breadth_first(const struct dcm_regex *re, struct dcm_str text, pcre2_match_data *data)
{
	if ((uint64_t)text.n * (re->syntax.pattern.n + 1) > DFA_WORK_MAX)
		return -E2BIG;
	int *work = malloc(DFA_INTS * sizeof(*work));
	if (!work)
		return -ENOMEM;
	int rc = pcre2_dfa_match(re->code, (PCRE2_SPTR)text.p, text.n, 0,
				 PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST * re->search, data,
				 re->match, work, DFA_INTS);
	free(work);
	/* The longest comes first. PCRE2 10.42 has such that end before the text, whatever PCRE2_ENDANCHORED says. */
	if (rc >= 0)
		return re->search || pcre2_get_ovector_pointer(data)[1] == text.n;
	return rc == PCRE2_ERROR_NOMATCH ? 0 : rc == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
}

/* text is UTF-8. 1 with the groups in data (when wanted), 0 or negative. */
static int match_data(const struct dcm_regex *re, struct dcm_str text, pcre2_match_data *data,
		      bool want_groups)
{
	PCRE2_SPTR p = (PCRE2_SPTR)text.p;
	int rc = pcre2_match(re->code, p, text.n, 0, PCRE2_NO_UTF_CHECK, data, re->match);

	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(re->code, p, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
				 re->match);
	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (!ran_out(rc))
		return rc == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -EINVAL;
	int r = match_breadth_first(re, text, data);
	return r == 1 && want_groups ? -E2BIG : r;
}

/* Each byte that is not UTF-8 as U+FFFD. Caller frees p. */
static int repaired(struct dcm_str text, struct buf *out)
{
	for (uint32_t i = 0; i < text.n && !out->error;) {
		unsigned n = str__utf8_len(text.p + i, text.n - i);

		buf__append(out, n ? text.p + i : "\xef\xbf\xbd", n ? n : 3);
		i += n ? n : 1;
	}
	return out->error;
}

/* The offset in the text that a given one in its repaired copy came from. */
static uint32_t original_offset(struct dcm_str text, size_t repaired_offset)
{
	uint32_t i = 0;

	for (size_t at = 0; at < repaired_offset && i < text.n;) {
		unsigned n = str__utf8_len(text.p + i, text.n - i);

		at += n ? n : 3;
		i += n ? n : 1;
	}
	return i;
}

static void read_groups(const struct dcm_regex *re, struct dcm_str text, bool is_repaired,
			pcre2_match_data *data, struct regex_groups *ret)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);

	ret->n = re->syntax.n_groups + 1;
	for (uint32_t i = 0; i < ret->n; i++) {
		size_t from = at[2 * i], to = at[2 * i + 1];

		ret->v[i] = (struct dcm_str){ NULL, 0 };
		if (from == PCRE2_UNSET)
			continue;
		if (is_repaired) {
			from = original_offset(text, from);
			to = original_offset(text, to);
		}
		ret->v[i] = (struct dcm_str){ text.p + from, (uint32_t)(to - from) };
	}
}

static int match(const struct dcm_regex *constant, struct dcm_str text, struct regex_groups *groups)
{
	/* Only the stock changes, and it is atomic. */
	struct dcm_regex *re = (struct dcm_regex *)constant;
	struct buf copy = { 0 };
	struct dcm_str clean = text;
	bool is_repaired = !str__is_utf8(text);

	if (is_repaired) {
		if (repaired(text, &copy)) {
			buf__fini(&copy);
			return -ENOMEM;
		}
		clean = buf__view(&copy);
	}
	pcre2_match_data *data = take_data(re);
	int r = data ? match_data(re, clean, data, groups) : -ENOMEM;
	if (r == 1 && groups)
		read_groups(re, text, is_repaired, data, groups);
	if (data)
		put_data(re, data);
	buf__fini(&copy);
	return r;
}

/* What could not be told is counted, whatever is made of it. */
static int counted(const struct dcm_regex *re, int r)
{
	if (r < 0)
		atomic_fetch_add_explicit(&((struct dcm_regex *)re)->n_failed, 1, memory_order_relaxed);
	return r;
}

int regex__match(const struct dcm_regex *re, struct dcm_str text)
{
	if (!text.p)
		text = STR("");
	return re->use_branches ? branches_match(re, text) : counted(re, match(re, text, NULL));
}

bool regex__matches(const struct dcm_regex *re, struct dcm_str text)
{
	return regex__match(re, text) == 1;
}

uint64_t regex__n_failed(const struct dcm_regex *re)
{
	return atomic_load_explicit(&re->n_failed, memory_order_relaxed);
}

int regex__groups(const struct dcm_regex *re, struct dcm_str text, struct regex_groups *ret_groups)
{
	if (!text.p)
		text = STR("");
	if (re->use_branches && !branches_match(re, text))
		return 0;
	if (re->use_branches && re->syntax.n_groups == 0 && !re->search) {
		ret_groups->n = 1;
		ret_groups->v[0] = text;
		return 1;
	}
	return counted(re, match(re, text, ret_groups));
}

/* ------------------------------------------------------------------------------------------------
 * Templates
 */

static bool is_name_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What a number or name stands for; empty when nothing. Of equal names the first that took part. */
static struct dcm_str group_text(const struct dcm_regex *re, const struct regex_groups *groups,
				 struct dcm_str name)
{
	bool is_number = name.p[0] != '0' || name.n == 1;
	uint32_t number = 0;

	for (uint32_t i = 0; i < name.n && is_number; i++) {
		is_number = name.p[i] >= '0' && name.p[i] <= '9' && number < 1000000;
		if (is_number)
			number = number * 10 + (uint32_t)(name.p[i] - '0');
	}
	if (is_number && number < groups->n && groups->v[number].p)
		return groups->v[number];
	for (size_t i = 0; i < re->syntax.names.n && !is_number; i++) {
		const struct regex_name *n = &re->syntax.names.v[i];
		if (groups->v[n->group].p && str__eq(name, (struct dcm_str){ re->source + n->off, n->n }))
			return groups->v[n->group];
	}
	return STR("");
}

/* "$name" or "${name}" at s: its length, and the name; 0: the $ begins none. */
static uint32_t variable(struct dcm_str s, struct dcm_str *ret_name)
{
	bool brace = s.n > 1 && s.p[1] == '{';
	uint32_t from = 1 + brace, to = from;

	while (to < s.n && is_name_byte(s.p[to]))
		to++;
	if (to == from || (brace && (to == s.n || s.p[to] != '}')))
		return 0;
	*ret_name = (struct dcm_str){ s.p + from, to - from };
	return to + brace;
}

void regex__expand(const struct dcm_regex *re, const struct regex_groups *groups,
		   struct dcm_str template, struct buf *out)
{
	for (uint32_t i = 0; i < template.n;) {
		struct dcm_str rest = { template.p + i, template.n - i }, name;
		const char *dollar = memchr(rest.p, '$', rest.n);
		uint32_t before = dollar ? (uint32_t)(dollar - rest.p) : rest.n;

		buf__append(out, rest.p, before);
		i += before;
		if (!dollar)
			return;
		rest = (struct dcm_str){ dollar, template.n - i };
		if (rest.n > 1 && rest.p[1] == '$') {
			buf__byte(out, '$');
			i += 2;
			continue;
		}
		uint32_t n = variable(rest, &name);
		if (n == 0) {
			buf__byte(out, '$');
			i++;
			continue;
		}
		buf__str(out, group_text(re, groups, name));
		i += n;
	}
}

int regex__replace(const struct dcm_regex *re, struct dcm_str text, struct dcm_str template,
		   struct buf *out)
{
	struct regex_groups groups;
	int r = regex__groups(re, text, &groups);

	if (r == 1)
		regex__expand(re, &groups, template, out);
	return r;
}
