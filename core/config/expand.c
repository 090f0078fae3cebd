/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/expand.c - ${NAME} in a value
 *
 * One pass from left to right. Threads: getenv(3) is safe as long as nobody calls setenv(3), which
 * nothing here does.
 */
#include "core/config/expand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

enum { NAME_MAX_BYTES = 255 };

static struct dcm_str from(struct dcm_str s, uint32_t i)
{
	return (struct dcm_str){ s.p + i, s.n - i };
}

bool expand__is_needed(struct dcm_str text)
{
	return text.n > 2 && memmem(text.p, text.n, "${", 2);
}

static bool is_name(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

/* Appends what stands for the inside of ${...}. */
static int variable(struct dcm_str inside, expand_variable_fn get, void *ctx, struct buf *out,
		    struct dcm_error *err)
{
	const char *dash = memmem(inside.p, inside.n, ":-", 2);
	struct dcm_str name = { inside.p, dash ? (uint32_t)(dash - inside.p) : inside.n };
	char z[NAME_MAX_BYTES + 1];

	if (!is_name(name))
		return error__set(err, -EINVAL,
				  "${%.*s} does not name a variable; write $${ where ${ is meant",
				  STR_ARG(inside));
	memcpy(z, name.p, name.n);
	z[name.n] = '\0';
	const char *value = get ? get(ctx, z) : getenv(z);
	if (dash && (!value || !value[0])) {
		buf__str(out, from(inside, name.n + 2));
		return 0;
	}
	if (!value)
		return error__set(err, -ENOENT,
				  "the environment has no %s; set it, or write ${%s:-default}", z, z);
	if (!str__is_utf8(str__of(value)))
		return error__set(err, -EINVAL, "the environment's %s is not UTF-8", z);
	buf__text(out, value);
	return 0;
}

int expand__text(struct dcm_str text, expand_variable_fn get, void *ctx, struct buf *out,
		 struct dcm_error *err)
{
	for (uint32_t i = 0; i < text.n && !out->error;) {
		struct dcm_str rest = from(text, i);

		if (str__starts(rest, STR("$${"))) {
			buf__text(out, "${");
			i += 3;
		} else if (str__starts(rest, STR("${"))) {
			const char *end = memchr(rest.p, '}', rest.n);
			if (!end)
				return error__set(
					err, -EINVAL,
					"there is no } behind ${; write $${ where ${ is meant");
			uint32_t n = (uint32_t)(end - rest.p);
			int r = variable((struct dcm_str){ rest.p + 2, n - 2 }, get, ctx, out, err);
			if (r)
				return r;
			i += n + 1;
		} else {
			buf__byte(out, (uint8_t)text.p[i++]);
		}
	}
	if (out->error == -EFBIG)
		return error__set(err, -EFBIG, "too long with its variables put in: more than %zu bytes",
				  out->limit);
	return out->error ? error__nomem(err) : 0;
}
