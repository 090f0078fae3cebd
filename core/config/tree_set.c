/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/tree_set.c - one override on the command line, laid over a tree
 *
 * The value is parsed as a tree of its own and copied in. The path is walked once: what is missing
 * is built aside as a chain of maps around the value, and the chain is attached with one step at
 * the end, so that a fault leaves the tree as it was.
 */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/config/tree_build.h"

struct setter {
	struct tree *tree;
	struct place at;     /* "--set a.b=c" */
	struct dcm_str rest; /* of the path */
	struct dcm_error *err;
	uint32_t depth;
};

/* Takes one part off the path, without its backslashes. */
static int next_part(struct setter *s, struct dcm_str *ret)
{
	char *to = arena__alloc(&s->tree->arena, (size_t)s->rest.n + 1);
	uint32_t n = 0, i = 0;
	if (!to)
		return error__nomem(s->err);
	for (; i < s->rest.n && s->rest.p[i] != '.'; i++) {
		if (s->rest.p[i] == '\\' && i + 1 < s->rest.n)
			i++;
		to[n++] = s->rest.p[i];
	}
	to[n] = '\0';
	if (n == 0 || n > TREE_MAX_KEY_BYTES)
		return tree__fail(s->err, &s->at,
				  "a part of the path is empty or too long; write KEY.KEY=VALUE");
	if (i + 1 == s->rest.n)
		return tree__fail(s->err, &s->at, "the path ends in a dot; write KEY.KEY=VALUE");
	i += i < s->rest.n;
	s->rest.p += i;
	s->rest.n -= i;
	*ret = (struct dcm_str){ to, n };
	return 0;
}

/* "file" is 0, "file#2" is 1; UINT32_MAX: not called after the key. */
static uint32_t default_index(struct dcm_str part, struct dcm_str key)
{
	int64_t nth;
	if (str__eq(part, key))
		return 0;
	if (!str__starts(part, key) || part.n < key.n + 2 || part.p[key.n] != '#')
		return UINT32_MAX;
	struct dcm_str digits = { part.p + key.n + 1, part.n - key.n - 1 };
	if (units__parse_int(digits, "", &nth) || nth < 2 || nth > TREE_MAX_NODES)
		return UINT32_MAX;
	return (uint32_t)nth - 1;
}

/* The index that a part of the path means in a list which stands under `key`. */
static int list_index(struct setter *s, const struct node *list, struct dcm_str key,
		      struct dcm_str part, uint32_t *ret)
{
	int64_t i;
	if (units__parse_int(part, "", &i) == 0 && i >= 0 && i <= list->n) {
		*ret = (uint32_t)i;
		return 0;
	}
	for (uint32_t k = 0; k < list->n; k++) {
		const struct node *name = tree__get(list->items[k], "name");
		if (name && name->kind == NODE_SCALAR && str__eq(name->text, part)) {
			*ret = k;
			return 0;
		}
	}
	uint32_t k = default_index(part, key);
	if (k < list->n && !tree__get(list->items[k], "name")) {
		*ret = k;
		return 0;
	}
	char at[300];
	return tree__fail(
		s->err, &s->at,
		"\"%.64s\" is a list of %u here (%s) and has no element \"%.64s\"; use an "
		"index from 0, or its name",
		key.p, list->n, place__text(&list->at, at), part.p);
}

/* value inside one map for each part of the path that is left. */
static int wrap(struct setter *s, struct node **value)
{
	struct member m = { .at = s->at, .value = *value };
	struct node *map;

	if (s->rest.n == 0)
		return 0;
	if (++s->depth > TREE_MAX_DEPTH)
		return tree__fail(s->err, &s->at, "nested deeper than %d levels", TREE_MAX_DEPTH);
	int r = next_part(s, &m.key);
	if (!r)
		r = wrap(s, &m.value);
	if (!r)
		r = tree__new_node(s->tree, NODE_MAP, &s->at, &map, s->err);
	if (!r)
		r = tree__put(s->tree, map, &m, s->err);
	if (!r)
		*value = map;
	return r;
}

/* Puts `value` where the rest of the path leads, from *slot on, which stands under `key`. */
static int place_value(struct setter *s, struct node **slot, struct dcm_str key, struct node *value)
{
	struct node *n = *slot;
	struct dcm_str part;
	char at[300];
	int r;

	if (s->rest.n == 0 || node__is_null(n)) {
		r = wrap(s, &value);
		if (!r)
			*slot = value;
		return r;
	}
	if (n->kind == NODE_SCALAR)
		return tree__fail(s->err,
				  &s->at, "\"%.64s\" is a single value here (%s), so nothing can be set inside",
				  key.p, place__text(&n->at, at));
	s->depth++;
	r = next_part(s, &part);
	if (r)
		return r;
	if (n->kind == NODE_LIST) {
		uint32_t i = 0;
		r = list_index(s, n, key, part, &i);
		if (!r && i < n->n)
			return place_value(s, &n->items[i], part, value);
		if (!r)
			r = wrap(s, &value);
		return r ? r : tree__append(s->tree, n, value, s->err);
	}
	for (uint32_t i = 0; i < n->n; i++)
		if (str__eq(n->members[i].key, part))
			return place_value(s, &n->members[i].value, part, value);
	r = wrap(s, &value);
	struct member m = { .key = part, .at = s->at, .value = value };
	return r ? r : tree__put(s->tree, n, &m, s->err);
}

/* The first `=` that no backslash stands before. */
static size_t find_equals(const char *s)
{
	size_t i = 0;
	while (s[i] && s[i] != '=')
		i += s[i] == '\\' && s[i + 1] ? 2 : 1;
	return i;
}

/* Every place inside is the command line: it has no lines. */
static void move_places(struct node *n, const struct place *at)
{
	n->at = *at;
	for (uint32_t i = 0; i < n->n; i++) {
		if (n->kind == NODE_MAP)
			n->members[i].at = *at;
		move_places(n->kind == NODE_MAP ? n->members[i].value : n->items[i], at);
	}
}

static int set_yaml(struct setter *s, struct dcm_str yaml)
{
	struct node *value;
	int r = tree__parse(s->tree, s->at.file, yaml, &value, s->err);

	if (r)
		return r;
	move_places(value, &s->at);
	return place_value(s, &s->tree->root, STR("configuration"), value);
}

int tree__set(struct tree *t, const char *assignment, struct dcm_error *err)
{
	size_t n = strlen(assignment), equals = find_equals(assignment);
	struct setter s = { .tree = t, .err = err, .rest = { assignment, (uint32_t)equals } };

	if (n > TREE_MAX_BYTES)
		return error__set(err, -EFBIG, "--set: more than %u MiB of text", TREE_MAX_BYTES >> 20);
	/* Without the value: it may be a secret, and places are printed. */
	s.at.file = arena__printf(&t->arena, "--set %.*s", STR_ARG(s.rest));
	if (!s.at.file)
		return error__nomem(err);
	if (equals == n || equals == 0)
		return tree__fail(err, &s.at, "write KEY.KEY=VALUE");
	return set_yaml(&s, (struct dcm_str){ assignment + equals + 1, (uint32_t)(n - equals - 1) });
}

int tree__set_yaml(struct tree *t, const char *place, const char *path, struct dcm_str yaml,
		   struct dcm_error *err)
{
	struct setter s = { .tree = t, .err = err, .rest = str__of(path) };

	s.at.file = arena__str(&t->arena, str__of(place)).p;
	if (!s.at.file)
		return error__nomem(err);
	if (yaml.n > TREE_MAX_BYTES)
		return tree__fail(err, &s.at, "the value is too long");
	return set_yaml(&s, yaml);
}

int tree__set_text(struct tree *t, const char *place, const char *path, struct dcm_str value,
		   struct dcm_error *err)
{
	struct setter s = { .tree = t, .err = err, .rest = str__of(path) };
	struct node *n;

	s.at.file = arena__str(&t->arena, str__of(place)).p;
	if (!s.at.file)
		return error__nomem(err);
	if (value.n > TREE_MAX_BYTES || memchr(value.p, '\0', value.n) || !str__is_utf8(value))
		return tree__fail(err, &s.at, "the value is too long, or not text in UTF-8");
	int r = tree__new_node(t, NODE_SCALAR, &s.at, &n, err);
	if (r)
		return r;
	n->text = arena__str(&t->arena, value);
	if (!n->text.p)
		return error__nomem(err);
	return place_value(&s, &t->root, STR("configuration"), n);
}
