/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/check_verb.c - `decima check`: would this configuration run here?
 *
 * First everything a plan finds, then, without --config-only, what this machine offers: the data
 * directory, the addresses, and each plugin's own preflight. Every finding is a line with its
 * remedy; errors make the exit status.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/main/log_setup.h"
#include "core/main/services.h"
#include "core/main/source.h"
#include "core/main/verbs.h"
#include "core/net/listener.h"

struct check {
	const struct args *args;
	struct problems problems;
	const struct plan_instance *instance; /* whose preflight runs */
};

static void report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct check *c = ctx;

	if (level > DCM_LOG_WARNING)
		return;
	problems__add(&c->problems, level == DCM_LOG_ERROR ? PROBLEM_ERROR : PROBLEM_WARNING,
		      &c->instance->at, "%s: %s", c->instance->object, sentence);
}

static void check_plugins(struct check *c, const struct plan *plan)
{
	struct services services = { .host = { .node = "localhost" } };
	struct dcm_error err = DCM_ERROR_INIT;

	services__init(&services);
	for (uint32_t i = 0; i < plan->n; i++) {
		struct dcm_host *host = NULL;

		c->instance = &plan->instances[i];
		if (!c->instance->plugin->lifecycle.preflight)
			continue;
		if (host__new(c->instance->name, &services.host, &host, &err) < 0) {
			report(c, DCM_LOG_ERROR, err.text);
			continue;
		}
		c->instance->plugin->lifecycle.preflight(host, settings__config(c->instance->settings),
							 report, c);
		host__free(host);
	}
}

/* The nearest directory above that exists must let us make what is missing. */
static void check_data_dir(struct check *c, const struct plan *plan)
{
	char dir[4096], *slash;
	struct dcm_error err = DCM_ERROR_INIT;

	if (plan__data_dir(plan, dir, &err) < 0) {
		problems__add(&c->problems, PROBLEM_ERROR, NULL, "%s", err.text);
		return;
	}
	while (access(dir, F_OK) < 0 && strcmp(dir, ".") != 0 && strcmp(dir, "/") != 0) {
		slash = strrchr(dir, '/');
		if (slash)
			slash[slash == dir] = '\0';
		else
			memcpy(dir, ".", sizeof("."));
	}
	if (access(dir, W_OK | X_OK) < 0)
		problems__add(&c->problems, PROBLEM_WARNING,
			      NULL, "data: %s: %s; plugins that keep files will not start; give --data DIR",
			      dir, strerror(errno));
}

/* Binds and lets go: a port that a running decima holds is worth a warning, not a refusal. */
static void check_addresses(struct check *c, const struct plan *plan)
{
	const struct server_settings *s = &plan->main->server;
	const char *const *listen = s->listen.items;
	struct log quiet = { .fd = -1, .level = -1 };
	struct access_rules rules = { 0 };

	for (uint32_t i = 0; i < s->listen.n; i++) {
		struct listener *l = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		int r = listener__new(&(struct listener_options){ .addresses = &listen[i],
								  .n_addresses = 1,
								  .rules = &rules },
				      NULL, &quiet, NULL, &l, &err);

		if (r < 0)
			problems__add(&c->problems, r == -EADDRINUSE ? PROBLEM_WARNING : PROBLEM_ERROR,
				      NULL, "%s", err.text);
		listener__free(l);
	}
}

static int print(struct check *c)
{
	bool json = strcmp(args__get(c->args, "format", "text"), "json") == 0;
	struct buf out = { 0 };

	if (json)
		problems__json(&c->problems, &out);
	else
		problems__text(&c->problems, &out);
	if (!json && c->problems.n == 0)
		buf__text(&out, "ok\n");
	else if (json)
		buf__text(&out, "\n");
	if (fd__write_all(STDOUT_FILENO, out.data, out.n) < 0)
		fprintf(stderr, "decima check: standard output: %s\n", strerror(errno));
	buf__fini(&out);
	return c->problems.n_errors > 0 || c->problems.no_memory ? EXIT_NO : EXIT_DONE;
}

int verb__check(const struct args *a)
{
	struct check c = { .args = a };
	struct plan_source source;
	struct plan *plan = NULL;
	struct loader *loader = NULL;
	const char **sets;
	int status;

	if (source__from_args(a, &source, &sets) < 0) {
		fprintf(stderr, "decima check: out of memory\n");
		return EXIT_NO;
	}
	if (plan__load(&source, &loader, &c.problems, &plan) == 0 && !args__has(a, "config-only")) {
		check_data_dir(&c, plan);
		check_addresses(&c, plan);
		check_plugins(&c, plan);
	}
	status = print(&c);
	/*
	 * A configuration that cannot be used is wrong usage; a machine that cannot do it is a no.
	 */
	if (status == EXIT_NO && !plan)
		status = EXIT_USAGE;
	plan__free(plan);
	loader__free(loader);
	problems__fini(&c.problems);
	free(sets);
	return status;
}
