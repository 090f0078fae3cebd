/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_selector.c - is a text a selector that a Kubernetes API server would take?
 */
#include "plugins/input/pprof_scrape/kube_selector.h"

#include <string.h>

#include "core/base/str.h"

/* ---- words ---- */

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* At most `most` of letters, digits and what is in `more`, begun and ended by one of the first two. */
static bool is_made_of(struct dcm_str s, const char *more, uint32_t most)
{
	if (s.n == 0 || s.n > most || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1]))
		return false;
	for (uint32_t i = 0; i < s.n; i++)
		if (!is_alnum(s.p[i]) && !strchr(more, s.p[i]))
			return false;
	return true;
}

/* A DNS name in lower case: each part begins and ends with a letter or digit. */
static bool is_domain(struct dcm_str s)
{
	if (s.n > 253)
		return false;
	for (uint32_t from = 0, i = 0; i <= s.n; i++) {
		if (i < s.n && s.p[i] >= 'A' && s.p[i] <= 'Z')
			return false;
		if (i < s.n && s.p[i] != '.')
			continue;
		if (!is_made_of((struct dcm_str){ s.p + from, i - from }, "-", 253))
			return false;
		from = i + 1;
	}
	return true;
}

/* "app", "example.com/app" */
static bool is_key(struct dcm_str s)
{
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
	uint32_t n = slash ? (uint32_t)(slash - s.p) : 0;

	if (slash && !is_domain((struct dcm_str){ s.p, n }))
		return false;
	return is_made_of(slash ? (struct dcm_str){ slash + 1, s.n - n - 1 } : s, "-_.", 63);
}

static bool is_value(struct dcm_str s)
{
	return s.n == 0 || is_made_of(s, "-_.", 63);
}

/* One of 64 bits that is a label's value, and so has no sign. */
static bool is_integer(struct dcm_str s)
{
	int64_t v = 0;

	for (uint32_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, s.p[i] - '0', &v))
			return false;
	return s.n > 0 && s.n <= 63;
}

/* ---- labels ---- */

struct reader {
	const char *at;
};

static void skip_blanks(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')
		r->at++;
}

/* What is neither blank nor a sign of the grammar; perhaps "". */
static struct dcm_str word(struct reader *r)
{
	struct dcm_str s;

	skip_blanks(r);
	s.p = r->at;
	while (*r->at && !strchr(" \t\r\n=!(),<>", *r->at))
		r->at++;
	s.n = (uint32_t)(r->at - s.p);
	return s;
}

static bool take(struct reader *r, const char *sign)
{
	size_t n = strlen(sign);

	skip_blanks(r);
	if (strncmp(r->at, sign, n) != 0)
		return false;
	r->at += n;
	return true;
}

/* "(a, b)" */
static bool is_set(struct reader *r)
{
	if (!take(r, "("))
		return false;
	do {
		if (!is_value(word(r)))
			return false;
	} while (take(r, ","));
	return take(r, ")");
}

static bool is_requirement(struct reader *r)
{
	bool is_absent = take(r, "!");
	struct reader before;
	struct dcm_str relation;

	if (!is_key(word(r)))
		return false;
	skip_blanks(r);
	if (is_absent || !*r->at || *r->at == ',')
		return true;
	if (take(r, ">") || take(r, "<"))
		return is_integer(word(r));
	if (take(r, "==") || take(r, "!=") || take(r, "="))
		return is_value(word(r));
	before = *r;
	relation = word(r);
	if (str__eq(relation, STR("in")) || str__eq(relation, STR("notin")))
		return is_set(r);
	*r = before;
	return false;
}

bool kube_selector__is_of_labels(const char *text)
{
	struct reader r = { text };

	skip_blanks(&r);
	if (!*r.at)
		return true;
	do {
		if (!is_requirement(&r))
			return false;
	} while (take(&r, ","));
	return !*r.at;
}

/* ---- fields ---- */

/* Of a value: a backslash stands before itself, a comma or an equals sign, and these stand behind one. */
static bool is_escaped(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '=')
			return false;
		if (*p != '\\')
			continue;
		if (++p == end || !strchr("\\,=", *p))
			return false;
	}
	return true;
}

/* "status.phase=Running" */
static bool is_term(const char *p, const char *end)
{
	for (const char *at = p; at < end; at++) {
		if (*at == '!' && at + 1 < end && at[1] == '=')
			return is_escaped(at + 2, end);
		if (*at == '=')
			return is_escaped(at + (at + 1 < end && at[1] == '=' ? 2 : 1), end);
	}
	return false;
}

bool kube_selector__is_of_fields(const char *text)
{
	const char *from = text;

	for (const char *at = text;; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == ',' || !*at) {
			if (at > from && !is_term(from, at))
				return false;
			if (!*at)
				return true;
			from = at + 1;
		}
	}
}
