/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/complete_verb.c - `decima complete`: the tables' words, the plugins here, the daemon's
 * types and labels
 *
 * What cannot be had (no daemon, no plugins) is left out. Its sentence goes to stderr, which the
 * shells' completions throw away.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/main/ask.h"
#include "core/main/complete.h"
#include "core/main/verbs.h"
#include "core/plugin/loader.h"

/* Somebody waits with a finger on a key. */
#define PATIENCE "2s"

/* Names of a list of the API: {LIST: [{NAME: "...", "description": "..."}]}. */
struct listing {
	const char *path, *list, *name;
};
static const struct listing types = { "/api/v1/types", "types", "type" };
static const struct listing labels = { "/api/v1/labels", "labels", "name" };

/* Asks the daemon (or the data directory) that the line would ask. */
static void add_listed(struct complete *c, const struct args *line, const struct listing *what)
{
	static const struct args_option options[] = {
		{ .name = "url" },     { .name = "data" },	{ .name = "token-file" },
		{ .name = "ca-file" }, { .name = "cert-file" }, { .name = "key-file" },
		{ .name = "timeout" }
	};
	struct args_given given[7];
	struct args ask = { .verb = line->verb, .given = given };
	struct ask question = { 0 };
	struct http_response answer = { 0 };
	json_t *root, *item;
	size_t i;

	for (i = 0; i < 6; i++) {
		const char *value = args__get(line, options[i].name, NULL);

		if (value)
			given[ask.n_given++] = (struct args_given){ &options[i], value };
	}
	given[ask.n_given++] = (struct args_given){ &options[6], PATIENCE };
	ask__path(&question, what->path);
	if (ask__get(&ask, &question, &answer) == EXIT_DONE) {
		root = json_loadb((const char *)answer.body.data, answer.body.n, 0, NULL);
		json_array_foreach(json_object_get(root, what->list), i, item)
		{
			const char *name = json_string_value(json_object_get(item, what->name));

			if (name)
				complete__add(
					c, name,
					json_string_value(json_object_get(item, "description")));
		}
		json_decref(root);
	}
	http_response__fini(&answer);
}

static int add_plugin(void *ctx, enum dcm_kind kind, const char *name, const char *file,
		      const struct plugin *plugin, const char *why)
{
	char word[128];

	(void)file;
	(void)why;
	snprintf(word, sizeof(word), "%s/%s", plugin__kind_name(kind), name);
	if (plugin)
		complete__add(ctx, word, plugin->info.summary);
	return 0;
}

static void add_plugins(struct complete *c, const struct args *line)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;

	if (verb__open_loader(line, &loader) == EXIT_DONE && loader__each(loader, add_plugin, c, &err) < 0)
		fprintf(stderr, "decima complete: %s\n", err.text);
	loader__free(loader);
}

static void lookup(struct complete *c, const struct args *line, struct dcm_str placeholder)
{
	if (str__starts(placeholder, STR("SELECTOR")))
		add_listed(c, line, &types);
	else if (str__eq(placeholder, STR("LABEL")) || str__eq(placeholder, STR("L")))
		add_listed(c, line, &labels);
	else if (str__eq(placeholder, STR("KIND/NAME")))
		add_plugins(c, line);
}

int verb__complete(const struct args *a)
{
	struct complete c = { .verbs = verbs, .otherwise = "run", .lookup = lookup };
	int r;

	complete__words(&c, a->n_operands, a->operands);
	r = c.out.error ? c.out.error : fd__write_all(STDOUT_FILENO, c.out.data, c.out.n);
	if (r < 0)
		fprintf(stderr, "decima complete: %s\n", strerror(-r));
	buf__fini(&c.out);
	return r < 0 ? EXIT_NO : EXIT_DONE;
}
