/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/tree.h - YAML text as a tree of nodes that know where they were written
 *
 * libyaml's events become scalars, maps in the file's order, and lists. What a scalar means is not
 * decided here: an option's row does that. Refused with a sentence: duplicate keys, keys that are
 * not scalars, several documents, tags other than the core schema's, NUL characters. Aliases are
 * expanded (each copy counts against the limit of nodes, which is what stops "billion laughs"), and
 * a plain `<<` key merges maps as in YAML 1.1: what the map itself says wins, then the earlier of
 * several.
 *
 * Limits: 16 MiB of text, 2^20 nodes after expansion, depth 64, 1024 anchors, keys of 200 bytes.
 * Threads: a tree belongs to one thread at a time. Source: yaml.org/spec/1.1 (libyaml's version),
 * 1.2 for null.
 */
#ifndef DECIMA_CONFIG_TREE_H
#define DECIMA_CONFIG_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/config/problems.h"

#define TREE_MAX_BYTES	   (16u << 20)
#define TREE_MAX_NODES	   (1u << 20)
#define TREE_MAX_DEPTH	   64
#define TREE_MAX_KEY_BYTES 200

enum node_kind { NODE_SCALAR, NODE_MAP, NODE_LIST };

struct node {
	enum node_kind kind;
	bool plain;	     /* scalar without quotes */
	struct place at;     /* of the value */
	struct dcm_str text; /* scalar; a NUL follows, none is inside */
	union {
		struct member *members; /* map: [n], keys are unique */
		struct node **items;	/* list: [n] */
	};
	uint32_t n, cap;
};

struct member {
	struct dcm_str key; /* a NUL follows */
	struct place at;    /* of the key */
	struct node *value;
};

struct tree {
	struct arena arena; /* of every node and text */
	struct node *root;  /* an empty map when the text is empty; otherwise of any kind */
	uint32_t n_nodes;
};

/*
 * name is what places say; text need not outlive the call. -EINVAL, -EFBIG, -ENOMEM with
 * "NAME:LINE:COL: ...".
 */
int tree__load_text(const char *name, struct dcm_str text, struct tree **ret_tree, struct dcm_error *err);
int tree__load_file(const char *path, struct tree **ret_tree, struct dcm_error *err);
/* One more file, whose root may be of any kind: its nodes are the tree's, and count with it. */
int tree__load_more(struct tree *t, const char *path, struct node **ret_root, struct dcm_error *err);
void tree__free(struct tree *t);
DEFINE_CLEANUP(struct tree *, tree__free);

/* Nothing written, `~` or `null`, without quotes: read as "absent". */
bool node__is_null(const struct node *n);

/* The value of a key; NULL when n is NULL, not a map, or has no such key. */
struct node *tree__get(const struct node *n, const char *key);
const struct member *tree__member(const struct node *n, struct dcm_str key);

/*
 * One override, "a.b.c=VALUE": VALUE is YAML (`[1, 2]` makes a list, nothing makes null). Maps that
 * are not there are made. A part of the path that meets a list is an index from 0 (the list's
 * length appends), the `name:` of an element, or what an unnamed element is called after the list's
 * key: `file` the first, `file#2` the second. `\.` is a dot and `\=` an equals sign inside a key.
 * On failure the tree is as it was. The place of what is set is "--set a.b.c=VALUE".
 */
int tree__set(struct tree *t, const char *assignment, struct dcm_error *err);

/* The same in the name of another option: place ("--pid") is what places say. */
int tree__set_yaml(struct tree *t, const char *place, const char *path, struct dcm_str yaml,
		   struct dcm_error *err);
/* The same for a value that is a text whatever is in it. */
int tree__set_text(struct tree *t, const char *place, const char *path, struct dcm_str value,
		   struct dcm_error *err);

#endif
