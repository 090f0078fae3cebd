/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/regex_syntax.c - reads RE2's syntax and writes PCRE2's
 *
 * A loop over atoms, quantifiers, groups and bars; characters and classes are regex_reader.c's.
 * Threads: pure, but for the struct.
 */
#include "core/config/regex_syntax.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/config/regex.h"
#include "core/config/regex_reader.h"

enum {
	REPEAT_MAX = 1000, /* as RE2 and Go */
	DEPTH_MAX = 200,   /* of groups; PCRE2's own limit is 250 */
};

struct syntax_reader {
	struct regex_syntax *s;
	struct regex_reader r;
	uint32_t open[DEPTH_MAX]; /* offsets of the groups that are open */
	uint32_t depth;
	bool can_repeat; /* an atom stands before */
	bool search;
	/* The shape: */
	bool wrapped;	/* one group around all of it has begun */
	bool unwrapped; /* and has ended */
	bool ended;	/* `$` was read: nothing may follow in this branch */
	bool last_is_dot;
};

#define refuse(x, offset, ...) regex_reader__refuse(&(x)->r, (offset), __VA_ARGS__)

static char peek(const struct syntax_reader *x, uint32_t k)
{
	return regex_reader__peek(&x->r, k);
}

/* ------------------------------------------------------------------------------------------------
 * The shape
 */

static struct regex_branch *branch(struct syntax_reader *x)
{
	return &x->s->branches.v[x->s->branches.n - 1];
}

static void not_simple(struct syntax_reader *x)
{
	x->s->is_simple = false;
}

static int begin_branch(struct syntax_reader *x)
{
	struct regex_branch b = { .off = (uint32_t)x->s->literals.n };

	x->ended = false;
	x->last_is_dot = false;
	if (!x->s->is_simple)
		return 0;
	return vec__push(&x->s->branches, b) ? 0 : error__nomem(x->r.err);
}

static bool branch_is_empty(struct syntax_reader *x)
{
	const struct regex_branch *b = branch(x);
	return b->n == 0 && !b->before && !x->ended;
}

/* A dot without a quantifier is not simple; whether one follows shows only then. */
static void settle_dot(struct syntax_reader *x)
{
	if (x->last_is_dot)
		not_simple(x);
	x->last_is_dot = false;
}

static void shape_literal(struct syntax_reader *x, const char *p, uint32_t n)
{
	settle_dot(x);
	if (!x->s->is_simple)
		return;
	if (branch(x)->after || x->ended || x->unwrapped) {
		not_simple(x);
		return;
	}
	buf__append(&x->s->literals, p, n);
	branch(x)->n += n;
}

static void shape_quantifier(struct syntax_reader *x, char op)
{
	bool dot = x->last_is_dot;

	x->last_is_dot = false;
	if (!x->s->is_simple)
		return;
	struct regex_branch *b = branch(x);
	enum regex_any any = op == '*' ? REGEX_STAR : REGEX_PLUS;
	if (!dot || (op != '*' && op != '+') || x->ended || x->unwrapped || b->after)
		not_simple(x);
	else if (b->n == 0 && !b->before)
		b->before = any;
	else if (b->n > 0)
		b->after = any;
	else
		not_simple(x);
}

static void shape_open(struct syntax_reader *x)
{
	settle_dot(x);
	if (!x->s->is_simple)
		return;
	if (x->wrapped || x->s->branches.n != 1 || !branch_is_empty(x))
		not_simple(x);
	x->wrapped = true;
}

static void shape_close(struct syntax_reader *x)
{
	settle_dot(x);
	x->unwrapped = true;
}

/* ^ before everything and $ behind everything say what a whole match says anyway. */
static void shape_anchor(struct syntax_reader *x, char c)
{
	settle_dot(x);
	if (!x->s->is_simple)
		return;
	if (x->search || (c == '^' && !branch_is_empty(x)))
		not_simple(x);
	if (c == '$')
		x->ended = true;
}

/* ------------------------------------------------------------------------------------------------
 * Atoms
 */

static void literal(struct syntax_reader *x, uint32_t c, const char *p, uint32_t n)
{
	regex_reader__literal(&x->r, c);
	shape_literal(x, p, n);
	x->can_repeat = true;
}

static void raw_literal(struct syntax_reader *x)
{
	uint32_t from = x->r.at;
	uint32_t c = regex_reader__take(&x->r);

	literal(x, c, x->r.in.p + from, x->r.at - from);
}

/* A character that was written as an escape; beyond ASCII the shape is given up. */
static void escaped_literal(struct syntax_reader *x, uint32_t c)
{
	char byte = (char)c;

	literal(x, c, &byte, 1);
	if (c >= 0x80)
		not_simple(x);
}

/* What a letter behind a backslash means in PCRE2 or Perl, and RE2 does not have. */
static const char *foreign_escape(char c)
{
	switch (c) {
	case 'k':
	case 'g':
		return "backreferences and subroutine calls";
	case 'K':
		return "resetting the match's start";
	case 'R':
	case 'X':
	case 'N':
	case 'h':
	case 'H':
	case 'V':
		return "Perl's further classes";
	case 'C':
		return "single bytes";
	case 'G':
	case 'Z':
		return "Perl's further anchors (use \\A and \\z)";
	case 'l':
	case 'L':
	case 'u':
	case 'U':
		return "changes of case";
	case 'c':
	case 'e':
	case 'o':
		return "Perl's further escapes (use \\x)";
	case 'E':
		return "a quotation's end without its beginning";
	default:
		return NULL;
	}
}

/* \Q...\E; at the backslash. Without \E it goes to the end. */
static void quotation(struct syntax_reader *x)
{
	for (x->r.at += 2; x->r.at < x->r.in.n; raw_literal(x)) {
		if (peek(x, 0) == '\\' && peek(x, 1) == 'E') {
			x->r.at += 2;
			return;
		}
	}
}

static int escape(struct syntax_reader *x)
{
	uint32_t start = x->r.at, c = 0;
	int kind = regex_reader__escape(&x->r, &c);

	if (kind < 0)
		return kind;
	if (kind == REGEX_CHARACTER) {
		escaped_literal(x, c);
		return 0;
	}
	if (kind == REGEX_OTHER && c == 'Q') {
		quotation(x);
		return 0;
	}
	settle_dot(x);
	not_simple(x);
	x->can_repeat = true;
	if (kind == REGEX_PERL && (c == 's' || c == 'S')) {
		buf__printf(x->r.out, "[%s\\t\\n\\f\\r ]", c == 'S' ? "^" : "");
	} else if (kind == REGEX_PERL) {
		buf__printf(x->r.out, "\\%c", (int)c);
	} else if (kind == REGEX_OTHER && strchr("AzbB", (char)c)) {
		buf__printf(x->r.out, "(?:\\%c)", (int)c);
		x->r.at = start + 2;
	} else if (kind == REGEX_OTHER) {
		const char *what = c < 0x80 ? foreign_escape((char)c) : NULL;
		int n = (int)str__utf8_len(x->r.in.p + start + 1, x->r.in.n - start - 1);
		if (what)
			return refuse(x, start, "RE2's syntax has no %s: \\%c", what, (int)c);
		return refuse(x, start, "\\%.*s is no escape", n, x->r.in.p + start + 1);
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Quantifiers
 */

/* {n}, {n,} or {n,m}: its length, else 0. Bounds are checked by the caller. */
static uint32_t counted(const struct syntax_reader *x, int64_t *ret_min, int64_t *ret_max)
{
	struct dcm_str s = { x->r.in.p + x->r.at + 1, x->r.in.n - x->r.at - 1 };
	const char *end = s.n ? memchr(s.p, '}', s.n) : NULL;
	const char *comma;

	if (!end)
		return 0;
	s.n = (uint32_t)(end - s.p);
	if (memchr(s.p, '-', s.n))
		return 0;
	comma = memchr(s.p, ',', s.n);
	struct dcm_str min = { s.p, comma ? (uint32_t)(comma - s.p) : s.n };
	int r = units__parse_int(min, "", ret_min);
	if (r == -ERANGE)
		*ret_min = INT64_MAX;
	else if (r)
		return 0;
	*ret_max = comma ? -1 : *ret_min;
	if (comma && comma + 1 < end) {
		struct dcm_str max = { comma + 1, (uint32_t)(end - comma) - 1 };
		r = units__parse_int(max, "", ret_max);
		if (r == -ERANGE)
			*ret_max = INT64_MAX;
		else if (r)
			return 0;
	}
	return s.n + 2;
}

/* Length of the quantifier that stands here, 0: none. */
static uint32_t quantifier_length(const struct syntax_reader *x, int64_t *ret_min, int64_t *ret_max)
{
	char c = peek(x, 0);

	*ret_min = *ret_max = 0;
	if (c == '*' || c == '+' || c == '?')
		return 1;
	return c == '{' ? counted(x, ret_min, ret_max) : 0;
}

static int quantifier(struct syntax_reader *x, uint32_t n, int64_t min, int64_t max)
{
	uint32_t start = x->r.at;
	char op = peek(x, 0);

	if (!x->can_repeat)
		return refuse(x, start, "there is nothing to repeat before %.*s", (int)n,
			      x->r.in.p + start);
	if (min > REPEAT_MAX || max > REPEAT_MAX || (max >= 0 && max < min))
		return refuse(x, start, "%.*s must count up, and to %d at most",
			      (int)(n > 40 ? 40 : n), x->r.in.p + start, REPEAT_MAX);
	buf__append(x->r.out, x->r.in.p + start, n);
	x->r.at += n;
	shape_quantifier(x, op);
	if (peek(x, 0) == '?') {
		buf__byte(x->r.out, '?');
		x->r.at++;
	} else if (peek(x, 0) == '+') {
		return refuse(x, start, "RE2's syntax has no possessive quantifiers: %.*s+", (int)n,
			      x->r.in.p + start);
	}
	if (quantifier_length(x, &min, &max))
		return refuse(x, x->r.at, "a quantifier follows a quantifier (use a group)");
	x->can_repeat = false;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Groups
 */

/* What "(?" and the following bytes begin in Perl, and RE2 does not have. */
static const char *foreign_group(const char *p, uint32_t n)
{
	static const struct {
		const char *begin, *what;
	} foreign[] = {
		{ "=", "lookahead" },
		{ "!", "lookahead" },
		{ "<=", "lookbehind" },
		{ "<!", "lookbehind" },
		{ ">", "atomic groups" },
		{ "|", "branch resets" },
		{ "#", "comments" },
		{ "(", "conditionals" },
		{ "R", "recursion" },
		{ "&", "recursion" },
		{ "P>", "recursion" },
		{ "+", "recursion" },
		{ "P=", "backreferences" },
		{ "C", "callouts" },
		{ "'", "groups named in quotes (use (?P<name>...))" },
		{ "x", "flag x" },
		{ "n", "flag n" },
		{ "J", "flag J" },
		{ "^", "flag ^" },
	};
	struct dcm_str rest = { p, n };

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (str__starts(rest, str__of(foreign[i].begin)))
			return foreign[i].what;
	return n && p[0] >= '0' && p[0] <= '9' ? "recursion" : NULL;
}

static int open_group(struct syntax_reader *x, const char *text)
{
	if (x->depth == DEPTH_MAX)
		return refuse(x, x->r.at, "groups are nested deeper than %d", DEPTH_MAX);
	x->open[x->depth++] = x->r.at;
	buf__text(x->r.out, text);
	x->can_repeat = false;
	return 0;
}

static int capture(struct syntax_reader *x)
{
	if (++x->s->n_groups > REGEX_MAX_GROUPS)
		return refuse(x, x->r.at, "more than %d groups (use (?:...) where no $N is needed)",
			      REGEX_MAX_GROUPS);
	shape_open(x);
	return open_group(x, "(");
}

/* (?P<name> or (?<name>; the name begins at `from`. */
static int named_group(struct syntax_reader *x, uint32_t from)
{
	uint32_t to = from;
	char c;

	while (to < x->r.in.n && (c = x->r.in.p[to]) != '>' &&
	       (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
		to++;
	if (to == from || to == x->r.in.n || x->r.in.p[to] != '>')
		return refuse(x, x->r.at, "a group's name must be letters, digits and _, and end in >");
	struct regex_name name = { x->s->n_groups + 1, from, to - from };
	int r = capture(x);
	if (r)
		return r;
	if (!vec__push(&x->s->names, name))
		return error__nomem(x->r.err);
	x->r.at = to + 1;
	return 0;
}

/* (?flags) and (?flags:...), flags of i m s U and one minus. At the parenthesis. */
static int flags_group(struct syntax_reader *x)
{
	uint32_t start = x->r.at, i = start + 2;
	bool minus = false, any = false;

	for (; i < x->r.in.n && strchr("imsU-", x->r.in.p[i]) && x->r.in.p[i]; i++) {
		if (x->r.in.p[i] == '-' && minus)
			break;
		minus |= x->r.in.p[i] == '-';
		any = x->r.in.p[i] != '-';
	}
	char end = i < x->r.in.n ? x->r.in.p[i] : '\0';
	if ((end != ')' && end != ':') || (minus && !any)) {
		const char *what = i < x->r.in.n ? foreign_group(x->r.in.p + i, x->r.in.n - i) : NULL;
		if (what)
			return refuse(x, start, "RE2's syntax has no %s", what);
		return refuse(x, start, "(? begins no group that is known");
	}
	if (end == ':' && i == start + 2) {
		shape_open(x);
	} else {
		settle_dot(x);
		not_simple(x);
	}
	if (end == ':') {
		int r = open_group(x, "");
		if (r)
			return r;
	}
	buf__append(x->r.out, x->r.in.p + start, i + 1 - start);
	x->can_repeat = false;
	x->r.at = i + 1;
	return 0;
}

static int group(struct syntax_reader *x)
{
	if (peek(x, 1) == '*')
		return refuse(x, x->r.at, "RE2's syntax has no verbs: (*...)");
	if (peek(x, 1) != '?') {
		int r = capture(x);
		x->r.at++;
		return r;
	}
	if (peek(x, 2) == 'P' && peek(x, 3) == '<')
		return named_group(x, x->r.at + 4);
	if (peek(x, 2) == '<' && peek(x, 3) != '=' && peek(x, 3) != '!')
		return named_group(x, x->r.at + 3);
	return flags_group(x);
}

static int close_group(struct syntax_reader *x)
{
	if (x->depth == 0)
		return refuse(x, x->r.at, "a ) has no (");
	x->depth--;
	x->r.at++;
	buf__byte(x->r.out, ')');
	shape_close(x);
	x->can_repeat = true;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static int bar(struct syntax_reader *x)
{
	settle_dot(x);
	if (x->unwrapped)
		not_simple(x);
	buf__byte(x->r.out, '|');
	x->r.at++;
	x->can_repeat = false;
	return begin_branch(x);
}

static int class(struct syntax_reader *x)
{
	settle_dot(x);
	not_simple(x);
	x->can_repeat = true;
	return regex_reader__class(&x->r);
}

/* PCRE2 does not let an anchor be repeated unless it stands in a group. */
static void dot_or_anchor(struct syntax_reader *x, char c)
{
	if (c == '.') {
		settle_dot(x);
		x->last_is_dot = true;
		buf__byte(x->r.out, '.');
	} else {
		shape_anchor(x, c);
		buf__printf(x->r.out, "(?:%c)", c);
	}
	x->r.at++;
	x->can_repeat = true;
}

static int step(struct syntax_reader *x)
{
	int64_t min, max;
	uint32_t n = quantifier_length(x, &min, &max);
	char c = peek(x, 0);

	if (n)
		return quantifier(x, n, min, max);
	switch (c) {
	case '\\':
		return escape(x);
	case '[':
		return class(x);
	case '(':
		return group(x);
	case ')':
		return close_group(x);
	case '|':
		return bar(x);
	case '.':
	case '^':
	case '$':
		dot_or_anchor(x, c);
		return 0;
	default:
		raw_literal(x);
		return 0;
	}
}

int regex_syntax__read(struct regex_syntax *s, struct dcm_str pattern, bool search, struct dcm_error *err)
{
	struct syntax_reader x = { .s = s, .search = search };

	x.r = (struct regex_reader){ .in = pattern, .out = &s->pattern, .err = err };
	s->is_simple = true;
	if (!str__is_utf8(pattern))
		return error__set(err, -EINVAL, "the regular expression is not UTF-8");
	int r = begin_branch(&x);
	while (!r && x.r.at < pattern.n)
		r = step(&x);
	if (r)
		return r;
	if (x.depth)
		return refuse(&x, x.open[x.depth - 1], "a ( has no )");
	settle_dot(&x);
	return s->pattern.error || s->literals.error ? error__nomem(err) : 0;
}

void regex_syntax__fini(struct regex_syntax *s)
{
	buf__fini(&s->pattern);
	buf__fini(&s->literals);
	vec__fini(&s->names);
	vec__fini(&s->branches);
}
