/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/html.c - a profile as one page that needs nothing else
 *
 * Text from the profile stands in a JSON element, where only "<" could end it: it is written as an
 * escape (HTML, 4.12.1.3 "Restrictions for contents of script elements").
 */
#include "core/codec/html.h"

#include <string.h>

#include "core/codec/encode.h"
#include "core/codec/flame.html.h"
#include "core/codec/speedscope.h"

static const char mark[] = "@PROFILE@";

static void put_escaped(struct buf *out, const struct buf *json)
{
	const char *p = (const char *)json->data, *end = p + json->n;

	while (p < end) {
		const char *less = memchr(p, '<', (size_t)(end - p));

		buf__append(out, p, (size_t)((less ? less : end) - p));
		if (less)
			buf__text(out, "\\u003c");
		p = less ? less + 1 : end;
	}
}

int html__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err)
{
	const char *at = strstr(flame_html, mark);
	struct buf json = { .limit = out->limit };
	int rc = speedscope__encode(b, profile, &json, err);

	if (!rc) {
		buf__append(out, flame_html, (size_t)(at - flame_html));
		put_escaped(out, &json);
		buf__text(out, at + strlen(mark));
		rc = encode__end(out, "html", err);
	}
	buf__fini(&json);
	return rc;
}
