/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/query.c - what a discovery asks a server over HTTP, answered on the loop
 *
 * A query is posted to the loop once, at its end; lines before it, each with its own item. Items run
 * in the order of posting, so that a query outlives its lines.
 */
#include "plugins/input/pprof_scrape/query.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"

struct query {
	struct loop_item item; /* first */
	struct query_ask ask;  /* of its pointers only host, loop, client, callbacks and ctx */
	uint64_t call;
	bool is_cancelled; /* the loop's thread */
	struct buf body;   /* with `line`: the beginning of one */
	bool is_too_long, is_behind;
	_Atomic uint64_t n_waiting; /* bytes of lines */
	int fault, status;
	char sentence[400], content_type[80], index[32];
};

struct lines {
	struct loop_item item; /* first */
	struct query *query;
	size_t n;
	char text[];
};

static void query_free(struct query *q)
{
	buf__fini(&q->body);
	free(q);
}

/* ---- the loop's thread ---- */

static void deliver_lines(struct loop_item *item)
{
	struct lines *l = (struct lines *)item;
	struct query *q = l->query;
	const char *at = l->text, *end = l->text + l->n;

	/* A callback may cancel it. */
	while (at < end && !q->is_cancelled) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		if (stop > at)
			q->ask.line(q->ask.ctx, at, (size_t)(stop - at));
		at = stop + 1;
	}
	atomic_fetch_sub(&q->n_waiting, l->n);
	free(l);
}

/* The first line of what a server says to its refusal, which is often the reason. */
static void say_status(struct query *q)
{
	size_t n = 0;

	while (n < q->body.n && n < 160 && q->body.data[n] >= ' ' && q->body.data[n] != 0x7f)
		n++;
	n = str__utf8_cut((const char *)q->body.data, n);
	snprintf(q->sentence, sizeof(q->sentence), "answered with status %d%s%.*s; %s", q->status,
		 n ? ": " : "", (int)n, n ? (const char *)q->body.data : "",
		 q->status == 401 || q->status == 403
			 ? "give the discovery credentials that may ask this"
		 : q->status == 404 ? "is the address right?"
				    : "what does its log say?");
}

static void deliver_end(struct loop_item *item)
{
	struct query *q = (struct query *)item;

	if (!q->is_cancelled) {
		struct query_reply reply = { .fault = q->fault,
					     .status = q->status,
					     .sentence = q->sentence,
					     .data = (const char *)q->body.data,
					     .n = q->body.n,
					     .content_type = q->content_type,
					     .index = q->index };

		if (!q->fault && q->status / 100 != 2)
			say_status(q);
		q->ask.done(q->ask.ctx, &reply);
	}
	query_free(q);
}

/* ---- the client's thread ---- */

/* All whole lines that there are go to the loop; what follows the last one begins the next. */
static bool post_lines(struct query *q)
{
	const uint8_t *last = memrchr(q->body.data, '\n', q->body.n);
	size_t n = last ? (size_t)(last - q->body.data) + 1 : 0;
	struct lines *l;

	if (n == 0)
		return true;
	l = malloc(sizeof(*l) + n);
	if (!l)
		return false;
	l->item.fn = deliver_lines;
	l->query = q;
	l->n = n;
	memcpy(l->text, q->body.data, n);
	memmove(q->body.data, q->body.data + n, q->body.n - n);
	q->body.n -= n;
	atomic_fetch_add(&q->n_waiting, n);
	loop__post(q->ask.loop, &l->item);
	return true;
}

static bool take_line(void *ctx, const uint8_t *data, size_t n)
{
	struct query *q = ctx;

	buf__append(&q->body, data, n);
	q->is_behind = q->body.error || atomic_load(&q->n_waiting) > QUERY_MAX_BYTES;
	if (!q->is_behind && memchr(data, '\n', n))
		q->is_behind = !post_lines(q);
	q->is_too_long = q->body.n > QUERY_MAX_LINE;
	return !q->is_behind && !q->is_too_long;
}

/* Into the one place from which it is read: the client keeps no copy. */
static bool take_body(void *ctx, const uint8_t *data, size_t n)
{
	struct query *q = ctx;

	buf__append(&q->body, data, n);
	return !q->body.error;
}

static void copy_headers(struct query *q, const struct dcm_http_reply *reply)
{
	for (uint32_t i = 0; i < reply->n_headers; i++) {
		const struct dcm_http_header *h = &reply->headers[i];

		if (str__eq(h->name, STR("content-type")))
			snprintf(q->content_type, sizeof(q->content_type), "%.*s", STR_ARG(h->value));
		else if (str__eq(h->name, STR("x-consul-index")))
			snprintf(q->index, sizeof(q->index), "%.*s", STR_ARG(h->value));
	}
}

static void done(void *ctx, const struct dcm_http_reply *reply)
{
	struct query *q = ctx;

	q->fault = reply->fault;
	q->status = reply->status;
	snprintf(q->sentence, sizeof(q->sentence), "%s", reply->sentence);
	copy_headers(q, reply);
	if (q->ask.line)
		q->body.n = 0;
	buf__append(&q->body, reply->data, reply->n);
	if (q->is_too_long) {
		q->fault = -EFBIG;
		snprintf(q->sentence, sizeof(q->sentence),
			 "a line of the answer is larger than %d MiB", QUERY_MAX_LINE >> 20);
	} else if (q->is_behind || q->body.error) {
		q->fault = -ENOMEM;
		snprintf(q->sentence, sizeof(q->sentence),
			 "no room for the answer: it comes faster than it is read");
	}
	loop__post(q->ask.loop, &q->item);
}

/* ---- both ends ---- */

int query__start(const struct query_ask *ask, struct query **ret, struct dcm_error *err)
{
	struct query *q = NEW(struct query);
	struct dcm_http_call call = {
		.size = sizeof(call),
		.url = ask->url,
		.headers = ask->headers,
		.n_headers = ask->n_headers,
		.timeout_ns = ask->timeout_ns,
		.silence_ns = ask->silence_ns,
		.max_bytes = ask->line ? 0 : QUERY_MAX_BYTES,
		.take = ask->line ? take_line : take_body,
		.done = done,
		.ctx = q,
	};
	int r;

	if (!q)
		return error__nomem(err);
	q->item.fn = deliver_end;
	q->ask = *ask;
	*ret = q;
	r = ask->host->http_start(ask->client, &call, &q->call, err);
	if (r < 0) {
		*ret = NULL;
		query_free(q);
	}
	return r;
}

void query__cancel(struct query *q)
{
	if (!q)
		return;
	q->is_cancelled = true;
	q->ask.host->http_cancel(q->ask.client, q->call);
}
