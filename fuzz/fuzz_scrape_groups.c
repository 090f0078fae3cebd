/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_scrape_groups.c - target groups from files and servers of anybody
 *
 * The first byte says JSON or YAML. What was read is written as JSON, a group for each target, and
 * read again: the same targets must come.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/groups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_labels(struct buf *b, const struct group_labels *l)
{
	bool some = false;

	buf__text(b, "{\"targets\":[");
	buf__json(b, l->v[0].value);
	buf__text(b, "],\"labels\":{");
	for (uint32_t i = 1; i < l->n; i++) {
		if (l->v[i].name.n == 0 || !str__is_utf8(l->v[i].value))
			abort();
		buf__text(b, some ? "," : "");
		buf__json(b, l->v[i].name);
		buf__byte(b, ':');
		buf__json(b, l->v[i].value);
		some = true;
	}
	buf__text(b, "}}");
}

static void write_groups(struct buf *b, const struct groups *g)
{
	buf__byte(b, '[');
	for (size_t i = 0; i < g->v.n; i++) {
		if (!str__eq(g->v.v[i].v[0].name, STR("__address__")))
			abort();
		buf__text(b, i ? "," : "");
		write_labels(b, &g->v.v[i]);
	}
	buf__byte(b, ']');
}

static bool same(const struct groups *a, const struct groups *b)
{
	if (a->v.n != b->v.n)
		return false;
	for (size_t i = 0; i < a->v.n; i++) {
		if (a->v.v[i].n != b->v.v[i].n)
			return false;
		for (uint32_t k = 0; k < a->v.v[i].n; k++)
			if (!str__eq(a->v.v[i].v[k].name, b->v.v[i].v[k].name) ||
			    !str__eq(a->v.v[i].v[k].value, b->v.v[i].v[k].value))
				return false;
	}
	return true;
}

/* JSON keeps no name twice, has no NUL in names, and says nothing of what is not UTF-8. */
static bool can_be_json(const struct groups *g)
{
	for (size_t i = 0; i < g->v.n; i++) {
		const struct group_labels *l = &g->v.v[i];

		if (!str__is_utf8(l->v[0].value) || memchr(l->v[0].value.p, 0, l->v[0].value.n))
			return false;
		for (uint32_t k = 1; k < l->n; k++) {
			if (memchr(l->v[k].name.p, 0, l->v[k].name.n) ||
			    (l->v[k].value.n && memchr(l->v[k].value.p, 0, l->v[k].value.n)))
				return false;
			for (uint32_t j = 1; j < k; j++)
				if (str__eq(l->v[j].name, l->v[k].name))
					return false;
		}
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups first = { 0 }, second = { 0 };
	struct buf text = { 0 };
	int r;

	if (size == 0)
		return 0;
	r = data[0] & 1 ? groups__read_json(&first, (const char *)data + 1, size - 1, &err)
			: groups__read_yaml(&first, (const char *)data + 1, size - 1, &err);
	if (r < 0 && !err.text[0])
		abort();
	if (r == 0 && can_be_json(&first)) {
		write_groups(&text, &first);
		if (groups__read_json(&second, (const char *)text.data, text.n, &err) < 0 ||
		    !same(&first, &second))
			abort();
	}
	buf__fini(&text);
	groups__fini(&first);
	groups__fini(&second);
	return 0;
}
