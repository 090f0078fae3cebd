/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/consul_sd.c - targets that are instances of services that Consul knows
 *
 * The options, where Consul is and which services are looked at: all that its catalog lists, or those
 * that the configuration names. How each is kept up: consul_watch.c.
 * Source: prometheus.io, consul_sd_config; Prometheus' discovery/consul.
 */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/consul.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/options.h"

/* ---- options ---- */

static const char *const schemes[] = { "http", "https", NULL };

#define AT(member) offsetof(struct consul_options, member)
#define TEXT(key, member, usual, text)                                                               \
	{                                                                                            \
		.name = key, .type = DCM_OPT_STRING, .offset = AT(member), .def = usual, .doc = text \
	}

static const struct dcm_option rows[] = {
	TEXT("server", server, "localhost:8500",
	     "HOST:PORT of an agent; with http://, https:// (and a path) or unix:///PATH before "
	     "it, that "
	     "counts."),
	{ .name = "scheme",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(scheme),
	  .def = "http",
	  .choices = schemes,
	  .doc = "How it is asked." },
	TEXT("path_prefix", path_prefix, NULL, "Stands before each path: of a proxy before Consul."),
	{ .name = "token", .type = DCM_OPT_SECRET, .offset = AT(token), .doc = "An ACL token." },
	TEXT("datacenter", datacenter, NULL, "Whose services. Without it, the agent is asked for its own."),
	TEXT("namespace", namespace, NULL, "Likewise (Consul Enterprise)."),
	TEXT("partition", partition, NULL, "Likewise (Consul Enterprise)."),
	{ .name = "username", .type = DCM_OPT_STRING, .offset = AT(username), .doc = "The old spelling of basic_auth." },
	{ .name = "password", .type = DCM_OPT_SECRET, .offset = AT(password), .doc = "The old spelling of basic_auth." },
	{ .name = "services", .type = DCM_OPT_LIST, .element = DCM_OPT_STRING, .offset = AT(services), .doc = "These services. Without it, all: each is a question that stays open, 128 at once." },
	{ .name = "tags",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = AT(tags),
	  .doc = "Only instances that have all of these tags." },
	{ .name = "node_meta",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = AT(node_meta),
	  .doc = "Only instances on nodes with this metadata." },
	TEXT("filter", filter, NULL, "A filter expression of the catalog: only services that pass it."),
	TEXT("health_filter", health_filter, NULL,
	     "A filter expression of the health API: only instances that pass it."),
	TEXT("tag_separator", tag_separator, ",",
	     "Between the tags in __meta_consul_tags, and around them."),
	{ .name = "allow_stale", .type = DCM_OPT_BOOL, .offset = AT(allow_stale), .def = "true", .doc = "Any server may answer, not the leader alone: cheaper, and late by less than a second." },
	{ .name = "refresh_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = AT(refresh_interval_ns),
	  .def = "30s",
	  .min = "1s",
	  .max = DURATION_MAX,
	  .doc = "The least time from one question to the next of the same; changes in between "
		 "come "
		 "together." },
	{ .name = "", .type = DCM_OPT_SHARED, .shared = DCM_SHARED_HTTP_CLIENT, .offset = AT(http) },
};
#undef TEXT
#undef AT

static bool given(const char *s)
{
	return s && s[0];
}

/*
 * What paths are put behind, with a NUL. As with Consul's own client https is never taken back, and
 * a path in `server` counts instead of path_prefix.
 */
static void build_base(const struct consul_options *o, struct buf *b)
{
	const char *server = o->server, *prefix = o->path_prefix ? o->path_prefix : "";
	const char *host = strstr(server, "://"), *slash;

	host = host ? host + 3 : server;
	slash = strchr(host, '/');
	if (strncmp(server, "unix://", 7) == 0) {
		buf__printf(b, "unix:%s:", host);
	} else if (host == server || url__is_http(server)) {
		bool is_tls = o->scheme == CONSUL_HTTPS || strncmp(server, "https:", 6) == 0;

		if (slash && host != server)
			prefix = slash;
		buf__printf(b, "http%s://%.*s", is_tls ? "s" : "",
			    (int)(slash && host != server ? (size_t)(slash - host) : strlen(host)),
			    host);
	} else {
		buf__text(b, server);
	}
	if (prefix[0])
		buf__printf(b, "%s%.*s", prefix[0] == '/' ? "" : "/",
			    (int)(strlen(prefix) - str__ends(str__of(prefix), STR("/"))), prefix);
	buf__byte(b, '\0');
}

static int check_server(const struct consul_options *o, struct dcm_error *err)
{
	struct buf b = { 0 };
	bool is_askable;

	build_base(o, &b);
	is_askable = !b.error && url__is_base((const char *)b.data);
	buf__fini(&b);
	if (!is_askable)
		return error__set(
			err, -EINVAL,
			"server: \"%s\"%s%s%s is none of HOST:PORT, http(s)://HOST:PORT/PATH and "
			"unix:///PATH",
			o->server, given(o->path_prefix) ? " with path_prefix \"" : "",
			given(o->path_prefix) ? o->path_prefix : "", given(o->path_prefix) ? "\"" : "");
	return 0;
}

static int check(const void *config, struct dcm_error *err)
{
	const struct consul_options *o = config;
	const struct dcm_http_options *h = &o->http;
	bool has_basic = h->basic.username || h->basic.username_file || h->basic.password.text ||
			 h->basic.password.file;
	bool has_authorization = h->authorization.credentials.text || h->authorization.credentials.file;
	bool has_bearer = h->bearer.text || h->bearer.file;

	if ((given(o->username) || given(o->password)) &&
	    (has_basic || has_authorization || has_bearer || h->oauth2.client_id))
		return error__set(err, -EINVAL,
				  "%s: basic_auth, authorization, bearer_token and oauth2 say as "
				  "whom to ask, too; keep one of them",
				  given(o->username) ? "username" : "password");
	if (given(o->token) && (has_authorization || h->oauth2.client_id))
		return error__set(err, -EINVAL, "token: %s says as whom to ask, too; keep one of them",
				  has_authorization ? "authorization" : "oauth2");
	return check_server(o, err);
}

const struct dcm_table consul_sd__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct consul_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check,
};

/* ---- lifecycle ---- */

static void stop(struct discovery *d)
{
	struct consul *c = d->state;

	if (!c)
		return;
	consul_watch__free_all(c);
	d->job->host->http_client_free(c->client);
	buf__fini(&c->base);
	free(c->own_datacenter);
	free(c);
}

static int start(struct discovery *d, struct dcm_error *err)
{
	const struct consul_options *o = d->options;
	struct consul *c = NEW(struct consul);
	int r;

	if (!c)
		return error__nomem(err);
	d->state = c;
	c->d = d;
	c->options = o;
	c->http = o->http;
	if (given(o->username) || given(o->password)) {
		c->http.basic.username = o->username;
		c->http.basic.password.text = o->password;
	}
	build_base(o, &c->base);
	if (c->base.error)
		return error__nomem(err);
	r = d->job->host->http_client_new(d->job->host, &c->http, &c->client, err);
	if (r < 0)
		return r;
	return consul_watch__begin(c) < 0 ? error__nomem(err) : 0;
}

/* The catalog has been told, and the instances of each service that stands there. */
static bool is_whole(const struct discovery *d)
{
	const struct consul *c = d->state;

	if (!c || !c->catalog || !c->catalog->index)
		return false;
	for (size_t i = 0; i < c->services.n; i++)
		if (!c->services.v[i]->index)
			return false;
	return true;
}

const struct discovery_kind consul_sd = {
	.name = "consul_sd",
	.start = start,
	.stop = stop,
	.is_whole = is_whole,
};
