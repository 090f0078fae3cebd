/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_pool.c - the outside of the pool: clients, and the inbox of its thread
 *
 * A call's id is its slot and how often that was used, so a cancellation that comes late finds
 * nobody. The mutex is never held while a callback runs.
 */
#include "core/net/http_pool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/shared_http.h"
#include "core/net/http_pool_inside.h"

#define NO_SLOT UINT32_MAX

int64_t pool__now(void)
{
	return clock__mono(&clock__system);
}

/* ------------------------------------------------------------------------------------------------
 * The pool
 */

int http_pool__new(const char *user_agent, struct http_pool **ret)
{
	struct http_pool *p = NEW(struct http_pool);

	if (!p)
		return -ENOMEM;
	p->user_agent = user_agent;
	p->wake_fd = p->epoll_fd = -1;
	p->free_slot = NO_SLOT;
	p->last_start = &p->starts;
	pthread_mutex_init(&p->mutex, NULL);
	cond__init(&p->changed);
	*ret = p;
	return 0;
}

/* Files that the rest of the program needs stay free. */
static long connections_max(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur > 1 << 20)
		return 1 << 18;
	return l.rlim_cur < 64 ? 16 : (long)(l.rlim_cur / 4 * 3);
}

/* With the mutex. */
static int run(struct http_pool *p)
{
	sigset_t all, before;
	int r;

	if (p->runs)
		return 0;
	p->n_connections_max = connections_max();
	r = pool__open(p);
	if (r < 0)
		return r;
	/*
	 * Signals are for the threads that wait for them; a broken pipe is none. But each thread has
	 * its own of core/selfprofile.
	 */
	sigfillset(&all);
	sigdelset(&all, SIGPROF);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&p->thread, NULL, pool__run, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		pool__close(p);
	p->runs = r == 0;
	return r;
}

void http_pool__free(struct http_pool *p)
{
	if (!p)
		return;
	while (p->clients)
		http_pool__client_free(p->clients);
	if (p->runs) {
		pthread_mutex_lock(&p->mutex);
		p->ends = true;
		pthread_mutex_unlock(&p->mutex);
		pool__wake(p);
		pthread_join(p->thread, NULL);
		pool__close(p);
	}
	vec__fini(&p->slots);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

struct http_pool_count http_pool__count(struct http_pool *p)
{
	struct http_pool_count n = { 0 };

	pthread_mutex_lock(&p->mutex);
	n.n_calls = p->n_calls;
	for (const struct dcm_http_client *c = p->clients; c; c = c->next)
		n.n_clients++;
	n.n_parts = atomic_load(&p->n_open_parts);
	pthread_mutex_unlock(&p->mutex);
	return n;
}

/* ------------------------------------------------------------------------------------------------
 * Clients
 */

static void free_parts(struct dcm_http_client *c)
{
	http_setup__free(c->setup);
	http_token__free(c->token);
	free(c);
}

int http_pool__client_new(struct http_pool *p, const void *owner, const struct dcm_http_options *options,
			  struct dcm_http_client **ret, struct dcm_error *err)
{
	struct dcm_http_client *c = NEW(struct dcm_http_client);
	int r = c ? http_setup__new(options, &c->setup, err) : error__nomem(err);

	if (r == 0 && options->oauth2.client_id && options->oauth2.client_id[0])
		r = http_token__new(&options->oauth2, &c->token, err);
	if (r == 0) {
		c->pool = p;
		c->owner = owner;
		pthread_mutex_lock(&p->mutex);
		r = run(p);
		if (r == 0) {
			c->next = p->clients;
			p->clients = c;
		}
		pthread_mutex_unlock(&p->mutex);
		if (r < 0)
			error__sys(err, r, "the client thread cannot be started");
	}
	if (r < 0) {
		if (c)
			free_parts(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* The client thread sees no part of it before the first call. */
int http_pool__client_sign(struct dcm_http_client *c, const struct dcm_http_signature *how,
			   struct dcm_error *err)
{
	if (c->token)
		return error__set(err, -EINVAL, "oauth2: requests are signed already; take it away");
	return http_setup__sign(c->setup, how, err);
}

static void cancel(struct http_pool *p, struct call *c)
{
	if (c->cancelled)
		return;
	c->cancelled = c->in_cancels = true;
	c->prev_cancel = NULL;
	c->next_cancel = p->cancels;
	if (p->cancels)
		p->cancels->prev_cancel = c;
	p->cancels = c;
}

/* With the mutex. */
static void close_client(struct dcm_http_client *c)
{
	struct http_pool *p = c->pool;

	c->closed = true;
	for (size_t i = 0; i < p->slots.n; i++)
		if (p->slots.v[i].call && p->slots.v[i].call->client == c)
			cancel(p, p->slots.v[i].call);
	if (c->n_calls)
		pool__wake(p);
}

void http_pool__client_free(struct dcm_http_client *c)
{
	struct http_pool *p;
	struct dcm_http_client **at;

	if (!c)
		return;
	p = c->pool;
	pthread_mutex_lock(&p->mutex);
	close_client(c);
	while (c->n_calls)
		pthread_cond_wait(&p->changed, &p->mutex);
	for (at = &p->clients; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	pthread_mutex_unlock(&p->mutex);
	free_parts(c);
}

/* With the mutex. */
static bool is_busy(const struct http_pool *p, const void *owner)
{
	for (const struct dcm_http_client *c = p->clients; c; c = c->next)
		if (c->owner == owner && c->n_calls)
			return true;
	return false;
}

void http_pool__settle(struct http_pool *p, const void *owner)
{
	pthread_mutex_lock(&p->mutex);
	for (struct dcm_http_client *c = p->clients; c; c = c->next)
		if (c->owner == owner)
			close_client(c);
	while (is_busy(p, owner))
		pthread_cond_wait(&p->changed, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

void call__free(struct call *c)
{
	if (!c)
		return;
	http_place__fini(&c->place);
	http_place__fini(&c->first);
	http_setup__lists_fini(&c->lists);
	curl_slist_free_all(c->headers);
	buf__fini(&c->body);
	free(c->data);
	free(c);
}
DEFINE_CLEANUP(struct call *, call__free);

/* Numbers and functions; a call of an older plugin's ends earlier. */
static struct dcm_http_call known_part(const struct dcm_http_call *ask)
{
	struct dcm_http_call known = { 0 };

	memcpy(&known, ask, ask->size < sizeof(known) ? ask->size : sizeof(known));
	return known;
}

static int copy_headers(struct call *c, struct dcm_error *err)
{
	for (uint32_t i = 0; i < c->ask.n_headers; i++) {
		const struct dcm_http_header *h = &c->ask.headers[i];
		CLEANUP(mem__freep) char *name = mem__dup_str(h->name.p, h->name.n);
		CLEANUP(mem__freep) char *value = mem__dup_str(h->value.p, h->value.n);

		if (!name || !value)
			return error__nomem(err);
		if (!shared_http__is_header_name(name) || strlen(value) != h->value.n ||
		    !shared_http__is_header_value(value))
			return error__set(err, -EINVAL, "%s: the header \"%.100s\" cannot be sent",
					  c->place.shown, name);
		c->has_authorization |= strcasecmp(name, "authorization") == 0;
		c->has_type |= strcasecmp(name, "content-type") == 0;
		if (http_setup__add_header(&c->headers, name, value) < 0)
			return error__nomem(err);
	}
	return 0;
}

static int copy(struct call *c, const struct dcm_http_call *ask, struct dcm_error *err)
{
	int r;

	c->ask = known_part(ask);
	r = c->ask.url && c->ask.done ? http_place__of(c->ask.url, &c->place) : -EINVAL;
	if (r == -EINVAL)
		return error__set(
			err, r, "not a URL this can ask; write http://HOST:PORT/PATH, https://..., or unix:/SOCKET:/PATH");
	if (r == 0 && snprintf(c->method, sizeof(c->method), "%s",
			       c->ask.method ? c->ask.method : "GET") >= (int)sizeof(c->method))
		c->method[0] = '\0';
	if (r == 0 && !shared_http__is_header_name(c->method))
		return error__set(err, -EINVAL, "%s: not a method of HTTP", c->place.shown);
	if (r == 0 && c->ask.file) {
		c->file = *c->ask.file;
		c->ask.file = &c->file;
	} else if (r == 0 && c->ask.n_body) {
		c->data = mem__dup(c->ask.body, c->ask.n_body);
		r = c->data ? 0 : -ENOMEM;
	}
	if (r < 0)
		return error__nomem(err);
	return copy_headers(c, err);
}

/* With the mutex. */
static int take_slot(struct http_pool *p, struct call *c)
{
	uint32_t i = p->free_slot;

	if (i == NO_SLOT) {
		if (p->slots.n >= NO_SLOT - 1 || !vec__push(&p->slots, (struct slot){ 0 }))
			return -ENOMEM;
		i = (uint32_t)p->slots.n - 1;
	} else {
		p->free_slot = p->slots.v[i].next_free;
	}
	p->slots.v[i].call = c;
	c->slot = i;
	c->id = (uint64_t)p->slots.v[i].turn << 32 | (i + 1);
	p->n_calls++;
	if (p->n_calls > p->n_most_calls)
		p->n_most_calls = p->n_calls;
	return 0;
}

int pool__start(struct dcm_http_client *client, struct http_setup *setup,
		const struct dcm_http_call *ask, uint64_t *ret_id, struct dcm_error *err)
{
	CLEANUP(call__freep) struct call *c = NEW(struct call);
	struct http_pool *p = client->pool;
	bool was_empty = false;
	int r = c ? copy(c, ask, err) : error__nomem(err);

	if (r < 0)
		return r;
	c->client = client;
	c->setup = setup;
	c->at = SIZE_MAX;
	c->begun_ns = pool__now();
	pthread_mutex_lock(&p->mutex);
	r = client->closed ? -ESHUTDOWN : take_slot(p, c);
	if (r == 0) {
		if (ret_id)
			*ret_id = c->id;
		client->n_calls++;
		was_empty = !p->starts;
		*p->last_start = c;
		p->last_start = &c->next_start;
		c = NULL;
	}
	pthread_mutex_unlock(&p->mutex);
	if (was_empty)
		pool__wake(p);
	if (r == -ESHUTDOWN)
		error__set(err, r, "the instance stops, and asks nobody any more");
	else if (r < 0)
		error__nomem(err);
	return r;
}

int http_pool__start(struct dcm_http_client *c, const struct dcm_http_call *call, uint64_t *ret_id,
		     struct dcm_error *err)
{
	return pool__start(c, c->setup, call, ret_id, err);
}

void http_pool__cancel(struct dcm_http_client *client, uint64_t id)
{
	struct http_pool *p = client->pool;
	uint32_t i = (uint32_t)id - 1;
	struct call *c;

	pthread_mutex_lock(&p->mutex);
	c = i < p->slots.n ? p->slots.v[i].call : NULL;
	if (c && c->id == id && c->client == client && !c->cancelled) {
		cancel(p, c);
		pool__wake(p);
	}
	pthread_mutex_unlock(&p->mutex);
}

void pool__release_id(struct call *c)
{
	struct http_pool *p = c->client->pool;
	struct slot *s;

	pthread_mutex_lock(&p->mutex);
	s = &p->slots.v[c->slot];
	s->call = NULL;
	s->turn++;
	s->next_free = p->free_slot;
	p->free_slot = c->slot;
	if (c->in_cancels) {
		if (c->prev_cancel)
			c->prev_cancel->next_cancel = c->next_cancel;
		else
			p->cancels = c->next_cancel;
		if (c->next_cancel)
			c->next_cancel->prev_cancel = c->prev_cancel;
	}
	pthread_mutex_unlock(&p->mutex);
}

void pool__forget(struct call *c)
{
	struct http_pool *p = c->client->pool;

	pthread_mutex_lock(&p->mutex);
	if (--p->n_calls == 0)
		p->n_most_calls = 0;
	if (--c->client->n_calls == 0)
		pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
	call__free(c);
}
