/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options_compare.c - what differs between two filled structs of one table
 *
 * The same recursion over rows as filling. It stops at the first row whose change needs a restart,
 * and otherwise remembers the first that differs. Reads only; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "core/config/options.h"
#include "core/config/path.h"
#include "core/config/scalar.h"
#include "core/config/table.h"

struct comparer {
	struct path path;
	char *key; /* [256] */
	enum options_change change;
	uint32_t flags; /* of the rows on the way down */
};

static void compare_struct(struct comparer *c, const struct dcm_table *table, const char *a,
			   const char *b);

static void differs(struct comparer *c)
{
	enum options_change change = c->flags & DCM_OPT_RESTART ? OPTIONS_RESTART : OPTIONS_CHANGED;

	if (change <= c->change)
		return;
	c->change = change;
	snprintf(c->key, 256, "%s", path__text(&c->path));
}

static void compare_value(struct comparer *c, const struct dcm_option *row, const char *a,
			  const char *b);

static void compare_items(struct comparer *c, const struct dcm_option *row, const char *const *keys,
			  const void *a, const void *b, uint32_t n)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);

	for (uint32_t i = 0; i < n; i++) {
		size_t mark = keys ? path__push(&c->path, keys[i]) : path__push_index(&c->path, i);
		compare_value(c, &element, (const char *)a + i * size, (const char *)b + i * size);
		path__pop(&c->path, mark);
	}
}

static void compare_lists(struct comparer *c, const struct dcm_option *row,
			  const struct dcm_list *a, const struct dcm_list *b)
{
	uint32_t n = a->n < b->n ? a->n : b->n;

	compare_items(c, row, NULL, a->items, b->items, n);
	if (a->n != b->n)
		differs(c);
}

static void compare_maps(struct comparer *c, const struct dcm_option *row, const struct dcm_map *a,
			 const struct dcm_map *b)
{
	bool same_keys = a->n == b->n;

	for (uint32_t i = 0; same_keys && i < a->n; i++)
		same_keys = strcmp(a->keys[i], b->keys[i]) == 0;
	if (same_keys)
		compare_items(c, row, a->keys, a->items, b->items, a->n);
	else
		differs(c);
}

static void compare_unions(struct comparer *c, const struct dcm_option *row,
			   const struct dcm_union *a, const struct dcm_union *b)
{
	if (a->which != b->which || !a->value != !b->value) {
		differs(c);
		return;
	}
	if (!a->value)
		return;
	struct dcm_option kind = table__row(row->table, (uint32_t)a->which);
	size_t mark = path__push(&c->path, kind.name);
	compare_value(c, &kind, a->value, b->value);
	path__pop(&c->path, mark);
}

static void compare_value(struct comparer *c, const struct dcm_option *row, const char *a, const char *b)
{
	uint32_t flags = c->flags;

	c->flags |= row->flags;
	switch (row->type) {
	case DCM_OPT_STRUCT:
		compare_struct(c, row->table, a, b);
		break;
	case DCM_OPT_LIST:
		compare_lists(c, row, (const void *)a, (const void *)b);
		break;
	case DCM_OPT_MAP:
		compare_maps(c, row, (const void *)a, (const void *)b);
		break;
	case DCM_OPT_UNION:
		compare_unions(c, row, (const void *)a, (const void *)b);
		break;
	default:
		if (!scalar__equal(row, a, b))
			differs(c);
		break;
	}
	c->flags = flags;
}

static void compare_struct(struct comparer *c, const struct dcm_table *table, const char *a,
			   const char *b)
{
	for (uint32_t i = 0; i < table->n_options && c->change != OPTIONS_RESTART; i++) {
		struct dcm_option row = table__row(table, i);
		size_t mark = path__push(&c->path, row.name);

		compare_value(c, &row, a + row.offset, b + row.offset);
		path__pop(&c->path, mark);
	}
}

enum options_change options__compare(const struct dcm_table *table, const void *a, const void *b,
				     char key[static 256])
{
	struct comparer c = { .key = key, .change = OPTIONS_SAME };

	key[0] = '\0';
	compare_struct(&c, table, a, b);
	return c.change;
}
