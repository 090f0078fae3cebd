/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/requests.c - admission, bodies, lanes
 *
 * Memory for a body of a known length is set aside before it comes; of an unknown one, as it comes.
 */
#include "core/net/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/net/cors.h"
#include "core/net/talk.h"

enum {
	MAX_FILES = 32,	 /* that are being sent: a MiB and a piece of each is in memory, and */
	WHOLE_FILES = 4, /* on the disk as much as so many of the largest have */
	FILE_STEP_BYTES = 1 << 20,
	MAX_TALKS = 256, /* each may have TALK_OUT_BYTES */
	MAX_WATCHES = 1024, /* that say a few bytes now and then, to whoever asks: they take no place of the others */
	FILES_RETRY_S = 5,
	N_PUSHERS = 32, /* most wait for a store, which has one sync for all of them, */
	N_TURNS = 4,	/* and so many are unpacked and decoded */
	STEP_BYTES = 64 << 10
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

/* Whether the handler can be asked; else the response is there. */
static bool open_message(struct requests *r, struct exchange *x)
{
	const struct http_route *route;

	if (!x->grpc)
		return true;
	route = http_routes__find(r->routes, x->request.method, x->request.path);
	if (!route || !route->grpc) {
		http_response__problem(&x->response, 501, "%.*s is no method of gRPC here",
				       STR_ARG(x->request.path));
		return false;
	}
	if (x->request.file && x->grpc == GRPC_WEB_TEXT) {
		http_response__problem(
			&x->response,
			501, "messages that go into a file are not taken in base64; send application/grpc-web+proto");
		return false;
	}
	/* Its messages stay in their frames. */
	if (x->request.file)
		return true;
	return grpc__open(x->grpc, &x->request,
			  route->max_unpacked ? route->max_unpacked : route->max_body, &x->message,
			  &x->response);
}

static void run_handler(struct requests *r, struct exchange *x)
{
	x->request.body = buf__view(&x->body);
	if (open_message(r, x))
		http_routes__dispatch(r->routes, &x->request, &x->response);
	exchange__tag(x);
	exchange__pack(x);
	stats__counter_add(r->n_handled, 1);
}

static void note_refusal(struct requests *r, const struct exchange *x)
{
	if (x->response.status >= 400)
		stats__counter_add(r->n_refused, 1);
}

static void give_back_body(struct requests *r, struct exchange *x)
{
	share__give(x->share, SHARE_BODIES, x->reserved);
	pthread_mutex_lock(&r->lock);
	r->reserved -= x->reserved;
	pthread_mutex_unlock(&r->lock);
	x->reserved = 0;
}

static void give_turn(struct requests *r, struct exchange *x)
{
	if (x->has_turn)
		sem_post(&r->turns);
	x->has_turn = false;
}

/* The body goes, and what was unpacked of it, and another one has its turn. */
static void handler_waits(struct http_request *request)
{
	struct exchange *x = (struct exchange *)((char *)request - offsetof(struct exchange, request));

	buf__fini(&x->message);
	buf__fini(&x->body);
	request->body = STR("");
	give_back_body(x->requests, x);
	give_turn(x->requests, x);
}

static void take_turn(struct requests *r, struct exchange *x)
{
	while (sem_wait(&r->turns) < 0)
		;
	x->has_turn = true;
	x->requests = r;
	x->request.waits = handler_waits;
}

static void run_in_lane(void *ctx, struct exchange *x)
{
	if (x->request.file)
		exchange__write(x);
	if (x->writes)
		return;
	if (x->is_push)
		take_turn(ctx, x);
	run_handler(ctx, x);
	note_refusal(ctx, x);
	give_turn(ctx, x);
}

/* On the thread of a lane. */
static void after_lane(void *ctx, struct exchange *x)
{
	(void)ctx;
	x->answered = !x->writes;
	x->carrier->hand_back(x);
}

/* ------------------------------------------------------------------------------------------------
 * Memory for bodies
 */

static bool reserve(struct requests *r, struct exchange *x, uint64_t n)
{
	bool room;

	pthread_mutex_lock(&r->lock);
	room = n <= r->o->bodies_max_bytes - r->reserved &&
	       share__take(x->share, SHARE_BODIES, n, x->reserved, share__most(r->o->bodies_max_bytes));
	if (room)
		r->reserved += n;
	pthread_mutex_unlock(&r->lock);
	x->reserved += room ? n : 0;
	return room;
}

static void refuse_memory(struct exchange *x)
{
	http_response__header(&x->response, "Retry-After", "1");
	http_response__problem(
		&x->response,
		503, "other requests' bodies, or this client's others, take the memory; try again in a second");
}

/* Sets memory aside for a body that is on its way; false: the response says why not. */
static bool admit_memory(struct requests *r, struct exchange *x, const struct http_route *route)
{
	bool said = x->body_bytes != EXCHANGE_UNSAID;
	uint64_t n = said ? x->body_bytes : route->max_body;

	x->max_body = route->max_body;
	/* It may have none after all. */
	if (!said && x->carrier->answers_early)
		return true;
	if (route->max_body == 0) {
		http_response__problem(&x->response, 413,
				       "%s takes no body; send the request without one", route->pattern);
		return false;
	}
	if (n > route->max_body) {
		http_response__problem(&x->response, 413,
				       "the body has %" PRIu64
				       " bytes, and %s takes at most %" PRIu64,
				       n, route->pattern, route->max_body);
		return false;
	}
	if (reserve(r, x, said || n < STEP_BYTES ? n : STEP_BYTES))
		return true;
	refuse_memory(x);
	return false;
}

/* Sets n bytes aside for a body that goes into a file, where none may have more than max_bytes. */
static bool reserve_file(struct requests *r, struct exchange *x, uint64_t n, uint64_t max_bytes)
{
	bool is_new = !x->has_file_place, room;

	pthread_mutex_lock(&r->lock);
	room = (!is_new || r->n_files < MAX_FILES) &&
	       r->files_bytes / WHOLE_FILES + (n + WHOLE_FILES - 1) / WHOLE_FILES <= max_bytes;
	if (room && is_new)
		room = share__take(x->share, SHARE_FILES, 1, 0, share__most(MAX_FILES));
	if (room && !share__take(x->share, SHARE_FILE_BYTES, n, x->file_reserved,
				 share__most(WHOLE_FILES * max_bytes))) {
		share__give(x->share, SHARE_FILES, is_new);
		room = false;
	}
	if (room) {
		r->n_files += is_new;
		r->files_bytes += n;
		x->file_reserved += n;
		x->has_file_place = true;
	}
	pthread_mutex_unlock(&r->lock);
	return room;
}

/* Makes a file for a body that is on its way; false: the response, mostly the handler's, says why not. */
static bool admit_file(struct requests *r, struct exchange *x, const struct http_route *route)
{
	uint64_t n = x->body_bytes != EXCHANGE_UNSAID ? x->body_bytes : FILE_STEP_BYTES;

	/* A larger one is refused as such. */
	if (!reserve_file(r, x, n < route->max_body ? n : route->max_body, route->max_body)) {
		http_response__header(&x->response, "Retry-After", "%d", FILES_RETRY_S);
		http_response__problem(
			&x->response,
			503, "%d files, or as many bytes as %d of the largest have, are being sent already, or this client's share of them; try again in a moment",
			MAX_FILES, WHOLE_FILES);
		return false;
	}
	exchange__begin_file(x, r->o->body_dir, route->max_body);
	if (x->file.error)
		run_handler(r, x);
	return !x->file.error;
}

/*
 * Whoever may not send the body, or sends too large a one, hears so before he does. Requests without a
 * body are refused by requests__complete(), so that their connections stay; but an empty file is one.
 */
static bool admit_body(struct requests *r, struct exchange *x)
{
	const struct http_route *route = http_routes__find(r->routes, x->request.method, x->request.path);

	if (x->body_bytes == 0 && !(route && route->to_file) && !x->talk)
		return true;
	route = http_routes__admit(r->routes, &x->request, &x->response);
	if (route && x->talk)
		return true;
	if (route && route->to_file)
		return admit_file(r, x, route);
	return route && admit_memory(r, x, route);
}

/* Cuts the base path off; false: it alone was asked for, and pages know their place by the slash behind it. */
static bool cut_base(const struct requests *r, struct exchange *x)
{
	struct dcm_str base = str__of(r->o->base_path), *path = &x->request.path;

	if (base.n == 0 || !str__starts(*path, base))
		return true;
	if (path->n == base.n) {
		http_response__lead_to(&x->response, r->o->base_path, STR("/"), x->request.query);
		return false;
	}
	if (path->p[base.n] == '/') {
		path->p += base.n;
		path->n -= base.n;
	}
	return true;
}

/* False: it cannot be answered as what it says to be. */
static bool take_form(struct exchange *x)
{
	enum grpc_form form = grpc__form(&x->request);

	/* What a call came to stands behind its answer. */
	if (form == GRPC_HTTP2 && !x->carrier->answers_early) {
		http_response__problem(&x->response,
				       415, "gRPC needs HTTP/2; over HTTP/1.1 send application/grpc-web");
		return false;
	}
	x->grpc = form;
	if (form != GRPC_NONE && !grpc__is_protobuf(&x->request)) {
		http_response__problem(
			&x->response, 501, "messages are read as protobuf alone; send %s+proto",
			form == GRPC_HTTP2 ? "application/grpc" : "application/grpc-web");
		return false;
	}
	if (grpc__timeout_ns(&x->request) >= 0)
		return true;
	http_response__problem(&x->response, 400, "grpc-timeout is no number of H, M, S, m, u or n");
	return false;
}

/* Whoever refuses from here on, it is said as the address's clients read it. */
static bool note_route(struct requests *r, struct exchange *x, const struct http_route **ret)
{
	*ret = http_routes__find(r->routes, x->request.method, x->request.path);
	x->refusal = *ret ? (*ret)->refusal : HTTP_REFUSAL_PROBLEM;
	return true;
}

/* A call of a method that is a stream; false: there cannot be another one now. */
static bool begin_talk(struct requests *r, struct exchange *x, const struct http_route *route)
{
	const bool watches = route && route->streams == HTTP_WATCHES;
	const uint32_t most = watches ? MAX_WATCHES : MAX_TALKS;
	uint32_t *place = watches ? &r->n_watches : &r->n_talks;

	if (x->grpc != GRPC_HTTP2 || !route || !route->streams)
		return true;
	if (r->stopping) {
		http_response__problem(&x->response, 503,
				       "decima is stopping; ask it again when it is back");
		return false;
	}
	pthread_mutex_lock(&r->lock);
	if (*place < most && (watches || share__take(x->share, SHARE_TALKS, 1, 0, share__most(most)))) {
		++*place;
		x->talk_place = place;
	}
	pthread_mutex_unlock(&r->lock);
	if (x->talk_place && talk__begin(x, route))
		return true;
	http_response__problem(
		&x->response,
		503, "%u streams are open already, or this client's share of them; try again in a moment",
		most);
	return false;
}

/* What is wrong with a call's head is said as gRPC says it, as far as that is known by then. */
static bool read_head(struct exchange *x, struct dcm_str method)
{
	if (exchange__read_head(x, method))
		return true;
	if (x->carrier->answers_early)
		x->grpc = grpc__form(&x->request);
	return false;
}

static void note_peer(struct exchange *x, const struct access_peer *peer)
{
	uint32_t n = peer->is_unix ? (uint32_t)snprintf(x->peer, sizeof(x->peer), "unix:%u", peer->uid)
				   : address__format(&peer->address, x->peer);

	x->request.peer = (struct dcm_str){ x->peer, n };
}

/* With the lock. */
static void leave_rules(struct access_rules *rules)
{
	if (rules && rules->free && --rules->n_users == 0)
		rules->free(rules);
}

static void take_rules(struct requests *r, struct exchange *x)
{
	pthread_mutex_lock(&r->lock);
	x->rules = r->rules;
	if (x->rules->free)
		x->rules->n_users++;
	pthread_mutex_unlock(&r->lock);
}

void requests__set_rules(struct requests *r, struct access_rules *rules)
{
	pthread_mutex_lock(&r->lock);
	leave_rules(r->rules);
	r->rules = rules;
	pthread_mutex_unlock(&r->lock);
}

bool requests__head(struct requests *r, struct exchange *x, const struct access_peer *peer,
		    struct dcm_str method)
{
	const struct http_route *route = NULL;

	x->share = peer->share;
	note_peer(x, peer);
	take_rules(r, x);
	if (read_head(x, method) && cut_base(r, x) && note_route(r, x, &route) &&
	    !cors__answers(x->rules, r->routes, &x->request, &x->response) && take_form(x) &&
	    access__check(x->rules, peer, &x->request, &x->response) && begin_talk(r, x, route) &&
	    admit_body(r, x)) {
		if (x->talk)
			stats__counter_add(r->n_handled, 1);
		return true;
	}
	/* A method that is not there, not a thing that it was asked for. */
	if (x->grpc && x->response.status == 404)
		x->response.status = 501;
	x->answered = true;
	note_refusal(r, x);
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * Bodies
 */

/* A piece of one that goes into a file. When there is enough in memory, a lane writes it. */
static bool take_for_file(struct requests *r, struct exchange *x, const char *data, size_t n)
{
	uint64_t want = x->file.n + x->body.n + n, left = x->file_bytes - x->file_reserved;

	/* Of a length that was not said. */
	if (!x->file.error && want > x->file_reserved && want <= x->file_bytes &&
	    !reserve_file(r, x, left < FILE_STEP_BYTES ? left : FILE_STEP_BYTES, x->file_bytes))
		x->file.error = -EAGAIN;
	x->writes = !exchange__take(x, data, n);
	if (x->writes && lanes__give(r->lanes, LANE_FILES, x))
		return false;
	/* The answer has to wait for the rest, which is thrown away. */
	if (x->writes)
		x->file.error = -EAGAIN;
	x->writes = false;
	return true;
}

/* In whole steps, but no more than the route takes. */
static bool make_room(struct requests *r, struct exchange *x, uint64_t want)
{
	uint64_t whole = (want + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;

	if (want <= x->reserved)
		return true;
	return reserve(r, x, (whole < x->max_body ? whole : x->max_body) - x->reserved);
}

bool requests__data(struct requests *r, struct exchange *x, const char *data, size_t n)
{
	uint64_t want = x->body.n + n;

	if (x->request.file)
		return take_for_file(r, x, data, n);
	if (x->body.error)
		return true;
	if (want > x->max_body)
		x->body.error = -EFBIG;
	else if (!make_room(r, x, want))
		x->body.error = -EAGAIN;
	else
		buf__append(&x->body, data, n);
	return true;
}

bool requests__is_hopeless(const struct exchange *x)
{
	return x->body.error || x->file.error;
}

/* ------------------------------------------------------------------------------------------------
 * Handlers
 */

static enum lane lane_of(const struct exchange *x, const struct http_route *route)
{
	return x->request.file	   ? LANE_FILES
	       : route->control	   ? LANE_CONTROL
	       : route->push	   ? LANE_PUSHES
	       : route->takes_time ? LANE_TIME
				   : LANE_QUESTIONS;
}

static bool give_to_lane(struct requests *r, struct exchange *x, const struct http_route *route)
{
	const enum lane lane = lane_of(x, route);

	if (lane != LANE_PUSHES)
		return lanes__give(r->lanes, lane, x);
	/* One client's leave some places for others. */
	x->is_push = share__take(x->share, SHARE_PUSHES, 1, 0,
				 share__most(N_PUSHERS + r->o->max_waiting));
	return x->is_push && lanes__give(r->lanes, lane, x);
}

static void refuse_body(struct exchange *x, const struct http_route *route)
{
	if (x->body.error == -EFBIG)
		http_response__problem(&x->response, 413,
				       "the body has more than the %" PRIu64 " bytes that %s takes",
				       x->max_body, route->pattern);
	else if (x->body.error == -EAGAIN)
		refuse_memory(x);
	else
		http_response__problem(&x->response, 503, "out of memory for the body; try again later");
}

static void refuse_turn(struct requests *r, struct exchange *x)
{
	http_response__header(&x->response, "Retry-After", "1");
	if (r->stopping)
		http_response__problem(&x->response, 503,
				       "decima is stopping; ask it again when it is back");
	else
		http_response__problem(
			&x->response,
			503, "%u requests wait already, or this client's share of them; try again in a second",
			r->o->max_waiting);
}

/*
 * Whether its handler runs on the carrier's thread. A thousand that are quick are not, together: when
 * these had their time, lanes take the others. Who asks whether Decima lives is answered all the same.
 */
static bool runs_at_once(const struct exchange *x, const struct http_route *route)
{
	bool is_page = route && strcmp(route->pattern, "/") == 0;

	/* Who may not ask is told so, and takes no place of those who may. */
	return !route || x->request.role < route->role ||
	       (route->quick && (!x->is_late || (route->role == HTTP_ROLE_NONE && !is_page)));
}

bool requests__complete(struct requests *r, struct exchange *x)
{
	const struct http_route *route = http_routes__find(r->routes, x->request.method, x->request.path);
	const int64_t most = route && route->patient ? INT64_MAX : r->o->request_timeout_ns;
	const int64_t asked = grpc__timeout_ns(&x->request), now = now_ns();
	const int64_t granted = asked < most ? asked : most;

	x->budget.deadline_mono_ns = granted < INT64_MAX - now ? now + granted : 0;
	x->budget.max_bytes = r->o->request_max_bytes;
	x->response.body.limit = r->o->request_max_bytes;
	if (x->body.error)
		refuse_body(x, route);
	else if (runs_at_once(x, route))
		run_handler(r, x);
	else if (give_to_lane(r, x, route))
		return true;
	else
		refuse_turn(r, x);
	x->answered = true;
	note_refusal(r, x);
	return false;
}

void requests__end(struct requests *r, struct exchange *x)
{
	if (!x)
		return;
	share__give(x->share, SHARE_BODIES, x->reserved);
	share__give(x->share, SHARE_FILES, x->has_file_place);
	share__give(x->share, SHARE_FILE_BYTES, x->file_reserved);
	share__give(x->share, SHARE_TALKS, x->talk_place == &r->n_talks);
	share__give(x->share, SHARE_PUSHES, x->is_push);
	pthread_mutex_lock(&r->lock);
	leave_rules(x->rules);
	r->reserved -= x->reserved;
	r->n_files -= x->has_file_place;
	r->files_bytes -= x->file_reserved;
	if (x->talk_place)
		--*x->talk_place;
	pthread_mutex_unlock(&r->lock);
	exchange__free(x);
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

void requests__init(struct requests *r, const struct listener_options *o,
		    const struct http_routes *routes, const struct log *log, struct stats *stats)
{
	*r = (struct requests){ .o = o, .routes = routes, .log = log, .rules = o->rules };
	pthread_mutex_init(&r->lock, NULL);
	sem_init(&r->turns, 0, N_TURNS);
	if (!stats)
		return;
	r->n_handled = stats__counter(stats, "decima_http_requests_total",
				      "Requests that reached a handler.", STATS_NO_LABELS);
	r->n_refused = stats__counter(stats, "decima_http_refused_total",
				      "Requests and connections answered with an error or closed.",
				      STATS_NO_LABELS);
}

int requests__start(struct requests *r, struct dcm_error *err)
{
	return lanes__new(
		&(struct lanes_config){
			.n_threads = { [LANE_QUESTIONS] = r->o->n_workers, [LANE_PUSHES] = N_PUSHERS, [LANE_CONTROL] = 1, [LANE_FILES] = 1, [LANE_TIME] = 2 },
			.max_waiting = r->o->max_waiting,
			.handle = run_in_lane,
			.done = after_lane,
			.ctx = r },
		&r->lanes, err);
}

static void name_stuck(void *ctx, const struct exchange *x)
{
	struct requests *r = ctx;
	const struct http_route *route = http_routes__find(r->routes, x->request.method, x->request.path);

	log__line(r->log, DCM_LOG_WARNING, "server",
		  "a request to %s has not come back, though it was cancelled; it is left behind",
		  route ? route->pattern : "nowhere");
}

int requests__stop(struct requests *r, int64_t deadline_mono_ns)
{
	bool again = r->stopping;

	r->stopping = true;
	if (!r->lanes || lanes__stop(r->lanes, deadline_mono_ns) == 0)
		return 0;
	if (!again)
		lanes__each(r->lanes, name_stuck, r);
	return -ETIMEDOUT;
}

void requests__fini(struct requests *r, struct stats *stats)
{
	if (stats) {
		stats__unregister(stats, r->n_handled);
		stats__unregister(stats, r->n_refused);
	}
	leave_rules(r->rules);
	lanes__free(r->lanes);
	pthread_mutex_destroy(&r->lock);
	sem_destroy(&r->turns);
}
