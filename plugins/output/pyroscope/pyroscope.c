/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/pyroscope.c - an output that sends each profile to Pyroscope's /ingest
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host as pprof, and is the
 * body of one POST whose query says its labels and its time. What the server may take later is tried
 * again (plugins/output/delivery); a profile that it refuses goes without the others of its batch, and
 * its sentence stands in the output's state. A profile that was taken is not sent again by a retry, but one whose answer was
 * lost is: /ingest knows no ids.
 *
 * Threads: write() on the output's writer thread; lifecycle on the control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/sender.h"

/* ---- options ---- */

struct pyroscope_config {
	const char *url;
	struct dcm_http_options http;
};

static const struct dcm_option rows[] = {
	{
		.name = "url",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct pyroscope_config, url),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "Where Pyroscope is: http:// or https://, a host, and what stands before "
		       "/ingest there.",
	},
	{
		.name = "",
		.type = DCM_OPT_SHARED,
		.shared = DCM_SHARED_HTTP_CLIENT,
		.offset = offsetof(struct pyroscope_config, http),
	},
};

static int check_config(const void *config, struct dcm_error *err)
{
	return delivery__check_url("url", ((const struct pyroscope_config *)config)->url, err);
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct pyroscope_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- lifecycle ---- */

static void pyroscope_stop(void *instance)
{
	sender__close(instance);
	free(instance);
}

static int pyroscope_open(const struct dcm_host *host, const void *config, void **ret_instance,
			  struct dcm_error *err)
{
	const struct pyroscope_config *c = config;
	const struct sender_config how = {
		.http = &c->http, .url = c->url, .path = "/ingest", .place = c->url, .metric = "pyroscope_sent_total"
	};
	struct sender *s = NEW(struct sender);
	int r = s ? sender__open(s, host, &how, err) : error__nomem(err);

	if (r < 0 && s)
		pyroscope_stop(s);
	if (r == 0)
		*ret_instance = s;
	return r;
}

static int pyroscope_start(void *instance, struct dcm_error *err)
{
	(void)err;
	sender__start(instance);
	return 0;
}

/* ---- the address ---- */

/* The syntax of `name` has no escapes: what would end a name or a value becomes "_". */
static void put_word(struct buf *out, struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		bool ends = s.p[i] && strchr("{},=", s.p[i]);

		url__escape(out, ends ? STR("_") : (struct dcm_str){ s.p + i, 1 });
	}
}

/* service{label=value,...}: as Pyroscope's clients name what they send. */
static void put_name(struct buf *out, const struct dcm_batch *b, struct dcm_span series)
{
	struct dcm_str service = STR("unknown");
	bool is_first = true;

	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];

		if (str__eq(b->strings[pair->name], STR("service_name")) && b->strings[pair->value].n)
			service = b->strings[pair->value];
	}
	put_word(out, service);
	buf__text(out, "%7B");
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];
		struct dcm_str name = b->strings[pair->name];

		if (str__eq(name, STR("service_name")) || (name.n >= 2 && memcmp(name.p, "__", 2) == 0))
			continue;
		buf__text(out, is_first ? "" : "%2C");
		put_word(out, name);
		buf__text(out, "%3D");
		put_word(out, b->strings[pair->value]);
		is_first = false;
	}
	buf__text(out, "%7D");
}

static void put_url(struct buf *out, const char *url, const struct dcm_batch *b,
		    const struct dcm_profile *profile)
{
	buf__printf(out, "%s?name=", url);
	put_name(out, b, b->series[profile->series]);
	buf__printf(out, "&from=%lld&until=%lld&format=pprof&spyName=decima",
		    (long long)profile->time_ns, (long long)(profile->time_ns + profile->duration_ns));
}

/* ---- work ---- */

static int send_one(void *ctx, const struct dcm_batch *batch, uint32_t first, uint32_t max,
		    uint32_t *ret_end, int64_t deadline_mono_ns, struct dcm_error *err)
{
	static const struct dcm_http_header headers[] = {
		{ { "content-type", 12 }, { "application/octet-stream", 24 } },
	};
	struct sender *s = ctx;
	CLEANUP(mem__freep) uint8_t *data = NULL;
	struct delivery_request request = { .headers = headers, .n_headers = 1 };
	struct buf url = { 0 };
	int r = s->host->encode(s->host, batch, first, "pprof", &data, &request.n, err);

	(void)max;
	*ret_end = first + 1;
	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : -EILSEQ;
	put_url(&url, s->url, batch, &batch->profiles[first]);
	buf__byte(&url, 0);
	request.url = (const char *)url.data;
	request.data = data;
	r = url.error ? -EAGAIN : delivery__send(s->delivery, &request, deadline_mono_ns, err);
	buf__fini(&url);
	return r;
}

static int pyroscope_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			   struct dcm_error *err)
{
	return sender__write(instance, batch, send_one, instance, deadline_mono_ns, err);
}

static int pyroscope_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	return sender__pass_over(instance, batch, ret_profile);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = pyroscope_open,
	.start = pyroscope_start,
	.stop = pyroscope_stop,
};

static const struct dcm_output_ops output = {
	.size = sizeof(output),
	.write = pyroscope_write,
	.pass_over = pyroscope_pass_over,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED | DCM_CAP_REMOTE,
	.name = "pyroscope",
	.version = "1.0",
	.summary = "Sends each profile to Pyroscope, or to what takes its /ingest.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
