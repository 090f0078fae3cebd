/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/silence.c - an HTTP client to whom no server says a word
 */
#include "core/plugin_check/silence.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/url.h"
#include "core/config/shared_http.h"

struct silent_call {
	struct silent_call *next;
	uint64_t id;
	void (*done)(void *ctx, const struct dcm_http_reply *reply);
	void *ctx;
};

struct dcm_http_client {
	pthread_mutex_t mutex;
	struct silent_call *calls;
	uint64_t n_calls;
};

int silence__new(void *ctx, const struct dcm_host *from, const struct dcm_http_options *options,
		 struct dcm_http_client **ret, struct dcm_error *err)
{
	struct dcm_http_client *c;
	int r = shared_http__check(options, err);

	(void)ctx;
	(void)from;
	if (r < 0)
		return r;
	c = NEW(struct dcm_http_client);
	if (!c)
		return error__nomem(err);
	pthread_mutex_init(&c->mutex, NULL);
	*ret = c;
	return 0;
}

int silence__start(struct dcm_http_client *c, const struct dcm_http_call *call, uint64_t *ret_id,
		   struct dcm_error *err)
{
	struct silent_call *s;

	if (!DCM_HAS(call, ctx) || !call->done || !call->url || !url__is_askable(call->url))
		return error__set(
			err, -EINVAL,
			"http_start(): a call lacks its size, done(), or a URL that can be asked");
	s = NEW(struct silent_call);
	if (!s)
		return error__nomem(err);
	s->done = call->done;
	s->ctx = call->ctx;
	pthread_mutex_lock(&c->mutex);
	s->id = ++c->n_calls;
	s->next = c->calls;
	c->calls = s;
	if (ret_id)
		*ret_id = s->id;
	pthread_mutex_unlock(&c->mutex);
	return 0;
}

/* The call with that id, or any with 0; NULL: none. */
static struct silent_call *take(struct dcm_http_client *c, uint64_t id)
{
	struct silent_call *s = NULL;

	pthread_mutex_lock(&c->mutex);
	struct silent_call **at = &c->calls;
	while (*at && id && (*at)->id != id)
		at = &(*at)->next;
	if (*at) {
		s = *at;
		*at = s->next;
	}
	pthread_mutex_unlock(&c->mutex);
	return s;
}

static void answer(struct silent_call *s)
{
	const struct dcm_http_reply reply = { .size = sizeof(reply),
					      .fault = -ECANCELED,
					      .sentence = "cancelled" };

	s->done(s->ctx, &reply);
	free(s);
}

void silence__cancel(struct dcm_http_client *c, uint64_t id)
{
	struct silent_call *s = id ? take(c, id) : NULL;

	if (s)
		answer(s);
}

void silence__free(struct dcm_http_client *c)
{
	struct silent_call *s;

	if (!c)
		return;
	while ((s = take(c, 0)))
		answer(s);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}
