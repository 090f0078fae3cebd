/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/delivery.c - one request to the other side, waited for, and what its answer means
 */
#include "plugins/output/delivery/delivery.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/url.h"
#include "plugins/output/delivery/rpc_status.h"

#define SECOND		 INT64_C(1000000000)
#define WAIT_MAX_S	 INT64_C(3600)	/* whatever the other side says */
#define ANSWER_MAX_BYTES (4 << 20)	/* OTLP 1.11, Export: of a response */
#define SENTENCE_MAX	 300		/* bytes of the other side's words that are told on */
#define FAILING_NS	 (600 * SECOND) /* delivery.h: ten minutes of failures */
#define FAILURES_MIN	 5
/* So many requests given up in a row are the server's fault. A batch and the one profile of it that it fails for are two. */
#define GIVEN_UP_MOST 3
/* What servers of gRPC take in a message unless they are told otherwise. */
#define USUAL_BYTES ((size_t)4 << 20)

/* grpc.github.io/grpc/core/md_doc_statuscodes.html */
enum {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_NONE = -1
};

/* With requests that the other side fails over; of all deliveries of an output, whose writer alone looks at it. */
struct delivery_patience {
	int64_t ns;
	uint32_t n_given_up;	       /* requests, and none went well since */
	uint64_t given_up;	       /* the last of them, as failures.of; 0: none */
	int64_t given_up_ns, taken_ns; /* the last ones; 0: none */
};

struct delivery {
	const struct dcm_host *host;
	struct dcm_http_client *client;
	int64_t not_before_ns; /* the other side has asked for patience until then */
	struct {
		uint64_t of; /* hash of the request; 0: none failed there lately */
		uint32_t n;
		int64_t first_ns;
	} failures; /* of the other side's, on one request, in a row */
	struct delivery_patience own, *patience;
	const struct delivery_request *request;

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t answered;
	bool is_answered;
	int fault, status, grpc_status;
	bool is_yes;	 /* over HTTP, by its status */
	bool is_strange; /* ... and it is not such a server's */
	int verdict;	 /* of request->judge */
	bool has_retry;	 /* a RetryInfo came */
	int64_t wait_ns;
	char place[DELIVERY_PLACE]; /* the request's, as sentences have it */
	char sentence[512];
};

struct delivery *delivery__new(const struct dcm_host *host, struct dcm_http_client *client)
{
	struct delivery *d = NEW(struct delivery);

	if (!d)
		return NULL;
	d->host = host;
	d->client = client;
	d->own.ns = FAILING_NS;
	d->patience = &d->own;
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

int delivery__check_url(const char *option, const char *url, struct dcm_error *err)
{
	char shown[DELIVERY_PLACE];

	if (!url__is_askable(url) || !url__is_http(url) || strpbrk(url, "?#"))
		return error__set(err, -EINVAL,
				  "%s: \"%s\" is not http:// or https:// with a host and no query",
				  option, url__shown(url, shown, sizeof(shown)));
	return 0;
}

char *delivery__url(const char *url, const char *path)
{
	struct buf b = { 0 };
	size_t n = strlen(url);

	while (n > 0 && url[n - 1] == '/')
		n--;
	buf__append(&b, url, n);
	buf__text(&b, path);
	buf__byte(&b, 0);
	if (b.error) {
		buf__fini(&b);
		return NULL;
	}
	return (char *)buf__take(&b, &n);
}

/* ---- answers (client thread) ---- */

/* Of that name, the last: a trailer stands behind the headers. NULL: none. */
static const struct dcm_str *header(const struct dcm_http_reply *reply, const char *name)
{
	const struct dcm_str *found = NULL;

	for (uint32_t i = 0; i < reply->n_headers; i++)
		if (str__eq(reply->headers[i].name, str__of(name)))
			found = &reply->headers[i].value;
	return found;
}

/* A number of [unit] ns in a header; 0 where it is none. */
static int64_t number_in(const struct dcm_str *value, int64_t unit)
{
	int64_t v = 0;

	if (!value || units__parse_int(*value, "", &v) < 0 || v <= 0)
		return 0;
	return v < WAIT_MAX_S * SECOND / unit ? v * unit : WAIT_MAX_S * SECOND;
}

/* "Wed, 21 Oct 2015 07:28:00 GMT" from now on. */
static int64_t until(const struct delivery *d, const struct dcm_str *date)
{
	char text[64];
	struct tm tm = { 0 };
	const char *end;
	int64_t seconds;

	if (!date || date->n >= sizeof(text))
		return 0;
	memcpy(text, date->p, date->n);
	text[date->n] = '\0';
	end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (!end || *end)
		return 0;
	seconds = (int64_t)timegm(&tm) - d->host->real_ns(d->host) / SECOND;
	if (seconds < 0)
		return 0;
	return (seconds < WAIT_MAX_S ? seconds : WAIT_MAX_S) * SECOND;
}

static int64_t wait_asked_for(const struct delivery *d, const struct dcm_http_reply *reply,
			      int64_t retry_info_ns)
{
	const struct dcm_str *retry = header(reply, "retry-after");
	int64_t ns = number_in(retry, SECOND);

	if (ns == 0)
		ns = until(d, retry);
	if (ns == 0)
		ns = number_in(header(reply, "grpc-retry-pushback-ms"), SECOND / 1000);
	return ns ? ns : retry_info_ns;
}

static bool is_protobuf(const struct dcm_http_reply *reply)
{
	const struct dcm_str *type = header(reply, "content-type");

	return type && str__starts(*type, STR("application/x-protobuf"));
}

static struct rpc_status details_of(const struct delivery *d, const struct dcm_http_reply *reply)
{
	const struct dcm_str *coded = header(reply, "grpc-status-details-bin");
	const struct rpc_status none = { .message = STR("") };

	if (d->request->grpc)
		return coded ? rpc_status__of_trailer(*coded) : none;
	if (is_protobuf(reply) && reply->n)
		return rpc_status__read((struct dcm_str){ (const char *)reply->data, (uint32_t)reply->n });
	return none;
}

/* Of JSON what stands behind the key, up to the next quote that is not escaped; NULL without the key. */
static const char *text_of_key(struct dcm_str json, struct dcm_str key, uint32_t *ret_n)
{
	const char *from = json.n ? memmem(json.p, json.n, key.p, key.n) : NULL;
	size_t n = 0, rest;

	if (!from)
		return NULL;
	from += key.n;
	rest = json.n - (size_t)(from - json.p);
	while (n < rest && from[n] != '"')
		n += from[n] == '\\' && n + 1 < rest ? 2 : 1;
	*ret_n = (uint32_t)(n < rest ? n : rest);
	return from;
}

/* A google.rpc.Status says it, the "detail" of a problem (RFC 9457), the "message" of Connect's errors; else all of it. */
static struct dcm_str words_of(const struct dcm_http_reply *reply)
{
	const struct dcm_str body = { (const char *)reply->data, (uint32_t)reply->n };
	struct dcm_str words = body;

	if (is_protobuf(reply))
		return rpc_status__read(body).message;
	words.p = text_of_key(body, STR("\"detail\":\""), &words.n);
	if (!words.p)
		words.p = text_of_key(body, STR("\"message\":\""), &words.n);
	return words.p ? words : body;
}

/* Appends somebody's words: no line ends, no controls, so long at most. */
static void add_words(char *to, size_t size, struct dcm_str words)
{
	size_t n = strlen(to), end = n + SENTENCE_MAX < size - 1 ? n + SENTENCE_MAX : size - 1;

	for (uint32_t i = 0; i < words.n && n < end; i++) {
		unsigned char c = (unsigned char)words.p[i];

		to[n++] = c < ' ' || c == 0x7f ? ' ' : (char)c;
	}
	to[n] = '\0';
	to[str__utf8_cut(to, n)] = '\0';
}

static int grpc_status(const struct dcm_http_reply *reply)
{
	const struct dcm_str *s = header(reply, "grpc-status");
	int64_t v = GRPC_NONE;

	return s && units__parse_int(*s, "", &v) == 0 && v >= 0 && v <= 16 ? (int)v : GRPC_NONE;
}

/*
 * A server that will not read so large a message may end the stream in the middle of it, and then its status is often
 * not to be had.
 */
static bool is_cut_short(const struct delivery *d)
{
	return d->request->grpc && d->fault == -EPROTO && d->grpc_status == GRPC_NONE &&
	       d->request->n > USUAL_BYTES;
}

static struct dcm_str media_type(const struct dcm_http_reply *reply)
{
	const struct dcm_str *type = header(reply, "content-type");

	return type ? str__media_type(*type) : STR("");
}

static bool is_type(struct dcm_str type, const char *name)
{
	return type.n == strlen(name) && strncasecmp(type.p, name, type.n) == 0;
}

static bool is_page(struct dcm_str type)
{
	return is_type(type, "text/html") || is_type(type, "application/xhtml+xml");
}

/* gigapipe says {} to OTLP without a type, which Go makes text/plain. */
static bool is_empty_object(struct dcm_str type, const struct dcm_http_reply *reply)
{
	return (type.n == 0 || is_type(type, "text/plain")) && reply->n >= 2 &&
	       memcmp(reply->data, "{}", 2) == 0;
}

/* Is a 2xx what such a server says? */
static bool looks_right(const struct delivery_request *q, const struct dcm_http_reply *reply)
{
	const struct dcm_str type = media_type(reply);

	if (is_page(type) || (q->answer_header && !header(reply, q->answer_header)))
		return false;
	if (!q->answer_types || (reply->n == 0 && !reply->fault))
		return true;
	for (const char *const *t = q->answer_types; *t; t++)
		if (is_type(type, *t) ||
		    (strcmp(*t, "application/json") == 0 && is_empty_object(type, reply)))
			return true;
	return false;
}

/* An answer that is too long to be read has been given all the same. */
static bool is_yes(const struct dcm_http_reply *reply)
{
	return reply->status >= 200 && reply->status < 300 && (!reply->fault || reply->fault == -EFBIG);
}

/* With the lock. */
static void let_judge(struct delivery *d, const struct dcm_http_reply *reply)
{
	struct buf words = { 0 };

	d->verdict = d->request->judge(
		reply->status, (struct dcm_str){ (const char *)reply->data, (uint32_t)reply->n }, &words);
	snprintf(d->sentence, sizeof(d->sentence), "%s answered %d%s", d->place, reply->status,
		 words.n ? ": " : "");
	add_words(d->sentence, sizeof(d->sentence), buf__view(&words));
	buf__fini(&words);
}

/* With the lock. */
static void say_strange(struct delivery *d, const struct dcm_http_reply *reply)
{
	const char *must = d->request->answer_header;
	struct dcm_str type = media_type(reply);

	type = type.n ? type : STR("no Content-Type");
	type.n = type.n < 60 ? type.n : 60;
	if (must && !header(reply, must))
		snprintf(d->sentence, sizeof(d->sentence),
			 "%s answered %d without the header %s and with ", d->place, reply->status,
			 must);
	else
		snprintf(d->sentence, sizeof(d->sentence), "%s answered %d with ", d->place,
			 reply->status);
	add_words(d->sentence, sizeof(d->sentence), type);
	add_words(d->sentence,
		  sizeof(d->sentence), STR(", as no server of this kind does: does url lead to a login page, or to something else?"));
}

/* With the lock. */
static void say_redirect(struct delivery *d, const struct dcm_http_reply *reply, struct dcm_str to)
{
	snprintf(d->sentence,
		 sizeof(d->sentence), "%s answered %d, and a POST does not follow that: write the address as url, or sign in, to ",
		 d->place, reply->status);
	add_words(d->sentence, sizeof(d->sentence), to);
}

/* With the lock. */
static void say(struct delivery *d, const struct dcm_http_reply *reply)
{
	const struct dcm_str *message = header(reply, "grpc-message");
	struct buf words = { 0 };
	int n;

	const struct dcm_str *location = header(reply, "location");

	if (d->is_strange) {
		say_strange(d, reply);
		return;
	}
	if (!reply->fault && reply->status / 100 == 3 && location) {
		say_redirect(d, reply, *location);
		return;
	}
	if (reply->fault && d->grpc_status == GRPC_NONE) {
		snprintf(d->sentence, sizeof(d->sentence), "%.380s%s", reply->sentence,
			 is_cut_short(d) ? "; the request is larger than the 4 MiB that servers "
					   "of gRPC take unless told otherwise: raise that there"
					 : "");
		return;
	}
	if (d->grpc_status != GRPC_NONE)
		n = snprintf(d->sentence, sizeof(d->sentence),
			     "%s answered with gRPC's status %d: ", d->place, d->grpc_status);
	else
		n = snprintf(d->sentence, sizeof(d->sentence), "%s answered %d%s: ", d->place,
			     reply->status, d->request->grpc ? " without a status of gRPC" : "");
	if (d->grpc_status != GRPC_NONE && message)
		url__unescape(&words, *message);
	add_words(d->sentence, sizeof(d->sentence),
		  d->grpc_status == GRPC_NONE && reply->n ? words_of(reply) : buf__view(&words));
	buf__fini(&words);
	if (n > 2 && d->sentence[n] == '\0')
		d->sentence[n - 2] = '\0';
}

/* With the lock. */
static void keep_body(const struct delivery *d, const struct dcm_http_reply *reply)
{
	if (d->request->ret_body && reply->n)
		buf__append(d->request->ret_body, reply->data, reply->n);
}

static void done(void *ctx, const struct dcm_http_reply *reply)
{
	struct delivery *d = ctx;
	const struct rpc_status details = details_of(d, reply);

	pthread_mutex_lock(&d->lock);
	d->fault = reply->fault;
	d->status = reply->status;
	/* A server that says no in the middle of a request ends the stream: what it has said stands all the same. */
	d->grpc_status = d->request->grpc ? grpc_status(reply) : GRPC_NONE;
	d->has_retry = details.has_retry;
	d->wait_ns = wait_asked_for(d, reply, details.retry_ns);
	d->is_yes = !d->request->grpc && is_yes(reply);
	d->is_strange = d->is_yes && !looks_right(d->request, reply);
	if (d->request->judge && !reply->fault && !d->is_strange)
		let_judge(d, reply);
	else
		say(d, reply);
	keep_body(d, reply);
	d->is_answered = true;
	pthread_cond_signal(&d->answered);
	pthread_mutex_unlock(&d->lock);
}

/* ---- sending ---- */

/* Want of some resource may pass, but not that of room for one message. */
static bool is_too_large(const struct delivery *d)
{
	/* grpc-go, grpc-java, grpc-dotnet; a Decima */
	static const char *const words[] = { "larger than max", "exceeds maximum size",
					     "maximum configured message size", "too large",
					     "the body has more than" };

	if (d->grpc_status != GRPC_RESOURCE_EXHAUSTED)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(d->sentence, words[i]))
			return true;
	return false;
}

static int judge_grpc(const struct delivery *d)
{
	return d->grpc_status == GRPC_INVALID_ARGUMENT || d->grpc_status == GRPC_OUT_OF_RANGE ||
			       is_too_large(d)
		       ? -EBADMSG
		       : -EAGAIN;
}

static int judge_http(const struct delivery *d)
{
	return d->status == 400 || d->status == 413 || d->status == 415 || d->status == 422 ? -EBADMSG
											    : -EAGAIN;
}

static int judge_otlp_grpc(const struct delivery *d)
{
	switch (d->grpc_status) {
	case GRPC_RESOURCE_EXHAUSTED:
		return d->has_retry && !is_too_large(d) ? -EAGAIN : -EBADMSG;
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
	/* Of who asks, and where: */
	case GRPC_NOT_FOUND:
	case GRPC_PERMISSION_DENIED:
	case GRPC_UNIMPLEMENTED:
	case GRPC_UNAUTHENTICATED:
		return -EAGAIN;
	default:
		return -EBADMSG;
	}
}

static int judge_otlp_http(const struct delivery *d)
{
	static const int again[] = { 401, 403, 404, 405, 407, 408, 429, 502, 503, 504 };

	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
		if (d->status == again[i])
			return -EAGAIN;
	return d->status >= 400 ? -EBADMSG : -EAGAIN;
}

static int judge(const struct delivery *d)
{
	bool otlp = d->request->rules == DELIVERY_OTLP;

	if (d->grpc_status == GRPC_OK)
		return 0;
	if (d->grpc_status != GRPC_NONE)
		return otlp ? judge_otlp_grpc(d) : judge_grpc(d);
	if (d->is_strange)
		return -EAGAIN;
	if (d->is_yes)
		return 0;
	if (d->fault)
		return is_cut_short(d) ? -EBADMSG : -EAGAIN;
	if (d->request->judge)
		return d->verdict;
	/* What answers without a status of gRPC stands before the server. */
	return otlp && !d->request->grpc ? judge_otlp_http(d) : judge_http(d);
}

/*
 * Does it say no to this request, though not that its bytes are wrong? Not: who asks, where, how much at once, and when; nor
 * what the request's own judge knows better.
 */
static bool may_be_of_the_request(const struct delivery *d)
{
	static const int not_its_own[] = { 401, 402, 403, 404, 405, 407,
					   408, 410, 421, 425, 426, 429 };

	switch (d->grpc_status) {
	case GRPC_NONE:
		break;
	case GRPC_UNKNOWN:
	case GRPC_INTERNAL:
	case GRPC_ALREADY_EXISTS:
	case GRPC_FAILED_PRECONDITION:
		return true;
	default:
		return false;
	}
	for (size_t i = 0; i < sizeof(not_its_own) / sizeof(not_its_own[0]); i++)
		if (d->status == not_its_own[i])
			return false;
	return !d->fault &&
	       (d->status == 500 || (!d->request->judge && d->status >= 400 && d->status < 500));
}

/* Is it the request by now? */
static bool fails_for_good(struct delivery *d, int64_t now_ns)
{
	const struct delivery_request *q = d->request;
	const struct delivery_patience *p = d->patience;
	uint64_t of = !may_be_of_the_request(d) ? 0
		      : q->same_as		? q->same_as
						: hash__bytes(q->data, q->n, 0) | 1;

	if (of != d->failures.of) {
		d->failures.of = of;
		d->failures.n = 0;
		d->failures.first_ns = now_ns;
	}
	if (!of || (p->given_up && of == p->given_up))
		return of;
	if (++d->failures.n < FAILURES_MIN || now_ns - d->failures.first_ns < p->ns)
		return false;
	/* Where others went well in between it is this one; else only one of them all, each time. */
	return p->taken_ns > d->failures.first_ns || !p->given_up_ns || now_ns - p->given_up_ns >= p->ns;
}

/*
 * When the next request goes well after one was given up, it was that one's fault, and the next of its kind has a quarter of
 * the time; when the next ones do not, it is the server's.
 */
static void learn(struct delivery *d, bool is_given_up, bool is_taken, int64_t now_ns)
{
	struct delivery_patience *p = d->patience;

	/* The writer sends one that was refused a few times more. */
	if (is_given_up && p->given_up != d->failures.of) {
		p->given_up = d->failures.of;
		p->given_up_ns = now_ns;
		if (++p->n_given_up >= GIVEN_UP_MOST)
			p->ns = FAILING_NS;
	}
	if (!is_taken)
		return;
	p->taken_ns = now_ns;
	if (p->n_given_up > 0)
		p->ns /= 4;
	p->n_given_up = 0;
}

void delivery__share_patience(struct delivery *d, struct delivery *with)
{
	d->patience = with->patience;
}

static int start(struct delivery *d, int64_t timeout_ns, struct dcm_error *err)
{
	static const struct dcm_http_header grpc[] = { { { "content-type", 12 },
							 { "application/grpc+proto", 22 } } };
	const struct delivery_request *q = d->request;
	const struct dcm_http_call call = {
		.size = sizeof(call),
		.method = q->method ? q->method : "POST",
		.url = q->url,
		.headers = q->grpc && !q->n_headers ? grpc : q->headers,
		.n_headers = q->grpc && !q->n_headers ? 1 : q->n_headers,
		.body = q->data,
		.n_body = q->n,
		.timeout_ns = timeout_ns,
		.max_bytes = ANSWER_MAX_BYTES,
		.grpc = q->grpc,
		.keeps_method = true,
		.done = done,
		.ctx = d,
	};

	d->is_answered = false;
	return d->host->http_start(d->client, &call, NULL, err);
}

int delivery__check_patience(const struct delivery *d, struct dcm_error *err)
{
	if (d->host->mono_ns(d->host) < d->not_before_ns)
		return error__set(err, -EAGAIN, "%s; it asked for patience", d->sentence);
	return 0;
}

int delivery__begin(struct delivery *d, const struct delivery_request *request,
		    int64_t deadline_mono_ns, struct dcm_error *err)
{
	const int64_t now = d->host->mono_ns(d->host);
	int r = delivery__check_patience(d, err);

	/* Of what is not sent there is no status. */
	d->status = 0;
	d->fault = 0;
	if (r < 0)
		return r;
	url__shown(request->place ? request->place : request->url, d->place, sizeof(d->place));
	if (deadline_mono_ns <= now)
		return error__set(err, -EAGAIN, "no time is left for %s", d->place);
	d->request = request;
	r = start(d, deadline_mono_ns - now, err);
	return r == 0 || r == -EINVAL ? r : -EAGAIN;
}

int delivery__end(struct delivery *d, struct dcm_error *err)
{
	bool is_given_up;
	int64_t now;
	int r;

	/* The call has a deadline of its own: it always ends. */
	pthread_mutex_lock(&d->lock);
	while (!d->is_answered)
		pthread_cond_wait(&d->answered, &d->lock);
	r = judge(d);
	now = d->host->mono_ns(d->host);
	is_given_up = fails_for_good(d, now) && r == -EAGAIN;
	r = is_given_up ? -EBADMSG : r;
	learn(d, is_given_up, r == 0, now);
	pthread_mutex_unlock(&d->lock);
	d->not_before_ns = r == -EAGAIN ? now + d->wait_ns : 0;
	return r < 0 ? error__set(err, r, "%s", d->sentence) : 0;
}

int delivery__send(struct delivery *d, const struct delivery_request *request,
		   int64_t deadline_mono_ns, struct dcm_error *err)
{
	int r = delivery__begin(d, request, deadline_mono_ns, err);

	return r < 0 ? r : delivery__end(d, err);
}

int delivery__status(const struct delivery *d)
{
	return d->fault ? 0 : d->status;
}

bool delivery__is_unheard_of(const struct delivery *d)
{
	/* Of the client's faults those that may come when the other side has it all. */
	return d->fault == -EPROTO || d->fault == -ECONNRESET || d->fault == -EIO ||
	       d->fault == -ETIMEDOUT || d->fault == -ECANCELED ||
	       (!d->fault && (d->status >= 500 || d->status == 408));
}
