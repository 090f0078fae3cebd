/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/decima/delivery.c - one request to the other side, waited for, and what its answer means
 */
#include "plugins/output/decima/delivery.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"

#define SECOND INT64_C(1000000000)

struct delivery {
	const struct dcm_host *host;
	struct dcm_http_client *client;
	const char *url;
	int64_t not_before_ns; /* the other side has asked for patience until then */

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t answered;
	bool is_answered;
	int fault, status;
	int64_t retry_after_s;
	char sentence[512];
};

struct delivery *delivery__new(const struct dcm_host *host, struct dcm_http_client *client,
			       const char *url)
{
	struct delivery *d = NEW(struct delivery);

	if (!d)
		return NULL;
	d->host = host;
	d->client = client;
	d->url = url;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->answered, NULL);
	return d;
}

void delivery__free(struct delivery *d)
{
	if (!d)
		return;
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->answered);
	free(d);
}

/* ---- answers (client thread) ---- */

static int64_t retry_after(const struct dcm_http_reply *reply)
{
	int64_t s = 0;

	for (uint32_t i = 0; i < reply->n_headers; i++)
		if (str__eq(reply->headers[i].name, STR("retry-after")) &&
		    units__parse_int(reply->headers[i].value, "", &s) == 0 && s > 0)
			return s < 3600 ? s : 3600;
	return 0;
}

/* The sentence of a problem (RFC 9457): between "detail":" and the next quote that is not escaped. */
static struct dcm_str detail_of(const struct dcm_http_reply *reply)
{
	static const char key[] = "\"detail\":\"";
	const char *text = (const char *)reply->data;
	const char *from = reply->n ? memmem(text, reply->n, key, sizeof(key) - 1) : NULL;
	size_t n = 0, rest;

	if (!from)
		return STR("");
	from += sizeof(key) - 1;
	rest = reply->n - (size_t)(from - text);
	while (n < rest && from[n] != '"')
		n += from[n] == '\\' && n + 1 < rest ? 2 : 1;
	return (struct dcm_str){ from, (uint32_t)(n < rest ? n : rest) };
}

static void done(void *ctx, const struct dcm_http_reply *reply)
{
	struct delivery *d = ctx;
	struct dcm_str detail = detail_of(reply);

	pthread_mutex_lock(&d->lock);
	d->fault = reply->fault;
	d->status = reply->status;
	d->retry_after_s = retry_after(reply);
	if (reply->fault)
		snprintf(d->sentence, sizeof(d->sentence), "%s", reply->sentence);
	else
		snprintf(d->sentence, sizeof(d->sentence), "%s answered %d%s%.*s", d->url, reply->status,
			 detail.n ? ": " : "", (int)(detail.n < 300 ? detail.n : 300), detail.p);
	d->is_answered = true;
	pthread_cond_signal(&d->answered);
	pthread_mutex_unlock(&d->lock);
}

/* ---- sending ---- */

/*
 * What is wrong with the bytes stays wrong. All else may be put right: a token, an address, a version, a disk.
 */
static int judge(const struct delivery *d)
{
	if (d->fault)
		return -EAGAIN;
	if (d->status >= 200 && d->status < 300)
		return 0;
	return d->status == 400 || d->status == 413 || d->status == 415 || d->status == 422 ? -EBADMSG
											    : -EAGAIN;
}

static int start(struct delivery *d, const void *data, size_t n, int64_t timeout_ns, struct dcm_error *err)
{
	static const struct dcm_http_header headers[] = {
		{ { "content-type", 12 }, { "application/vnd.decima.batch", 28 } },
		{ { "content-encoding", 16 }, { "gzip", 4 } },
	};
	const struct dcm_http_call call = {
		.size = sizeof(call),
		.method = "POST",
		.url = d->url,
		.headers = headers,
		.n_headers = sizeof(headers) / sizeof(headers[0]),
		.body = data,
		.n_body = n,
		.timeout_ns = timeout_ns,
		.max_bytes = 1 << 16,
		.done = done,
		.ctx = d,
	};

	d->is_answered = false;
	return d->host->http_start(d->client, &call, NULL, err);
}

int delivery__send(struct delivery *d, const void *data, size_t n, int64_t deadline_mono_ns,
		   struct dcm_error *err)
{
	int64_t now = d->host->mono_ns(d->host);
	int r;

	if (now < d->not_before_ns)
		return error__set(err, -EAGAIN, "%s; it asked for patience", d->sentence);
	if (deadline_mono_ns <= now)
		return error__set(err, -EAGAIN, "no time is left for %s", d->url);
	r = start(d, data, n, deadline_mono_ns - now, err);
	if (r < 0)
		return r == -EINVAL ? r : -EAGAIN;
	/* The call has a deadline of its own: it always ends. */
	pthread_mutex_lock(&d->lock);
	while (!d->is_answered)
		pthread_cond_wait(&d->answered, &d->lock);
	r = judge(d);
	pthread_mutex_unlock(&d->lock);
	d->not_before_ns = r == -EAGAIN ? d->host->mono_ns(d->host) + d->retry_after_s * SECOND : 0;
	return r < 0 ? error__set(err, r, "%s", d->sentence) : 0;
}
