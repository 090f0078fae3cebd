/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/otlp.c - an output that sends profiles by OpenTelemetry's protocol, over gRPC or HTTP
 *
 * Batches come with names (DCM_CAP_NAMED). A request (export.h) has some of a batch's profiles, or several batches, as many as servers take
 * in a message, with the tables of what they refer to once. What the server may take later is tried again, and what it refuses goes
 * without the others (plugins/output/delivery, by OTLP's rules); what it leaves out of a request that it takes
 * (partial_success) is lost, is counted, and its sentence stands in the output's state.
 *
 * Source: opentelemetry.io/docs/specs/otlp. Threads: write() on the output's writer thread; lifecycle on the control thread.
 */
#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/grpc_head.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/sender.h"
#include "plugins/output/otlp/export.h"
#include "plugins/output/otlp/numbering.h"
#include "plugins/output/otlp/response.h"

#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define PATH   "/v1development/profiles"
/* Servers of gRPC take messages of 4 MiB, unpacked, unless told otherwise. A profile that is larger goes alone. */
#define REQUEST_BYTES ((size_t)3 << 20)
#define SAID_MAX      300 /* bytes of a server's words */

/* ---- options ---- */

enum protocol { PROTOCOL_AUTO, PROTOCOL_GRPC, PROTOCOL_HTTP };
enum compression { COMPRESSION_GZIP, COMPRESSION_NONE };

struct otlp_config {
	const char *url;
	int32_t protocol;    /* enum protocol */
	int32_t layout;	     /* of numberings */
	int32_t compression; /* enum compression */
	struct dcm_http_options http;
};

static const char *const protocols[] = { "auto", "grpc", "http", NULL };
static const char *const layouts[] = { "1.10", "1.9", "1.8", "1.7", "1.5", NULL };
static const char *const compressions[] = { "gzip", "none", NULL };
_Static_assert(sizeof(layouts) / sizeof(layouts[0]) == N_NUMBERINGS + 1, "a name for each");

static const struct dcm_option rows[] = {
	{
		.name = "url",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct otlp_config, url),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "Where the collector, or whatever takes OTLP, is: https://HOST:PORT, or "
		       "http://HOST:PORT "
		       "without TLS. By HTTP " PATH
		       " is put behind it, unless it ends in /profiles.",
	},
	{
		.name = "protocol",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct otlp_config, protocol),
		.def = "auto",
		.choices = protocols,
		.flags = DCM_OPT_RESTART,
		.doc = "How to send: grpc, or http (POST, protobuf). auto is http where the url "
		       "has a path or the "
		       "port 4318, else grpc.",
	},
	{
		.name = "layout",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct otlp_config, layout),
		.def = "1.10",
		.choices = layouts,
		.flags = DCM_OPT_RESTART,
		.doc = "The version of OTLP as of which profiles are written. Each has other "
		       "numbers of fields: the server "
		       "must read this one. 1.10 is 1.11's, too.",
	},
	{
		.name = "compression",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct otlp_config, compression),
		.def = "gzip",
		.choices = compressions,
		.flags = DCM_OPT_RESTART,
		.doc = "How requests are packed: gzip costs CPU time here, and spares bytes on the "
		       "way.",
	},
	{
		.name = "",
		.type = DCM_OPT_SHARED,
		.shared = DCM_SHARED_HTTP_CLIENT,
		.offset = offsetof(struct otlp_config, http),
	},
};

static int check_config(const void *config, struct dcm_error *err)
{
	return delivery__check_url("url", ((const struct otlp_config *)config)->url, err);
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct otlp_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- state ---- */

struct otlp_output {
	struct sender sender;
	const struct numbering *as;
	bool grpc;
	struct libdeflate_compressor *compressor; /* NULL: requests go as they are */
	struct dcm_metric *rejected;
	char said[SAID_MAX + 1]; /* the last warning, which is logged once */
};

static bool has_path(const char *url)
{
	const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');

	return path && path[strspn(path, "/")];
}

static bool has_port(const char *url, const char *port)
{
	const char *host = strstr(url, "://") + 3;
	struct dcm_str place = { host, (uint32_t)strcspn(host, "/") };

	return str__ends(place, str__of(port));
}

static bool is_grpc(const struct otlp_config *c)
{
	if (c->protocol != PROTOCOL_AUTO)
		return c->protocol == PROTOCOL_GRPC;
	return !has_path(c->url) && !has_port(c->url, ":4318");
}

static const char *path_of(const char *url, bool grpc)
{
	struct dcm_str all = str__of(url);

	if (grpc)
		return METHOD;
	while (all.n && all.p[all.n - 1] == '/')
		all.n--;
	return str__ends(all, STR("/profiles")) ? "" : PATH;
}

/* ---- lifecycle ---- */

static void otlp_stop(void *instance)
{
	struct otlp_output *o = instance;

	sender__close(&o->sender);
	libdeflate_free_compressor(o->compressor);
	free(o);
}

static int otlp_open(const struct dcm_host *host, const void *config, void **ret_instance,
		     struct dcm_error *err)
{
	const struct otlp_config *c = config;
	struct otlp_output *o = NEW(struct otlp_output);
	int r;

	if (!o)
		return error__nomem(err);
	o->as = &numberings[c->layout];
	o->grpc = is_grpc(c);
	const struct sender_config how = { .http = &c->http,
					   .url = c->url,
					   .path = path_of(c->url, o->grpc),
					   .metric = "otlp_sent_total" };
	r = sender__open(&o->sender, host, &how, err);
	/* Level 1: more costs several times as much, for a tenth of the bytes. */
	if (r == 0 && c->compression == COMPRESSION_GZIP) {
		o->compressor = libdeflate_alloc_compressor(1);
		r = o->compressor ? 0 : error__nomem(err);
	}
	if (r < 0) {
		otlp_stop(o);
		return r;
	}
	o->rejected = host->metric(
		host, DCM_COUNTER, "otlp_rejected_total",
		"Profiles of OTLP that the server left out of requests that it took.");
	*ret_instance = o;
	return 0;
}

static int otlp_start(void *instance, struct dcm_error *err)
{
	struct otlp_output *o = instance;

	(void)err;
	sender__start(&o->sender);
	return 0;
}

/* ---- the request ---- */

/*
 * Profiles [first, end) as a request in *out, whose number as OTLP counts is in *ret_n. It ends where there is enough:
 * *ret_end is behind the last. Of too many the last is left out, which makes the others anew: a table cannot be undone.
 */
static int fill(const struct otlp_output *o, const struct dcm_batch *batch, uint32_t first,
		uint32_t end, struct buf *out, uint32_t *ret_end, uint32_t *ret_n)
{
	struct export *e = export__new(o->as, batch);
	uint32_t i = first;
	int r = e ? 0 : -ENOMEM;

	while (r == 0 && i < end && (i == first || export__n_bytes(e) < REQUEST_BYTES))
		r = export__add(e, i++);
	bool is_too_large = r == 0 && i - first > 1 && export__n_bytes(e) > REQUEST_BYTES;
	if (r == 0 && !is_too_large) {
		export__take(e, out);
		*ret_end = i;
		*ret_n = export__n_profiles(e);
		r = out->error;
	}
	export__free(e);
	return is_too_large ? fill(o, batch, first, i - 1, out, ret_end, ret_n) : r;
}

/*
 * Whole batches likewise, the first of [n]: *ret_fit of them; 0: the first one alone is too large. A next one is not begun where
 * there is no room for as much as the largest yet, so that few are made anew.
 */
static int fill_group(const struct otlp_output *o, struct dcm_batch *const *batches, uint32_t n,
		      struct buf *out, uint32_t *ret_fit, uint32_t *ret_n)
{
	struct export *e = export__new(o->as, batches[0]);
	size_t before = 0, bytes = 0, largest = 0;
	uint32_t i = 0;
	int r = e ? 0 : -ENOMEM;

	for (; r == 0 && i < n && bytes + largest <= REQUEST_BYTES; i++) {
		r = i ? export__turn(e, batches[i]) : 0;
		for (uint32_t k = 0;
		     r == 0 && k < batches[i]->n_profiles && export__n_bytes(e) <= REQUEST_BYTES; k++)
			r = export__add(e, k);
		before = bytes;
		bytes = export__n_bytes(e);
		largest = bytes - before > largest ? bytes - before : largest;
	}
	bool is_too_large = bytes > REQUEST_BYTES;
	*ret_fit = is_too_large ? i - 1 : i;
	if (r == 0 && !is_too_large) {
		export__take(e, out);
		*ret_n = export__n_profiles(e);
		r = out->error;
	}
	export__free(e);
	return r == 0 && is_too_large && *ret_fit
		       ? fill_group(o, batches, *ret_fit, out, ret_fit, ret_n)
		       : r;
}

/* The body that goes out: in gzip, in a frame of gRPC's, or as it is. */
static int pack(const struct otlp_output *o, const struct buf *request, struct buf *out)
{
	size_t head = o->grpc ? GRPC_HEAD_BYTES : 0, n = request->n;
	size_t cap = o->compressor ? libdeflate_gzip_compress_bound(o->compressor, n) : n;
	uint8_t *to = buf__reserve(out, head + cap);

	if (!to)
		return -ENOMEM;
	if (o->compressor)
		n = libdeflate_gzip_compress(o->compressor, request->data, n, to + head, cap);
	else
		memcpy(to + head, request->data, n);
	out->n = head + n;
	if (o->grpc)
		grpc_head__put(to, o->compressor ? GRPC_PACKED : 0, n);
	return 0;
}

static struct dcm_http_header header(const char *name, const char *value)
{
	return (struct dcm_http_header){ str__of(name), str__of(value) };
}

static int deliver(struct otlp_output *o, const struct buf *request, struct buf *ret_body,
		   int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct dcm_http_header headers[3];
	uint32_t n = 0;
	struct buf packed = { 0 };
	int r = pack(o, request, &packed);

	headers[n++] = header("content-type",
			      o->grpc ? "application/grpc+proto" : "application/x-protobuf");
	if (o->compressor)
		headers[n++] = header(o->grpc ? "grpc-encoding" : "content-encoding", "gzip");
	if (o->as->is_development_1)
		headers[n++] = header("otlp-profiles-development-version", "1");
	static const char *const types[] = { "application/x-protobuf", "application/json", NULL };
	const struct delivery_request q = { .url = o->sender.url,
					    .answer_types = types,
					    .headers = headers,
					    .n_headers = n,
					    .grpc = o->grpc,
					    .data = packed.data,
					    .n = packed.n,
					    .rules = DELIVERY_OTLP,
					    .ret_body = ret_body };
	r = r == 0 ? delivery__send(o->sender.delivery, &q, deadline_mono_ns, err)
		   : error__set(err, -EAGAIN, "no memory for a request");
	buf__fini(&packed);
	return r;
}

/* ---- the answer ---- */

static void hear(struct otlp_output *o, struct buf *body, uint32_t n_sent)
{
	if (o->grpc)
		response__unframe(body);
	const struct dcm_host *host = o->sender.host;
	const struct response a = response__read(buf__view(body), n_sent);
	char said[SAID_MAX + 1];

	snprintf(said, sizeof(said), "%.*s", (int)(a.message.n < SAID_MAX ? a.message.n : SAID_MAX),
		 a.message.p);
	said[str__utf8_cut(said, strlen(said))] = '\0';
	str__clean(said, strlen(said));
	if (a.n_rejected) {
		host->drop(host, "profiles_rejected", a.n_rejected);
		host->metric_add(o->rejected, a.n_rejected);
		sender__warn(&o->sender, "%.150s took a request, but left out %u of its %u profiles: %s",
			     o->sender.place, a.n_rejected, n_sent, said);
	} else if (said[0] && strcmp(said, o->said) != 0) {
		host->log(host, DCM_LOG_WARNING, "%s took a request, and says: %s", o->sender.place, said);
		memcpy(o->said, said, sizeof(said));
	}
}

/* ---- work ---- */

/* A request with [n] of OTLP's profiles, or why there is none; with none in it, as rows of 0 make none, it need not go. */
static int send(struct otlp_output *o, int r, const struct buf *request, uint32_t n,
		int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf body = { 0 };

	if (r < 0)
		return error__set(err, -EAGAIN, "no memory for a request");
	if (n == 0)
		return 0;
	r = deliver(o, request, &body, deadline_mono_ns, err);
	if (r == 0)
		hear(o, &body, n);
	return r;
}

static int send_some(void *ctx, const struct dcm_batch *batch, uint32_t first, uint32_t max,
		     uint32_t *ret_end, int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf request = { 0 };
	struct otlp_output *o = ctx;
	uint32_t left = batch->n_profiles - first, n = 0;
	int r;

	*ret_end = first + 1;
	r = fill(o, batch, first, first + (left < max ? left : max), &request, ret_end, &n);
	return send(o, r, &request, n, deadline_mono_ns, err);
}

static int send_group(void *ctx, struct dcm_batch *const *batches, uint32_t n, uint32_t *ret_n,
		      int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf request = { 0 };
	struct otlp_output *o = ctx;
	uint32_t n_profiles = 0;
	int r = fill_group(o, batches, n, &request, ret_n, &n_profiles);

	return send(o, r, &request, n_profiles, deadline_mono_ns, err);
}

static int otlp_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		      struct dcm_error *err)
{
	struct otlp_output *o = instance;

	return sender__write(&o->sender, batch, send_some, o, deadline_mono_ns, err);
}

static int otlp_write_group(void *instance, struct dcm_batch *const *batches, uint32_t n,
			    uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct otlp_output *o = instance;
	int r = sender__write_group(&o->sender, batches, n, send_group, o, ret_n_done,
				    deadline_mono_ns, err);

	if (r < 0 || *ret_n_done > 0)
		return r;
	*ret_n_done = 1;
	return otlp_write(instance, batches[0], deadline_mono_ns, err);
}

static int otlp_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	struct otlp_output *o = instance;

	return sender__pass_over(&o->sender, batch, ret_profile);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = otlp_open,
	.start = otlp_start,
	.stop = otlp_stop,
};
static const struct dcm_output_ops ops = { .size = sizeof(ops),
					   .write = otlp_write,
					   .pass_over = otlp_pass_over,
					   .write_group = otlp_write_group };
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED | DCM_CAP_REMOTE,
	.name = "otlp",
	.version = "1",
	.summary = "Sends profiles by OTLP, OpenTelemetry's protocol, to any collector.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
