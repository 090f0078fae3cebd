/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/pyroscope.c - an output that sends each profile to Pyroscope, by push.v1 or /ingest
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host as pprof, and goes in a request of its own:
 * in a message of push.v1 (push.h), or as a body whose address says its labels and its time (ingest.h). What the server may
 * take later is tried again (plugins/output/delivery); a profile that it refuses goes without the others of its batch, and
 * its sentence stands in the output's state. A profile that was taken is not sent again by a retry, but one whose answer was
 * lost is: neither way knows ids.
 *
 * Threads: write() on the output's writer thread; lifecycle on the control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/flights.h"
#include "plugins/output/delivery/sender.h"
#include "plugins/output/pyroscope/ingest.h"
#include "plugins/output/pyroscope/push.h"

/* ---- options ---- */

enum protocol { PROTOCOL_PUSH, PROTOCOL_INGEST };
static const char *const protocols[] = { "push", "ingest", NULL };
static const char *const paths[] = { "/push.v1.PusherService/Push", "/ingest" };

struct pyroscope_config {
	const char *url;
	int32_t protocol; /* enum protocol */
	struct push_limits limits;
	struct dcm_http_options http;
};

static const struct dcm_option rows[] = {
	{
		.name = "url",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct pyroscope_config, url),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "Where Pyroscope is: http:// or https://, a host, and what stands before "
		       "/ingest and /push.v1.PusherService there.",
	},
	{
		.name = "protocol",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct pyroscope_config, protocol),
		.flags = DCM_OPT_RESTART,
		.choices = protocols,
		.def = "push",
		.doc = "push: push.v1, of Pyroscope 1.0 and later. ingest: /ingest, of earlier "
		       "ones, too; what its names cannot say becomes \"_\", and profiles go whole, "
		       "however large.",
	},
	{
		.name = "max_profile_samples",
		.type = DCM_OPT_INT,
		.offset = offsetof(struct pyroscope_config, limits.rows),
		.flags = DCM_OPT_RESTART,
		.def = "16000",
		.min = "0",
		.max = "4294967295",
		.doc = "By push, a profile with more samples goes in parts with some each, where "
		       "what "
		       "it counts adds up: Pyroscope's validation.max-profile-stacktrace-samples. "
		       "0: "
		       "no bound.",
	},
	{
		.name = "max_profile_bytes",
		.type = DCM_OPT_SIZE,
		.offset = offsetof(struct pyroscope_config, limits.bytes),
		.flags = DCM_OPT_RESTART,
		.def = "1MiB",
		.min = "0",
		.max = "4GiB",
		.doc = "The same of a profile's bytes, unpacked: not above Pyroscope's "
		       "validation.max-profile-size-bytes (4 MiB) and "
		       "distributor.ingestion-burst-size-mb (2 MiB).",
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

struct pyroscope {
	struct sender sender;
	const struct pyroscope_config *config;
	struct flights flights;
	/* Of the profile at each place: how far it has come, also when the batch comes again, and will have with the part on its way. */
	struct push_progress progress[FLIGHTS_MAX], next[FLIGHTS_MAX];
};

static void pyroscope_stop(void *instance)
{
	struct pyroscope *p = instance;

	sender__close(&p->sender);
	flights__close(&p->flights);
	free(p);
}

static int pyroscope_open(const struct dcm_host *host, const void *config, void **ret_instance,
			  struct dcm_error *err)
{
	const struct pyroscope_config *c = config;
	const struct sender_config how = {
		.http = &c->http,
		.url = c->url,
		.path = paths[c->protocol],
		.place = c->url,
		.metric = "pyroscope_sent_total",
	};
	struct pyroscope *p = NEW(struct pyroscope);
	int r = p ? sender__open(&p->sender, host, &how, err) : error__nomem(err);

	if (r == 0)
		r = flights__open(&p->flights, &p->sender, err);

	if (r < 0 && p)
		pyroscope_stop(p);
	if (r < 0)
		return r;
	p->config = c;
	*ret_instance = p;
	return r;
}

static int pyroscope_start(void *instance, struct dcm_error *err)
{
	struct pyroscope *p = instance;

	(void)err;
	sender__start(&p->sender);
	return 0;
}

/* ---- work ---- */

static int make_part(struct pyroscope *p, struct flight *f, const struct dcm_batch *batch,
		     struct dcm_error *err)
{
	static const struct dcm_http_header headers[] = {
		{ { "content-type", 12 }, { "application/proto", 17 } },
	};
	static const char *const types[] = { "application/proto", NULL };
	struct push_progress *at = &p->progress[f->place];
	int r = push__request(p->sender.host, batch, f->profile, &p->config->limits, at,
			      &p->next[f->place], &f->message, err);

	f->request = (struct delivery_request){ .url = p->sender.url,
						.headers = headers,
						.n_headers = 1,
						.data = f->message.data,
						.n = f->message.n,
						.answer_types = types };
	return r;
}

/* Pyroscope goes by the address's format=pprof; gigapipe takes this type alone, and forms. */
static int make_whole(struct pyroscope *p, struct flight *f, const struct dcm_batch *batch,
		      struct dcm_error *err)
{
	static const struct dcm_http_header headers[] = {
		{ { "content-type", 12 }, { "binary/octet-stream", 19 } },
	};
	size_t n = 0;
	int r = p->sender.host->encode(p->sender.host, batch, f->profile, "pprof", &f->data, &n, err);

	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : -EILSEQ;
	ingest__address(p->sender.url, batch, &batch->profiles[f->profile], &f->url);
	f->request = (struct delivery_request){ .url = (const char *)f->url.data,
						.headers = headers,
						.n_headers = 1,
						.data = f->data,
						.n = n };
	return f->url.error ? error__set(err, -EAGAIN, "no memory for a request") : 0;
}

/* Parts that were taken are not sent again when the batch is. */
static int make(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	struct pyroscope *p = ctx;

	if (p->config->protocol != PROTOCOL_PUSH)
		return make_whole(p, f, batch, err);
	if (!f->is_again)
		p->progress[f->place] = (struct push_progress){ 0 };
	return make_part(p, f, batch, err);
}

static bool took(void *ctx, struct flight *f, const struct dcm_batch *batch)
{
	struct pyroscope *p = ctx;

	if (p->config->protocol != PROTOCOL_PUSH)
		return false;
	p->progress[f->place] = p->next[f->place];
	return p->progress[f->place].rows < batch->profiles[f->profile].n_rows;
}

static int pyroscope_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			   struct dcm_error *err)
{
	static const struct flights_ops ops = { make, took };
	struct pyroscope *p = instance;

	return flights__write(&p->flights, batch, &ops, p, deadline_mono_ns, err);
}

static int pyroscope_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	struct pyroscope *p = instance;

	return sender__pass_over(&p->sender, batch, ret_profile);
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
	.summary = "Sends each profile to Pyroscope, or to what takes its push.v1 or /ingest.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
