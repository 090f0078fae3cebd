/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/settings.c - a filled configuration struct with the memory behind it
 */
#include "core/plugin/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/mem.h"
#include "core/config/options.h"

enum { PARTS_MAX = 8 };

struct settings {
	struct arena arena;
	void *config;
};

/* What stands for the options of a plugin that has none: unknown keys are still errors. */
static const struct dcm_table no_options = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = 8,
};

static int fill(struct settings *s, const struct plugin *plugin, const struct options_env *env,
		const char *object, const struct node *node, struct options_part *more, uint32_t n_more)
{
	struct options_env own = *env;
	struct options_part parts[PARTS_MAX] = { { .table = plugin->info.options ? plugin->info.options
										 : &no_options } };
	int r;

	own.arena = &s->arena;
	for (uint32_t i = 0; i < n_more; i++)
		parts[1 + i] = more[i];
	r = options__fill(&own, object, node, parts, 1 + n_more);
	if (r < 0)
		return r;
	s->config = parts[0].value;
	for (uint32_t i = 0; i < n_more; i++)
		more[i].value = parts[1 + i].value;
	return 0;
}

int settings__new(const struct plugin *plugin, const struct options_env *env, const char *object,
		  const struct node *node, struct options_part *more, uint32_t n_more,
		  struct settings **ret)
{
	CLEANUP(settings__freep) struct settings *s = NULL;
	int r;

	if (n_more >= PARTS_MAX)
		return -E2BIG;
	s = NEW(struct settings);
	if (!s)
		return problems__nomem(env->problems);
	r = fill(s, plugin, env, object, node, more, n_more);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}

void settings__free(struct settings *s)
{
	if (!s)
		return;
	arena__fini(&s->arena);
	free(s);
}

const void *settings__config(const struct settings *s)
{
	return s->config;
}
