/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/plan.c - file, overrides and defaults become a checked plan
 */
#include "core/main/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/options.h"
#include "core/config/path.h"
#include "core/config/suggest.h"
#include "core/config/table.h"
#include "core/main/foreign.h"
#include "core/query/selector.h"

/* An input that was left out of the build is not missed. */
#ifdef HAVE_INPUT_EBPF
#define DEFAULT_EBPF "  ebpf: {}\n"
#elif defined(HAVE_INPUT_PPROF_SCRAPE)
/* There is nothing to see without a sampler until targets are named, but for this daemon itself. */
#define DEFAULT_EBPF                                                                               \
	"  pprof_scrape:\n"                                                                        \
	"    scrape_configs:\n"                                                                    \
	"      - job_name: decima\n"                                                               \
	"        static_configs: [ { targets: [ \"127.0.0.1:7070\" ] } ]\n"
#else
#define DEFAULT_EBPF ""
#endif
#ifdef HAVE_INPUT_PERF_MAP
#define DEFAULT_PERF_MAP "  perf_map: {}\n"
#else
#define DEFAULT_PERF_MAP ""
#endif

#ifdef HAVE_STORAGE_LOCAL
#define DEFAULT_STORAGE "local: {}\n"
#else
#define DEFAULT_STORAGE "memory: {}\n"
#endif

const char plan__default_text[] = "inputs:\n" DEFAULT_EBPF DEFAULT_PERF_MAP
				  "storage:\n  " DEFAULT_STORAGE;

/* Who takes stands before who gives. What is in no section is in settings__table. */
static const enum dcm_kind order[] = { DCM_STORAGE, DCM_OUTPUT, DCM_INPUT };
enum { N_SECTIONS = sizeof(order) / sizeof(order[0]) };

static bool is_section(struct dcm_str key)
{
	for (size_t i = 0; i < N_SECTIONS; i++)
		if (str__eq(key, str__of(section__all[i].key)))
			return true;
	return false;
}

static int check_selector(void *ctx, struct dcm_str text, struct dcm_error *err)
{
	struct selector *s = NULL;
	int r = selector__parse(text, SELECTOR_TYPE_OPTIONAL, &s, err);

	(void)ctx;
	selector__free(s);
	return r;
}

static int set_flag(struct tree *t, const struct plan_flag *f, struct dcm_error *err)
{
	if (!f->value)
		return 0;
	return f->is_yaml ? tree__set_yaml(t, f->place, f->path, str__of(f->value), err)
			  : tree__set_text(t, f->place, f->path, str__of(f->value), err);
}

/* Faults of a foreign file's top are in problems, with 0. */
static int load_tree(const struct plan_source *s, struct problems *problems, struct tree **ret,
		     struct dcm_error *err)
{
	const struct plan_flag common[] = {
		/* One address in the place of the file's list, whatever is in that. */
		{ "--listen", "server.listen", s->listen ? "[]" : NULL, true },
		{ "--listen", "server.listen.0", s->listen, false },
		{ "--data", "data", s->data, false },
		{ "--plugin-path", "plugin_path", s->plugin_path, false },
		{ "--log-level", "log.level", s->log_level, false },
	};
	int r = s->path ? tree__load_file(s->path, ret, err)
			: tree__load_text("(built-in)", str__of(s->text), ret, err);

	if (r == 0 && foreign__translate(*ret, DEFAULT_STORAGE, problems) == -ENOMEM)
		return -ENOMEM;
	/* What is no map has no place for them, and fill_main() says what is wrong with it. */
	if (r < 0 || ((*ret)->root->kind != NODE_MAP && !node__is_null((*ret)->root)))
		return r;
	for (uint32_t i = 0; r == 0 && i < s->n_sets; i++)
		r = tree__set(*ret, s->sets[i], err);
	for (size_t i = 0; r == 0 && i < sizeof(common) / sizeof(common[0]); i++)
		r = set_flag(*ret, &common[i], err);
	for (uint32_t i = 0; r == 0 && i < s->n_flags; i++)
		r = set_flag(*ret, &s->flags[i], err);
	return r;
}

/*
 * The file's top without the sections, for the table of settings. A misspelt section gets its
 * suggestion here, because the table does not know them; nor what foreign.c tells others' files by.
 */
static void fill_main(struct plan *p, const struct options_env *env)
{
	const struct node *root = p->tree->root;
	struct node *rest = arena__zalloc(&p->arena, 1, sizeof(*rest));
	const char *names[N_SECTIONS + 2] = { [N_SECTIONS] = "scrape_configs", "scrape_config_files" };

	if (root->kind != NODE_MAP) {
		problems__add(env->problems, PROBLEM_ERROR, &root->at,
			      "the configuration must be a map with keys like inputs:, storage:, "
			      "outputs:, server:");
		return;
	}
	for (size_t i = 0; i < N_SECTIONS; i++)
		names[i] = section__all[order[i]].key;
	if (rest)
		rest->members = arena__zalloc(&p->arena, root->n + 1, sizeof(*rest->members));
	if (!rest || !rest->members) {
		problems__nomem(env->problems);
		return;
	}
	rest->kind = NODE_MAP;
	rest->at = root->at;
	for (uint32_t i = 0; i < root->n; i++) {
		struct dcm_str key = root->members[i].key;
		const char *near = is_section(key) ? NULL
						   : suggest__nearest(key, names, N_SECTIONS + 2);

		if (is_section(key))
			continue;
		if (near)
			problems__add(env->problems, PROBLEM_ERROR, &root->members[i].at,
				      "unknown option \"%.*s\"; did you mean \"%s\"?", STR_ARG(key),
				      near);
		else
			rest->members[rest->n++] = root->members[i];
	}
	p->main = options__fill_one(env, "configuration", rest, &settings__table);
}

/*
 * As the file says, even when it says other things that are wrong: all faults shall be named at
 * once.
 */
static const char *plugin_path(const struct plan *p)
{
	const struct node *said = p->main ? NULL : tree__get(p->tree->root, "plugin_path");

	if (p->main && p->main->plugin_path)
		return p->main->plugin_path;
	return said && said->kind == NODE_SCALAR && said->text.n > 0 ? said->text.p : PLUGINDIR;
}

static int make_loader(struct plan *p, struct loader **loader, struct problems *problems)
{
	const struct node *said = tree__get(p->tree->root, "plugin_path");
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	if (*loader)
		return 0;
	r = loader__new(plugin_path(p), trust__is_privileged(), loader, &err);
	if (r < 0)
		problems__add(problems, PROBLEM_ERROR, said ? &said->at : NULL, "%s", err.text);
	return r;
}

/* The section that a plugin of that very name belongs to, when it is here; NULL: none is. */
static const struct section *other_section(const struct loader *loader, enum dcm_kind kind,
					   const char *name)
{
	char nearest[33];

	for (size_t i = 0; i < N_SECTIONS; i++)
		if (order[i] != kind && loader__nearest(loader, order[i], name, nearest) &&
		    strcmp(nearest, name) == 0)
			return &section__all[order[i]];
	return NULL;
}

/*
 * Not there: a fault, unless nobody wants it here and now. Another machine may have more plugins, but
 * hardly one that is called like one of ours but for a letter, or as one of another section.
 */
static void report_missing(const struct plan_source *source, struct problems *problems,
			   const struct loader *loader, enum dcm_kind kind,
			   const struct section_instance *from, int r, const char *sentence)
{
	char nearest[33];
	bool near = r == -ENOENT && loader__nearest(loader, kind, from->plugin, nearest);
	bool elsewhere = r == -ENOENT && source->elsewhere && !near;
	const struct section *other = r == -ENOENT ? other_section(loader, kind, from->plugin) : NULL;

	if (other) {
		problems__add(problems, from->enabled ? PROBLEM_ERROR : PROBLEM_WARNING, &from->at,
			      "%s: there is no such %s, but %s %s of that name; put it below %s:",
			      from->object, section__all[kind].kind,
			      other->kind[0] == 's' ? "a" : "an", other->kind, other->key);
		return;
	}
	problems__add(problems, !from->enabled || elsewhere ? PROBLEM_WARNING : PROBLEM_ERROR,
		      &from->at, "%s: %s%s", from->object, sentence,
		      r == -ENOENT && !near ? ", or plugin_path in the file" : "");
}

/*
 * A fault is in env->problems, and the instance is left out; so is one that is turned off, whose
 * options must be right all the same. Then what this machine has not (its plugin, a variable, a
 * secret's file) is only worth a warning.
 */
static void plan_instance(struct plan *p, const struct plan_source *source,
			  const struct options_env *env, struct loader *loader, enum dcm_kind kind,
			  const struct section_instance *from)
{
	struct options_part parts[2] = { { .table = &section__common },
					 { .table = &destination_options__table } };
	struct plan_instance *to = &p->instances[p->n];
	struct options_env lenient = *env;
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	*to = (struct plan_instance){
		.kind = kind, .name = from->name, .object = from->object, .at = from->at, .node = from->node
	};
	r = loader__get(loader, kind, from->plugin, &to->plugin, &err);
	if (r < 0) {
		report_missing(source, env->problems, loader, kind, from, r, err.text);
		return;
	}
	lenient.elsewhere |= !from->enabled;
	r = settings__new(to->plugin, &lenient, from->object, from->node, parts,
			  kind == DCM_INPUT ? 1 : 2, &to->settings);
	if (r < 0)
		return;
	if (!from->enabled) {
		settings__free(take_ptr(to->settings));
		return;
	}
	to->destination = kind == DCM_INPUT ? NULL : parts[1].value;
	p->n++;
}

/* Two paths that differ in slashes at the end are one. */
static struct dcm_str without_slashes(const char *path)
{
	struct dcm_str s = str__of(path);

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

/* What may be shared by those that only read it. */
static bool reads_only(const struct plan_instance *v)
{
	struct dcm_option row;

	return table__find(v->plugin->info.options, STR("read_only"), &row) &&
	       row.type == DCM_OPT_BOOL &&
	       *(const bool *)((const char *)settings__config(v->settings) + row.offset);
}

static void compare_unique(const struct plan_instance *a, const struct plan_instance *b,
			   struct problems *problems)
{
	const struct dcm_table *table = a->plugin->info.options;

	if (!table || a->plugin != b->plugin || reads_only(a) || reads_only(b))
		return;
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);
		const char *const *of_a = (const void *)((const char *)settings__config(a->settings) +
							 row.offset);
		const char *const *of_b = (const void *)((const char *)settings__config(b->settings) +
							 row.offset);

		if (!(row.flags & DCM_OPT_UNIQUE) || row.type != DCM_OPT_STRING || !*of_a ||
		    !*of_b || !str__eq(without_slashes(*of_a), without_slashes(*of_b)))
			continue;
		const struct place *at = path__place(b->node, row.name);
		problems__add(problems, PROBLEM_ERROR, at ? at : &b->at,
			      "%s: %s: \"%.300s\" is that of %s too; give each its own", b->object,
			      row.name, *of_b, a->object);
	}
}

/* Each fails where the other runs, which a preflight of one instance cannot see. */
static void check_unique(const struct plan *p, struct problems *problems)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t j = 0; j < i; j++)
			compare_unique(&p->instances[j], &p->instances[i], problems);
}

struct shadowed {
	const struct plan *plan;
	struct problems *problems;
};

static int report_shadowed(void *ctx, enum dcm_kind kind, const char *name, const char *file,
			   const char *before)
{
	const struct shadowed *s = ctx;
	const struct node *said = tree__get(s->plan->tree->root, "plugin_path");

	for (uint32_t i = 0; i < s->plan->n; i++) {
		const struct plan_instance *v = &s->plan->instances[i];

		if (v->kind != kind || strcmp(v->plugin->info.name, name) != 0)
			continue;
		return problems__add(s->problems, PROBLEM_WARNING, said ? &said->at : NULL,
				     "plugin_path: %s is used, and not %s; keep one of the two",
				     before, file);
	}
	return 0;
}

/* Of two plugins of one name that the configuration means, it may mean the other. */
static void check_shadowed(const struct plan *p, const struct loader *loader, struct problems *problems)
{
	struct shadowed s = { p, problems };

	if (loader__each_shadowed(loader, report_shadowed, &s, NULL) == -ENOMEM)
		problems__nomem(problems);
}

/* Who configures an input wants its profiles kept somewhere. */
static void check_kept(const struct plan *p, struct problems *problems)
{
	const struct plan_instance *input = NULL;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct plan_instance *v = &p->instances[i];

		if (v->kind == DCM_STORAGE || (v->kind == DCM_OUTPUT && v->plugin->output.write))
			return;
		input = v->kind == DCM_INPUT && !input ? v : input;
	}
	if (input)
		problems__add(problems, PROBLEM_WARNING,
			      &input->at, "%s: nobody keeps its profiles; configure a storage, or an output that sends or writes them",
			      input->object);
}

/* Instances have one space of names, because metrics and directories do. */
static void check_names(const struct plan *p, struct problems *problems)
{
	const struct plan_instance *v = p->instances;

	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(v[i].name, v[j].name) == 0)
				problems__add(
					problems, PROBLEM_ERROR, &v[i].at,
					"%s: the name \"%s\" is taken by %s; give one of them "
					"another with name:",
					v[i].object, v[i].name, v[j].object);
}

static void plan_instances(struct plan *p, const struct plan_source *source,
			   const struct options_env *env, struct loader *loader)
{
	struct section_instance *list[N_SECTIONS] = { 0 };
	uint32_t n[N_SECTIONS] = { 0 }, total = 0;

	for (size_t i = 0; i < N_SECTIONS; i++) {
		const struct section *section = &section__all[order[i]];

		section__list(env, section, tree__get(p->tree->root, section->key), &list[i], &n[i]);
		total += n[i];
	}
	p->instances = mem__zalloc(total + 1, sizeof(*p->instances));
	if (!p->instances) {
		problems__nomem(env->problems);
		return;
	}
	for (size_t i = 0; i < N_SECTIONS; i++)
		for (uint32_t k = 0; k < n[i]; k++)
			plan_instance(p, source, env, loader, order[i], &list[i][k]);
	check_names(p, env->problems);
	check_unique(p, env->problems);
	check_kept(p, env->problems);
	check_shadowed(p, loader, env->problems);
}

int plan__load(const struct plan_source *source, struct loader **loader, struct problems *problems,
	       struct plan **ret)
{
	CLEANUP(plan__freep) struct plan *p = NEW(struct plan);
	struct dcm_error err = DCM_ERROR_INIT;
	struct options_env env = { .problems = problems,
				   .check_selector = check_selector,
				   .elsewhere = source->elsewhere };
	int r;

	if (!p)
		return problems__nomem(problems);
	env.arena = &p->arena;
	r = load_tree(source, problems, &p->tree, &err);
	if (r < 0) {
		/* The sentence begins with its place already. */
		problems__add(problems, PROBLEM_ERROR, NULL, "%s", err.text);
		return r == -ENOMEM ? r : -EINVAL;
	}
	fill_main(p, &env);
	if (make_loader(p, loader, problems) == 0)
		plan_instances(p, source, &env, *loader);
	r = problems__code(problems);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

void plan__free(struct plan *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n; i++)
		settings__free(p->instances[i].settings);
	free(p->instances);
	arena__fini(&p->arena);
	tree__free(p->tree);
	free(p);
}

int plan__data_dir(const struct plan *p, char ret[static 4096], struct dcm_error *err)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_STATE_HOME");
	const char *service = getenv("STATE_DIRECTORY"); /* systemd.exec(5) */
	int n;

	if (p->main->data)
		n = snprintf(ret, 4096, "%s", p->main->data);
	else if (service && service[0] == '/')
		n = snprintf(ret, 4096, "%s", service);
	else if (geteuid() == 0)
		n = snprintf(ret, 4096, "/var/lib/decima");
	else if (xdg && xdg[0] == '/')
		n = snprintf(ret, 4096, "%s/decima", xdg);
	else if (home && home[0] == '/')
		n = snprintf(ret, 4096, "%s/.local/state/decima", home);
	else
		return error__set(
			err, -ENOENT, "no directory for data: neither HOME nor XDG_STATE_HOME is set; give --data DIR");
	return n < 4096 ? 0 : error__set(err, -ENAMETOOLONG, "data: the path is longer than 4095 bytes");
}
