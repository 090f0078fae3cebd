/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/decima/decima.c - what is collected here goes to another Decima
 *
 * Each batch is the next message of a session (docs/FORMATS.md), and those that wait together are a request, in gzip, to
 * /decima.v1.Ingest/Write of an input `receive`. The other side says 200 when its stores have them, and knows a batch that comes again
 * by its id, so that one whose answer was lost counts once, whatever it came with. What cannot be delivered now stays in the spool.
 *
 * Of a batch that is too large for the other side each profile goes alone (plugins/output/delivery/sender.h), with an id of
 * its own. Only when this side is started anew in the middle of that, and the other one then takes the whole, does what it had
 * count twice.
 *
 * After anything but a yes the session begins anew; at once where the other side says that it knows nothing of it. Where
 * it has no room for sessions, or is of a version without them, batches go on their own for a while.
 *
 * Threads: write() on the output's writer thread, lifecycle on the control thread.
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
#include "core/base/grpc_timeout.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/sender.h"
#include "plugins/output/delivery/uploads.h"

/* ---- options ---- */

struct decima_config {
	const char *url;
	struct uploads_config debuginfo;
	struct dcm_http_options http;
};

static const struct dcm_option rows[] = {
	{
		.name = "url",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct decima_config, url),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "Where the other Decima is: https://HOST:PORT or http://HOST:PORT, with its "
		       "server.base_path if it has one. It needs an input receive.",
	},
	{
		.name = "debuginfo",
		.type = DCM_OPT_STRUCT,
		.table = &uploads__options,
		.offset = offsetof(struct decima_config, debuginfo),
		.flags = DCM_OPT_RESTART,
		.doc = "Files that name functions and lines, sent beside the profiles to a server "
		       "that wants them.",
	},
	{ .name = "",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_HTTP_CLIENT,
	  .offset = offsetof(struct decima_config, http) },
};

static int check_config(const void *config, struct dcm_error *err)
{
	return delivery__check_url("url", ((const struct decima_config *)config)->url, err);
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct decima_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- state ---- */

struct decima_output {
	struct sender sender;
	const struct dcm_host *host;
	struct libdeflate_compressor *compressor;
	struct dcm_session *session;
	bool follows;	       /* the session's next message depends on others */
	bool may_be_taken;     /* the batch, as a whole: it was sent, and nothing was heard of it */
	uint64_t n_taken;      /* of its profiles */
	int64_t alone_mono_ns; /* until then batches go on their own */
	/* Batches of groups that were sent and not answered with yes: any may be taken. Those of one gathering of the host's, at most. */
	uint64_t unanswered[DCM_GROUP_MAX];
	uint32_t n_unanswered;
	struct dcm_metric *delivered, *samples, *bytes, *failures, *begun;
};

#define ALONE_NS INT64_C(600000000000)
enum { HTTP_TOO_LARGE = 413 };

/* ---- lifecycle ---- */

static void decima_stop(void *instance)
{
	struct decima_output *o = instance;

	uploads__free(o->sender.uploads);
	o->host->session_free(o->session);
	sender__close(&o->sender);
	libdeflate_free_compressor(o->compressor);
	free(o);
}

static int decima_open(const struct dcm_host *host, const void *config, void **ret_instance,
		       struct dcm_error *err)
{
	const struct decima_config *c = config;
	const struct sender_config how = { .http = &c->http,
					   .url = c->url,
					   .path = "/decima.v1.Ingest/Write",
					   .metric = "decima_profiles_total" };
	struct decima_output *o = NEW(struct decima_output);
	int r;

	if (!o)
		return error__nomem(err);
	o->host = host;
	r = sender__open(&o->sender, host, &how, err);
	/* Level 1: more costs several times as much, for a tenth of the bytes. */
	o->compressor = libdeflate_alloc_compressor(1);
	if (r == 0 && !o->compressor)
		r = error__nomem(err);
	if (r == 0)
		r = host->session_new(host, &o->session, err);
	if (r == 0)
		r = uploads__new(host, &c->debuginfo, c->url, &c->http, &o->sender.uploads, err);
	if (r < 0) {
		decima_stop(o);
		return r;
	}
	o->delivered = host->metric(
		host, DCM_COUNTER, "decima_delivered_total",
		"Batches that the other Decima has taken, or some profiles of.");
	o->samples = host->metric(host, DCM_COUNTER, "decima_samples_total", "Rows of samples in them.");
	o->bytes = host->metric(
		host, DCM_COUNTER, "decima_sent_bytes_total",
		"Bytes of bodies that were sent, as they were sent, tries in vain too.");
	o->failures = host->metric(host, DCM_COUNTER, "decima_failures_total",
				   "Tries that were refused or not answered.");
	o->begun = host->metric(
		host, DCM_COUNTER,
		"decima_sessions_total", "Sessions begun: what the other Decima had was sent again, as after a restart or a failure.");
	*ret_instance = o;
	return 0;
}

static int decima_start(void *instance, struct dcm_error *err)
{
	struct decima_output *o = instance;

	sender__start(&o->sender);
	return uploads__start(o->sender.uploads, err);
}

/* ---- work ---- */

static int pack(struct decima_output *o, const uint8_t *data, size_t n, uint8_t **ret, size_t *ret_n)
{
	size_t cap = libdeflate_gzip_compress_bound(o->compressor, n);

	*ret = mem__zalloc(cap, 1);
	*ret_n = *ret ? libdeflate_gzip_compress(o->compressor, data, n, *ret, cap) : 0;
	return *ret_n ? 0 : -EAGAIN;
}

/* Types of bodies. */
static const struct dcm_str one = { "application/vnd.decima.batch", 28 };
static const struct dcm_str several = { "application/vnd.decima.batches", 30 };

/* In gzip. */
static int post(struct decima_output *o, struct dcm_str type, uint64_t same_as, const uint8_t *data,
		size_t n, struct buf *ret_answer, int64_t deadline_mono_ns, struct dcm_error *err)
{
	char sent[24]; /* by this host's clock: the other side sees how the two differ */
	const int n_sent = snprintf(sent, sizeof(sent), "%lld",
				    (long long)(o->host->real_ns(o->host) / 1000000));
	char timeout[GRPC_TIMEOUT_TEXT]; /* by which the other side says that it has not stored it yet */
	const int64_t left_ns = deadline_mono_ns - o->host->mono_ns(o->host);
	const uint32_t n_timeout = grpc_timeout__format(left_ns, timeout);
	const struct dcm_http_header headers[] = {
		{ { "content-type", 12 }, type },
		{ { "content-encoding", 16 }, { "gzip", 4 } },
		{ { "decima-sent", 11 }, { sent, (uint32_t)n_sent } },
		{ { "grpc-timeout", 12 }, { timeout, n_timeout } },
	};
	CLEANUP(mem__freep) uint8_t *packed = NULL;
	static const char *const types[] = { "application/proto", NULL };
	struct delivery_request request = { .url = o->sender.url,
					    .answer_types = types,
					    .headers = headers,
					    .n_headers = 4,
					    .same_as = same_as,
					    .ret_body = ret_answer };
	int r = pack(o, data, n, &packed, &request.n);

	if (r < 0)
		return r;
	o->host->metric_add(o->bytes, request.n);
	request.data = packed;
	return delivery__send(o->sender.delivery, &request, deadline_mono_ns, err);
}

/* Whatever bytes it takes: what a session's message has depends on those before. */
static uint64_t identity_of(const struct dcm_batch *batch, uint32_t profile)
{
	const uint64_t parts[] = { batch->id.source.lo, batch->id.source.hi, batch->id.sequence, profile };

	return hash__bytes(parts, sizeof(parts), 0) | 1;
}

/* All of it, or the one profile: it depends on nothing. -EILSEQ: it cannot be encoded, and nothing is sent. */
static int deliver_alone(struct decima_output *o, const struct dcm_batch *batch, uint32_t profile,
			 int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	size_t n = 0;
	int r = o->host->encode(o->host, batch, profile, "batch", &data, &n, err);

	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : -EILSEQ;
	r = post(o, one, identity_of(batch, profile), data, n, NULL, deadline_mono_ns, err);
	/* The server reads no batch of this version: one that is updated will. */
	return r == -EBADMSG && delivery__status(o->sender.delivery) == 415 ? -EAGAIN : r;
}

static void begin_anew(struct decima_output *o)
{
	o->host->session_anew(o->session);
	o->follows = false;
}

/* Batches go on their own from now on, for a while. */
static void go_alone(struct decima_output *o)
{
	begin_anew(o);
	o->alone_mono_ns = o->host->mono_ns(o->host) + ALONE_NS;
}

static bool is_alone(const struct decima_output *o)
{
	return o->host->mono_ns(o->host) < o->alone_mono_ns;
}

/* What the method answers: a message whose field 1 is true when the session can go on. */
static bool goes_on(const struct buf *answer)
{
	return answer->n == 2 && answer->data[0] == 1 << 3 && answer->data[1] == 1;
}

/* Of a request with messages of the session. */
static void hear(struct decima_output *o, int r, const struct buf *answer)
{
	if (r < 0)
		begin_anew(o);
	else if (goes_on(answer))
		o->follows = true;
	else
		go_alone(o);
}

/* Was it that the other side knows nothing of what this message follows on? */
static bool is_unknown(const struct decima_output *o, int r)
{
	return r == -EAGAIN && delivery__status(o->sender.delivery) == 409;
}

/* The session's next message. -E2BIG: the batch is too large for one. */
static int deliver_in_session(struct decima_output *o, const struct dcm_batch *batch,
			      int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	CLEANUP(buf__fini) struct buf answer = { 0 };
	size_t n = 0;
	int r = o->host->session_encode(o->session, batch, &data, &n, err);

	if (r == 0) {
		o->host->metric_add(o->begun, !o->follows);
		r = post(o, one, identity_of(batch, DCM_NONE), data, n, &answer, deadline_mono_ns, err);
	}
	hear(o, r, &answer);
	return r;
}

static int deliver(struct decima_output *o, const struct dcm_batch *batch, int64_t deadline_mono_ns,
		   struct dcm_error *err)
{
	bool followed = o->follows;
	int r;

	if (is_alone(o))
		return deliver_alone(o, batch, DCM_NONE, deadline_mono_ns, err);
	r = deliver_in_session(o, batch, deadline_mono_ns, err);
	if (followed && is_unknown(o, r))
		r = deliver_in_session(o, batch, deadline_mono_ns, err);
	if (r == -E2BIG)
		return deliver_alone(o, batch, DCM_NONE, deadline_mono_ns, err);
	if (r != -EBADMSG)
		return r == -ENOMEM ? -EAGAIN : r;
	/* Is it the batch that is refused, or the session by one who has never heard of such? */
	r = deliver_alone(o, batch, DCM_NONE, deadline_mono_ns, err);
	if (r == 0)
		go_alone(o);
	return r;
}

static bool is_unanswered(const struct decima_output *o, const struct dcm_batch *batch)
{
	const uint64_t identity = identity_of(batch, DCM_NONE);

	for (uint32_t i = 0; i < o->n_unanswered; i++)
		if (o->unanswered[i] == identity)
			return true;
	return false;
}

/* They are of those before, or all of these are settled. */
static void note_unanswered(struct decima_output *o, struct dcm_batch *const *batches, uint32_t n)
{
	if (is_unanswered(o, batches[0]))
		return;
	for (uint32_t i = 0; i < n; i++)
		o->unanswered[i] = identity_of(batches[i], DCM_NONE);
	o->n_unanswered = n;
}

/*
 * All of the batch. One that is too large goes profile by profile then; but one that may have been stored as a whole must not:
 * its profiles alone have other ids, and would count twice.
 */
static int send_whole(struct decima_output *o, const struct dcm_batch *batch,
		      int64_t deadline_mono_ns, struct dcm_error *err)
{
	int r;

	if (!o->sender.is_again) {
		o->may_be_taken = is_unanswered(o, batch);
		o->n_taken = 0;
	}
	r = deliver(o, batch, deadline_mono_ns, err);
	o->may_be_taken |= r == -EAGAIN && delivery__is_unheard_of(o->sender.delivery);
	if (r == -EBADMSG && (o->may_be_taken || delivery__status(o->sender.delivery) != HTTP_TOO_LARGE))
		return -ENOTSUP;
	if (r == -EILSEQ && batch->n_profiles > 1)
		return o->may_be_taken ? -ENOTSUP : -EBADMSG;
	return r;
}

/* sender_fn: all of the batch, or of one that was too large each profile alone. */
static int send_some(void *ctx, const struct dcm_batch *batch, uint32_t first, uint32_t max,
		     uint32_t *ret_end, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct decima_output *o = ctx;
	const bool whole = first == 0 && max >= batch->n_profiles;
	int r;

	*ret_end = whole ? batch->n_profiles : first + 1;
	r = whole ? send_whole(o, batch, deadline_mono_ns, err)
		  : deliver_alone(o, batch, first, deadline_mono_ns, err);
	if (r < 0) {
		o->host->metric_add(o->failures, 1);
		return r;
	}
	o->n_taken += *ret_end - first;
	o->host->metric_add(o->samples, whole ? batch->n_rows : batch->profiles[first].n_rows);
	return 0;
}

static int decima_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			struct dcm_error *err)
{
	struct decima_output *o = instance;
	int r = sender__write(&o->sender, batch, send_some, o, deadline_mono_ns, err);

	if (r < 0 || o->n_taken == 0)
		return r;
	o->n_taken = 0;
	o->host->metric_add(o->delivered, 1);
	uploads__see(o->sender.uploads, batch);
	return 0;
}

/* ---- several batches ---- */

/* Each behind its length. */
static int encode_group(struct decima_output *o, bool alone, struct dcm_batch *const *batches,
			uint32_t n, struct buf *out, struct dcm_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		CLEANUP(mem__freep) uint8_t *data = NULL;
		size_t bytes = 0;
		int r = alone ? o->host->encode(o->host, batches[i], DCM_NONE, "batch", &data, &bytes, err)
			      : o->host->session_encode(o->session, batches[i], &data, &bytes, err);

		if (r < 0)
			return r;
		if (bytes > UINT32_MAX)
			return -E2BIG;
		buf__le32(out, (uint32_t)bytes);
		buf__append(out, data, bytes);
	}
	return out->error;
}

static uint64_t identity_of_group(struct dcm_batch *const *batches, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = hash__mix(h, identity_of(batches[i], DCM_NONE));
	return h | 1;
}

static int deliver_group(struct decima_output *o, struct dcm_batch *const *batches, uint32_t n,
			 int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf body = { 0 }, answer = { 0 };
	const bool alone = is_alone(o);
	int r = encode_group(o, alone, batches, n, &body, err);

	if (r == 0) {
		o->host->metric_add(o->begun, !alone && !o->follows);
		r = post(o, several, identity_of_group(batches, n), body.data, body.n, &answer,
			 deadline_mono_ns, err);
		if (r == -EAGAIN)
			note_unanswered(o, batches, n);
	}
	if (!alone)
		hear(o, r, &answer);
	return r;
}

/* How many profiles they have. */
static uint32_t count_group(struct decima_output *o, struct dcm_batch *const *batches, uint32_t n)
{
	uint32_t n_profiles = 0;

	for (uint32_t i = 0; i < n; i++) {
		n_profiles += batches[i]->n_profiles;
		o->host->metric_add(o->samples, batches[i]->n_rows);
		uploads__see(o->sender.uploads, batches[i]);
	}
	o->host->metric_add(o->delivered, n);
	return n_profiles;
}

/* What is refused goes batch by batch: by itself one may be too large for a session, or go profile by profile. */
static int decima_write_group(void *instance, struct dcm_batch *const *batches, uint32_t n,
			      uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct decima_output *o = instance;
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	const bool followed = o->follows;
	uint32_t n_profiles = 0;
	int r;

	(void)ret_n_done;
	err = err ? err : &own;
	if (n > DCM_GROUP_MAX)
		return error__set(err, -ENOTSUP, "more than %d batches at once", DCM_GROUP_MAX);
	r = sender__begin_group(&o->sender, batches, n, err);
	if (r < 0)
		return r;
	r = deliver_group(o, batches, n, deadline_mono_ns, err);
	if (followed && is_unknown(o, r))
		r = deliver_group(o, batches, n, deadline_mono_ns, err);
	/* It has no room to keep what the second message of a session follows on. */
	if (is_unknown(o, r)) {
		go_alone(o);
		r = deliver_group(o, batches, n, deadline_mono_ns, err);
	}
	if (r == -ENOMEM)
		r = error__set(err, -EAGAIN, "no memory for a request");
	if (r == 0)
		n_profiles = count_group(o, batches, n);
	else
		o->host->metric_add(o->failures, 1);
	return sender__settle_group(&o->sender, n_profiles, r, err);
}

static int decima_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	struct decima_output *o = instance;

	return sender__pass_over(&o->sender, batch, ret_profile);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = decima_open,
	.start = decima_start,
	.stop = decima_stop,
};
static const struct dcm_output_ops ops = { .size = sizeof(ops),
					   .write = decima_write,
					   .pass_over = decima_pass_over,
					   .write_group = decima_write_group };
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED | DCM_CAP_REMOTE,
	.name = "decima",
	.version = "1",
	.summary = "Sends what is collected to another Decima, which takes it once whatever "
		   "happens on the way.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
