/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/tree.c - YAML text as a tree of nodes that know where they were written
 *
 * libyaml hands out events; a stack of open maps and lists turns them into nodes. Aliases become
 * copies, so that the tree is a tree: an override then changes one place only. Depth is bounded by
 * the stack, size by the count of nodes.
 */
#include "core/config/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/tree_build.h"
#include "core/config/yaml_error.h"

enum { ANCHORS_MAX = 1024 };

struct anchor {
	struct dcm_str name;
	struct node *node;
	bool open; /* its node has not ended yet */
};

/* A map or list whose end has not come. */
struct level {
	struct node *node;
	struct member member; /* of a map: the key that waits for its value */
	bool has_key;
	uint32_t anchor; /* index + 1, or 0 */
};

struct loader {
	struct tree *tree;
	struct node *root;
	const char *file; /* in the tree's arena */
	struct dcm_error *err;
	struct level stack[TREE_MAX_DEPTH];
	uint32_t depth;
	VEC(struct anchor) anchors;
	bool seen_document;
};

static struct place place_of(const struct loader *l, yaml_mark_t mark)
{
	return (struct place){ l->file, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

#define fail_at(l, at, ...) tree__fail((l)->err, (at), __VA_ARGS__)

static int take_text(struct loader *l, const yaml_char_t *p, size_t n, const struct place *at,
		     struct dcm_str *ret)
{
	if (memchr(p, '\0', n))
		return fail_at(l, at, "a NUL character cannot stand in a configuration");
	struct dcm_str s = arena__str(&l->tree->arena, (struct dcm_str){ (const char *)p, (uint32_t)n });
	if (!s.p)
		return error__nomem(l->err);
	*ret = s;
	return 0;
}

/*
 * Only the core schema's tags, which say nothing new to a typed table, except !!str: it makes
 * `!!str null` a text.
 */
static int check_tag(struct loader *l, const yaml_char_t *tag, const struct place *at, bool *ret_str)
{
	static const char *const known[] = {
		YAML_STR_TAG,	YAML_NULL_TAG, YAML_BOOL_TAG, YAML_INT_TAG,
		YAML_FLOAT_TAG, YAML_SEQ_TAG,  YAML_MAP_TAG,  "!",
	};
	*ret_str = false;
	if (!tag)
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp((const char *)tag, known[i]) == 0) {
			*ret_str = i == 0 || i == 7;
			return 0;
		}
	}
	return fail_at(l, at, "the tag %.64s has no meaning here; take it away", (const char *)tag);
}

static int name_anchor(struct loader *l, const yaml_char_t *name, struct node *n, bool open,
		       uint32_t *ret_index)
{
	*ret_index = 0;
	if (!name)
		return 0;
	if (l->anchors.n == ANCHORS_MAX)
		return fail_at(l, &n->at, "more than %d anchors; write the values out", ANCHORS_MAX);
	struct anchor a = { .node = n, .open = open };
	int r = take_text(l, name, strlen((const char *)name), &n->at, &a.name);
	if (r)
		return r;
	if (!vec__push(&l->anchors, a))
		return error__nomem(l->err);
	*ret_index = (uint32_t)l->anchors.n;
	return 0;
}

/* The next scalar of a map is its key. */
static bool wants_key(const struct loader *l)
{
	return l->depth > 0 && l->stack[l->depth - 1].node->kind == NODE_MAP &&
	       !l->stack[l->depth - 1].has_key;
}

static int take_key(struct loader *l, const yaml_event_t *ev, const struct place *at)
{
	struct level *top = &l->stack[l->depth - 1];
	if (ev->data.scalar.length > TREE_MAX_KEY_BYTES)
		return fail_at(l, at, "a key of more than %d bytes; shorten it", TREE_MAX_KEY_BYTES);
	if (ev->data.scalar.anchor)
		return fail_at(l, at, "a key cannot have an anchor; put it before the value");
	int r = take_text(l, ev->data.scalar.value, ev->data.scalar.length, at, &top->member.key);
	if (r)
		return r;
	top->member.at = *at;
	/* A quoted "<<" is an ordinary key; the mark for a merge is a key without text. */
	if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && str__eq(top->member.key, STR("<<")))
		top->member.key.p = NULL;
	top->has_key = true;
	return 0;
}

/* A node that is whole (or a map or list that begins) goes into what is open. */
static int attach(struct loader *l, struct node *n)
{
	if (l->depth == 0) {
		l->root = n;
		return 0;
	}
	struct level *top = &l->stack[l->depth - 1];
	if (top->node->kind == NODE_LIST)
		return tree__append(l->tree, top->node, n, l->err);
	top->member.value = n;
	top->has_key = false;
	return tree__put(l->tree, top->node, &top->member, l->err);
}

static int on_scalar(struct loader *l, const yaml_event_t *ev)
{
	struct place at = place_of(l, ev->start_mark);
	bool is_str;
	int r = check_tag(l, ev->data.scalar.tag, &at, &is_str);
	if (r)
		return r;
	if (wants_key(l))
		return take_key(l, ev, &at);

	struct node *n;
	uint32_t anchor;
	r = tree__new_node(l->tree, NODE_SCALAR, &at, &n, l->err);
	if (!r)
		r = take_text(l, ev->data.scalar.value, ev->data.scalar.length, &at, &n->text);
	if (!r)
		r = name_anchor(l, ev->data.scalar.anchor, n, false, &anchor);
	if (r)
		return r;
	n->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !is_str;
	return attach(l, n);
}

static int on_begin(struct loader *l, const yaml_event_t *ev, enum node_kind kind)
{
	struct place at = place_of(l, ev->start_mark);
	bool is_map = kind == NODE_MAP, is_str;
	int r = check_tag(l, is_map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag, &at,
			  &is_str);
	if (r)
		return r;
	if (wants_key(l))
		return fail_at(l, &at, "a %s cannot be a key; write a text", is_map ? "map" : "list");
	if (l->depth == TREE_MAX_DEPTH)
		return fail_at(l, &at, "nested deeper than %d levels", TREE_MAX_DEPTH);

	struct node *n;
	struct level level = { 0 };
	r = tree__new_node(l->tree, kind, &at, &n, l->err);
	if (!r)
		r = name_anchor(l, is_map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor,
				n, true, &level.anchor);
	if (!r)
		r = attach(l, n);
	if (r)
		return r;
	level.node = n;
	l->stack[l->depth++] = level;
	return 0;
}

static int on_end(struct loader *l)
{
	struct level *top = &l->stack[--l->depth];
	if (top->anchor)
		l->anchors.v[top->anchor - 1].open = false;
	return top->node->kind == NODE_MAP ? tree__close_map(l->tree, top->node, l->err) : 0;
}

static int on_alias(struct loader *l, const yaml_event_t *ev)
{
	struct place at = place_of(l, ev->start_mark);
	struct dcm_str name = str__of((const char *)ev->data.alias.anchor);
	if (wants_key(l))
		return fail_at(l, &at, "an alias cannot be a key; write it out");

	for (size_t i = l->anchors.n; i-- > 0;) {
		const struct anchor *a = &l->anchors.v[i];
		struct node *copy;

		if (!str__eq(a->name, name))
			continue;
		if (a->open)
			return fail_at(l, &at, "the alias *%.64s stands inside what it names", name.p);
		int r = tree__copy(l->tree, a->node, l->depth, &copy, l->err);
		return r ? r : attach(l, copy);
	}
	return fail_at(l, &at, "no anchor &%.64s stands before this alias", name.p);
}

static int on_event(struct loader *l, const yaml_event_t *ev)
{
	struct place at = place_of(l, ev->start_mark);

	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (l->seen_document)
			return fail_at(l, &at, "a second document; keep one to a file");
		l->seen_document = true;
		return 0;
	case YAML_SCALAR_EVENT:
		return on_scalar(l, ev);
	case YAML_MAPPING_START_EVENT:
		return on_begin(l, ev, NODE_MAP);
	case YAML_SEQUENCE_START_EVENT:
		return on_begin(l, ev, NODE_LIST);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		return on_end(l);
	case YAML_ALIAS_EVENT:
		return on_alias(l, ev);
	default:
		return 0;
	}
}

static int run(struct loader *l, yaml_parser_t *parser, struct dcm_str text)
{
	yaml_event_type_t type = YAML_NO_EVENT;

	while (type != YAML_STREAM_END_EVENT) {
		yaml_event_t ev;
		if (!yaml_parser_parse(parser, &ev))
			return yaml__error(parser, l->file, text, l->err);
		type = ev.type;
		int r = on_event(l, &ev);
		yaml_event_delete(&ev);
		if (r)
			return r;
	}
	struct place at = { l->file, 1, 1 };
	if (l->root)
		return 0;
	int r = tree__new_node(l->tree, NODE_SCALAR, &at, &l->root, l->err);
	if (!r) {
		l->root->plain = true;
		l->root->text = STR("");
	}
	return r;
}

int tree__parse(struct tree *t, const char *name, struct dcm_str text, struct node **ret_node,
		struct dcm_error *err)
{
	struct loader l = { .tree = t, .err = err };
	yaml_parser_t parser;

	if (text.n > TREE_MAX_BYTES)
		return error__set(err, -EFBIG, "%s: more than %u MiB of text; split it up", name,
				  TREE_MAX_BYTES >> 20);
	l.file = arena__str(&t->arena, str__of(name)).p;
	if (!l.file || !yaml_parser_initialize(&parser))
		return error__nomem(err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
	int r = run(&l, &parser, text);
	yaml_parser_delete(&parser);
	vec__fini(&l.anchors);
	if (!r)
		*ret_node = l.root;
	return r;
}

int tree__load_text(const char *name, struct dcm_str text, struct tree **ret_tree, struct dcm_error *err)
{
	CLEANUP(tree__freep) struct tree *t = NEW(struct tree);
	if (!t)
		return error__nomem(err);
	int r = tree__parse(t, name, text.p ? text : STR(""), &t->root, err);
	if (!r && node__is_null(t->root)) {
		struct place at = t->root->at;
		r = tree__new_node(t, NODE_MAP, &at, &t->root, err);
	}
	if (r)
		return r;
	*ret_tree = take_ptr(t);
	return 0;
}

static int read_file(const char *path, struct buf *text, struct dcm_error *err)
{
	int r = fd__read_path(AT_FDCWD, path, TREE_MAX_BYTES, text);

	if (r == -EFBIG)
		return error__set(err, r, "%s: more than %u MiB of text; split it up", path,
				  TREE_MAX_BYTES >> 20);
	if (r == -ENOENT)
		return error__set(err, r, "%s: there is no such file; name one that is there", path);
	return r ? error__sys(err, r, "%s: cannot be read", path) : 0;
}

int tree__load_file(const char *path, struct tree **ret_tree, struct dcm_error *err)
{
	struct buf text = { 0 };
	int r = read_file(path, &text, err);

	if (r == 0)
		r = tree__load_text(path, buf__view(&text), ret_tree, err);
	buf__fini(&text);
	return r;
}

int tree__load_more(struct tree *t, const char *path, struct node **ret_root, struct dcm_error *err)
{
	struct buf text = { 0 };
	int r = read_file(path, &text, err);

	if (r == 0)
		r = tree__parse(t, path, text.n ? buf__view(&text) : STR(""), ret_root, err);
	buf__fini(&text);
	return r;
}

void tree__free(struct tree *t)
{
	if (!t)
		return;
	arena__fini(&t->arena);
	free(t);
}
