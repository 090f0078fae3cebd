/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/desk.c - a received profile on its way to the stores, and what its sender is told
 *
 * Who waits and who tells him share a waiter, which the later of the two frees: a store may answer after the sender's
 * patience has ended.
 */
#include "plugins/input/receive/desk.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"

#define SECOND	INT64_C(1000000000)
#define LOOK_NS (SECOND / 10) /* for a sender that has gone */

enum { RETRY_SOON_S = 1, RETRY_LATER_S = 10 };
enum { LATE = 504 }; /* status of what is on its way, and may be stored yet */

struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool is_told, is_left;
	int status;
};

void desk__init(struct desk *d, const struct dcm_host *host, const struct receive_options *options)
{
	*d = (struct desk){
		.host = host,
		.options = options,
		.requests = host->metric(host, DCM_COUNTER, "receive_requests_total",
					 "Requests with profiles that came."),
		.refused = host->metric(
			host, DCM_COUNTER,
			"receive_refused_total", "Requests of which nothing was taken, or only batches before the one at fault; their senders were told why."),
		.late = host->metric(
			host, DCM_COUNTER,
			"receive_late_total", "Requests whose senders were told that they were not stored in time: they may have been since."),
		.samples = host->metric(host, DCM_COUNTER, "receive_samples_total",
					"Samples that came with them and were taken."),
		.bytes = host->metric(
			host, DCM_COUNTER, "receive_bytes_total",
			"Bytes of these requests, unpacked where HTTP had packed them."),
		.unknown = host->metric(
			host, DCM_COUNTER,
			"receive_sessions_unknown_total", "Messages of sessions of which nothing is known here, as after a restart: their senders begin anew."),
		.panics = host->metric(
			host, DCM_COUNTER, "receive_panics_total",
			"Agents of Parca of which was told that they had ended with an error."),
	};
}

static void set_verdict(struct desk_verdict *v, int status, int retry_after_s, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void set_verdict(struct desk_verdict *v, int status, int retry_after_s, const char *fmt, ...)
{
	va_list ap;

	v->status = status;
	v->retry_after_s = retry_after_s;
	va_start(ap, fmt);
	vsnprintf(v->error.text, sizeof(v->error.text), fmt, ap);
	va_end(ap);
}

struct dcm_str desk__field(const struct dcm_field *fields, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str__eq(fields[i].name, str__of(name)))
			return fields[i].value;
	return STR("");
}

struct dcm_str desk__media_type(const struct dcm_request *q)
{
	return str__media_type(desk__field(q->headers, q->n_headers, "content-type"));
}

void desk__refuse(struct desk *d, struct desk_verdict *v, int status, const char *fmt, ...)
{
	va_list ap;

	*v = (struct desk_verdict){ .status = status,
				    .arrived_real_ns = d->host->real_ns(d->host),
				    .error = DCM_ERROR_INIT };
	va_start(ap, fmt);
	vsnprintf(v->error.text, sizeof(v->error.text), fmt, ap);
	va_end(ap);
	d->host->metric_add(d->requests, 1);
	d->host->metric_add(d->refused, 1);
}

/* ---- waiting ---- */

static struct waiter *waiter_new(void)
{
	struct waiter *w = NEW(struct waiter);

	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	cond__init(&w->told);
	return w;
}

static void waiter_free(struct waiter *w)
{
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->told);
	free(w);
}

static void stored(void *ctx, int status)
{
	struct waiter *w = ctx;
	bool is_last;

	pthread_mutex_lock(&w->lock);
	w->is_told = true;
	w->status = status;
	is_last = w->is_left;
	pthread_cond_signal(&w->told);
	pthread_mutex_unlock(&w->lock);
	if (is_last)
		waiter_free(w);
}

/* Who asks may know the same deadline, and shall have the answer by then. */
static int64_t answer_by(const struct desk *d, const struct dcm_budget *budget)
{
	int64_t now = d->host->mono_ns(d->host), own = now + d->options->answer_within_ns;
	int64_t given = budget->deadline_mono_ns ? now + (budget->deadline_mono_ns - now) / 5 * 4 : own;

	return given < own ? given : own;
}

/* What stored() was told; -ETIMEDOUT: nothing by then. The waiter is gone. */
static int wait_for(const struct desk *d, struct waiter *w, const struct dcm_budget *budget, int64_t end)
{
	const struct dcm_host *host = d->host;
	int r = -ETIMEDOUT;
	bool is_last;

	pthread_mutex_lock(&w->lock);
	while (!w->is_told && !atomic_load(&budget->cancelled)) {
		int64_t now = host->mono_ns(host), until = now + LOOK_NS;
		struct timespec ts;

		if (now >= end)
			break;
		until = until < end ? until : end;
		ts = (struct timespec){ until / SECOND, until % SECOND };
		pthread_cond_timedwait(&w->told, &w->lock, &ts);
	}
	is_last = w->is_told;
	if (w->is_told)
		r = w->status;
	w->is_left = true;
	pthread_mutex_unlock(&w->lock);
	if (is_last)
		waiter_free(w);
	return r;
}

/* ---- handing on ---- */

static void judge_decoding(struct desk_verdict *v, int r)
{
	/* -EBADMSG: bytes of our own encoding that are damaged, or others' */
	v->status = r == -EINVAL || r == -EBADMSG ? 400
		    : r == -E2BIG		  ? 413
		    : r == -ERANGE		  ? 422
		    : r == -EPROTONOSUPPORT	  ? 415
		    : r == -ESTALE		  ? DESK_SESSION_UNKNOWN
						  : 503;
	v->retry_after_s = v->status == 503 ? RETRY_SOON_S : 0;
}

static void judge_emission(struct desk_verdict *v, int r)
{
	if (r == -EAGAIN)
		set_verdict(v, 503, RETRY_SOON_S,
			    "what came before is not stored yet; try again in a second");
	else if (r == -ESHUTDOWN)
		set_verdict(v, 503, RETRY_LATER_S, "decima is stopping; try again when it is back");
	else if (r < 0)
		set_verdict(v, 503, RETRY_SOON_S, "out of memory; try again in a second");
}

static void judge_storing(struct desk_verdict *v, int r)
{
	if (r == -ETIMEDOUT)
		set_verdict(v, LATE,
			    RETRY_LATER_S, "it is on its way, and was not stored in time (answer_within): GET /api/v1/pipeline here says what the stores wait for; the same may be sent again, and is stored once where its profiles say their time");
	else if (r == -ECANCELED)
		set_verdict(v, 503, RETRY_LATER_S,
			    "decima changes its configuration or stops; send it again in a moment");
	else if (r == -EAGAIN || r == -ENOSPC || r == -EIO || r == -EROFS)
		set_verdict(v, 503, RETRY_LATER_S,
			    "the store takes nothing at the moment (%s); try again later",
			    strerror(-r));
	else if (r == -ENODEV)
		set_verdict(v, 503,
			    RETRY_LATER_S, "nobody here keeps profiles: configure a storage, or an output that sends them on");
	else if (r == -E2BIG)
		set_verdict(v, 422,
			    0, "with the labels and rules of this machine a series has more than 256 labels, or 64 KiB of them; what has fewer is stored");
	else if (r == -EFBIG)
		set_verdict(v, 413,
			    0, "it is too large: unpacked it has more bytes than a queue may ever hold; send less at once");
	else if (r == -EMSGSIZE)
		set_verdict(v, 422,
			    0, "one store has it, and it is too large for another one's queue: raise queue_max there");
	else if (r < 0)
		set_verdict(v, 503, RETRY_LATER_S,
			    "it was not stored: %s; /api/v1/pipeline says more", strerror(-r));
}

/* What is on its way: waiters [n], of which each is told of one batch. */
struct sent {
	struct waiter *waiters[GROUP_MESSAGES_MAX];
	uint32_t n;
};

/* Takes the batch: while its sender waits, the stores have it alone. */
static int hand_on(struct desk *d, struct dcm_batch *batch, struct sent *sent)
{
	const struct dcm_host *host = d->host;
	const bool waits = d->options->answer == RECEIVE_WHEN_STORED;
	struct waiter *w = waits ? waiter_new() : NULL;
	int r = waits && !w ? -ENOMEM : host->emit(host, batch, w ? stored : NULL, w);

	host->batch_unref(batch);
	if (r < 0 && w)
		waiter_free(w);
	else if (w)
		sent->waiters[sent->n++] = w;
	return r;
}

/* Until all are stored; of a request that is refused already nobody waits for what came before that. */
static void wait_for_all(struct desk *d, struct sent *sent, const struct dcm_request *q,
			 struct desk_verdict *v)
{
	const int64_t end = sent->n && v->status == 200 ? answer_by(d, q->budget) : 0;

	if (end)
		d->host->request_waits(q);
	for (uint32_t i = 0; i < sent->n; i++) {
		int r = wait_for(d, sent->waiters[i], q->budget, v->status == 200 ? end : 0);

		if (v->status == 200)
			judge_storing(v, r);
	}
}

static void find_node(const struct dcm_batch *b, struct desk_verdict *v)
{
	struct dcm_span pairs = b->n_series ? b->series[0] : (struct dcm_span){ 0 };

	for (uint32_t i = 0; i < pairs.n && !v->node[0]; i++) {
		const struct dcm_pair *pair = &b->pairs[pairs.off + i];
		struct dcm_str value = b->strings[pair->value];

		if (str__eq(b->strings[pair->name], STR("node")))
			snprintf(v->node, sizeof(v->node), "%.*s", (int)value.n, value.p);
	}
}

/* Of a series' labels, as rules leave it (core/pipeline/outcome.c). */
enum { LABELS_MOST_BYTES = 64 << 10 };
#define DAY_NS (INT64_C(86400) * SECOND)

/* What would be lost behind this: labels that are too many, and times that no store takes. */
static int check_batch(const struct desk *d, const struct dcm_batch *b, struct dcm_error *err)
{
	const int64_t latest = d->host->real_ns(d->host) + DAY_NS;

	for (uint32_t i = 0; i < b->n_series; i++) {
		const struct dcm_pair *pairs = b->pairs + b->series[i].off;
		uint64_t bytes = 0;

		for (uint32_t k = 0; k < b->series[i].n; k++)
			bytes += (uint64_t)b->strings[pairs[k].name].n + b->strings[pairs[k].value].n;
		if (bytes > LABELS_MOST_BYTES)
			return error__set(
				err, -E2BIG, "series %u: its %u labels have %llu bytes together; send at most %d",
				i, b->series[i].n, (unsigned long long)bytes, LABELS_MOST_BYTES);
	}
	for (uint32_t i = 0; i < b->n_profiles; i++)
		if (b->profiles[i].time_ns > latest)
			return error__set(err, -ERANGE, "profile %u: begins more than a day after this machine's clock; set the sender's clock right",
					  i);
	return 0;
}

/* With the labels of the token that it came with. */
static int decode(struct desk *d, struct dcm_decode *how, const uint8_t *data, size_t n,
		  const struct dcm_request *q, struct dcm_batch **ret, struct dcm_error *err)
{
	const struct dcm_host *host = d->host;
	struct dcm_batch *batch;
	int r;

	how->size = sizeof(*how);
	how->max_bytes = (uint64_t)d->options->max_unpacked_bytes;
	if (how->time_ns == 0)
		how->time_ns = host->real_ns(host);
	r = host->decode_as(host, how, data, n, &batch, err);
	if (r < 0)
		return r;
	r = check_batch(d, batch, err);
	if (r < 0) {
		host->batch_unref(batch);
		return r;
	}
	if (!DCM_HAS(q, n_labels) || q->n_labels == 0) {
		*ret = batch;
		return 0;
	}
	r = host->labelled(host, batch, q->labels, q->n_labels, ret, err);
	host->batch_unref(batch);
	return r;
}

static void take(struct desk *d, struct dcm_decode *how, const struct group_message *m,
		 const struct dcm_request *q, struct sent *sent, struct desk_verdict *v)
{
	struct dcm_batch *batch;
	int r = decode(d, how, m->data, m->n, q, &batch, &v->error);

	if (r < 0) {
		judge_decoding(v, r);
		return;
	}
	v->n_profiles += batch->n_profiles;
	v->n_rows += batch->n_rows;
	find_node(batch, v);
	if (batch->n_rows > 0)
		judge_emission(v, hand_on(d, batch, sent));
	else
		d->host->batch_unref(batch);
}

void desk__take_all(struct desk *d, struct dcm_decode *how, const struct group_message *messages,
		    uint32_t n, const struct dcm_request *q, struct desk_verdict *ret)
{
	struct sent sent = { .n = 0 };
	struct dcm_decode each;

	*ret = (struct desk_verdict){ .status = 200,
				      .arrived_real_ns = d->host->real_ns(d->host),
				      .error = DCM_ERROR_INIT };
	d->host->metric_add(d->requests, 1);
	for (uint32_t i = 0; i < n && ret->status == 200; i++) {
		each = *how;
		d->host->metric_add(d->bytes, messages[i].n);
		if (messages[i].n == 0)
			set_verdict(ret, 400, 0, "the body is empty; it should be a profile");
		else
			take(d, &each, &messages[i], q, &sent, ret);
	}
	wait_for_all(d, &sent, q, ret);
	if (ret->status == 200)
		d->host->metric_add(d->samples, ret->n_rows);
	else
		d->host->metric_add(ret->status == LATE			  ? d->late
				    : ret->status == DESK_SESSION_UNKNOWN ? d->unknown
									  : d->refused,
				    1);
}

void desk__take(struct desk *d, struct dcm_decode *how, const uint8_t *data, size_t n,
		const struct dcm_request *q, struct desk_verdict *ret)
{
	desk__take_all(d, how, &(struct group_message){ data, n }, 1, q, ret);
}

bool desk__tell(const struct desk *d, const struct desk_verdict *v, struct dcm_reply *reply)
{
	char seconds[16];

	if (v->status == 200)
		return true;
	if (v->retry_after_s) {
		snprintf(seconds, sizeof(seconds), "%d", v->retry_after_s);
		d->host->reply_header(reply, "Retry-After", seconds);
	}
	d->host->reply_problem(reply, v->status, "%s", v->error.text);
	return false;
}

/* Milliseconds since 1970 by the sender's clock, as the output decima says them. */
static int64_t sent_at(const struct dcm_request *q)
{
	int64_t ms = 0;

	if (units__parse_int(desk__field(q->headers, q->n_headers, "decima-sent"), "", &ms) < 0 ||
	    ms <= 0 || ms > INT64_MAX / 1000000)
		return 0;
	return ms * 1000000;
}

void desk__note(struct desk *d, const char *protocol, const struct dcm_request *q,
		const struct desk_verdict *v)
{
	if (!d->senders || v->status == DESK_SESSION_UNKNOWN)
		return;
	senders__note(d->senders,
		      &(struct sending){
			      .node = v->node[0] || !DCM_HAS(q, peer) ? str__of(v->node) : q->peer,
			      .protocol = protocol,
			      .version = desk__field(q->headers, q->n_headers, "user-agent"),
			      .sent_real_ns = sent_at(q),
			      .arrived_real_ns = v->arrived_real_ns,
			      .bytes = q->n_body,
			      .rows = v->n_rows,
			      .refusal = v->status == 200 ? NULL : v->error.text });
}

bool desk__take_messages(struct desk *d, const char *protocol, struct dcm_decode *how,
			 const struct group_message *messages, uint32_t n,
			 const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk_verdict v;

	desk__take_all(d, how, messages, n, q, &v);
	desk__note(d, protocol, q, &v);
	if (!desk__tell(d, &v, reply))
		return false;
	d->host->reply_put(reply, 200, "application/proto", "", 0);
	return true;
}

bool desk__take_message(struct desk *d, const char *protocol, struct dcm_decode *how,
			const struct dcm_request *q, struct dcm_reply *reply)
{
	return desk__take_messages(d, protocol, how, &(struct group_message){ q->body, q->n_body },
				   1, q, reply);
}

int desk__serve(struct desk *d, struct dcm_endpoint endpoint, struct dcm_error *err)
{
	endpoint.size = sizeof(endpoint);
	endpoint.role = DCM_ROLE_WRITE;
	endpoint.method = "POST";
	endpoint.max_body = (uint64_t)d->options->max_body_bytes;
	endpoint.max_unpacked = (uint64_t)d->options->max_unpacked_bytes;
	if (!endpoint.ctx)
		endpoint.ctx = d;
	return d->host->serve(d->host, &endpoint, err);
}
