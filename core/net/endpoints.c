/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/endpoints.c - addresses that plugins answer, and requests that are inside a plugin
 *
 * The listener holds on to a route while a request is on its way, so an endpoint stays where it is for the program's life,
 * and is offered again when its owner comes back with the same one. Places are few and fixed: a reader needs no lock to
 * find them. The lock guards who owns which, and the visits; plugins are called without it.
 */
#include "core/net/endpoints.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"

#define SECOND	 INT64_C(1000000000)
#define GRACE_NS SECOND /* for plugins to notice that a request was cancelled */
#define AWAY_NS                                                                                    \
	(5 * SECOND) /* that an instance may take to come back, which its callers are told to wait for */

enum { MAX_ENDPOINTS = 256, MAX_NAMES = 64 };
#define MAX_BODY ((uint64_t)1 << 30)

struct endpoint {
	struct endpoints *all;
	struct http_route route;       /* never changes, like what it points to */
	_Atomic(const void *) owner;   /* NULL: withdrawn */
	_Atomic int64_t away_until_ns; /* and may come back until then */
	/* With the lock, and the owner's: */
	void (*answer)(void *ctx, const struct dcm_request *request, struct dcm_reply *reply);
	void *ctx;
};

/* A request that is with a plugin; on the stack of its thread. */
struct visit {
	struct visit *next, **link;
	const void *owner;
	struct dcm_budget *budget;
};

struct endpoints {
	const struct clock *clock;
	const struct http_routes *routes; /* of the core; NULL: none are known */
	pthread_mutex_t lock;
	pthread_cond_t left; /* a visit ended */
	struct visit *visits;
	struct arena texts;
	_Atomic uint32_t n;
	struct endpoint *v[MAX_ENDPOINTS]; /* [n] */
};

_Static_assert((int)DCM_REFUSAL_STATUS == (int)HTTP_REFUSAL_STATUS &&
		       (int)DCM_REFUSAL_CONNECT == (int)HTTP_REFUSAL_CONNECT,
	       "plugins name forms by the numbers that http.h has");
_Static_assert((int)DCM_ROLE_ADMIN == (int)HTTP_ROLE_ADMIN && (int)DCM_ROLE_READ == (int)HTTP_ROLE_READ,
	       "plugins name roles by the numbers that access.h has");

struct endpoints *endpoints__new(const struct clock *clock)
{
	struct endpoints *e = NEW(struct endpoints);

	if (!e)
		return NULL;
	e->clock = clock;
	pthread_mutex_init(&e->lock, NULL);
	cond__init(&e->left);
	return e;
}

void endpoints__set_routes(struct endpoints *e, const struct http_routes *routes)
{
	e->routes = routes;
}

void endpoints__free(struct endpoints *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->n; i++)
		free(e->v[i]);
	arena__fini(&e->texts);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->left);
	free(e);
}

const struct http_route *endpoints__at(struct endpoints *e, uint32_t i, bool *ret_end)
{
	const struct endpoint *p;

	*ret_end = i >= e->n;
	if (*ret_end)
		return NULL;
	p = e->v[i];
	return p->owner || clock__mono(e->clock) < p->away_until_ns ? &p->route : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

/* Content-Encoding, RFC 9110, 8.4: gzip, and what says that nothing was done. */
static bool unpack(const struct endpoint *p, const struct http_request *req, struct buf *room,
		   struct dcm_request *to, struct http_response *resp)
{
	struct dcm_str coding = http_request__header(req, "content-encoding");
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	to->body = (const uint8_t *)req->body.p;
	to->n_body = req->body.n;
	if (!coding.p || coding.n == 0 || str__eq(coding, STR("identity")))
		return true;
	if (!str__eq(coding, STR("gzip"))) {
		http_response__header(resp, "Accept-Encoding", "gzip");
		http_response__problem(
			resp, 415, "the body is packed by %.*s, which nobody here unpacks; send it in gzip or as it is",
			STR_ARG(coding));
		return false;
	}
	r = deflate__unpack(to->body, to->n_body, p->route.max_unpacked, room, &err);
	if (r < 0) {
		http_response__problem(resp, r == -E2BIG ? 413 : http__status_of(r), "the body: %s",
				       err.text);
		return false;
	}
	to->body = room->data;
	to->n_body = room->n;
	return true;
}

/* With the lock. */
static void enter(struct endpoints *e, struct visit *v)
{
	v->next = e->visits;
	v->link = &e->visits;
	if (v->next)
		v->next->link = &v->next;
	e->visits = v;
}

static void leave(struct endpoints *e, struct visit *v)
{
	pthread_mutex_lock(&e->lock);
	*v->link = v->next;
	if (v->next)
		v->next->link = v->link;
	pthread_cond_broadcast(&e->left);
	pthread_mutex_unlock(&e->lock);
}

static void ask(struct endpoint *p, const struct dcm_request *request, struct http_response *resp)
{
	struct visit v = { .budget = request->budget };
	void (*answer)(void *, const struct dcm_request *, struct dcm_reply *);
	void *ctx;

	pthread_mutex_lock(&p->all->lock);
	v.owner = p->owner;
	answer = p->answer;
	ctx = p->ctx;
	if (v.owner)
		enter(p->all, &v);
	pthread_mutex_unlock(&p->all->lock);
	if (!v.owner) {
		http_response__header(resp, "Retry-After", "1");
		http_response__problem(
			resp, 503,
			"who answers %s is being stopped, or starts anew; try again in a second",
			p->route.pattern);
		return;
	}
	answer(ctx, request, (struct dcm_reply *)resp);
	leave(p->all, &v);
}

/* What a plugin is asked, as long as answer() runs. */
struct asked {
	struct dcm_request request; /* first: what the plugin sees */
	const struct http_request *req;
	struct buf room; /* for what was unpacked */
};

void endpoints__request_waits(const struct dcm_request *request)
{
	struct asked *a = (struct asked *)(uintptr_t)request;

	buf__fini(&a->room);
	a->request.body = NULL;
	if (a->req->waits)
		a->req->waits((struct http_request *)(uintptr_t)a->req);
}

static void handle(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct endpoint *p = ctx;
	struct asked a = { .req = req };

	a.request = (struct dcm_request){
		.size = sizeof(a.request),
		.params = req->params,
		.n_params = req->n_params,
		.headers = req->headers,
		.n_headers = req->n_headers,
		.budget = req->budget,
		.labels = req->labels,
		.n_labels = req->n_labels,
		.peer = req->peer,
	};

	if (unpack(p, req, &a.room, &a.request, resp))
		ask(p, &a.request, resp);
	buf__fini(&a.room);
}

/* ------------------------------------------------------------------------------------------------
 * Replies
 */

static struct http_response *response_of(struct dcm_reply *reply)
{
	return (struct http_response *)reply;
}

void endpoints__reply_put(struct dcm_reply *reply, int status, const char *type, const void *data,
			  size_t n)
{
	struct http_response *resp = response_of(reply);

	resp->status = status;
	snprintf(resp->content_type, sizeof(resp->content_type), "%s", type);
	buf__reset(&resp->body);
	buf__append(&resp->body, data, n);
}

void endpoints__reply_header(struct dcm_reply *reply, const char *name, const char *value)
{
	/* A line of its own would be whatever a stranger had the plugin repeat. */
	if (value[strcspn(value, "\r\n")] == '\0')
		http_response__header(response_of(reply), name, "%s", value);
}

void endpoints__reply_problem(struct dcm_reply *reply, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	http_response__vproblem(response_of(reply), status, fmt, ap);
	va_end(ap);
}

/* ------------------------------------------------------------------------------------------------
 * Offers
 */

static bool too_many(const char *const *names)
{
	uint32_t n = 0;

	while (names && names[n] && n <= MAX_NAMES)
		n++;
	return n > MAX_NAMES;
}

static enum http_refusal refusal_of(const struct dcm_endpoint *from)
{
	return DCM_HAS(from, refusal) ? (enum http_refusal)from->refusal : HTTP_REFUSAL_PROBLEM;
}

static int check(const struct dcm_endpoint *from, struct dcm_error *err)
{
	if (!DCM_HAS(from, ctx) || !from->path || from->path[0] != '/' || !from->answer ||
	    !from->method || (strcmp(from->method, "GET") != 0 && strcmp(from->method, "POST") != 0))
		return error__set(
			err, -EINVAL, "serve: it lacks its size, GET or POST, a path from \"/\" on or its function");
	if (from->role > DCM_ROLE_ADMIN || from->max_body > MAX_BODY || from->max_unpacked > MAX_BODY)
		return error__set(err, -EINVAL,
				  "serve: %s: a role that is none, or a body of more than 1 GiB",
				  from->path);
	if (refusal_of(from) > HTTP_REFUSAL_CONNECT)
		return error__set(err, -EINVAL, "serve: %s: a form of refusals that is none", from->path);
	if (too_many(from->params) || too_many(from->repeats))
		return error__set(err, -EINVAL, "serve: %s: more than %d names of parameters",
				  from->path, MAX_NAMES);
	return 0;
}

static bool same_names(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

static enum http_method method_of(const struct dcm_endpoint *from)
{
	return strcmp(from->method, "POST") == 0 ? HTTP_POST : HTTP_GET;
}

static bool is_grpc(const struct dcm_endpoint *from)
{
	return DCM_HAS(from, grpc) && from->grpc;
}

static struct dcm_str descriptors_of(const struct dcm_endpoint *from)
{
	if (!DCM_HAS(from, n_descriptors) || !from->descriptors)
		return STR("");
	return (struct dcm_str){ (const char *)from->descriptors, from->n_descriptors };
}

/* Plugins are never unloaded: where they lie they stay. */
static bool same_bytes(struct dcm_str a, struct dcm_str b)
{
	return a.n == b.n && (a.n == 0 || a.p == b.p);
}

static bool same_place(const struct endpoint *p, const struct dcm_endpoint *from)
{
	return p->route.method == method_of(from) && strcmp(p->route.pattern, from->path) == 0;
}

static bool same(const struct endpoint *p, const struct dcm_endpoint *from)
{
	return same_place(p, from) && p->route.role == (enum http_role)from->role &&
	       p->route.grpc == is_grpc(from) && p->route.refusal == refusal_of(from) &&
	       same_bytes(p->route.descriptors, descriptors_of(from)) &&
	       p->route.max_body == from->max_body &&
	       p->route.max_unpacked == (from->max_unpacked ? from->max_unpacked : from->max_body) &&
	       same_names(p->route.params, from->params) &&
	       same_names(p->route.repeats, from->repeats);
}

static const char *copy_text(struct endpoints *e, const char *text, bool *ok)
{
	struct dcm_str copy = arena__str(&e->texts, str__of(text));

	*ok = *ok && copy.p;
	return copy.p;
}

static const char *const *copy_names(struct endpoints *e, const char *const *names, bool *ok)
{
	uint32_t n = 0;
	const char **copy;

	if (!names)
		return NULL;
	while (names[n])
		n++;
	copy = arena__zalloc(&e->texts, n + 1, sizeof(*copy));
	*ok = *ok && copy;
	for (uint32_t i = 0; i < n && *ok; i++)
		copy[i] = copy_text(e, names[i], ok);
	return copy;
}

/* Made, and not yet among the others. With the lock. */
static struct endpoint *make(struct endpoints *e, const struct dcm_endpoint *from)
{
	struct endpoint *p = NEW(struct endpoint);
	bool ok = true;

	if (!p)
		return NULL;
	p->all = e;
	p->route = (struct http_route){
		.method = method_of(from),
		.pattern = copy_text(e, from->path, &ok),
		.role = (enum http_role)from->role,
		.handler = handle,
		.ctx = p,
		.push = true,
		.max_body = from->max_body,
		.max_unpacked = from->max_unpacked ? from->max_unpacked : from->max_body,
		.grpc = is_grpc(from),
		.refusal = refusal_of(from),
		.descriptors = descriptors_of(from),
		.params = copy_names(e, from->params, &ok),
		.repeats = copy_names(e, from->repeats, &ok),
		.doc = copy_text(e, from->doc, &ok),
	};
	if (ok)
		return p;
	free(p);
	return NULL;
}

/* With the lock: the endpoint, without an owner, and the only one there; NULL: err says why not. */
static struct endpoint *place_for(struct endpoints *e, const struct dcm_endpoint *from, int *ret_r,
				  struct dcm_error *err)
{
	struct endpoint *p = NULL;

	for (uint32_t i = 0; i < e->n; i++) {
		if (same_place(e->v[i], from) && e->v[i]->owner) {
			*ret_r = error__set(
				err, -EEXIST,
				"serve: another instance answers %s already; one of them is enough",
				from->path);
			return NULL;
		}
		if (same(e->v[i], from))
			p = e->v[i];
		if (same_place(e->v[i], from))
			e->v[i]->away_until_ns = 0;
	}
	if (p)
		return p;
	if (e->n == MAX_ENDPOINTS) {
		*ret_r = error__set(err, -ENOSPC, "serve: %s: %d different endpoints were offered since the start; restart decima",
				    from->path, MAX_ENDPOINTS);
		return NULL;
	}
	p = make(e, from);
	if (!p) {
		*ret_r = error__nomem(err);
		return NULL;
	}
	e->v[e->n] = p;
	e->n++;
	return p;
}

int endpoints__offer(struct endpoints *e, const void *owner, const struct dcm_endpoint *from,
		     struct dcm_error *err)
{
	int r = check(from, err);
	struct endpoint *p;

	if (r < 0)
		return r;
	if (e->routes && http_routes__have(e->routes, method_of(from), str__of(from->path)))
		return error__set(err, -EEXIST, "serve: decima itself answers %s", from->path);
	pthread_mutex_lock(&e->lock);
	p = place_for(e, from, &r, err);
	if (p) {
		p->answer = from->answer;
		p->ctx = from->ctx;
		p->owner = owner;
	}
	pthread_mutex_unlock(&e->lock);
	return r;
}

/* With the lock. */
static bool is_inside(const struct endpoints *e, const void *owner)
{
	for (const struct visit *v = e->visits; v; v = v->next)
		if (v->owner == owner)
			return true;
	return false;
}

/* With the lock; false: somebody stays. */
static bool wait_until(struct endpoints *e, const void *owner, int64_t until_ns)
{
	struct timespec ts = { until_ns / SECOND, until_ns % SECOND };

	while (is_inside(e, owner))
		if (pthread_cond_timedwait(&e->left, &e->lock, &ts) == ETIMEDOUT)
			return !is_inside(e, owner);
	return true;
}

int endpoints__withdraw(struct endpoints *e, const void *owner, int64_t deadline_mono_ns)
{
	bool left;

	pthread_mutex_lock(&e->lock);
	for (uint32_t i = 0; i < e->n; i++)
		if (e->v[i]->owner == owner) {
			e->v[i]->away_until_ns = clock__mono(e->clock) + AWAY_NS;
			e->v[i]->owner = NULL;
		}
	left = wait_until(e, owner, deadline_mono_ns);
	if (!left) {
		for (struct visit *v = e->visits; v; v = v->next)
			if (v->owner == owner && v->budget)
				atomic_store(&v->budget->cancelled, 1);
		left = wait_until(e, owner, clock__mono(&clock__system) + GRACE_NS);
	}
	pthread_mutex_unlock(&e->lock);
	return left ? 0 : -ETIMEDOUT;
}
