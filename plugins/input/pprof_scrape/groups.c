/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/groups.c - target groups as files and servers write them
 *
 * Two readers, jansson's and libyaml's, over one idea: a list of maps with `targets` and `labels`,
 * and nothing else. Values of labels are text; JSON's and YAML's numbers are refused in JSON, as
 * Prometheus does, and are their text in YAML.
 */
#include "plugins/input/pprof_scrape/groups.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <yaml.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/json_str.h"

void groups__fini(struct groups *g)
{
	vec__fini(&g->v);
	arena__fini(&g->arena);
}

int groups__add(struct groups *g, struct dcm_str address, const struct dcm_label_text *labels, uint32_t n)
{
	struct group_labels l = { .n = n + 1 };

	if (n >= GROUPS_MAX_ENTRIES - g->n_entries)
		return -E2BIG;
	l.v = arena__zalloc(&g->arena, l.n, sizeof(*l.v));
	if (!l.v)
		return -ENOMEM;
	g->n_entries += l.n;
	l.v[0] = (struct dcm_label_text){ STR("__address__"), arena__str(&g->arena, address) };
	if (!l.v[0].value.p)
		return -ENOMEM;
	if (n)
		memcpy(l.v + 1, labels, n * sizeof(*labels));
	return vec__push(&g->v, l) ? 0 : -ENOMEM;
}

/* The first of a name counts, so that it stands before what a group says itself. */
int groups__label_all(struct groups *g, struct dcm_str name, struct dcm_str value)
{
	struct dcm_label_text label = { arena__str(&g->arena, name), arena__str(&g->arena, value) };

	if (!label.name.p || !label.value.p)
		return -ENOMEM;
	if (g->v.n > GROUPS_MAX_ENTRIES - g->n_entries)
		return -E2BIG;
	g->n_entries += (uint32_t)g->v.n;
	for (size_t i = 0; i < g->v.n; i++) {
		struct group_labels *l = &g->v.v[i];
		struct dcm_label_text *v = arena__zalloc(&g->arena, l->n + 1, sizeof(*v));

		if (!v)
			return -ENOMEM;
		v[0] = label;
		memcpy(v + 1, l->v, l->n * sizeof(*v));
		l->n++;
		l->v = v;
	}
	return 0;
}

/* ---- one group, while it is read ---- */

struct group {
	struct groups *to;
	size_t i; /* of the list, for sentences */
	struct dcm_label_text labels[GROUPS_MAX_LABELS];
	uint32_t n_labels;
	VEC(struct dcm_str) targets;
};

static int fault(const struct group *g, struct dcm_error *err, const char *what)
{
	return error__set(err, -EINVAL,
			  "group %zu: %s; write {\"targets\": [\"HOST:PORT\"], \"labels\": {..}}",
			  g->i + 1, what);
}

/* An empty one is a target that cannot be asked, which it says itself. */
static int add_target(struct group *g, struct dcm_str address)
{
	return vec__push(&g->targets, address) ? 0 : -ENOMEM;
}

static int add_label(struct group *g, struct dcm_str name, struct dcm_str value, struct dcm_error *err)
{
	struct dcm_label_text *l = &g->labels[g->n_labels];

	if (!str__is_label_name(name) || !str__is_utf8(value))
		return fault(g, err, "a label's name is empty or has a control character, or a text is not UTF-8");
	if (g->n_labels == GROUPS_MAX_LABELS)
		return fault(g, err, "more than 256 labels");
	l->name = arena__str(&g->to->arena, name);
	l->value = arena__str(&g->to->arena, value);
	g->n_labels++;
	return l->name.p && l->value.p ? 0 : -ENOMEM;
}

static int end_group(struct group *g, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < g->targets.n && r == 0; i++)
		r = groups__add(g->to, g->targets.v[i], g->labels, g->n_labels);
	g->targets.n = 0;
	g->n_labels = 0;
	return r == -E2BIG ? error__set(err, r,
					"group %zu: its targets and those before have more than %d "
					"labels together; "
					"split them into several files",
					g->i + 1, GROUPS_MAX_ENTRIES)
			   : r;
}

/* ---- JSON ---- */

static int json_targets(struct group *g, const json_t *list, struct dcm_error *err)
{
	size_t i;
	json_t *value;
	int r = 0;

	/* What Go writes for a list of none. */
	if (json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return fault(g, err, "targets is not a list");
	json_array_foreach(list, i, value)
	{
		r = json_is_string(value) ? add_target(g, json_str__of(value))
					  : fault(g, err, "a target is not a text");
		if (r < 0)
			return r;
	}
	return r;
}

static int json_labels(struct group *g, json_t *map, struct dcm_error *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	if (!json_is_object(map))
		return fault(g, err, "labels is not a map");
	json_object_foreach(map, name, value)
	{
		r = json_is_string(value) ? add_label(g, str__of(name), json_str__of(value), err)
					  : fault(g, err, "a label's value is not a text");
		if (r < 0)
			return r;
	}
	return r;
}

static int json_group(struct group *g, json_t *entry, struct dcm_error *err)
{
	const char *key;
	json_t *value;
	int r = 0;

	if (!json_is_object(entry))
		return fault(g, err, "is not a map");
	json_object_foreach(entry, key, value)
	{
		if (strcmp(key, "targets") == 0)
			r = json_targets(g, value, err);
		else if (strcmp(key, "labels") == 0)
			r = json_is_null(value) ? 0 : json_labels(g, value, err);
		else
			r = fault(g, err, "has another key than targets and labels");
		if (r < 0)
			return r;
	}
	return end_group(g, err);
}

int groups__read_json(struct groups *to, const char *text, size_t n, struct dcm_error *err)
{
	struct group g = { .to = to };
	json_error_t why;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why), *entry;
	int r = 0;

	if (!root)
		return error__set(err, -EINVAL, "line %d: is not JSON: %s", why.line, why.text);
	if (!json_is_array(root) && !json_is_null(root))
		r = error__set(err, -EINVAL, "is not a list of target groups");
	json_array_foreach(root, g.i, entry)
	{
		r = json_group(&g, entry, err);
		if (r < 0)
			break;
	}
	json_decref(root);
	vec__fini(&g.targets);
	return r == -ENOMEM ? error__nomem(err) : r;
}

/* ---- YAML ---- */

static struct dcm_str yaml_text(const yaml_node_t *node)
{
	return (struct dcm_str){ (const char *)node->data.scalar.value,
				 (uint32_t)node->data.scalar.length };
}

static bool is_null(const yaml_node_t *node)
{
	struct dcm_str s = yaml_text(node);

	return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (s.n == 0 || str__eq(s, STR("~")) || str__eq(s, STR("null")));
}

static int yaml_targets(struct group *g, yaml_document_t *doc, const yaml_node_t *list,
			struct dcm_error *err)
{
	int r = 0;

	if (is_null(list))
		return 0;
	if (list->type != YAML_SEQUENCE_NODE)
		return fault(g, err, "targets is not a list");
	for (yaml_node_item_t *i = list->data.sequence.items.start;
	     i < list->data.sequence.items.top && r == 0; i++) {
		const yaml_node_t *value = yaml_document_get_node(doc, *i);

		r = value->type == YAML_SCALAR_NODE ? add_target(g, yaml_text(value))
						    : fault(g, err, "a target is not a text");
	}
	return r;
}

static int yaml_labels(struct group *g, yaml_document_t *doc, const yaml_node_t *map,
		       struct dcm_error *err)
{
	int r = 0;

	if (is_null(map))
		return 0;
	if (map->type != YAML_MAPPING_NODE)
		return fault(g, err, "labels is not a map");
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top && r == 0; p++) {
		const yaml_node_t *name = yaml_document_get_node(doc, p->key);
		const yaml_node_t *value = yaml_document_get_node(doc, p->value);

		r = name->type == YAML_SCALAR_NODE && value->type == YAML_SCALAR_NODE
			    ? add_label(g, yaml_text(name), yaml_text(value), err)
			    : fault(g, err, "a label is not a text");
	}
	return r;
}

static int yaml_group(struct group *g, yaml_document_t *doc, const yaml_node_t *map, struct dcm_error *err)
{
	int r = 0;

	if (map->type != YAML_MAPPING_NODE)
		return fault(g, err, "is not a map");
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top && r == 0; p++) {
		const yaml_node_t *key = yaml_document_get_node(doc, p->key);
		const yaml_node_t *value = yaml_document_get_node(doc, p->value);
		struct dcm_str name = key->type == YAML_SCALAR_NODE ? yaml_text(key) : STR("");

		if (str__eq(name, STR("targets")))
			r = yaml_targets(g, doc, value, err);
		else if (str__eq(name, STR("labels")))
			r = yaml_labels(g, doc, value, err);
		else
			r = fault(g, err, "has another key than targets and labels");
	}
	return r < 0 ? r : end_group(g, err);
}

static int yaml_groups(struct group *g, yaml_document_t *doc, struct dcm_error *err)
{
	const yaml_node_t *root = yaml_document_get_root_node(doc);
	int r = 0;

	if (!root || is_null(root))
		return 0; /* an empty file: no targets */
	if (root->type != YAML_SEQUENCE_NODE)
		return error__set(err, -EINVAL, "is not a list of target groups");
	for (yaml_node_item_t *i = root->data.sequence.items.start;
	     i < root->data.sequence.items.top && r == 0; i++) {
		g->i = (size_t)(i - root->data.sequence.items.start);
		r = yaml_group(g, doc, yaml_document_get_node(doc, *i), err);
	}
	return r;
}

int groups__read_yaml(struct groups *to, const char *text, size_t n, struct dcm_error *err)
{
	struct group g = { .to = to };
	yaml_parser_t parser;
	yaml_document_t doc;
	int r;

	if (!yaml_parser_initialize(&parser))
		return error__nomem(err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	if (yaml_parser_load(&parser, &doc)) {
		r = yaml_groups(&g, &doc, err);
		yaml_document_delete(&doc);
	} else {
		r = parser.error == YAML_MEMORY_ERROR
			    ? -ENOMEM
			    : error__set(err, -EINVAL, "line %zu: is not YAML: %s",
					 parser.problem_mark.line + 1,
					 parser.problem ? parser.problem : "it ends too early");
	}
	yaml_parser_delete(&parser);
	vec__fini(&g.targets);
	return r == -ENOMEM ? error__nomem(err) : r;
}
