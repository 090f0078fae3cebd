/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/docker_sd.c - targets that are containers of a Docker daemon
 *
 * At each look the daemon lists its running containers, then its networks, in the newest version of its
 * API that both of us know, which it is asked for at first and after a failure. What targets those are:
 * docker_lists.h. Source: prometheus.io, docker_sd_config; Docker's Engine API.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/docker_lists.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/options.h"
#include "plugins/input/pprof_scrape/query.h"

/* Of the Engine API 1.MINOR: what its lists are read as. Newer daemons know it, or say from where on they do. */
#define API_MINOR 44

/* ---- options ---- */

struct docker_filter {
	const char *name;
	struct dcm_list values; /* of const char * */
};

struct docker_options {
	const char *host, *host_networking_host;
	int64_t port, refresh_interval_ns;
	bool match_first_network;
	struct dcm_list filters; /* of struct docker_filter */
	struct dcm_http_options http;
};

static const struct dcm_option filter_rows[] = {
	{ .name = "name",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct docker_filter, name),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "A filter of the daemon's list of containers, as label or network." },
	{ .name = "values",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct docker_filter, values),
	  .doc = "What it may be." },
};
static const struct dcm_table filter_table = DCM_TABLE(struct docker_filter, filter_rows);

static const struct dcm_option rows[] = {
	{ .name = "host",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct docker_options, host),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "unix:///PATH/OF/SOCKET, tcp://HOST:PORT, http:// or https://. Options of the "
		 "HTTP "
		 "client count with the last two. Who may use the socket may do all that root "
		 "may." },
	{ .name = "port",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct docker_options, port),
	  .def = "80",
	  .min = "0",
	  .max = "65535",
	  .doc = "Of a container that has no TCP port of its own." },
	{ .name = "host_networking_host",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct docker_options, host_networking_host),
	  .def = "localhost",
	  .doc = "The address of a container in the host's network." },
	{ .name = "match_first_network",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct docker_options, match_first_network),
	  .def = "true",
	  .doc = "Of a container in several networks only the first by name is a target; otherwise "
		 "each is." },
	{ .name = "filters",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRUCT,
	  .table = &filter_table,
	  .offset = offsetof(struct docker_options, filters),
	  .doc = "Ask for some of the containers only: those that pass each, by any of its "
		 "values." },
	{ .name = "refresh_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct docker_options, refresh_interval_ns),
	  .def = "60s",
	  .min = "1s",
	  .max = DURATION_MAX,
	  .doc = "How often it is asked, and how long each answer may take." },
	{ .name = "",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_HTTP_CLIENT,
	  .offset = offsetof(struct docker_options, http) },
};

/* What paths are put behind, with a NUL; what is no such host becomes what cannot be asked. */
static void build_base(const char *host, struct buf *b)
{
	size_t n = strlen(host);

	if (strncmp(host, "unix://", 7) == 0) {
		buf__printf(b, "unix:%s:", host + 7);
	} else if (strncmp(host, "tcp://", 6) == 0 || url__is_http(host)) {
		n -= str__ends(str__of(host), STR("/"));
		buf__printf(b, "%s%.*s", url__is_http(host) ? "" : "http://",
			    (int)(n - (url__is_http(host) ? 0 : 6)),
			    url__is_http(host) ? host : host + 6);
	}
	buf__byte(b, '\0');
}

static int check(const void *config, struct dcm_error *err)
{
	const struct docker_options *o = config;
	struct buf b = { 0 };
	bool is_askable;

	build_base(o->host, &b);
	is_askable = !b.error && url__is_base((const char *)b.data);
	buf__fini(&b);
	if (!is_askable)
		return error__set(
			err, -EINVAL,
			"host: \"%s\" is none of unix:///PATH, tcp://HOST:PORT, http:// and "
			"https:// with a host",
			o->host);
	return 0;
}

const struct dcm_table docker_sd__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct docker_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check,
};

/* ---- looking ---- */

enum step { STEP_VERSION, STEP_CONTAINERS, STEP_NETWORKS };

struct docker_sd {
	struct discovery *d;
	const struct docker_options *options;
	struct dcm_http_options plain; /* of a client that says nothing of itself */
	struct dcm_http_client *client;
	struct buf base, filters; /* with a NUL; the latter a part of a query, or empty */
	struct source source;
	struct loop_timer look;
	struct query *query;
	enum step step;
	int minor; /* of the API's version; 0: not known */
	json_t *containers;
};

static void ask(struct docker_sd *s, enum step step);

/* The next look begins with the version. */
static void forget(struct docker_sd *s)
{
	json_decref(s->containers);
	s->containers = NULL;
	s->minor = 0;
}

static void fail(struct docker_sd *s, const char *what)
{
	static const char *const paths[] = { "/version", "/containers/json", "/networks" };

	discovery__failed(s->d, "%s%s: %s", s->options->host, paths[s->step], what);
	forget(s);
}

/* The minor number of "1.MINOR"; 0 when it is none. */
static int minor_of(const json_t *version, const char *key)
{
	const char *text = json_string_value(json_object_get(version, key));
	int minor = 0, n = 0;

	if (!text || sscanf(text, "1.%4d%n", &minor, &n) != 1 || text[n] || minor < 0)
		return 0;
	return minor;
}

static void take_version(struct docker_sd *s, const json_t *version)
{
	int newest = minor_of(version, "ApiVersion"), oldest = minor_of(version, "MinAPIVersion");

	if (!newest) {
		fail(s, "the answer has no ApiVersion 1.N; is this a Docker daemon?");
		return;
	}
	s->minor = newest < API_MINOR ? newest : oldest > API_MINOR ? oldest : API_MINOR;
	ask(s, STEP_CONTAINERS);
}

static void take_networks(struct docker_sd *s, const json_t *networks)
{
	const struct docker_options *o = s->options;
	struct docker_lists lists = { .containers = s->containers,
				      .networks = networks,
				      .host_networking_host = o->host_networking_host,
				      .port = o->port,
				      .match_first_network = o->match_first_network };
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	int r = docker_lists__build(&lists, &found, &err);

	if (r == 0) {
		json_decref(s->containers);
		s->containers = NULL;
		discovery__found(s->d, &s->source, &found);
		discovery__well(s->d);
		return;
	}
	groups__fini(&found);
	fail(s, r == -ENOMEM ? "out of memory"
		: r == -E2BIG
			? "its containers have more labels than can be held; choose some by filters"
			: err.text);
}

static void answered(void *ctx, const struct query_reply *reply)
{
	struct docker_sd *s = ctx;
	json_error_t why;
	json_t *root;

	s->query = NULL;
	if (reply->fault == -ECANCELED)
		return; /* the instance stops: nobody failed */
	if (reply->fault) {
		discovery__failed(s->d, "%s", reply->sentence); /* it says where */
		forget(s);
		return;
	}
	if (query_reply__fault(reply)[0]) {
		fail(s, query_reply__fault(reply));
		return;
	}
	root = json_loadb(reply->data, reply->n, 0, &why);
	if (!root) {
		fail(s, "the answer is not JSON");
	} else if (s->step == STEP_VERSION) {
		take_version(s, root);
	} else if (s->step == STEP_CONTAINERS) {
		s->containers = json_incref(root);
		ask(s, STEP_NETWORKS);
	} else {
		take_networks(s, root);
	}
	json_decref(root);
}

static void build_url(const struct docker_sd *s, struct buf *b)
{
	const char *base = (const char *)s->base.data;

	if (s->step == STEP_VERSION)
		buf__printf(b, "%s/version", base);
	else if (s->step == STEP_CONTAINERS)
		buf__printf(b, "%s/v1.%d/containers/json%s", base, s->minor,
			    (const char *)s->filters.data);
	else
		buf__printf(b, "%s/v1.%d/networks", base, s->minor);
	buf__byte(b, '\0');
}

static void ask(struct docker_sd *s, enum step step)
{
	struct dcm_http_header accept = { STR("Accept"), STR("application/json") };
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf url = { 0 };
	struct query_ask a = { .host = s->d->job->host,
			       .loop = s->d->job->loop,
			       .client = s->client,
			       .headers = &accept,
			       .n_headers = 1,
			       .timeout_ns = s->options->refresh_interval_ns,
			       .done = answered,
			       .ctx = s };
	int r;

	s->step = step;
	build_url(s, &url);
	a.url = (const char *)url.data;
	r = url.error ? error__nomem(&err) : query__start(&a, &s->query, &err);
	buf__fini(&url);
	if (r < 0 && r != -ESHUTDOWN)
		fail(s, err.text);
}

static void look(void *ctx)
{
	struct docker_sd *s = ctx;
	const struct dcm_host *host = s->d->job->host;

	if (!s->query)
		ask(s, s->minor ? STEP_CONTAINERS : STEP_VERSION);
	loop__set(s->d->job->loop, &s->look, host->mono_ns(host) + s->options->refresh_interval_ns);
}

/* ---- lifecycle ---- */

/* {NAME: {VALUE: true, ..}, ..}; a filter that stands twice has the values of both. */
static json_t *filters_json(const struct docker_options *o)
{
	const struct docker_filter *f = o->filters.items;
	json_t *root = json_object();

	for (uint32_t i = 0; i < o->filters.n; i++)
		for (uint32_t k = 0; k < f[i].values.n; k++) {
			const char *value = ((const char *const *)f[i].values.items)[k];
			json_t *values = json_object_get(root, f[i].name);

			if (!values) {
				json_object_set_new(root, f[i].name, json_object());
				values = json_object_get(root, f[i].name);
			}
			if (json_object_set_new(values, value, json_true()) < 0) {
				json_decref(root);
				return NULL;
			}
		}
	return root;
}

static int build_filters(struct docker_sd *s)
{
	json_t *root = filters_json(s->options);
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

	if (text && json_object_size(root)) {
		buf__text(&s->filters, "?filters=");
		url__escape(&s->filters, str__of(text));
	}
	buf__byte(&s->filters, '\0');
	json_decref(root);
	if (!text)
		return -ENOMEM;
	free(text);
	return s->filters.error;
}

static void stop(struct discovery *d)
{
	struct docker_sd *s = d->state;

	if (!s)
		return;
	loop__cancel(d->job->loop, &s->look);
	query__cancel(s->query);
	d->job->host->http_client_free(s->client);
	discovery__lost(d, &s->source);
	json_decref(s->containers);
	buf__fini(&s->base);
	buf__fini(&s->filters);
	free(s);
}

/* As with Prometheus, a socket and tcp:// are asked without what an HTTP client may say of itself. */
static int make_client(struct docker_sd *s, struct dcm_error *err)
{
	const struct dcm_host *host = s->d->job->host;

	return host->http_client_new(host, url__is_http(s->options->host) ? &s->options->http : &s->plain,
				     &s->client, err);
}

static int start(struct discovery *d, struct dcm_error *err)
{
	const struct dcm_host *host = d->job->host;
	struct docker_sd *s = NEW(struct docker_sd);
	int r;

	if (!s)
		return error__nomem(err);
	d->state = s;
	s->d = d;
	s->options = d->options;
	s->look.fn = look;
	s->look.ctx = s;
	build_base(s->options->host, &s->base);
	if (s->base.error || build_filters(s) < 0)
		return error__nomem(err);
	r = make_client(s, err);
	if (r < 0)
		return r;
	return loop__set(d->job->loop, &s->look, host->mono_ns(host)) < 0 ? error__nomem(err) : 0;
}

const struct discovery_kind docker_sd = {
	.name = "docker_sd",
	.start = start,
	.stop = stop,
};
