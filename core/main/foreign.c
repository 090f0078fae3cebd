/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/foreign.c - configuration files of Prometheus and Parca, read as they are
 *
 * Nodes are moved, not copied, so that every value keeps the place where it was written: in which file, too.
 */
#include "core/main/foreign.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/suggest.h"

#define FILES_MAX 1024 /* that one pattern of scrape_config_files may name */

struct translation {
	struct tree *tree;
	struct problems *problems;
	struct node *root;	 /* the new one */
	struct node *scraper;	 /* inputs.pprof_scrape of it */
	VEC(struct node *) jobs; /* of this file, and of those that it names */
	bool no_memory;
};

/* ---- building ---- */

static struct node *new_map(struct translation *t, const struct place *at, uint32_t cap)
{
	struct node *n = arena__zalloc(&t->tree->arena, 1, sizeof(*n));

	if (n)
		n->members = arena__zalloc(&t->tree->arena, cap + 1, sizeof(*n->members));
	if (!n || !n->members) {
		t->no_memory = true;
		return NULL;
	}
	n->kind = NODE_MAP;
	n->at = *at;
	n->cap = cap + 1;
	return n;
}

/* There is room: new_map() was told how many there may be. */
static void put(struct node *map, const char *key, const struct place *at, struct node *value)
{
	map->members[map->n++] = (struct member){ .key = str__of(key), .at = *at, .value = value };
}

/* ---- what is theirs ---- */

static bool is_one_of(struct dcm_str key, const char *const *names)
{
	for (; *names; names++)
		if (str__eq(key, str__of(*names)))
			return true;
	return false;
}

static void warn(struct translation *t, const struct place *at, const char *where,
		 struct dcm_str key, const char *instead)
{
	problems__add(t->problems, PROBLEM_WARNING, at, "%s%.*s: has no meaning here, and is ignored%s%s",
		      where, STR_ARG(key), instead[0] ? "; " : "", instead);
}

/* What is not among these lists of names, NULL at their end: an error that names the nearest. */
static void refuse(struct translation *t, const struct member *m, const char *where,
		   const char *const *a, const char *const *b, const char *c)
{
	struct suggest s = suggest__begin(m->key);
	char near[128];

	for (; *a; a++)
		suggest__offer(&s, *a);
	for (; *b; b++)
		suggest__offer(&s, *b);
	suggest__offer(&s, c);
	problems__add(t->problems, PROBLEM_ERROR, &m->at, "%sunknown option \"%.*s\"%s", where,
		      STR_ARG(m->key), suggest__text(&s, near));
}

static void take_global(struct translation *t, const struct node *global)
{
	static const char *const of_metrics[] = {
		"evaluation_interval",
		"rule_query_offset",
		"query_log_file",
		"query_max_series",
		"query_max_samples_read",
		"query_max_duration",
		"scrape_failure_log_file",
		"keep_dropped_targets",
		"scrape_protocols",
		"metric_name_validation_scheme",
		"metric_name_escaping_scheme",
		"runtime",
		"scrape_native_histograms",
		"convert_classic_histograms_to_nhcb",
		"always_scrape_classic_histograms",
		"extra_scrape_metrics",
		NULL,
	};

	static const char *const of_jobs[] = {
		"scrape_interval",
		"scrape_timeout",
		"body_size_limit",
		"sample_limit",
		"target_limit",
		"label_limit",
		"label_name_length_limit",
		"label_value_length_limit",
		NULL,
	};

	if (global->kind != NODE_MAP) {
		if (!node__is_null(global))
			problems__add(t->problems, PROBLEM_ERROR, &global->at, "global: must be a map");
		return;
	}
	for (uint32_t i = 0; i < global->n; i++) {
		const struct member *m = &global->members[i];

		if (is_one_of(m->key, of_jobs))
			put(t->scraper, m->key.p, &m->at, m->value);
		else if (str__eq(m->key, STR("external_labels")))
			put(t->root, "labels", &m->at, m->value);
		else if (is_one_of(m->key, of_metrics))
			warn(t, &m->at, "global: ", m->key, "");
		else
			refuse(t, m, "global: ", of_jobs, of_metrics, "external_labels");
	}
}

/* ---- jobs, and files of jobs ---- */

static void take_jobs(struct translation *t, const struct place *at, const struct node *jobs)
{
	if (node__is_null(jobs))
		return;
	if (jobs->kind != NODE_LIST) {
		problems__add(t->problems, PROBLEM_ERROR, at, "scrape_configs: must be a list of jobs");
		return;
	}
	for (uint32_t i = 0; i < jobs->n; i++)
		t->no_memory |= !vec__push(&t->jobs, jobs->items[i]);
}

/* It has nothing but scrape_configs. */
static void take_file(struct translation *t, const struct place *named, const char *path)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct node *root;
	int r = tree__load_more(t->tree, path, &root, &err);

	if (r < 0) {
		if (r == -ENOMEM)
			t->no_memory = true;
		problems__add(t->problems, PROBLEM_ERROR, named, "scrape_config_files: %s", err.text);
		return;
	}
	if (node__is_null(root))
		return;
	if (root->kind != NODE_MAP)
		problems__add(
			t->problems, PROBLEM_ERROR, &root->at,
			"must be a map with scrape_configs:, as scrape_config_files names it");
	for (uint32_t i = 0; root->kind == NODE_MAP && i < root->n; i++)
		if (str__eq(root->members[i].key, STR("scrape_configs")))
			take_jobs(t, &root->members[i].at, root->members[i].value);
		else
			problems__add(t->problems, PROBLEM_ERROR,
				      &root->members[i].at, "%.*s: only scrape_configs: may stand in a file that scrape_config_files names",
				      STR_ARG(root->members[i].key));
}

/* Relative to the file that names it. */
static bool path_of(const struct node *pattern, char ret[static PATH_MAX])
{
	const char *file = pattern->at.file, *slash = file ? strrchr(file, '/') : NULL;
	int n = pattern->text.p[0] == '/' || !slash
			? snprintf(ret, PATH_MAX, "%s", pattern->text.p)
			: snprintf(ret, PATH_MAX, "%.*s/%s", (int)(slash - file), file,
				   pattern->text.p);

	return n > 0 && n < PATH_MAX;
}

/* What is not there matches nothing; what cannot be read is a fault. */
static int is_fault(const char *path, int error)
{
	(void)path;
	return error != ENOENT && error != ENOTDIR;
}

static void take_pattern(struct translation *t, const struct node *pattern)
{
	glob_t found = { 0 };
	char path[PATH_MAX];
	const char *star;
	int r;

	if (pattern->kind != NODE_SCALAR || !pattern->text.n || !path_of(pattern, path)) {
		problems__add(t->problems, PROBLEM_ERROR, &pattern->at,
			      "scrape_config_files: must be paths of files");
		return;
	}
	star = strchr(pattern->text.p, '*');
	if (star && strchr(star, '/')) {
		problems__add(t->problems, PROBLEM_ERROR, &pattern->at,
			      "scrape_config_files: \"%s\" has a * elsewhere than in its last part",
			      pattern->text.p);
		return;
	}
	r = glob(path, 0, is_fault, &found);
	if (r == GLOB_NOSPACE)
		t->no_memory = true;
	else if (r && r != GLOB_NOMATCH)
		problems__add(t->problems, PROBLEM_ERROR, &pattern->at,
			      "scrape_config_files: %s cannot be read", path);
	else if (found.gl_pathc > FILES_MAX)
		problems__add(t->problems, PROBLEM_ERROR, &pattern->at,
			      "scrape_config_files: %s: more than %d files", path, FILES_MAX);
	else if (!found.gl_pathc)
		problems__add(t->problems, PROBLEM_WARNING, &pattern->at,
			      "scrape_config_files: %s: there is no such file", path);
	for (size_t i = 0; r == 0 && found.gl_pathc <= FILES_MAX && i < found.gl_pathc; i++)
		take_file(t, &pattern->at, found.gl_pathv[i]);
	globfree(&found);
}

static void take_files(struct translation *t, const struct place *at, const struct node *patterns)
{
	if (node__is_null(patterns))
		return;
	if (patterns->kind != NODE_LIST) {
		problems__add(t->problems, PROBLEM_ERROR, at,
			      "scrape_config_files: must be a list of paths");
		return;
	}
	for (uint32_t i = 0; i < patterns->n; i++)
		take_pattern(t, patterns->items[i]);
}

/* Those that were gathered, as the scraper's. */
static void put_jobs(struct translation *t, const struct place *at)
{
	struct node *list = arena__zalloc(&t->tree->arena, 1, sizeof(*list));

	if (list)
		list->items = arena__zalloc(&t->tree->arena, t->jobs.n + 1, sizeof(*list->items));
	if (!list || !list->items) {
		t->no_memory = true;
		return;
	}
	list->kind = NODE_LIST;
	list->at = *at;
	list->n = list->cap = (uint32_t)t->jobs.n;
	if (t->jobs.n)
		memcpy(list->items, t->jobs.v, t->jobs.n * sizeof(*list->items));
	put(t->scraper, "scrape_configs", at, list);
}

/* Prometheus' section of that name; false: it is ours. */
static bool is_their_storage(const struct node *storage)
{
	return tree__get(storage, "tsdb") || tree__get(storage, "exemplars");
}

/* One key at the top of their file, of those that have a meaning or none; false: Decima's own. */
static bool take(struct translation *t, const struct member *m)
{
	static const char *const of_metrics[] = {
		"rule_files", "alerting", "remote_write", "remote_read",
		"tracing",    "otlp",	  "runtime",	  NULL,
	};

	if (str__eq(m->key, STR("scrape_configs")))
		take_jobs(t, &m->at, m->value);
	else if (str__eq(m->key, STR("scrape_config_files")))
		take_files(t, &m->at, m->value);
	else if (str__eq(m->key, STR("global")))
		take_global(t, m->value);
	else if (str__eq(m->key, STR("object_storage")))
		warn(t, &m->at, "", m->key, "profiles are kept in the data directory, see storage:");
	else if (str__eq(m->key, STR("storage")) && is_their_storage(m->value))
		warn(t, &m->at, "", m->key, "of Prometheus; profiles are kept in the data directory");
	else if (is_one_of(m->key, of_metrics))
		warn(t, &m->at, "", m->key, "");
	else
		return false;
	return true;
}

/* ---- the whole ---- */

static int add_storage(struct translation *t, const char *storage)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	if (tree__get(t->root, "storage"))
		return 0;
	r = tree__set_yaml(t->tree, "(built-in)", "storage", str__of(storage), &err);
	return r == -ENOMEM ? problems__nomem(t->problems) : r;
}

static int build(struct translation *t, const struct node *from, const struct member *jobs)
{
	struct node *inputs;

	/* What the file has, and inputs, labels, storage. */
	t->root = new_map(t, &from->at, from->n + 3);
	inputs = new_map(t, &jobs->at, 1);
	t->scraper = new_map(t, &jobs->at, 9);
	if (t->no_memory)
		return problems__nomem(t->problems);
	put(t->root, "inputs", &jobs->at, inputs);
	put(inputs, "pprof_scrape", &jobs->at, t->scraper);
	for (uint32_t i = 0; i < from->n; i++)
		if (!take(t, &from->members[i]))
			t->root->members[t->root->n++] = from->members[i];
	put_jobs(t, &jobs->at);
	return t->no_memory ? problems__nomem(t->problems) : 0;
}

int foreign__translate(struct tree *tree, const char *storage, struct problems *problems)
{
	struct translation t = { .tree = tree, .problems = problems };
	const struct node *from = tree->root;
	const struct member *jobs = tree__member(from, STR("scrape_configs"));
	int r;

	if (!jobs)
		jobs = tree__member(from, STR("scrape_config_files"));
	if (!jobs)
		return 0;
	if (tree__get(from, "labels") && tree__get(tree__get(from, "global"), "external_labels"))
		return problems__add(
			problems, PROBLEM_ERROR, &jobs->at,
			"labels: and global: external_labels: mean the same; keep one of the two");
	if (tree__get(from, "inputs"))
		return problems__add(
			problems, PROBLEM_ERROR, &jobs->at,
			"%.*s: stands beside inputs:, where it belongs; put scrape_configs: below "
			"inputs: pprof_scrape:",
			STR_ARG(jobs->key));
	r = build(&t, from, jobs);
	vec__fini(&t.jobs);
	if (r < 0)
		return r;
	tree->root = t.root;
	return add_storage(&t, storage);
}
