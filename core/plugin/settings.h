/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/settings.h - a filled and checked configuration struct with the memory behind it
 *
 * Making one has no side effect: `decima check` and reload make them all before anything is
 * touched. Each has its own memory, so that an instance keeps exactly what its plugin may look at.
 */
#ifndef DECIMA_PLUGIN_SETTINGS_H
#define DECIMA_PLUGIN_SETTINGS_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/plugin/contract.h"

struct node;	    /* core/config/tree.h */
struct options_env; /* core/config/options.h */
struct options_part;

struct settings;

/*
 * Fills the plugin's options, and the [n_more] parts that share its map (core/config/section.h,
 * core/pipeline/options.h), from `node`. env->arena is not used: the settings have their own, and
 * the values of `more` live in it too. `object` begins each sentence ("output file archive"). 0,
 * -EINVAL (the faults are in env->problems) or -ENOMEM.
 */
int settings__new(const struct plugin *plugin, const struct options_env *env, const char *object,
		  const struct node *node, struct options_part *more, uint32_t n_more,
		  struct settings **ret);
void settings__free(struct settings *s); /* NULL is fine */
DEFINE_CLEANUP(struct settings *, settings__free);

/* The plugin's struct; [struct_size of its table], or an empty one when it has no options. */
const void *settings__config(const struct settings *s);

#endif
