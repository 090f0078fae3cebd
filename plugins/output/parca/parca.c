/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/parca/parca.c - an output that sends profiles to Parca, by WriteRaw of its gRPC
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host as pprof and goes into a
 * WriteRawRequest (proto/parca/profilestore/v1alpha1/profilestore.proto) as a series with one sample, a request
 * having some of a batch's profiles, or several batches. Parca makes the type of a profile from the label __name__ and the types in the
 * pprof. What it may take later is tried again (plugins/output/delivery); a profile that it refuses goes without the
 * others, and its sentence stands in the output's state. What was in a request whose answer was lost is sent again, and Parca
 * knows no ids: it counts twice there.
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
#include "core/base/grpc_head.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/legacy_name.h"
#include "plugins/output/delivery/sender.h"
#include "plugins/output/delivery/uploads.h"

#define METHOD "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
/* Servers of gRPC take messages of 4 MiB unless told otherwise. A profile that is larger goes alone. */
#define REQUEST_BYTES ((size_t)3 << 20)

/* ---- options ---- */

struct parca_config {
	const char *url;
	struct uploads_config debuginfo;
	struct dcm_http_options http;
};

static const struct dcm_option rows[] = {
	{
		.name = "url",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct parca_config, url),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "Where Parca is: https://HOST:PORT, or http://HOST:PORT without "
		       "TLS. " LEGACY_NAMES_DOC,
	},
	{
		.name = "debuginfo",
		.type = DCM_OPT_STRUCT,
		.table = &uploads__options,
		.offset = offsetof(struct parca_config, debuginfo),
		.flags = DCM_OPT_RESTART,
		.doc = "Files that name functions and lines, sent beside the profiles to a server "
		       "that wants them.",
	},
	{
		.name = "",
		.type = DCM_OPT_SHARED,
		.shared = DCM_SHARED_HTTP_CLIENT,
		.offset = offsetof(struct parca_config, http),
	},
};

static int check_config(const void *config, struct dcm_error *err)
{
	return delivery__check_url("url", ((const struct parca_config *)config)->url, err);
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct parca_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- lifecycle ---- */

static void parca_stop(void *instance)
{
	struct sender *s = instance;

	uploads__free(s->uploads);
	sender__close(s);
	free(s);
}

static int parca_open(const struct dcm_host *host, const void *config, void **ret_instance,
		      struct dcm_error *err)
{
	const struct parca_config *c = config;
	const struct sender_config how = {
		.http = &c->http, .url = c->url, .path = METHOD, .metric = "parca_sent_total"
	};
	struct sender *s = NEW(struct sender);
	int r = s ? sender__open(s, host, &how, err) : error__nomem(err);

	if (r == 0)
		r = uploads__new(host, &c->debuginfo, c->url, &c->http, &s->uploads, err);

	if (r < 0 && s)
		parca_stop(s);
	if (r == 0)
		*ret_instance = s;
	return r;
}

static int parca_start(void *instance, struct dcm_error *err)
{
	struct sender *s = instance;

	sender__start(s);
	return uploads__start(s->uploads, err);
}

/* ---- the request: protobuf, all of it length-delimited ---- */

static void put_label(struct buf *label_set, struct buf *scratch, struct dcm_str name, struct dcm_str value)
{
	pb__put_str(scratch, 1, name);
	pb__put_str(scratch, 2, value);
	pb__put_nested(label_set, 1, scratch);
}

/* RawProfileSeries { labels: LabelSet, samples: [ RawSample { raw_profile } ] } */
static void put_series(struct buf *out, const struct dcm_batch *b,
		       const struct dcm_profile *profile, const uint8_t *pprof, size_t n)
{
	struct dcm_span series = b->series[profile->series];
	struct buf name = { 0 }, labels = { 0 }, inner = { 0 }, all = { 0 };

	put_label(&labels, &inner, STR("__name__"), b->strings[b->types[profile->type_off].name]);
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];

		if (str__eq(b->strings[pair->name], STR("__name__")))
			continue;
		buf__reset(&name);
		legacy_name__put_pair(&name, b, series, i);
		put_label(&labels, &inner, buf__view(&name), b->strings[pair->value]);
		if (name.error)
			out->error = name.error;
	}
	pb__put_nested(&all, 1, &labels);
	pb__put_bytes(&inner, 1, pprof, n);
	pb__put_nested(&all, 2, &inner);
	pb__put_nested(out, 2, &all);
	buf__fini(&name);
	buf__fini(&labels);
	buf__fini(&inner);
	buf__fini(&all);
}

/* ---- work ---- */

/*
 * Profiles from `first` on, behind what the message has, until there are enough; *ret_end is behind the last. As sender_fn, but that
 * nothing is sent.
 */
static int fill(const struct sender *s, const struct dcm_batch *batch, uint32_t first, uint32_t max,
		struct buf *message, uint32_t *ret_end, struct dcm_error *err)
{
	uint32_t i;

	for (i = first; i < batch->n_profiles && i - first < max && message->n < REQUEST_BYTES; i++) {
		uint8_t *pprof = NULL;
		size_t n = 0;
		int r = s->host->encode(s->host, batch, i, "pprof", &pprof, &n, err);

		if (r == -ENOMEM)
			return -EAGAIN;
		if (r < 0 && i == first)
			return -EILSEQ;
		/* The next request begins with what would spoil this one, or make it too large. */
		if (r < 0 || (i > first && message->n + n > REQUEST_BYTES)) {
			free(pprof);
			break;
		}
		put_series(message, batch, &batch->profiles[i], pprof, n);
		free(pprof);
	}
	*ret_end = i;
	return message->error ? error__set(err, -EAGAIN, "no memory for a request") : 0;
}

static int post(struct sender *s, struct buf *message, int64_t deadline_mono_ns, struct dcm_error *err)
{
	grpc_head__put(message->data, 0, message->n - GRPC_HEAD_BYTES);
	const struct delivery_request request = {
		.url = s->url, .grpc = true, .data = message->data, .n = message->n
	};

	return delivery__send(s->delivery, &request, deadline_mono_ns, err);
}

static int send_some(void *ctx, const struct dcm_batch *batch, uint32_t first, uint32_t max,
		     uint32_t *ret_end, int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf message = { 0 };
	struct sender *s = ctx;
	int r;

	*ret_end = first + 1;
	buf__append(&message, "\0\0\0\0", GRPC_HEAD_BYTES);
	r = fill(s, batch, first, max, &message, ret_end, err);
	return r == 0 ? post(s, &message, deadline_mono_ns, err) : r;
}

/* sender_group_fn: whole batches, whose profiles all fit and can be encoded. */
static int send_group(void *ctx, struct dcm_batch *const *batches, uint32_t n, uint32_t *ret_n,
		      int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf message = { 0 };
	struct sender *s = ctx;
	uint32_t i;

	buf__append(&message, "\0\0\0\0", GRPC_HEAD_BYTES);
	for (i = 0; i < n; i++) {
		const size_t before = message.n;
		uint32_t end = 0;
		int r = fill(s, batches[i], 0, UINT32_MAX, &message, &end, err);

		if (r == -EAGAIN)
			return r;
		if (r == 0 && end == batches[i]->n_profiles && message.n <= REQUEST_BYTES)
			continue;
		message.n = before;
		break;
	}
	*ret_n = i;
	/* Batches without a profile need not go. */
	return message.n > GRPC_HEAD_BYTES ? post(s, &message, deadline_mono_ns, err) : 0;
}

static int parca_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		       struct dcm_error *err)
{
	struct sender *s = instance;
	int r = sender__write(s, batch, send_some, s, deadline_mono_ns, err);

	if (r == 0)
		uploads__see(s->uploads, batch);
	return r;
}

static int parca_write_group(void *instance, struct dcm_batch *const *batches, uint32_t n,
			     uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct sender *s = instance;
	int r = sender__write_group(s, batches, n, send_group, s, ret_n_done, deadline_mono_ns, err);

	if (r == 0 && *ret_n_done == 0) {
		*ret_n_done = 1;
		return parca_write(instance, batches[0], deadline_mono_ns, err);
	}
	for (uint32_t i = 0; r == 0 && i < *ret_n_done; i++)
		uploads__see(s->uploads, batches[i]);
	return r;
}

static int parca_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	return sender__pass_over(instance, batch, ret_profile);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = parca_open,
	.start = parca_start,
	.stop = parca_stop,
};
static const struct dcm_output_ops ops = { .size = sizeof(ops),
					   .write = parca_write,
					   .pass_over = parca_pass_over,
					   .write_group = parca_write_group };
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED | DCM_CAP_REMOTE,
	.name = "parca",
	.version = "1",
	.summary = "Sends profiles to Parca, or to what takes its WriteRaw.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
