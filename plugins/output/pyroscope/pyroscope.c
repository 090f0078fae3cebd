/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/pyroscope.c - an output that sends each profile to Pyroscope's /ingest
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host as pprof, and is the
 * body of one POST whose query says its labels and its time. What the server may take later (no
 * answer, 408, 429, 5xx) is kept, and tried again no sooner than its Retry-After says; what it
 * refuses for good is counted, and its sentence stands in the output's state. A profile that was
 * taken is not sent again by a retry, but one whose answer was lost is: /ingest knows no ids.
 *
 * Threads: write() on the output's writer thread, which waits for done() on the host's client
 * thread; the mutex guards what the two share. Lifecycle on the control thread.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"

#define NS_PER_S	  INT64_C(1000000000)
#define RETRY_AFTER_MAX_S 600 /* whatever a server says */
#define ANSWER_MAX_BYTES  65536
#define SENTENCE_MAX	  200 /* bytes of a server's answer that are told on */

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
	const struct pyroscope_config *c = config;

	if (!url__is_askable(c->url) || strncmp(c->url, "http", 4) != 0 || strpbrk(c->url, "?#"))
		return error__set(err, -EINVAL,
				  "url: \"%s\" is not http:// or https:// with a host and no query",
				  c->url);
	return 0;
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct pyroscope_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- state ---- */

struct pyroscope {
	const struct dcm_host *host;
	struct dcm_http_client *client;
	char *url; /* without slashes at its end */
	struct dcm_metric *sent;

	/* Of write() alone: where it stopped in a batch that it was to try again, and until when it waits. */
	struct dcm_batch_id batch;
	uint32_t n_done;
	bool is_resumable;
	int64_t not_before_mono_ns;

	pthread_mutex_t mutex;
	pthread_cond_t answered;
};

/* What became of one call. */
struct answer {
	struct pyroscope *p;
	bool is_there;
	int fault, status;
	int64_t retry_after_s;
	char text[SENTENCE_MAX + 1];
};

/* ---- lifecycle ---- */

static void pyroscope_stop(void *instance)
{
	struct pyroscope *p = instance;

	p->host->http_client_free(p->client);
	pthread_cond_destroy(&p->answered);
	pthread_mutex_destroy(&p->mutex);
	free(p->url);
	free(p);
}

static int pyroscope_open(const struct dcm_host *host, const void *config, void **ret_instance,
			  struct dcm_error *err)
{
	const struct pyroscope_config *c = config;
	struct pyroscope *p = NEW(struct pyroscope);
	size_t n = strlen(c->url);
	int r;

	if (!p)
		return error__nomem(err);
	p->host = host;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->answered, NULL);
	while (n > 0 && c->url[n - 1] == '/')
		n--;
	p->url = mem__dup_str(c->url, n);
	r = p->url ? host->http_client_new(host, &c->http, &p->client, err) : error__nomem(err);
	if (r < 0) {
		pyroscope_stop(p);
		return r;
	}
	p->sent = host->metric(host, DCM_COUNTER, "pyroscope_sent_total",
			       "Profiles that the server took.");
	*ret_instance = p;
	return 0;
}

static int pyroscope_start(void *instance, struct dcm_error *err)
{
	struct pyroscope *p = instance;

	(void)err;
	p->host->set_state(p->host, DCM_STATE_OK, "sends to %s/ingest", p->url);
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

static void put_url(struct buf *out, const struct pyroscope *p, const struct dcm_batch *b,
		    const struct dcm_profile *profile)
{
	buf__printf(out, "%s/ingest?name=", p->url);
	put_name(out, b, b->series[profile->series]);
	buf__printf(out, "&from=%lld&until=%lld&format=pprof&spyName=decima",
		    (long long)profile->time_ns, (long long)(profile->time_ns + profile->duration_ns));
}

/* ---- one call ---- */

/* Seconds; a date, which is the other form, counts as none. */
static int64_t retry_after(const struct dcm_http_reply *reply)
{
	int64_t s = 0;

	for (uint32_t i = 0; i < reply->n_headers; i++) {
		struct dcm_str value = reply->headers[i].value;

		if (!str__eq(reply->headers[i].name, STR("retry-after")))
			continue;
		for (uint32_t k = 0; k < value.n; k++) {
			if (value.p[k] < '0' || value.p[k] > '9')
				return 0;
			s = s * 10 + (value.p[k] - '0');
			if (s > RETRY_AFTER_MAX_S)
				return RETRY_AFTER_MAX_S;
		}
	}
	return s;
}

/* On the client thread. */
static void done(void *ctx, const struct dcm_http_reply *reply)
{
	struct answer *a = ctx;
	const char *text = reply->fault ? reply->sentence : (const char *)reply->data;
	size_t n = reply->fault ? strlen(text) : reply->n;

	pthread_mutex_lock(&a->p->mutex);
	a->fault = reply->fault;
	a->status = reply->status;
	a->retry_after_s = retry_after(reply);
	for (size_t i = 0; i < n && i < SENTENCE_MAX; i++)
		a->text[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
	a->is_there = true;
	pthread_cond_signal(&a->p->answered);
	pthread_mutex_unlock(&a->p->mutex);
}

static int post(struct pyroscope *p, const char *url, const uint8_t *data, size_t n,
		int64_t timeout_ns, struct answer *ret, struct dcm_error *err)
{
	static const struct dcm_http_header headers[] = {
		{ { "content-type", 12 }, { "application/octet-stream", 24 } },
	};
	const struct dcm_http_call call = {
		.size = sizeof(call),
		.method = "POST",
		.url = url,
		.headers = headers,
		.n_headers = 1,
		.body = data,
		.n_body = n,
		.timeout_ns = timeout_ns,
		.max_bytes = ANSWER_MAX_BYTES,
		.done = done,
		.ctx = ret,
	};
	int r = p->host->http_start(p->client, &call, NULL, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&p->mutex);
	while (!ret->is_there)
		pthread_cond_wait(&p->answered, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
	return 0;
}

/* 0: taken. -EAGAIN: it may be later. -EBADMSG: never. */
static int judge(struct pyroscope *p, const struct answer *a, struct dcm_error *err)
{
	if (a->fault)
		return error__set(err, -EAGAIN, "%s", a->text);
	if (a->status >= 200 && a->status < 300)
		return 0;
	error__set(err, -EAGAIN, "%s/ingest answered %d: %s", p->url, a->status, a->text);
	/* Who may not send, or asks at a wrong place, is put right by hand, and then it can go well. */
	if (a->status >= 500 || a->status == 408 || a->status == 429 || a->status == 401 ||
	    a->status == 403 || a->status == 404) {
		p->not_before_mono_ns = p->host->mono_ns(p->host) + a->retry_after_s * NS_PER_S;
		return -EAGAIN;
	}
	return -EBADMSG;
}

/* ---- work ---- */

static int send_profile(struct pyroscope *p, const struct dcm_batch *batch, uint32_t profile,
			int64_t deadline_mono_ns, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	struct answer answer = { .p = p };
	struct buf url = { 0 };
	int64_t left_ns = deadline_mono_ns - p->host->mono_ns(p->host);
	size_t n = 0;
	int r;

	if (left_ns <= 0)
		return error__set(err, -EAGAIN, "%u of %u profiles were sent in time", profile,
				  batch->n_profiles);
	r = p->host->encode(p->host, batch, profile, "pprof", &data, &n, err);
	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : -EILSEQ;
	put_url(&url, p, batch, &batch->profiles[profile]);
	buf__byte(&url, 0);
	r = url.error ? -EAGAIN : post(p, (const char *)url.data, data, n, left_ns, &answer, err);
	buf__fini(&url);
	if (r == -EINVAL)
		return -EBADMSG;
	return r < 0 ? -EAGAIN : judge(p, &answer, err);
}

/* A batch without a source may be any: better some of its profiles twice than not at all. */
static bool is_same_batch(const struct pyroscope *p, const struct dcm_batch *batch)
{
	const struct dcm_batch_id *a = &p->batch, *b = &batch->id;

	return p->is_resumable && (b->source.lo || b->source.hi) && a->sequence == b->sequence &&
	       a->source.lo == b->source.lo && a->source.hi == b->source.hi;
}

static int pyroscope_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			   struct dcm_error *err)
{
	struct pyroscope *p = instance;
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	bool is_refused = false;
	int r = 0;

	if (!err)
		err = &own;
	if (p->host->mono_ns(p->host) < p->not_before_mono_ns)
		return error__set(err, -EAGAIN, "%s/ingest asked to wait (Retry-After)", p->url);
	if (!is_same_batch(p, batch))
		p->n_done = 0;
	p->batch = batch->id;
	for (; p->n_done < batch->n_profiles; p->n_done++) {
		r = send_profile(p, batch, p->n_done, deadline_mono_ns, err);
		if (r == -EAGAIN)
			break;
		is_refused |= r < 0;
		if (r < 0)
			p->host->drop(p->host, r == -EILSEQ ? "not_encoded" : "refused",
				      batch->profiles[p->n_done].n_rows);
		else
			p->host->metric_add(p->sent, 1);
	}
	p->is_resumable = r == -EAGAIN;
	if (r == -EAGAIN || is_refused)
		p->host->set_state(p->host, DCM_STATE_DEGRADED, "%s", err->text);
	else
		p->host->set_state(p->host, DCM_STATE_OK, "sends to %s/ingest", p->url);
	return r == -EAGAIN ? r : 0;
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
