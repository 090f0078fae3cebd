/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/plan_effective.c - a plan as YAML: every value that holds, and no secret
 */
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/config/dump.h"
#include "core/config/effective.h"
#include "core/main/plan.h"

static void write_table(const struct dcm_table *table, const void *value, const struct node *said,
			unsigned indent, struct buf *out)
{
	effective__yaml(table, value, said, EFFECTIVE_HIDE, indent, out);
}

static void write_instance(const struct plan_instance *v, unsigned indent, struct buf *out)
{
	const bool named = tree__get(v->node, "name");

	buf__printf(out, "%*sname: ", (int)indent, "");
	dump__scalar(str__of(v->name), out);
	buf__text(out, named ? "\n" : "  # default\n");
	if (v->plugin->info.options)
		write_table(v->plugin->info.options, settings__config(v->settings), v->node, indent, out);
	if (v->destination)
		write_table(&destination_options__table, v->destination, v->node, indent, out);
}

static bool is_of(const struct plan_instance *v, enum dcm_kind kind, const struct plugin *plugin)
{
	return v->kind == kind && (!plugin || v->plugin == plugin);
}

static uint32_t count(const struct plan *p, uint32_t end, enum dcm_kind kind, const struct plugin *plugin)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < end; i++)
		n += is_of(&p->instances[i], kind, plugin);
	return n;
}

/* One map, or a list of them. */
static void write_plugin(const struct plan *p, uint32_t first, struct buf *out)
{
	const struct plan_instance *of = &p->instances[first];
	const bool several = count(p, p->n, of->kind, of->plugin) > 1;

	buf__printf(out, "  %s:\n", of->plugin->info.name);
	for (uint32_t i = first; i < p->n; i++) {
		if (!is_of(&p->instances[i], of->kind, of->plugin))
			continue;
		if (several)
			buf__text(out, "    -\n");
		write_instance(&p->instances[i], several ? 6 : 4, out);
	}
}

int plan__effective(const struct plan *p, struct buf *out, struct dcm_error *err)
{
	for (int k = DCM_INPUT; k <= DCM_OUTPUT; k++) {
		const enum dcm_kind kind = (enum dcm_kind)k;

		if (count(p, p->n, kind, NULL) == 0)
			continue;
		buf__printf(out, "%s:\n", section__all[kind].key);
		for (uint32_t i = 0; i < p->n; i++)
			if (is_of(&p->instances[i], kind, NULL) &&
			    count(p, i, kind, p->instances[i].plugin) == 0)
				write_plugin(p, i, out);
	}
	write_table(&settings__table, p->main, p->tree->root, 0, out);
	return out->error ? error__sys(err, out->error, "the configuration cannot be written down") : 0;
}
