/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/plugins_verb.c - `decima plugins`, `describe`, `generate`: what can be loaded, and what
 * it can be told
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/describe.h"
#include "core/config/section.h"
#include "core/main/conf_text.h"
#include "core/main/generate.h"
#include "core/main/output_file.h"
#include "core/main/settings.h"
#include "core/main/verbs.h"
#include "core/pipeline/options.h"
#include "core/plugin/loader.h"
#include "core/plugin/trust.h"
#include "core/query/render.h"

static const char *path_of(const struct args *a)
{
	return args__get(a, "plugin-path", PLUGINDIR);
}

static int open_loader(const struct args *a, bool strict, struct loader **ret)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = loader__new(path_of(a), strict, ret, &err);

	if (r == 0)
		return EXIT_DONE;
	fprintf(stderr, "decima %s: %s\n", a->verb->name, err.text);
	return r == -EINVAL ? EXIT_USAGE : EXIT_NO;
}

int verb__open_loader(const struct args *a, struct loader **ret)
{
	return open_loader(a, trust__is_privileged(), ret);
}

/*
 * For `generate`, which makes pages of a build's plugins and is made by that build itself, perhaps
 * as root in a folder of somebody else: who has a build's program run has its plugins run.
 */
static int open_loader_of_build(const struct args *a, struct loader **ret)
{
	return open_loader(a, !args__has(a, "plugin-path") && trust__is_privileged(), ret);
}

static int put(const struct args *a, struct buf *out)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = out->error ? error__nomem(&err) : output_file__write("-", out, &err);

	if (r < 0)
		fprintf(stderr, "decima %s: %s\n", a->verb->name, err.text);
	buf__fini(out);
	return r < 0 ? EXIT_NO : EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------
 * plugins
 */

struct plugin_list {
	struct buf out;
	bool json;
	struct arena arena;
	VEC(struct dcm_str) cells;
	uint32_t n, n_refused;
};

static int add_row(struct plugin_list *l, const char *kind, const char *name, const char *version,
		   const char *file, const char *what)
{
	const char *cells[] = { kind, name, version, file, what };

	for (size_t i = 0; i < 5; i++) {
		struct dcm_str copy = arena__str(&l->arena, str__of(cells[i]));

		if (!copy.p || !vec__push(&l->cells, copy))
			return -ENOMEM;
	}
	return 0;
}

static int add_plugin(void *ctx, enum dcm_kind kind, const char *name, const char *file,
		      const struct plugin *plugin, const char *why)
{
	struct plugin_list *l = ctx;
	const char *version = plugin && plugin->info.version ? plugin->info.version : "";
	const char *what = plugin ? plugin->info.summary : why;

	l->n++;
	l->n_refused += !plugin;
	if (!l->json)
		return add_row(l, plugin__kind_name(kind), name, plugin ? version : "refused", file, what);
	buf__printf(&l->out, "%s{\"kind\":\"%s\",\"loaded\":%s,\"name\":", l->n > 1 ? "," : "",
		    plugin__kind_name(kind), plugin ? "true" : "false");
	buf__json(&l->out, str__of(name));
	buf__text(&l->out, ",\"file\":");
	buf__json(&l->out, str__of(file));
	buf__text(&l->out, ",\"version\":");
	buf__json(&l->out, str__of(version));
	buf__text(&l->out, plugin ? ",\"summary\":" : ",\"refused\":");
	buf__json(&l->out, str__of(what));
	buf__text(&l->out, "}");
	return l->out.error;
}

static int add_shadowed(void *ctx, enum dcm_kind kind, const char *name, const char *file,
			const char *before)
{
	struct plugin_list *l = ctx;
	char what[PATH_MAX + 32];

	l->n++;
	snprintf(what, sizeof(what), "not used: %s comes first", before);
	if (!l->json)
		return add_row(l, plugin__kind_name(kind), name, "shadowed", file, what);
	buf__printf(&l->out, "%s{\"kind\":\"%s\",\"loaded\":false,\"name\":", l->n > 1 ? "," : "",
		    plugin__kind_name(kind));
	buf__json(&l->out, str__of(name));
	buf__text(&l->out, ",\"file\":");
	buf__json(&l->out, str__of(file));
	buf__text(&l->out, ",\"shadowed_by\":");
	buf__json(&l->out, str__of(before));
	buf__text(&l->out, "}");
	return l->out.error;
}

int verb__plugins(const struct args *a)
{
	static const char *const heads[] = { "KIND", "NAME", "VERSION", "FILE", "WHAT" };
	struct plugin_list l = { .json = strcmp(args__get(a, "format", "text"), "json") == 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;
	int status = verb__open_loader(a, &loader), r;

	if (status != EXIT_DONE)
		return status;
	if (l.json)
		buf__text(&l.out, "[");
	r = loader__each(loader, add_plugin, &l, &err);
	if (r == 0)
		r = loader__each_shadowed(loader, add_shadowed, &l, &err);
	if (l.json)
		buf__text(&l.out, "]\n");
	else
		render__table(&(struct render_table){ heads, 5, 0, l.cells.v, l.n },
			      &(struct render_options){ 0 }, &l.out);
	status = put(a, &l.out);
	if (r < 0)
		fprintf(stderr, "decima plugins: %s\n", err.text);
	else if (l.n == 0)
		fprintf(stderr,
			"decima plugins: no plugins in %s; say where they are with --plugin-path\n",
			path_of(a));
	vec__fini(&l.cells);
	arena__fini(&l.arena);
	loader__free(loader);
	return r < 0 || l.n_refused > 0 || l.n == 0 ? EXIT_NO : status;
}

/* ------------------------------------------------------------------------------------------------
 * describe
 */

static void write_subject(const struct describe_subject *s, const char *format, struct buf *out)
{
	if (strcmp(format, "json") == 0)
		describe__json(s, out);
	else if (strcmp(format, "yaml") == 0)
		describe__yaml(s, NULL, 0, out);
	else if (strcmp(format, "markdown") == 0)
		describe__markdown(s, out);
	else if (strcmp(format, "man") == 0)
		describe__man(s, out);
	else
		describe__text(s, out);
}

static int describe_plugin(const struct args *a, struct loader *loader, struct buf *out)
{
	const struct dcm_table *tables[3];
	struct dcm_str subject = str__of(a->operands[0]);
	const char *slash = memchr(subject.p, '/', subject.n);
	struct describe_subject s = { .title = a->operands[0], .tables = tables };
	const struct plugin *plugin = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	enum dcm_kind kind;
	int r;

	if (!slash || plugin__kind_parse((struct dcm_str){ subject.p, (uint32_t)(slash - subject.p) },
					 &kind) < 0) {
		fprintf(stderr,
			"decima describe: \"%s\" is not KIND/NAME, like input/ebpf, storage/memory "
			"or output/file\n",
			a->operands[0]);
		return EXIT_USAGE;
	}
	r = loader__get(loader, kind, slash + 1, &plugin, &err);
	if (r < 0) {
		fprintf(stderr, "decima describe: %s\n", err.text);
		return EXIT_NO;
	}
	if (plugin->info.options)
		tables[s.n_tables++] = plugin->info.options;
	tables[s.n_tables++] = &section__common;
	if (kind != DCM_INPUT)
		tables[s.n_tables++] = &destination_options__table;
	s.summary = plugin->info.summary;
	s.of_program = kind == DCM_STORAGE;
	write_subject(&s, args__get(a, "format", "text"), out);
	return EXIT_DONE;
}

int verb__describe(const struct args *a)
{
	const struct dcm_table *const own[] = { &settings__table };
	struct loader *loader = NULL;
	struct buf out = { 0 };
	int status = EXIT_DONE;

	if (a->n_operands == 0) {
		write_subject(
			&(struct describe_subject){ .title = "configuration",
						    .summary = "The top of the file, beside "
							       "inputs:, storage: and outputs:.",
						    .tables = own,
						    .n_tables = 1,
						    .of_program = true },
			args__get(a, "format", "text"), &out);
		return put(a, &out);
	}
	status = verb__open_loader(a, &loader);
	if (status == EXIT_DONE)
		status = describe_plugin(a, loader, &out);
	if (status == EXIT_DONE)
		status = put(a, &out);
	buf__fini(&out);
	loader__free(loader);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * generate
 */

/* table may be NULL. */
static void write_man5_subject(const char *title, const char *summary,
			       const struct dcm_table *table, bool of_program, struct buf *out)
{
	describe__man(&(struct describe_subject){ .title = title,
						  .summary = summary,
						  .tables = &table,
						  .n_tables = table ? 1 : 0,
						  .of_program = of_program },
		      out);
}

static int man5_of_plugin(void *ctx, enum dcm_kind kind, const char *name, const char *file,
			  const struct plugin *plugin, const char *why)
{
	struct buf *out = ctx;
	char title[128];

	(void)file;
	if (!plugin) {
		fprintf(stderr, "decima generate: %s/%s: %s\n", plugin__kind_name(kind), name, why);
		return -ENOEXEC;
	}
	snprintf(title, sizeof(title), "%s/%s", plugin__kind_name(kind), name);
	write_man5_subject(title, plugin->info.summary, plugin->info.options, kind == DCM_STORAGE, out);
	return out->error;
}

/*
 * decima.yaml(5): the program's own options, those of every instance, and of each plugin along the
 * path.
 */
static int write_man5(struct loader *loader, struct buf *out, struct dcm_error *err)
{
	buf__printf(out, ".TH DECIMA.YAML 5 \"\" \"decima %s\" \"File Formats\"\n.ad l\n",
		    PACKAGE_VERSION);
	buf__text(out, ".SH NAME\ndecima.yaml \\- configuration of decima\n.SH DESCRIPTION\n"
		       "A YAML file. Under \\fBinputs\\fR, \\fBstorage\\fR and \\fBoutputs\\fR "
		       "stand plugins by name, each with a map\n"
		       "of its options, or with a list of maps for several instances. ${NAME} is "
		       "replaced by the environment,\n"
		       "${NAME:\\-text} by text when NAME is unset.\n.SH OPTIONS\n");
	write_man5_subject("top of the file", "Beside inputs, storage and outputs.",
			   &settings__table, true, out);
	write_man5_subject("every instance", "What each map under a plugin's name may hold.",
			   &section__common, false, out);
	write_man5_subject(
		"every storage and output",
		"In addition. The storage that answers questions is restarted with decima only.",
		&destination_options__table, false, out);
	return loader__each(loader, man5_of_plugin, out, err);
}

static int generate_man5(const struct args *a)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;
	struct buf out = { 0 };
	int status = open_loader_of_build(a, &loader);

	if (status == EXIT_DONE && write_man5(loader, &out, &err) != 0) {
		fprintf(stderr, "decima generate: %s\n", err.text);
		status = EXIT_NO;
	}
	if (status == EXIT_DONE) {
		buf__text(&out, ".SH SEE ALSO\n.BR decima (1)\n");
		status = put(a, &out);
	}
	buf__fini(&out);
	loader__free(loader);
	return status;
}

static int generate_conf(const struct args *a)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;
	struct buf out = { 0 };
	int status = open_loader_of_build(a, &loader);

	if (status != EXIT_DONE)
		return status;
	if (conf_text__write(a->operands[1], loader, &out, &err) < 0) {
		fprintf(stderr, "decima generate: %s\n", err.text);
		status = EXIT_NO;
	} else {
		status = put(a, &out);
	}
	buf__fini(&out);
	loader__free(loader);
	return status;
}

int verb__generate(const struct args *a)
{
	bool conf = strcmp(a->operands[0], "conf") == 0;

	if (conf && a->n_operands == 2)
		return generate_conf(a);
	if (strcmp(a->operands[0], "man5") == 0 && a->n_operands == 1)
		return generate_man5(a);
	if (strcmp(a->operands[0], "man") == 0 && a->n_operands == 1) {
		generate__man(verbs);
		return EXIT_DONE;
	}
	fprintf(stderr, "decima generate: give man, man5, or conf FILE\n");
	return EXIT_USAGE;
}
