/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/selector.c - a hand-written reader of one pass over the text, and its writer
 */
#include "core/query/selector.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"
#include "core/config/regex.h"

struct reader {
	struct dcm_str text;
	uint32_t at;
	struct selector *out; /* NULL: a list of names is read */
	struct arena *arena;  /* of what is read */
	struct buf scratch;   /* the string being unescaped */
	uint32_t cap;	      /* of out->matchers */
	struct dcm_error *err;
};

/* -------------------------------------------------------------------------------------------------
 * Where and what
 */

/* Columns count characters from 1; a byte that is none counts as one. */
static unsigned column_of(const struct reader *r, uint32_t at)
{
	unsigned column = 1;

	for (uint32_t i = 0; i < at; column++) {
		unsigned n = str__utf8_len(r->text.p + i, r->text.n - i);
		i += n ? n : 1;
	}
	return column;
}

static int wrong_at(const struct reader *r, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int wrong_at(const struct reader *r, uint32_t at, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return error__set(r->err, -EINVAL, "column %u: %s", column_of(r, at), what);
}

static int peek(const struct reader *r)
{
	return r->at < r->text.n ? (unsigned char)r->text.p[r->at] : -1;
}

static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct reader *r)
{
	while (is_space(peek(r)))
		r->at++;
}

static bool is_bare(int c)
{
	return c > ' ' && c != 0x7f && !strchr("{},=!~\"'`", c);
}

/* A run of bare characters; must be UTF-8. */
static int read_bare(struct reader *r, const char *what, struct dcm_str *ret)
{
	uint32_t start = r->at;

	while (is_bare(peek(r)))
		r->at++;
	*ret = (struct dcm_str){ r->text.p + start, r->at - start };
	if (!str__is_utf8(*ret))
		return wrong_at(r, start, "the %s is not UTF-8", what);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Strings
 */

static void put_utf8(struct buf *b, uint32_t c)
{
	char text[4];

	buf__append(b, text, str__utf8_put(c, text));
}

/* n digits of a base: the number, or -EINVAL. */
static int read_digits(struct reader *r, uint32_t escape, unsigned n, unsigned base, uint32_t *ret)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++, r->at++) {
		int d = str__hex_digit((char)peek(r));
		if (d < 0 || d >= (int)base)
			return wrong_at(r, escape, "the escape needs %u digits of base %u", n, base);
		v = v * base + (uint32_t)d;
	}
	*ret = v;
	return 0;
}

/* Behind the backslash, which stands at `escape`. */
static int read_escape(struct reader *r, char quote)
{
	static const char from[] = "abfnrtv\\", to[] = "\a\b\f\n\r\t\v\\";
	uint32_t escape = r->at - 1, v = 0;
	int c = peek(r), e;
	const char *simple = c > 0 ? strchr(from, c) : NULL;

	if (c < 0)
		return wrong_at(r, escape, "the string ends inside an escape");
	if (simple || c == quote) {
		buf__byte(&r->scratch, (uint8_t)(simple ? to[simple - from] : quote));
		r->at++;
		return 0;
	}
	if (c >= '0' && c <= '7') {
		e = read_digits(r, escape, 3, 8, &v);
		if (e == 0 && v > 255)
			e = wrong_at(r, escape, "the escape stands for no byte: \\000 to \\377");
		buf__byte(&r->scratch, (uint8_t)v);
		return e;
	}
	r->at++;
	if (c == 'x') {
		e = read_digits(r, escape, 2, 16, &v);
		buf__byte(&r->scratch, (uint8_t)v);
		return e;
	}
	if (c != 'u' && c != 'U')
		return wrong_at(r, escape, "unknown escape; a backslash is written \\\\");
	e = read_digits(r, escape, c == 'u' ? 4 : 8, 16, &v);
	if (e == 0 && (v > 0x10ffff || (v >= 0xd800 && v < 0xe000)))
		e = wrong_at(r, escape, "the escape stands for no character");
	if (e == 0)
		put_utf8(&r->scratch, v);
	return e;
}

/* A quoted string at the reader, into the arena. */
static int read_string(struct reader *r, struct dcm_str *ret)
{
	uint32_t start = r->at;
	char quote = r->text.p[r->at++];
	int c, e = 0;

	buf__reset(&r->scratch);
	while ((c = peek(r)) != quote) {
		if (c < 0 || (c == '\n' && quote != '`'))
			return wrong_at(r, start, "the string that begins here has no closing %c", quote);
		r->at++;
		if (c == '\\' && quote != '`')
			e = read_escape(r, quote);
		else
			buf__byte(&r->scratch, (uint8_t)c);
		if (e < 0)
			return e;
	}
	r->at++;
	*ret = arena__str(r->arena, buf__view(&r->scratch));
	return r->scratch.error || !ret->p ? error__nomem(r->err) : 0;
}

/* -------------------------------------------------------------------------------------------------
 * Matchers
 */

static bool is_quote(int c)
{
	return c == '"' || c == '\'' || c == '`';
}

static int read_quoted_label(struct reader *r, struct dcm_str *ret)
{
	uint32_t start = r->at;
	int e = read_string(r, ret);

	return e == 0 && !str__is_utf8(*ret) ? wrong_at(r, start, "the label is not UTF-8") : e;
}

static int read_label(struct reader *r, struct dcm_str *ret)
{
	uint32_t start = r->at;
	int c = peek(r), e;

	if (is_quote(c)) {
		e = read_quoted_label(r, ret);
	} else {
		e = read_bare(r, "label", ret);
		if (e == 0 && ret->n > 0) {
			*ret = arena__str(r->arena, *ret);
			e = ret->p ? 0 : error__nomem(r->err);
		}
	}
	if (e == 0 && ret->n == 0)
		e = wrong_at(r, start,
			     c < 0 ? "the closing } is missing" : "expected the name of a label or }");
	return e;
}

static int read_op(struct reader *r, struct dcm_str label, uint32_t *ret)
{
	static const char *const ops[] = { [DCM_RE] = "=~", [DCM_NE] = "!=", [DCM_NRE] = "!~" };

	for (uint32_t op = 0; op < 4; op++)
		if (ops[op] && r->text.n - r->at >= 2 && memcmp(r->text.p + r->at, ops[op], 2) == 0) {
			*ret = op;
			r->at += 2;
			return 0;
		}
	if (peek(r) != '=')
		return wrong_at(r, r->at, "expected \"=\", \"!=\", \"=~\" or \"!~\" after the label %.*s",
				STR_ARG(label));
	*ret = DCM_EQ;
	r->at++;
	return 0;
}

static int compile(struct reader *r, uint32_t at, struct dcm_matcher *m)
{
	struct dcm_regex *re = NULL;
	struct dcm_error why = DCM_ERROR_INIT;
	int e;

	if (m->op != DCM_RE && m->op != DCM_NRE)
		return 0;
	e = regex__new(m->value, 0, &re, &why);
	m->regex = re;
	if (e == -ENOMEM)
		return error__nomem(r->err);
	return e < 0 ? wrong_at(r, at, "%s", why.text) : 0;
}

static int read_matcher(struct reader *r)
{
	struct dcm_matcher m = { 0 };
	int e = read_label(r, &m.name);

	if (e < 0)
		return e;
	skip_space(r);
	e = read_op(r, m.name, &m.op);
	if (e < 0)
		return e;
	skip_space(r);
	uint32_t at = r->at;
	if (!is_quote(peek(r)))
		return wrong_at(r, at, "expected a quoted value for the label %.*s", STR_ARG(m.name));
	e = read_string(r, &m.value);
	if (e < 0)
		return e;
	struct selector *s = r->out;
	if (s->n_matchers == SELECTOR_MAX_MATCHERS)
		return error__set(r->err, -E2BIG, "column %u: more than %u matchers",
				  column_of(r, at), SELECTOR_MAX_MATCHERS);
	if (s->n_matchers == r->cap) {
		uint32_t cap = r->cap ? r->cap * 2 : 4;
		struct dcm_matcher *more = mem__resize(s->matchers, cap, sizeof(*more));
		if (!more)
			return error__nomem(r->err);
		s->matchers = more;
		r->cap = cap;
	}
	e = compile(r, at, &m);
	if (e == 0)
		s->matchers[s->n_matchers++] = m;
	return e;
}

/* Behind the opening brace. */
static int read_matchers(struct reader *r)
{
	for (;;) {
		skip_space(r);
		if (peek(r) == '}')
			break;
		int e = read_matcher(r);
		if (e < 0)
			return e;
		skip_space(r);
		if (peek(r) == '}')
			break;
		if (peek(r) != ',')
			return wrong_at(r, r->at,
					peek(r) < 0 ? "the closing } is missing"
						    : "expected a comma or } after the value");
		r->at++;
	}
	r->at++;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * The whole
 */

static int read_type(struct reader *r, unsigned flags)
{
	uint32_t start = r->at;
	struct dcm_error why = DCM_ERROR_INIT;
	struct type_text parts;
	struct dcm_str text;
	int e = read_bare(r, "type", &text);

	if (e < 0)
		return e;
	if (text.n == 0) {
		if (flags & SELECTOR_TYPE_OPTIONAL)
			return 0;
		return wrong_at(r, start,
				"expected a profile type such as "
				"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta");
	}
	if (type__parse(text, &parts, &why) < 0)
		return wrong_at(r, start, "%s", why.text);
	r->out->type = arena__str(r->arena, text);
	return r->out->type.p ? 0 : error__nomem(r->err);
}

static int read_all(struct reader *r, unsigned flags)
{
	skip_space(r);
	int e = read_type(r, flags);

	if (e < 0)
		return e;
	skip_space(r);
	if (peek(r) == '{') {
		r->at++;
		e = read_matchers(r);
		if (e < 0)
			return e;
		skip_space(r);
	}
	return r->at == r->text.n ? 0 : wrong_at(r, r->at, "unexpected text behind the selector");
}

int selector__parse(struct dcm_str text, unsigned flags, struct selector **ret, struct dcm_error *err)
{
	CLEANUP(selector__freep) struct selector *s = NEW(struct selector);
	struct reader r = { .text = text, .out = s, .arena = s ? &s->arena : NULL, .err = err };

	if (!s)
		return error__nomem(err);
	if (text.n > SELECTOR_MAX_BYTES)
		return error__set(err, -E2BIG, "the selector is longer than %u bytes", SELECTOR_MAX_BYTES);
	s->type = STR("");
	int e = read_all(&r, flags);
	buf__fini(&r.scratch);
	if (e == 0)
		*ret = take_ptr(s);
	return e;
}

/* One of a list, up to its comma. */
static int read_listed(struct reader *r, struct dcm_str *ret)
{
	uint32_t start = r->at;

	if (is_quote(peek(r))) {
		int e = read_quoted_label(r, ret);
		if (e == 0 && r->at < r->text.n && peek(r) != ',')
			e = wrong_at(r, r->at, "expected a comma behind the quoted label");
		return e;
	}
	while (r->at < r->text.n && peek(r) != ',')
		r->at++;
	*ret = (struct dcm_str){ r->text.p + start, r->at - start };
	return 0;
}

int selector__names(struct dcm_str text, struct arena *arena, struct dcm_str **ret, uint32_t *ret_n,
		    struct dcm_error *err)
{
	struct dcm_str *names = arena__alloc(arena, SELECTOR_MAX_NAMES * sizeof(*names));
	struct reader r = { .text = text, .arena = arena, .err = err };
	uint32_t n = 0;
	int e = names ? 0 : error__nomem(err);

	for (bool more = text.n > 0; more && e == 0; r.at += more) {
		e = n < SELECTOR_MAX_NAMES
			    ? read_listed(&r, &names[n++])
			    : error__set(err, -E2BIG, "at most %u labels", SELECTOR_MAX_NAMES);
		more = e == 0 && peek(&r) == ',';
	}
	buf__fini(&r.scratch);
	if (e < 0)
		return e;
	*ret = names;
	*ret_n = n;
	return 0;
}

void selector__free(struct selector *s)
{
	if (!s)
		return;
	/* The selector alone made the regexes; const is for those who match. */
	for (uint32_t i = 0; i < s->n_matchers; i++)
		regex__free((struct dcm_regex *)s->matchers[i].regex);
	free(s->matchers);
	arena__fini(&s->arena);
	free(s);
}

/* -------------------------------------------------------------------------------------------------
 * Back to text
 */

static void put_string(struct dcm_str s, struct buf *out)
{
	buf__byte(out, '"');
	for (uint32_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		unsigned n = str__utf8_len(s.p + i, s.n - i);

		if (c == '"' || c == '\\')
			buf__printf(out, "\\%c", c);
		else if (c == '\n')
			buf__text(out, "\\n");
		else if (c == '\t')
			buf__text(out, "\\t");
		else if (c < ' ' || c == 0x7f || n == 0)
			buf__printf(out, "\\x%02x", c);
		else
			buf__append(out, s.p + i, n);
		i += n ? n : 1;
	}
	buf__byte(out, '"');
}

static bool can_be_bare(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (!is_bare((unsigned char)s.p[i]))
			return false;
	return s.n > 0;
}

void selector__put_name(struct dcm_str name, struct buf *out)
{
	if (can_be_bare(name))
		buf__str(out, name);
	else
		put_string(name, out);
}

void selector__format(const struct selector *s, struct buf *out)
{
	static const char *const ops[] = {
		[DCM_EQ] = "=", [DCM_NE] = "!=", [DCM_RE] = "=~", [DCM_NRE] = "!~"
	};

	buf__str(out, s->type);
	if (s->n_matchers == 0 && s->type.n)
		return;
	buf__byte(out, '{');
	for (uint32_t i = 0; i < s->n_matchers; i++) {
		const struct dcm_matcher *m = &s->matchers[i];

		if (i > 0)
			buf__byte(out, ',');
		selector__put_name(m->name, out);
		buf__text(out, ops[m->op]);
		put_string(m->value, out);
	}
	buf__byte(out, '}');
}

/* -------------------------------------------------------------------------------------------------
 * Use
 */

struct dcm_select selector__select(const struct selector *s, int64_t from_ms, int64_t to_ms,
				   struct dcm_budget *budget)
{
	return (struct dcm_select){
		.size = sizeof(struct dcm_select),
		.type = s->type,
		.matchers = s->matchers,
		.n_matchers = s->n_matchers,
		.from_ms = from_ms,
		.to_ms = to_ms,
		.budget = budget,
	};
}

bool selector__accepts(const struct dcm_matcher *m, struct dcm_str value)
{
	switch (m->op) {
	case DCM_EQ:
		return str__eq(value, m->value);
	case DCM_NE:
		return !str__eq(value, m->value);
	case DCM_RE:
		return regex__matches(m->regex, value);
	case DCM_NRE:
		return !regex__matches(m->regex, value);
	}
	return false;
}

uint64_t selector__n_undecided(const struct selector *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_matchers; i++)
		if (s->matchers[i].regex)
			n += regex__n_failed(s->matchers[i].regex);
	return n;
}

bool selector__takes(const struct selector *s, const struct dcm_batch *batch, uint32_t profile)
{
	const struct dcm_profile *p = &batch->profiles[profile];
	bool has_type = s->type.n == 0;

	for (uint32_t k = 0; !has_type && k < p->n_types; k++) {
		char text[2048];
		uint32_t n = type__format(batch, &batch->types[p->type_off + k], text, sizeof(text));

		has_type = n == s->type.n && n < sizeof(text) && memcmp(text, s->type.p, n) == 0;
	}
	for (uint32_t i = 0; has_type && i < s->n_matchers; i++)
		if (!selector__accepts(&s->matchers[i],
				       batch__series_label(batch, p->series, s->matchers[i].name)))
			return false;
	return has_type;
}
