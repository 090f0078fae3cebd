/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/labels.c - the labels that a request gives to its profiles
 */
#include "plugins/input/receive/labels.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

bool labels__has(const struct labels *l, struct dcm_str name)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (str__eq(l->v[i].name, name))
			return true;
	return false;
}

int labels__put(struct labels *l, struct dcm_str name, struct dcm_str value, struct dcm_error *err)
{
	if (name.n == 0)
		return error__set(err, -EINVAL, "a label has no name before its \"=\"");
	if (str__starts(name, STR("__")) || value.n == 0)
		return 0;
	if (labels__has(l, name))
		return error__set(err, -EINVAL, "the label %.*s comes twice", STR_ARG(name));
	if (l->n == LABELS_MAX)
		return error__set(err, -E2BIG, "more than %d labels", LABELS_MAX);
	l->v[l->n++] = (struct dcm_label_text){ name, value };
	return 0;
}

/* The two sides of the first '='; false: there is none. */
static bool cut(struct dcm_str pair, struct dcm_str *name, struct dcm_str *value)
{
	const char *sign = pair.n ? memchr(pair.p, '=', pair.n) : NULL;

	if (!sign)
		return false;
	*name = (struct dcm_str){ pair.p, (uint32_t)(sign - pair.p) };
	*value = (struct dcm_str){ sign + 1, pair.n - name->n - 1 };
	return true;
}

int labels__put_pair(struct labels *l, struct dcm_str pair, struct dcm_error *err)
{
	struct dcm_str name, value;

	if (!cut(pair, &name, &value))
		return error__set(err, -EINVAL, "the label \"%.*s\" has no \"=\": write NAME=VALUE",
				  STR_ARG(pair));
	return labels__put(l, name, value, err);
}

static struct dcm_str unquote(struct dcm_str s)
{
	return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? (struct dcm_str){ s.p + 1, s.n - 2 }
								: s;
}

static int read_pair(struct labels *l, struct dcm_str pair, struct dcm_error *err)
{
	struct dcm_str name, value;

	pair = str__trim(pair);
	if (pair.n == 0)
		return 0;
	if (!cut(pair, &name, &value))
		return error__set(err, -EINVAL,
				  "name: the label \"%.*s\" has no \"=\": write app{label=value}",
				  STR_ARG(pair));
	return labels__put(l, str__trim(name), unquote(str__trim(value)), err);
}

int labels__read_app(struct labels *l, struct dcm_str text, struct dcm_str *ret_app, struct dcm_error *err)
{
	const char *brace = text.n ? memchr(text.p, '{', text.n) : NULL;
	struct dcm_str rest;
	int r = 0;

	*ret_app = str__trim(brace ? (struct dcm_str){ text.p, (uint32_t)(brace - text.p) } : text);
	if (ret_app->n == 0)
		return error__set(
			err, -EINVAL,
			"name: there is no application before the labels: write app{label=value}");
	if (!brace)
		return 0;
	rest = str__trim((struct dcm_str){ brace + 1, text.n - (uint32_t)(brace + 1 - text.p) });
	if (rest.n == 0 || rest.p[rest.n - 1] != '}')
		return error__set(err, -EINVAL, "name: the labels do not end with \"}\"");
	rest.n--;
	while (r == 0 && rest.n) {
		const char *comma = memchr(rest.p, ',', rest.n);
		uint32_t n = comma ? (uint32_t)(comma - rest.p) : rest.n;

		r = read_pair(l, (struct dcm_str){ rest.p, n }, err);
		n += comma ? 1 : 0;
		rest = (struct dcm_str){ rest.p + n, rest.n - n };
	}
	return r;
}
