/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/foreign.c - configuration files of Prometheus and Parca, read as they are
 *
 * Nodes are moved, not copied, so that every value keeps the place where it was written.
 */
#include "core/main/foreign.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

struct translation {
	struct tree *tree;
	struct problems *problems;
	struct node *root;    /* the new one */
	struct node *scraper; /* inputs.pprof_scrape of it */
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

static void take_global(struct translation *t, const struct node *global)
{
	static const char *const of_metrics[] = {
		"evaluation_interval",
		"rule_query_offset",
		"query_log_file",
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
			problems__add(t->problems, PROBLEM_ERROR, &m->at,
				      "global: unknown option \"%.*s\"", STR_ARG(m->key));
	}
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
		"rule_files",  "scrape_config_files",
		"alerting",    "remote_write",
		"remote_read", "tracing",
		"otlp",	       "runtime",
		NULL,
	};

	if (str__eq(m->key, STR("scrape_configs")))
		put(t->scraper, "scrape_configs", &m->at, m->value);
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
	return 0;
}

int foreign__translate(struct tree *tree, const char *storage, struct problems *problems)
{
	struct translation t = { .tree = tree, .problems = problems };
	const struct node *from = tree->root;
	const struct member *jobs = from->kind == NODE_MAP
					    ? tree__member(from, STR("scrape_configs"))
					    : NULL;
	int r;

	if (!jobs)
		return 0;
	if (tree__get(from, "labels") && tree__get(tree__get(from, "global"), "external_labels"))
		return problems__add(
			problems, PROBLEM_ERROR, &jobs->at,
			"labels: and global: external_labels: mean the same; keep one of the two");
	if (tree__get(from, "inputs"))
		return problems__add(
			problems, PROBLEM_ERROR, &jobs->at,
			"scrape_configs: stands beside inputs:, where it belongs; put it below "
			"inputs: pprof_scrape:");
	r = build(&t, from, jobs);
	if (r < 0)
		return r;
	tree->root = t.root;
	return add_storage(&t, storage);
}
