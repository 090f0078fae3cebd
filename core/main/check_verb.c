/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/check_verb.c - `decima check`: would this configuration run here?
 *
 * First everything a plan finds, then, without --config-only, what this machine offers: the data
 * directory, the addresses, and each plugin's own preflight. Every finding is a line with its
 * remedy; errors make the exit status. What the daemon does as its user and without capabilities is
 * looked at as that user and without them: root itself could do more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dir.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/config/path.h"
#include "core/main/log_setup.h"
#include "core/main/output_file.h"
#include "core/main/separate.h"
#include "core/main/services.h"
#include "core/main/source.h"
#include "core/main/verbs.h"
#include "core/net/http_client.h"
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
	const struct place *at = path__place(c->instance->node, sentence);
	problems__add(&c->problems, level == DCM_LOG_ERROR ? PROBLEM_ERROR : PROBLEM_WARNING,
		      at ? at : &c->instance->at, "%s: %s", c->instance->object, sentence);
}

static void check_spool(struct check *c)
{
	const struct destination_options *o = c->instance->destination;
	struct dcm_error err = DCM_ERROR_INIT;

	/* Without a path it is in the data directory. */
	if (!o || o->spool == SPOOL_OFF || !o->spool_path || !o->spool_path[0] ||
	    dir__look(o->spool_path, &err) == 0)
		return;
	error__prefix(&err, "spool_path");
	report(c, DCM_LOG_ERROR, err.text);
}

/* Those that are opened with the daemon's rights, or the others. */
static void check_plugins(struct check *c, const struct plan *plan, bool with_rights)
{
	char data[4096];
	struct services services = { .host = { .node = "localhost" } };
	struct dcm_error err = DCM_ERROR_INIT;

	services__init(&services);
	if (plan__data_dir(plan, data, NULL) == 0)
		services.host.data_root = data;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct dcm_host *host = NULL;

		c->instance = &plan->instances[i];
		if (!with_rights)
			check_spool(c);
		if (!c->instance->plugin->lifecycle.preflight ||
		    ((c->instance->plugin->info.caps & DCM_CAP_RIGHTS) != 0) != with_rights)
			continue;
		if (host__new(c->instance->name, &services.host, &host, &err) < 0) {
			report(c, DCM_LOG_ERROR, err.text);
			continue;
		}
		c->instance->plugin->lifecycle.preflight(host, settings__config(c->instance->settings),
							 report, c);
		host__free(host);
	}
	services__fini(&services);
}

static void check_data_dir(struct check *c, const struct plan *plan)
{
	char dir[4096];
	struct dcm_error err = DCM_ERROR_INIT;

	if (plan__data_dir(plan, dir, &err) < 0)
		problems__add(&c->problems, PROBLEM_ERROR, NULL, "%s", err.text);
	else if (dir__look(dir, &err) < 0)
		problems__add(&c->problems, PROBLEM_WARNING, path__place(plan->tree->root, "data"),
			      "data: %s (--data DIR); plugins that keep files there will not start",
			      err.text);
}

/* Does something at the address answer as a decima does? */
static bool is_decima(const char *address, bool tls)
{
	bool is_unix = strncmp(address, "unix:", 5) == 0;
	const char *port = strrchr(address, ':');
	struct dcm_http_answer answer = { .size = sizeof(answer) };
	/* Who it says to be does not matter. */
	struct dcm_http_request request = { .size = sizeof(request),
					    .insecure = true,
					    .timeout_ns = 5000000000 };
	const char *scheme = tls ? "https" : "http";
	char url[512];
	bool is;

	/* Every address of the machine is asked at one. */
	if (is_unix)
		snprintf(url, sizeof(url), "%s:/-/healthy", address);
	else if (port == address || strncmp(address, "0.0.0.0:", 8) == 0)
		snprintf(url, sizeof(url), "%s://127.0.0.1%s/-/healthy", scheme, port);
	else if (strncmp(address, "[::]:", 5) == 0)
		snprintf(url, sizeof(url), "%s://[::1]%s/-/healthy", scheme, port);
	else
		snprintf(url, sizeof(url), "%s://%s/-/healthy", scheme, address);
	request.url = url;
	if (http_client__get(&request, &answer, NULL) < 0)
		return false;
	/* 421: under a name that it does not go by. */
	is = (answer.status == 200 && answer.n == 3 && memcmp(answer.data, "ok\n", 3) == 0) ||
	     answer.status == 421;
	free(answer.data);
	return is;
}

/* Certificate and key are read, as they would be at a start. */
static void check_tls(struct check *c, const struct plan *plan)
{
	const struct tls_settings *s = &plan->main->server.tls;
	const struct tls_server_options o = { .cert_file = s->cert_file,
					      .key_file = s->key_file,
					      .client_ca_file = s->client_ca_file };
	struct log quiet = { .fd = -1, .level = -1 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tls_server *t = NULL;

	if (*s->cert_file && tls_server__new(&o, &quiet, &t, &err) < 0)
		problems__add(&c->problems, PROBLEM_ERROR,
			      path__place(plan->tree->root, "server.tls"), "%s", err.text);
	tls_server__free(t);
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
		char path[64];
		int r = listener__new(&(struct listener_options){ .addresses = &listen[i],
								  .n_addresses = 1,
								  .rules = &rules },
				      NULL, &quiet, NULL, &l, &err);

		snprintf(path, sizeof(path), "server.listen[%u]", i);
		if (r < 0)
			problems__add(&c->problems,
				      r == -EADDRINUSE && is_decima(listen[i], *s->tls.cert_file)
					      ? PROBLEM_WARNING
					      : PROBLEM_ERROR,
				      path__place(plan->tree->root, path), "%s", err.text);
		listener__free(l);
	}
}

/*
 * The data directory is made, and given to `user`, before the daemon becomes that; without one it is
 * made after the capabilities are gone.
 */
static void check_machine(struct check *c, const struct plan *plan)
{
	struct dcm_error err = DCM_ERROR_INIT;

	check_tls(c, plan);
	check_addresses(c, plan);
	check_plugins(c, plan, true);
	if (plan->main->user)
		check_data_dir(c, plan);
	if (separate__like_daemon(plan, &err) < 0) {
		problems__add(&c->problems, PROBLEM_ERROR, NULL, "%s", err.text);
		return;
	}
	if (!plan->main->user)
		check_data_dir(c, plan);
	check_plugins(c, plan, false);
}

static void write_findings(struct check *c, struct buf *out)
{
	bool json = strcmp(args__get(c->args, "format", "text"), "json") == 0;

	if (json)
		problems__json(&c->problems, out);
	else
		problems__text(&c->problems, out);
	if (!json && c->problems.n == 0)
		buf__text(out, "ok\n");
	else if (json)
		buf__text(out, "\n");
}

/* What was found, or the configuration itself (NULL: there is none to be used) and that beside it. */
static int print(struct check *c, const struct plan *plan)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf findings = { 0 }, out = { 0 };
	int written = 0;

	write_findings(c, &findings);
	if (!args__has(c->args, "print")) {
		written = output_file__write("-", &findings, &err);
	} else {
		fwrite(findings.data, 1, findings.n, stderr);
		if (plan)
			written = plan__effective(plan, &out, &err);
		if (plan && written == 0)
			written = output_file__write("-", &out, &err);
	}
	if (written < 0)
		fprintf(stderr, "decima check: %s\n", err.text);
	buf__fini(&findings);
	buf__fini(&out);
	return written < 0 || c->problems.n_errors > 0 || c->problems.no_memory ? EXIT_NO : EXIT_DONE;
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
	if (plan__load(&source, &loader, &c.problems, &plan) == 0 && !args__has(a, "config-only"))
		check_machine(&c, plan);
	status = print(&c, plan);
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
