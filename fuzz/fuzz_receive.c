/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_receive.c - forms, application names and groups of messages from anybody
 *
 * Up to the first line's end it is an application's name, up to the next a Content-Type, the rest a form. What was read of the
 * form is written as a form, and read again: the same parts must come. Labels keep their rules. The rest is a group, too.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "fuzz/line.h"
#include "plugins/input/receive/form.h"
#include "plugins/input/receive/group.h"
#include "plugins/input/receive/labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fact)
{
	if (!fact)
		abort();
}

static void try_app(struct dcm_str text)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct labels l = { .n = 0 };
	struct dcm_str app = STR("");
	int r = labels__read_app(&l, text, &app, &err);

	if (r < 0) {
		expect(err.text[0]);
		return;
	}
	expect(app.n > 0 && !memchr(app.p, '{', app.n));
	for (uint32_t i = 0; i < l.n; i++) {
		expect(l.v[i].name.n > 0 && l.v[i].value.n > 0 && !str__starts(l.v[i].name, STR("__")));
		for (uint32_t k = 0; k < i; k++)
			expect(!str__eq(l.v[i].name, l.v[k].name));
	}
}

/* The parts of a form, each by the lengths and bytes of its name and data; false: it was refused, or cannot be written. */
static bool list_parts(struct dcm_str type, const uint8_t *body, size_t n, struct buf *to)
{
	struct form_part part;
	struct form f;

	if (!form__begin(&f, type, body, n))
		return false;
	while (form__next(&f, &part)) {
		if (part.name.n && memchr(part.name.p, '"', part.name.n))
			return false;
		expect(part.n == 0 || (part.data >= body && part.data + part.n <= body + n));
		buf__le32(to, part.name.n);
		buf__str(to, part.name);
		buf__le64(to, part.n);
		buf__append(to, part.data, part.n);
	}
	return !f.fault;
}

static void put_part(struct buf *to, const char *boundary, const struct form_part *part)
{
	buf__printf(to, "--%s\r\nContent-Disposition: form-data; name=\"", boundary);
	buf__str(to, part->name);
	buf__text(to, "\"\r\n\r\n");
	buf__append(to, part->data, part->n);
	buf__text(to, "\r\n");
}

static void try_form(struct dcm_str type, const uint8_t *body, size_t n)
{
	static const char boundary[] = "a boundary that no part has, 8d1f";
	struct buf first = { 0 }, second = { 0 }, again = { 0 };
	struct form_part part;
	struct form f;

	if (list_parts(type, body, n, &first) && !memmem(body, n, boundary, sizeof(boundary) - 1)) {
		form__begin(&f, type, body, n);
		while (form__next(&f, &part))
			put_part(&again, boundary, &part);
		buf__printf(&again, "--%s--\r\n", boundary);
		expect(list_parts(
			STR("multipart/form-data; boundary=\"a boundary that no part has, 8d1f\""),
			again.data, again.n, &second));
		expect(first.n == second.n &&
		       (first.n == 0 || memcmp(first.data, second.data, first.n) == 0));
	}
	buf__fini(&first);
	buf__fini(&second);
	buf__fini(&again);
}

/* All of the body, and nothing else, in its order. */
static void try_group(const uint8_t *body, size_t n)
{
	struct group_message messages[GROUP_MESSAGES_MAX];
	uint32_t k = group__cut(body, n, messages);
	const uint8_t *at = body;

	expect(k <= GROUP_MESSAGES_MAX);
	for (uint32_t i = 0; i < k; i++) {
		expect(messages[i].data == at + 4 && messages[i].n > 0);
		at = messages[i].data + messages[i].n;
	}
	expect(k == 0 || at == body + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_str rest = { (const char *)data, (uint32_t)size }, app, type;

	if (size == 0)
		return 0;
	app = line__take(&rest);
	type = line__take(&rest);
	try_app(app);
	try_group((const uint8_t *)rest.p, rest.n);
	if (rest.n)
		try_form(type, (const uint8_t *)rest.p, rest.n);
	return 0;
}
