/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/silence.c - an HTTP client to whom no server says a word
 *
 * Each client has a thread, as the real ones have the host's: on it calls end, in the order of their times.
 */
#include "core/plugin_check/silence.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/url.h"
#include "core/config/shared_http.h"

#define NS_PER_S INT64_C(1000000000)

/* Nothing is learnt from waiting in full for who does not come: a write's five seconds take a tenth of one. */
enum { HASTE = 50 };

struct silent_call {
	struct silent_call *next;
	uint64_t id;
	int64_t start_ns;
	int64_t end_ns; /* INT64_MAX: when it is cancelled */
	int fault;	/* that it ends with */
	void (*done)(void *ctx, const struct dcm_http_reply *reply);
	void *ctx;
};

struct dcm_http_client {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards: */
	pthread_cond_t changed;
	struct silent_call *calls;
	uint64_t n_calls;
	bool is_ending;
};

/* ---- the client's thread ---- */

static void answer(struct silent_call *s)
{
	const struct dcm_http_reply reply = {
		.size = sizeof(reply),
		.fault = s->fault,
		.sentence = s->fault == -ECANCELED ? "cancelled"
						   : "no server says a word to decima-plugin-check",
		.duration_ns = clock__mono(&clock__system) - s->start_ns,
	};

	s->done(s->ctx, &reply);
	free(s);
}

/* Where the call stands that ends first; NULL: there is none. */
static struct silent_call **first(struct dcm_http_client *c)
{
	struct silent_call **ret = NULL;

	for (struct silent_call **at = &c->calls; *at; at = &(*at)->next)
		if (!ret || (*at)->end_ns < (*ret)->end_ns)
			ret = at;
	return ret;
}

static void wait_until(struct dcm_http_client *c, int64_t ns)
{
	const struct timespec at = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (ns == INT64_MAX)
		pthread_cond_wait(&c->changed, &c->mutex);
	else
		pthread_cond_timedwait(&c->changed, &c->mutex, &at);
}

static void *run(void *client)
{
	struct dcm_http_client *c = client;
	struct silent_call **at, *s;

	pthread_mutex_lock(&c->mutex);
	while ((at = first(c)) || !c->is_ending) {
		s = at ? *at : NULL;
		if (!s || (!c->is_ending && s->end_ns > clock__mono(&clock__system))) {
			wait_until(c, s ? s->end_ns : INT64_MAX);
			continue;
		}
		if (c->is_ending)
			s->fault = -ECANCELED;
		*at = s->next;
		pthread_mutex_unlock(&c->mutex);
		answer(s);
		pthread_mutex_lock(&c->mutex);
	}
	pthread_mutex_unlock(&c->mutex);
	return NULL;
}

/* ---- what plugins call ---- */

static void destroy(struct dcm_http_client *c)
{
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

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
	cond__init(&c->changed);
	if (pthread_create(&c->thread, NULL, run, c) != 0) {
		destroy(c);
		return error__nomem(err);
	}
	*ret = c;
	return 0;
}

void silence__free(struct dcm_http_client *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->mutex);
	c->is_ending = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->mutex);
	pthread_join(c->thread, NULL);
	destroy(c);
}

/* When a call ends to which not a byte comes. */
static int64_t end_of(const struct dcm_http_call *call, int64_t now_ns)
{
	int64_t left = call->timeout_ns > 0 ? call->timeout_ns : INT64_MAX;

	if (call->silence_ns > 0 && call->silence_ns < left)
		left = call->silence_ns;
	return left == INT64_MAX ? INT64_MAX : now_ns + left / HASTE;
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
	s->fault = -ETIMEDOUT;
	s->start_ns = clock__mono(&clock__system);
	s->end_ns = end_of(call, s->start_ns);
	pthread_mutex_lock(&c->mutex);
	if (c->is_ending) {
		pthread_mutex_unlock(&c->mutex);
		free(s);
		return error__set(err, -ESHUTDOWN, "http_start(): the client is being freed");
	}
	s->id = ++c->n_calls;
	s->next = c->calls;
	c->calls = s;
	if (ret_id)
		*ret_id = s->id;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->mutex);
	return 0;
}

void silence__cancel(struct dcm_http_client *c, uint64_t id)
{
	pthread_mutex_lock(&c->mutex);
	for (struct silent_call *s = c->calls; s; s = s->next) {
		if (s->id != id)
			continue;
		s->fault = -ECANCELED;
		s->end_ns = 0;
	}
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->mutex);
}

int silence__sign(struct dcm_http_client *c, const struct dcm_http_signature *how, struct dcm_error *err)
{
	(void)c;
	(void)how;
	(void)err;
	return 0;
}
