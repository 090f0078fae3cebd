/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/section.c - the instances under `inputs:`, `storage:`, `outputs:`
 *
 * Names are found first, because two instances of one name would share metrics and directories.
 * Comparing them pair by pair is bounded: a section has at most INSTANCES_MAX.
 */
#include "core/config/section.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

enum { INSTANCES_MAX = 1000, NAME_MAX_BYTES = 64 };

const struct section section__all[3] = {
	[DCM_INPUT] = { "inputs", "input", "Where profiles come from." },
	[DCM_STORAGE] = { "storage", "storage", "Where they are kept; the first one answers questions." },
	[DCM_OUTPUT] = { "outputs", "output", "Where else they go." },
};

static const struct dcm_option common_options[] = {
	{ .name = "name",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct section_common, name),
	  .doc = "What this instance is called in metrics, logs, paths and --set. Without it the "
		 "plugin's name, with #2, #3 behind it from the second on." },
	{ .name = "enabled",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct section_common, enabled),
	  .def = "true",
	  .doc = "false turns the instance off; its other options have to be right all the same." },
};

static bool is_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!word && (i == 0 || !strchr("_-.#", c)))
			return false;
	}
	return n > 0 && n <= NAME_MAX_BYTES;
}

/*
 * Names of ours among the instances': folders of the data directory, the core's log and drops, and
 * what the pipeline loses before it is anybody's.
 */
static bool is_reserved(const char *name)
{
	static const char *const ours[] = { "core", "debuginfo", "intake", "symbols" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

static int check_common(const void *config, struct dcm_error *err)
{
	const struct section_common *c = config;

	if (!c->name)
		return 0;
	if (is_reserved(c->name))
		return error__set(err, -EINVAL, "name \"%s\" is decima's own; choose another", c->name);
	if (is_name(c->name))
		return 0;
	return error__set(
		err, -EINVAL,
		"name \"%.80s\" must begin with a letter or digit, go on with those or _ - . #, "
		"and have %d of them at most",
		c->name, NAME_MAX_BYTES);
}

const struct dcm_table section__common = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct section_common),
	.n_options = sizeof(common_options) / sizeof(common_options[0]),
	.options = common_options,
	.check = check_common,
};

struct lister {
	const struct options_env *env;
	const struct section *section;
	struct section_instance *v;
	uint32_t n;
};

static int add(struct lister *l, const struct member *m, const struct node *node, uint32_t nth)
{
	struct arena *arena = l->env->arena;
	struct section_instance i = { .plugin = arena__str(arena, m->key).p, .at = m->at };
	char *object = arena__printf(arena, "%s %.*s", l->section->kind, STR_ARG(m->key));

	if (!i.plugin || !object)
		return problems__nomem(l->env->problems);
	if (node->at.line && node != m->value)
		i.at = node->at;
	i.node = node__is_null(node) ? NULL : node;
	const struct section_common *c = options__peek(l->env, object, node, &section__common);
	if (!c)
		return problems__code(l->env->problems);
	i.enabled = c->enabled;
	i.name = c->name ? c->name : i.plugin;
	i.object = object;
	if (!c->name && nth > 0)
		i.name = arena__printf(arena, "%s#%u", i.plugin, nth + 1);
	if (i.name && c->name && strcmp(i.name, i.plugin) != 0)
		i.object = arena__printf(arena, "%s %s", object, i.name);
	else if (i.name && nth > 0)
		i.object = arena__printf(arena, "%s %s", l->section->kind, i.name);
	if (!i.name || !i.object)
		return problems__nomem(l->env->problems);
	for (uint32_t k = 0; k < l->n; k++) {
		if (strcmp(l->v[k].name, i.name) != 0)
			continue;
		char first[300];
		return problems__add(
			l->env->problems, PROBLEM_ERROR, &i.at,
			"%s: a second %s is called \"%s\", after the one at %s; give it a "
			"name of its own",
			object, l->section->kind, i.name, place__text(&l->v[k].at, first));
	}
	l->v[l->n++] = i;
	return 0;
}

/* The number of instances, or 0 with the fault reported. */
static uint32_t count(const struct options_env *env, const char *key, const struct node *node)
{
	uint64_t n = 0;

	if (node->kind != NODE_MAP) {
		problems__add(env->problems, PROBLEM_ERROR, &node->at,
			      "%s: must be a map with a plugin's name on each line", key);
		return 0;
	}
	for (uint32_t i = 0; i < node->n; i++)
		n += node->members[i].value->kind == NODE_LIST ? node->members[i].value->n : 1;
	if (n > INSTANCES_MAX) {
		problems__add(env->problems, PROBLEM_ERROR, &node->at, "%s: more than %d instances",
			      key, INSTANCES_MAX);
		return 0;
	}
	return (uint32_t)n;
}

int section__list(const struct options_env *env, const struct section *section,
		  const struct node *node, struct section_instance **ret_instances, uint32_t *ret_n)
{
	struct lister l = { .env = env, .section = section };
	uint32_t n_errors = env->problems->n_errors;
	uint32_t n = node && !node__is_null(node) ? count(env, section->key, node) : 0;

	if (n) {
		l.v = arena__zalloc(env->arena, n, sizeof(*l.v));
		if (!l.v)
			return problems__nomem(env->problems);
	}
	for (uint32_t i = 0; n && i < node->n; i++) {
		const struct member *m = &node->members[i];
		const struct node *v = m->value;

		if (v->kind != NODE_LIST)
			add(&l, m, v, 0);
		for (uint32_t k = 0; v->kind == NODE_LIST && k < v->n; k++)
			add(&l, m, v->items[k], k);
	}
	if (env->problems->no_memory)
		return -ENOMEM;
	*ret_instances = l.v;
	*ret_n = l.n;
	return env->problems->n_errors != n_errors ? -EINVAL : 0;
}
