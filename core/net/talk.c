/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/talk.c - frames apart, a handler's turn for each, and what it says into frames
 */
#include "core/net/talk.h"

#include <errno.h>
#include <string.h>

#include "core/base/clock.h"

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

bool talk__begin(struct exchange *x, const struct http_route *route)
{
	struct talk *t = arena__zalloc(&x->arena, 1, sizeof(*t));
	int64_t granted = grpc__timeout_ns(&x->request);

	if (!t)
		return false;
	t->route = route;
	t->last_said_ns = now_ns();
	x->budget.deadline_mono_ns = granted < INT64_MAX - t->last_said_ns ? t->last_said_ns + granted
									   : INT64_MAX;
	x->talk = t;
	x->request.talk = &t->seen;
	return true;
}

void talk__fini(struct talk *t)
{
	if (!t)
		return;
	buf__fini(&t->in);
	buf__fini(&t->out);
}

void talk__stop(struct exchange *x, int status, const char *why)
{
	http_response__problem(&x->response, status, "%s", why);
	x->talk->is_over = true;
}

/* The handler's turn. */
static void turn(struct exchange *x, const struct http_routes *routes)
{
	struct talk *t = x->talk;
	struct http_response *r = &x->response;

	r->status = 200;
	buf__reset(&r->body);
	http_routes__dispatch(routes, &x->request, r);
	if (r->status == 204)
		return;
	if (r->status != 200) {
		t->is_over = true;
		return;
	}
	if (t->out_at == t->out.n) {
		buf__reset(&t->out);
		t->out_at = 0;
	}
	grpc__put_message(&t->out, &r->body);
	buf__reset(&r->body);
	if (t->out.error) {
		buf__fini(&t->out);
		t->out_at = 0;
		talk__stop(x, 503, "out of memory for the answer; try again later");
	} else if (t->out.n - t->out_at > TALK_OUT_BYTES) {
		talk__stop(x, 413, "too many answers wait to be read; read them before asking on");
	}
}

/* One message, in the request's body. */
static void answer(struct exchange *x, const struct http_routes *routes)
{
	struct talk *t = x->talk;

	if (t->n_messages > 0 && t->route->streams == HTTP_WATCHES) {
		talk__stop(x, 501, "the message: another one follows; this method takes one");
		return;
	}
	t->n_messages++;
	t->looked_ns = t->last_said_ns = now_ns();
	turn(x, routes);
}

void talk__take(struct exchange *x, const struct http_routes *routes, const uint8_t *data, size_t n)
{
	struct talk *t = x->talk;
	size_t at = 0;
	int64_t step;

	if (t->is_over)
		return;
	buf__append(&t->in, data, n);
	if (t->in.error) {
		talk__stop(x, 503, "out of memory for the message; try again later");
		return;
	}
	do {
		struct dcm_str rest = { (const char *)t->in.data + at, (uint32_t)(t->in.n - at) };

		step = grpc__next(rest, &x->request, t->route->max_body, &x->message, &x->response);
		if (step > 0)
			answer(x, routes);
		else if (step < 0)
			t->is_over = true;
		at += step > 0 ? (size_t)step : 0;
	} while (step > 0 && !t->is_over);
	x->request.body = (struct dcm_str){ "", 0 };
	memmove(t->in.data, t->in.data + at, t->in.n - at);
	t->in.n -= at;
}

void talk__end(struct exchange *x)
{
	struct talk *t = x->talk;

	if (t->is_over)
		return;
	if (t->in.n > 0) {
		talk__stop(x, 400, "the message: it is shorter than its head says");
	} else if (t->route->streams == HTTP_TALKS) {
		x->response.status = 200;
		t->is_over = true;
	} else if (t->n_messages == 0) {
		talk__stop(x, 400, "the message: there is none; a call has one");
	}
}

bool talk__look(struct exchange *x, const struct http_routes *routes, int64_t now)
{
	struct talk *t = x->talk;
	bool watches = t->route->streams == HTTP_WATCHES && t->n_messages > 0;

	if (t->is_over)
		return false;
	if (now > x->budget.deadline_mono_ns) {
		talk__stop(x, 504, "the time that grpc-timeout grants is over");
	} else if (!watches && now - t->last_said_ns > TALK_IDLE_NS) {
		talk__stop(x, 503, "nothing was asked for five minutes; call again");
	} else if (watches && t->out_at == t->out.n && now - t->looked_ns > TALK_LOOK_NS) {
		t->looked_ns = now;
		t->seen.is_look = true;
		turn(x, routes);
		t->seen.is_look = false;
	}
	return talk__has_news(t);
}

size_t talk__read(struct talk *t, uint8_t *to, size_t n)
{
	size_t rest = t->out.n - t->out_at;

	n = n < rest ? n : rest;
	if (n > 0)
		memcpy(to, t->out.data + t->out_at, n);
	t->out_at += n;
	return n;
}
