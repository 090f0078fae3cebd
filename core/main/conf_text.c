/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/conf_text.c - conf/NAME.yaml from what it sets and the option tables
 */
#include "core/main/conf_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/config/describe.h"
#include "core/config/section.h"
#include "core/config/tree.h"
#include "core/main/settings.h"
#include "core/pipeline/options.h"

enum { MAX_CONF_BYTES = 1 << 20 };

/* The comment lines that the file begins with, and an empty line. */
static int copy_head(const char *path, struct buf *out, struct dcm_error *err)
{
	struct buf text = { 0 };
	int r = fd__read_path(AT_FDCWD, path, MAX_CONF_BYTES, &text);
	const char *at = (const char *)text.data;

	if (r < 0) {
		buf__fini(&text);
		return error__sys(err, r, "%s", path);
	}
	while (at && *at == '#') {
		size_t n = strcspn(at, "\n");

		buf__append(out, at, n);
		buf__byte(out, '\n');
		at += n + (at[n] == '\n');
	}
	buf__byte(out, '\n');
	buf__fini(&text);
	return 0;
}

static void write_instance(const struct plugin *plugin, const struct node *set, unsigned indent,
			   struct buf *out)
{
	const struct dcm_table *tables[3];
	struct describe_subject s = { .title = plugin->info.name,
				      .tables = tables,
				      .of_program = plugin->info.kind == DCM_STORAGE };

	if (plugin->info.options)
		tables[s.n_tables++] = plugin->info.options;
	tables[s.n_tables++] = &section__common;
	if (plugin->info.kind != DCM_INPUT)
		tables[s.n_tables++] = &destination_options__table;
	describe__yaml(&s, set, indent, out);
}

/* Under a plugin's name stands one map, or a list of them. */
static int write_plugin(const struct member *m, enum dcm_kind kind, struct loader *loader,
			struct buf *out, struct dcm_error *err)
{
	const struct plugin *plugin;
	int r = loader__get(loader, kind, m->key.p, &plugin, err);

	if (r < 0)
		return r;
	buf__printf(out, "  # %s\n  %.*s:\n", plugin->info.summary, STR_ARG(m->key));
	if (m->value->kind != NODE_LIST) {
		write_instance(plugin, m->value->kind == NODE_MAP ? m->value : NULL, 4, out);
		return 0;
	}
	for (uint32_t i = 0; i < m->value->n; i++) {
		buf__text(out, "    -\n");
		write_instance(plugin, m->value->items[i], 6, out);
	}
	return 0;
}

static int write_section(const struct node *root, enum dcm_kind kind, struct loader *loader,
			 struct buf *out, struct dcm_error *err)
{
	const struct section *section = &section__all[kind];
	const struct node *node = tree__get(root, section->key);
	int r = 0;

	if (!node || node->kind != NODE_MAP)
		return 0;
	buf__printf(out, "# %s\n%s:\n", section->doc, section->key);
	for (uint32_t i = 0; i < node->n && r == 0; i++)
		r = write_plugin(&node->members[i], kind, loader, out, err);
	buf__byte(out, '\n');
	return r;
}

int conf_text__write(const char *path, struct loader *loader, struct buf *out, struct dcm_error *err)
{
	const struct dcm_table *const own[] = { &settings__table };
	CLEANUP(tree__freep) struct tree *tree = NULL;
	int r = tree__load_file(path, &tree, err);

	if (r == 0)
		r = copy_head(path, out, err);
	for (int kind = DCM_INPUT; kind <= DCM_OUTPUT && r == 0; kind++)
		r = write_section(tree->root, (enum dcm_kind)kind, loader, out, err);
	if (r == 0)
		describe__yaml(&(struct describe_subject){ .title = "configuration",
							   .tables = own,
							   .n_tables = 1,
							   .of_program = true },
			       tree->root, 0, out);
	if (r == 0 && out->error)
		r = error__nomem(err);
	return r;
}
