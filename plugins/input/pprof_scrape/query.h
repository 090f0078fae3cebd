/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/query.h - what a discovery asks a server over HTTP, answered on the loop
 *
 * The host's client thread hands bytes over; callbacks come on the loop's thread, in order, and none
 * after query__cancel(). Bytes that wait for the loop are bounded.
 */
#ifndef DECIMA_PPROF_SCRAPE_QUERY_H
#define DECIMA_PPROF_SCRAPE_QUERY_H

#include <decima/plugin.h>

#include "plugins/input/pprof_scrape/loop.h"

struct query;

enum {
	QUERY_MAX_BYTES = 64 << 20, /* of an answer, and of lines that wait */
	QUERY_MAX_LINE = 16 << 20,
};

/* Borrowed for the callback. As struct dcm_http_reply; a body that was taken in lines is empty. */
struct query_reply {
	int fault, status;
	const char *sentence; /* what went wrong when there is a fault or the status is no 2xx; else "" */
	const char *data; /* [n] */
	size_t n;
	const char *content_type; /* "" for none */
	const char *index;	  /* X-Consul-Index; "" for none */
};

/* What went wrong when it is no 200; "": nothing. As long as the reply. */
static inline const char *query_reply__fault(const struct query_reply *r)
{
	if (!r->fault && r->status == 200)
		return "";
	return r->sentence[0] ? r->sentence : "answered with another status than 200";
}

struct query_ask {
	const struct dcm_host *host;
	struct loop *loop;
	struct dcm_http_client *client;
	const char *url;
	const struct dcm_http_header *headers; /* [n_headers] */
	uint32_t n_headers;
	int64_t timeout_ns, silence_ns; /* as struct dcm_http_call has them */
	/* Each line of a 2xx, without its end, as it comes; NULL: the body is in the reply. */
	void (*line)(void *ctx, const char *line, size_t n);
	/* Once, unless it was cancelled. The query is gone then. -ECANCELED: the instance stops; nobody failed. */
	void (*done)(void *ctx, const struct query_reply *reply);
	void *ctx;
};

/* *ret until `done`. 0, or -ENOMEM, -EINVAL, -ESHUTDOWN (the instance stops: nothing is to be told). */
int query__start(const struct query_ask *ask, struct query **ret, struct dcm_error *err);
/* NULL is fine. */
void query__cancel(struct query *q);

#endif
