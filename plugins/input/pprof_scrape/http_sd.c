/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/http_sd.c - targets that a server of HTTP knows, as a list of groups in JSON
 *
 * Source: prometheus.io, http_sd_config and "Writing HTTP service discovery": an answer of status 200
 * and type application/json is the whole of what there is; any other leaves it as it was.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/options.h"
#include "plugins/input/pprof_scrape/query.h"

/* ---- options ---- */

struct http_sd_options {
	const char *url;
	int64_t refresh_interval_ns;
	struct dcm_http_options http;
};

static const struct dcm_option rows[] = {
	{ .name = "url",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct http_sd_options, url),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "http:// or https://; answers with a list of {\"targets\": [\"HOST:PORT\"], "
		 "\"labels\": {..}}." },
	{ .name = "refresh_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct http_sd_options, refresh_interval_ns),
	  .def = "60s",
	  .min = "1s",
	  .max = DURATION_MAX,
	  .doc = "How often it is asked, and how long an answer may take." },
	{ .name = "",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_HTTP_CLIENT,
	  .offset = offsetof(struct http_sd_options, http) },
};

static int check(const void *config, struct dcm_error *err)
{
	const struct http_sd_options *o = config;

	if (!url__is_askable(o->url) || strncmp(o->url, "http", 4) != 0)
		return error__set(err, -EINVAL,
				  "url: \"%s\" is not http:// or https:// with a host", o->url);
	return 0;
}

const struct dcm_table http_sd__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct http_sd_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check,
};

/* ---- looking ---- */

struct http_sd {
	struct discovery *d;
	const struct http_sd_options *options;
	struct dcm_http_client *client;
	struct source source;
	struct loop_timer look;
	struct query *query;
};

/* "application/json", with no charset but utf-8: what Prometheus takes. */
static bool is_json(const char *type)
{
	static const char *const endings[] = { "", "charset=utf-8", "charset=\"utf-8\"" };
	static const char json[] = "application/json";
	const char *at = type + strlen(json);

	if (strncasecmp(type, json, strlen(json)) != 0)
		return false;
	if (*at == ';')
		at += 1 + strspn(at + 1, " \t");
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (strcasecmp(at, endings[i]) == 0)
			return true;
	return false;
}

static void take(struct http_sd *h, const struct query_reply *reply)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	int r = groups__read_json(&found, reply->data, reply->n, &err);

	if (r == 0)
		r = groups__label_all(&found, STR("__meta_url"), str__of(h->options->url));
	if (r == 0) {
		discovery__found(h->d, &h->source, &found);
		discovery__well(h->d);
		return;
	}
	groups__fini(&found);
	discovery__failed(h->d, "%s: %s", h->options->url,
			  r == -ENOMEM	? "out of memory"
			  : err.text[0] ? err.text
					: "more labels than can be held");
}

static void answered(void *ctx, const struct query_reply *reply)
{
	struct http_sd *h = ctx;
	const char *url = h->options->url;

	h->query = NULL;
	if (reply->fault == -ECANCELED)
		; /* the instance stops: nobody failed */
	else if (reply->fault)
		discovery__failed(h->d, "%s", reply->sentence);
	else if (reply->status != 200)
		discovery__failed(h->d, "%s: %s", url, query_reply__fault(reply));
	else if (!is_json(reply->content_type))
		discovery__failed(h->d, "%s: has Content-Type \"%s\", not application/json", url,
				  reply->content_type);
	else
		take(h, reply);
}

static void ask(struct http_sd *h)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char seconds[32];
	struct dcm_http_header headers[] = {
		{ STR("Accept"), STR("application/json") },
		{ STR("X-Prometheus-Refresh-Interval-Seconds"), { seconds, 0 } },
	};
	struct query_ask a = { .host = h->d->job->host,
			       .loop = h->d->job->loop,
			       .client = h->client,
			       .url = h->options->url,
			       .headers = headers,
			       .n_headers = 2,
			       .timeout_ns = h->options->refresh_interval_ns,
			       .done = answered,
			       .ctx = h };
	int r;

	headers[1].value.n = (uint32_t)snprintf(seconds, sizeof(seconds), "%.9g",
						(double)h->options->refresh_interval_ns / 1e9);
	r = query__start(&a, &h->query, &err);
	if (r < 0 && r != -ESHUTDOWN)
		discovery__failed(h->d, "%s", err.text);
}

/* The timeout is the interval: when it is not over yet, it is about to be. */
static void look(void *ctx)
{
	struct http_sd *h = ctx;
	const struct dcm_host *host = h->d->job->host;

	if (!h->query)
		ask(h);
	loop__set(h->d->job->loop, &h->look, host->mono_ns(host) + h->options->refresh_interval_ns);
}

/* ---- lifecycle ---- */

static void stop(struct discovery *d)
{
	struct http_sd *h = d->state;

	if (!h)
		return;
	loop__cancel(d->job->loop, &h->look);
	query__cancel(h->query);
	d->job->host->http_client_free(h->client);
	discovery__lost(d, &h->source);
	free(h);
}

static int start(struct discovery *d, struct dcm_error *err)
{
	const struct dcm_host *host = d->job->host;
	struct http_sd *h = NEW(struct http_sd);
	int r;

	if (!h)
		return error__nomem(err);
	d->state = h;
	h->d = d;
	h->options = d->options;
	h->look.fn = look;
	h->look.ctx = h;
	r = host->http_client_new(host, &h->options->http, &h->client, err);
	if (r < 0)
		return r;
	return loop__set(d->job->loop, &h->look, host->mono_ns(host)) < 0 ? error__nomem(err) : 0;
}

const struct discovery_kind http_sd = {
	.name = "http_sd",
	.start = start,
	.stop = stop,
};
