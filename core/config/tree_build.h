/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/tree_build.h - growing a tree: what loading (tree.c) and overriding (tree_set.c)
 * share
 *
 * All of it counts nodes against TREE_MAX_NODES and allocates in the tree's arena. 0, -EINVAL,
 * -ENOMEM.
 */
#ifndef DECIMA_CONFIG_TREE_BUILD_H
#define DECIMA_CONFIG_TREE_BUILD_H

#include <decima/plugin.h>

#include "core/config/tree.h"

/* "PLACE: SENTENCE" and -EINVAL. */
int tree__fail(struct dcm_error *err, const struct place *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int tree__new_node(struct tree *t, enum node_kind kind, const struct place *at,
		   struct node **ret_node, struct dcm_error *err);

int tree__append(struct tree *t, struct node *list, struct node *item, struct dcm_error *err);

/* Adds at the end without looking for an equal key. A key with p NULL marks a merge. */
int tree__put(struct tree *t, struct node *map, const struct member *member, struct dcm_error *err);

/* Refuses duplicate keys and carries out the merges. */
int tree__close_map(struct tree *t, struct node *map, struct dcm_error *err);

/*
 * The text as a node of a tree that is there already (tree.c); a null scalar when nothing is
 * written.
 */
int tree__parse(struct tree *t, const char *name, struct dcm_str text, struct node **ret_node,
		struct dcm_error *err);

/* A deep copy that will stand `depth` levels deep. */
int tree__copy(struct tree *t, const struct node *from, uint32_t depth, struct node **ret_node,
	       struct dcm_error *err);

#endif
