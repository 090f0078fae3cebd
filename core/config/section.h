/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/section.h - the instances under `inputs:`, `storage:`, `outputs:`
 *
 * Under a plugin's name stands one map, or a list of maps for several instances. Each may have
 * `name:` (default: the plugin's, with #2 from the second on) and `enabled:` (default true);
 * section__common is the table of these two, to be given to options__fill() beside the plugin's
 * own.
 */
#ifndef DECIMA_CONFIG_SECTION_H
#define DECIMA_CONFIG_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/config/options.h"
#include "core/config/tree.h"

/* The keys at the top of the file that hold instances. */
struct section {
	const char *key;  /* "inputs" */
	const char *kind; /* one of them, as sentences call it: "input" */
	const char *doc;
};
extern const struct section section__all[3]; /* by enum dcm_kind */

struct section_common {
	const char *name; /* NULL: the default name */
	bool enabled;
};
extern const struct dcm_table section__common;

struct section_instance {
	const char *plugin; /* key in the file */
	const char *name;   /* unique in the section; letters, digits, `_`, `-`, `.`, `#` */
	const char *object; /* "input ebpf", "output file archive": how sentences begin */
	bool enabled;
	struct place at;	 /* of the plugin's key, or of the list's element */
	const struct node *node; /* a map, or NULL: nothing is set */
};

/*
 * The instances of one section, of which node is the value, in the file's order, in env->arena.
 * node may be NULL. Faults (a scalar where a map belongs, a bad or repeated name) go to
 * env->problems, and what has one is not listed: so the others can be gone through all the same.
 * 0, -EINVAL (the list is set and may lack some), -ENOMEM.
 */
int section__list(const struct options_env *env, const struct section *section,
		  const struct node *node, struct section_instance **ret_instances, uint32_t *ret_n);

#endif
