/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_leg.c - a call: its requests, one after the other, and its one answer
 *
 * A call may take several requests: to where it was redirected, and once more with a new token. Each
 * has a handle of curl's from the pool's spares, and only while it is under way. Redirects are ours
 * to follow, because curl would take the headers of http_headers along to strangers.
 *
 * Everything here is the client thread's. Callbacks of curl note what they saw; what is done about it
 * is done in call__ended(), outside of curl.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/grpc_timeout.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/net/http_fault.h"
#include "core/net/http_pool_inside.h"

/* Of a kept body when the call names no bound; and of bodies that nobody wants. */
#define BODY_MAX_BYTES	 (UINT64_C(64) << 20)
#define PASSED_MAX_BYTES (UINT64_C(1) << 20)
#define SAID_MAX_BYTES	 ((size_t)16384)
/* Heads of an answer, all together. curl, which finds one among the others, takes the square of their number in time. */
#define HEAD_MAX_BYTES (256U << 10)
#define HEAD_MAX_LINES 512U
#define CONNECT_MAX_MS 30000L
/* For so long nothing that was sent need be acknowledged, by a host that has moved, or a gateway that has forgotten us. */
#define UNHEARD_MAX_MS 20000U
/* A host that has moved is found soon; connections are kept, so that few names are looked up. */
#define NAMES_MAX_S	 10L
#define MS		 INT64_C(1000000)
#define TOKEN_TIMEOUT_NS INT64_C(30000000000)
#define TOKEN_MAX_BYTES	 (UINT64_C(1) << 20)

static void begin_request(struct call *c);

/* ------------------------------------------------------------------------------------------------
 * curl's callbacks
 */

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static int status_of(const struct call *c)
{
	long status = 0;

	if (c->curl)
		curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static enum body body_of(const struct call *c)
{
	int status = status_of(c);

	if (c->ask.take && status / 100 == 2)
		return BODY_TAKEN;
	return c->setup->follow_redirects && is_redirect(status) ? BODY_PASSED_OVER : BODY_KEPT;
}

static uint64_t limit_of(const struct call *c)
{
	if (c->kind == BODY_PASSED_OVER)
		return PASSED_MAX_BYTES;
	if (c->ask.max_bytes)
		return c->ask.max_bytes;
	return c->kind == BODY_TAKEN ? UINT64_MAX : BODY_MAX_BYTES;
}

static size_t take_body(char *data, size_t size, size_t n_items, void *ctx)
{
	struct call *c = ctx;
	size_t n = size * n_items;

	c->last_byte_ns = pool__now();
	if (c->kind == BODY_UNKNOWN)
		c->kind = body_of(c);
	if (n > limit_of(c) - c->n_bytes) {
		c->stop = STOP_TOO_LARGE;
		return CURL_WRITEFUNC_ERROR;
	}
	c->n_bytes += n;
	if (c->kind == BODY_TAKEN && !c->ask.take(c->ask.ctx, (const uint8_t *)data, n))
		c->stop = STOP_TAKE;
	/* Who takes bodies has bounds of his own for them: of what is none of his, the beginning says what it is. */
	if (c->kind == BODY_KEPT && c->ask.take)
		n = c->body.n + n <= SAID_MAX_BYTES ? n : SAID_MAX_BYTES - c->body.n;
	if (c->kind == BODY_KEPT) {
		buf__append(&c->body, data, n);
		if (c->body.error)
			c->stop = STOP_NOMEM;
	}
	return c->stop ? CURL_WRITEFUNC_ERROR : size * n_items;
}

static size_t see_header(char *data, size_t size, size_t n, void *ctx)
{
	struct call *c = ctx;

	(void)data;
	c->last_byte_ns = pool__now();
	c->n_head_lines++;
	if (size * n > HEAD_MAX_BYTES - c->n_head_bytes || c->n_head_lines > HEAD_MAX_LINES) {
		c->stop = STOP_HEAD_TOO_LARGE;
		return CURL_WRITEFUNC_ERROR;
	}
	c->n_head_bytes += (uint32_t)(size * n);
	return size * n;
}

/* It has to wait no more for a connection of its own, if it ever had to. */
static void let_go(struct call *c)
{
	if (!c->let_go_ns)
		c->let_go_ns = pool__now();
}

/*
 * No process that we start has our connections. One whose other end is gone without a word ends soon: a call that is given
 * up leaves a connection of HTTP/2 open for the next, which the kernel would take for alive for a quarter of an hour.
 */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	const unsigned int unheard_ms = UNHEARD_MAX_MS;
	struct call *c = ctx;
	curl_socket_t fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

	(void)purpose;
	let_go(c);
	c->looks_up = false;
	if (fd >= 0 && a->family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof(unheard_ms));
	return fd;
}

static int see_lookup(void *state, void *unused, void *ctx)
{
	struct call *c = ctx;

	(void)state;
	(void)unused;
	let_go(c);
	c->looks_up = true;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * One request
 */

static CURL *handle_get(struct http_pool *p)
{
	return p->n_spare ? p->spare[--p->n_spare] : curl_easy_init();
}

static void handle_put(struct http_pool *p, CURL *curl)
{
	if (p->n_spare == SPARE_HANDLES) {
		curl_easy_cleanup(curl);
		return;
	}
	curl_easy_reset(curl);
	p->spare[p->n_spare++] = curl;
}

/* What the last request has left, but for what it answered. */
static void end_request(struct call *c)
{
	struct http_pool *p = c->client->pool;

	if (!c->curl)
		return;
	curl_multi_remove_handle(c->part->multi, c->curl);
	handle_put(p, take_ptr(c->curl));
	http_setup__lists_fini(&c->lists);
	c->kind = BODY_UNKNOWN;
	c->unwatched = 0;
}

static bool is_method(const struct call *c, const char *method)
{
	return strcmp(c->method, method) == 0;
}

/* A file on its way to the server; what it lacks at its end fails the call. */
static size_t read_file(char *to, size_t size, size_t n, void *ctx)
{
	struct call *c = ctx;
	ssize_t got = pread(c->ask.file->fd, to, size * n, (off_t)c->sent_bytes);

	if (got < 0)
		return CURL_READFUNC_ABORT;
	c->sent_bytes += (uint64_t)got;
	return (size_t)got;
}

/* To be sent once more, as after a redirection. */
static int seek_file(void *ctx, curl_off_t offset, int origin)
{
	struct call *c = ctx;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	c->sent_bytes = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void send_file(struct call *c)
{
	CURL *curl = c->curl;

	c->sent_bytes = 0;
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->ask.file->n);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_file);
	curl_easy_setopt(curl, CURLOPT_READDATA, c);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_file);
	curl_easy_setopt(curl, CURLOPT_SEEKDATA, c);
}

static void set_method(struct call *c)
{
	CURL *curl = c->curl;

	if (is_method(c, "HEAD"))
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	if (c->ask.file) {
		send_file(c);
	} else if (c->ask.n_body || is_method(c, "POST")) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->ask.n_body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, c->data ? c->data : "");
	}
	if (!is_method(c, "GET") && !is_method(c, "HEAD") && !is_method(c, "POST"))
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, c->method);
	else if (is_method(c, "GET") && c->ask.n_body)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "GET");
}

static void set_callbacks(struct call *c)
{
	CURL *curl = c->curl;

	curl_easy_setopt(curl, CURLOPT_PRIVATE, c);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->detail);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, see_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, c);
	curl_easy_setopt(curl, CURLOPT_RESOLVER_START_FUNCTION, see_lookup);
	curl_easy_setopt(curl, CURLOPT_RESOLVER_START_DATA, c);
}

/* What is the same for every call. */
static int set_usual(struct call *c)
{
	const struct http_pool *p = c->client->pool;
	CURL *curl = c->curl;

	set_callbacks(c);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	/* A look-up of a name that is given up ends by itself, in its own thread. */
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MAX_MS);
	curl_easy_setopt(curl, CURLOPT_DNS_CACHE_TIMEOUT, NAMES_MAX_S);
	/* Where its Expect: cannot be helped (add_headers), nobody waits for what comes of it. */
	curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
	return curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") ||
			       curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, p->encodings) ||
			       curl_easy_setopt(curl, CURLOPT_USERAGENT, p->user_agent)
		       ? -ENOMEM
		       : 0;
}

/* Of what is sent, which servers of objects ask for, and curl says from 8 on. */
static int add_hash(struct call *c)
{
	struct sha256_ctx sha;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char text[2 * SHA256_DIGEST_SIZE + 1];

	/* A file is read when it is sent. */
	if (c->ask.file)
		return http_setup__add_header(&c->lists.headers, "X-Amz-Content-Sha256",
					      "UNSIGNED-PAYLOAD");
	sha256_init(&sha);
	sha256_update(&sha, c->ask.n_body, c->data);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return http_setup__add_header(&c->lists.headers, "X-Amz-Content-Sha256", text);
}

/*
 * TE: without it, proxies on the way may drop the trailers. grpc-timeout: who knows how long this side waits answers within
 * that time, with a reason.
 */
static int add_grpc_headers(struct call *c)
{
	char text[GRPC_TIMEOUT_TEXT];

	if (http_setup__add_header(&c->lists.headers, "TE", "trailers") < 0)
		return -ENOMEM;
	if (c->ask.timeout_ns <= 0)
		return 0;
	grpc_timeout__format(c->begun_ns + c->ask.timeout_ns - pool__now(), text);
	return http_setup__add_header(&c->lists.headers, "grpc-timeout", text);
}

/* The call's own headers. curl's Expect: would cost a turn to the server and back. */
static int add_headers(struct call *c)
{
	const struct curl_slist *h;
	struct curl_slist *all;

	for (h = c->headers; h; h = h->next) {
		/* What they say of who asks is for the first server. */
		bool is_secret = strncasecmp(h->data, "authorization", 13) == 0 ||
				 strncasecmp(h->data, "cookie", 6) == 0;

		if (is_secret && c->first.url && !http_place__trusts(&c->first, &c->place))
			continue;
		all = curl_slist_append(c->lists.headers, h->data);
		if (!all)
			return -ENOMEM;
		c->lists.headers = all;
	}
	/* curl before 8 signs these too, which it then does not send. */
	if (c->setup->sign)
		return add_hash(c);
	all = curl_slist_append(c->lists.headers, "Expect:");
	if (all)
		c->lists.headers = all;
	/* curl would say that it is a form. */
	if (all && !c->has_type) {
		all = curl_slist_append(all, "Content-Type:");
		if (all)
			c->lists.headers = all;
	}
	if (!all)
		return -ENOMEM;
	return c->ask.grpc ? add_grpc_headers(c) : 0;
}

/* 0: there is one in the headers, or none is needed; 1: it has to be fetched. */
static int add_token(struct call *c, bool trusted)
{
	struct http_token *t = c->client->token;
	const char *header;

	c->uses_token = t && trusted && c->setup == c->client->setup && !c->has_authorization;
	if (!c->uses_token)
		return 0;
	header = http_token__header(t, pool__now(), &c->token_version);
	return header ? http_setup__add_header(&c->lists.headers, "Authorization", header) : 1;
}

static void set_http2(struct call *c)
{
	if (c->place.tls) {
		curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
		return;
	}
	curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	/* curl before 8.0.0 takes a connection of that kind that it uses again for one of HTTP/1.1. */
	if (curl_version_info(CURLVERSION_NOW)->version_num < 0x080000) {
		curl_easy_setopt(c->curl, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(c->curl, CURLOPT_FORBID_REUSE, 1L);
	}
}

static int prepare(struct call *c, struct dcm_error *err)
{
	bool trusted = !c->first.url || http_place__trusts(&c->first, &c->place);
	const struct http_setup_request q = { .place = &c->place,
					      .trusted = trusted,
					      .has_authorization = c->has_authorization,
					      .now_mono_ns = pool__now() };
	int r = add_token(c, trusted);

	if (r != 0)
		return r;
	c->detail[0] = '\0';
	c->let_go_ns = 0;
	c->looks_up = false;
	c->kind = BODY_UNKNOWN;
	c->n_bytes = 0;
	c->n_head_bytes = c->n_head_lines = 0;
	buf__reset(&c->body);
	c->part = pool__part(c->client->pool, &c->place, c->setup->http_proxy || c->setup->https_proxy);
	c->curl = c->part ? handle_get(c->client->pool) : NULL;
	if (!c->curl || set_usual(c) < 0 || add_headers(c) < 0)
		return error__nomem(err);
	set_method(c);
	r = http_setup__apply(c->setup, c->curl, &q, &c->lists, err);
	if (r < 0)
		return r;
	if (c->ask.grpc)
		set_http2(c);
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->lists.headers);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

static void wake_waiting(struct dcm_http_client *client, int fault, const char *sentence)
{
	struct call *c = take_ptr(client->waiting);

	while (c) {
		struct call *next = c->next_waiting;

		c->next_waiting = NULL;
		if (fault < 0)
			call__finish(c, fault, sentence);
		else
			begin_request(c);
		c = next;
	}
}

static int ask_for_token(struct dcm_http_client *client, struct dcm_error *err);

static void token_came(void *ctx, const struct dcm_http_reply *reply)
{
	struct dcm_http_client *client = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	int r = reply->fault;

	client->is_asking = false;
	if (r < 0)
		error__set(&err, r, "%s", reply->sentence);
	else
		r = http_token__take(client->token, pool__now(), reply->status, reply->data,
				     reply->n, &err);
	if (r == -EAGAIN) {
		r = ask_for_token(client, &err);
		if (r == 0)
			return;
	} else if (r < 0 && reply->fault == 0) {
		error__prefix(&err, "the server of oauth2.token_url");
	}
	if (r < 0)
		error__prefix(&err, "no token");
	wake_waiting(client, r, err.text);
}

static int ask_for_token(struct dcm_http_client *client, struct dcm_error *err)
{
	static const struct dcm_http_header headers[] = {
		{ { "Content-Type", 12 }, { "application/x-www-form-urlencoded", 33 } },
		{ { "Accept", 6 }, { "application/json", 16 } },
	};
	struct buf form = { 0 };
	struct dcm_http_call ask = { .size = sizeof(ask),
				     .method = "POST",
				     .url = http_token__url(client->token),
				     .headers = headers,
				     .n_headers = 2,
				     .timeout_ns = TOKEN_TIMEOUT_NS,
				     .max_bytes = TOKEN_MAX_BYTES,
				     .done = token_came,
				     .ctx = client };
	int r = http_token__ask(client->token, pool__now(), &form, err);

	ask.body = form.data;
	ask.n_body = form.n;
	if (r == 0)
		r = pool__start(client, http_token__setup(client->token), &ask, NULL, err);
	buf__wipe(&form);
	client->is_asking = r == 0;
	return r;
}

static void wait_for_token(struct call *c)
{
	struct dcm_http_client *client = c->client;
	struct dcm_error err = DCM_ERROR_INIT;
	int r = client->is_asking ? 0 : ask_for_token(client, &err);

	if (r < 0) {
		call__finish(c, r, err.text);
		return;
	}
	c->next_waiting = client->waiting;
	client->waiting = c;
}

static void wait_no_more(struct call *c)
{
	for (struct call **at = &c->client->waiting; *at; at = &(*at)->next_waiting)
		if (*at == c) {
			*at = c->next_waiting;
			return;
		}
}

/* ------------------------------------------------------------------------------------------------
 * Begin, go on
 */

static void begin_request(struct call *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = prepare(c, &err);

	if (r == 1) {
		wait_for_token(c);
		return;
	}
	c->last_byte_ns = pool__now();
	if (r == 0 && curl_multi_add_handle(c->part->multi, c->curl))
		r = error__nomem(&err);
	if (r == -ENOMEM)
		call__finish(c, r, "not enough memory");
	else if (r < 0)
		call__finish(c, r, err.text);
}

static int64_t next_look(const struct call *c)
{
	int64_t end = c->ask.timeout_ns > 0 ? c->begun_ns + c->ask.timeout_ns : INT64_MAX;
	int64_t quiet = c->ask.silence_ns > 0 ? c->last_byte_ns + c->ask.silence_ns : INT64_MAX;

	return end < quiet ? end : quiet;
}

void call__begin(struct call *c)
{
	c->last_byte_ns = c->begun_ns;
	c->wake_ns = next_look(c);
	if (!pool__set_timer(c))
		call__finish(c, -ENOMEM, "not enough memory");
	else
		begin_request(c);
}

/*
 * Among so many calls it waited for a connection, for most of its time: those that end before it may leave it one for the
 * rest. In which order curl lets them have one is not known.
 */
static bool held_back(const struct call *c, char ret[static 160])
{
	struct http_pool *p = c->client->pool;
	const int64_t now = pool__now(), held_until = c->let_go_ns ? c->let_go_ns : now;
	long n_most;
	bool all;

	pthread_mutex_lock(&p->mutex);
	n_most = p->n_most_calls;
	pthread_mutex_unlock(&p->mutex);
	if (n_most <= c->part->n_host_max || held_until - c->last_byte_ns < now - held_until)
		return false;
	all = n_most > c->part->n_max;
	snprintf(ret, 160, "no connection, as all %ld%s may be taken; raise the limit of open files (ulimit -n), of which they are a part",
		 all ? c->part->n_max : c->part->n_host_max, all ? "" : " to one server or proxy");
	return true;
}

/* How far it has come, for who asks why it took so long. */
static void describe_wait(struct call *c, char ret[static 160])
{
	curl_off_t connected = 0, sent = 0;
	int status = status_of(c);

	if (!c->curl) {
		snprintf(ret, 160, "no token has come; does its server answer?");
		return;
	}
	curl_easy_getinfo(c->curl, CURLINFO_CONNECT_TIME_T, &connected);
	curl_easy_getinfo(c->curl, CURLINFO_PRETRANSFER_TIME_T, &sent);
	if (c->n_bytes)
		snprintf(ret, 160, "%" PRIu64 " bytes of it have come; is it too large for that time?",
			 c->n_bytes);
	else if (status)
		snprintf(ret, 160, "only its headers have come; does the server hang?");
	else if (sent)
		snprintf(ret, 160, "the server takes the request and says nothing; does it hang?");
	else if (connected)
		snprintf(ret, 160, "connected, and then nothing; does the server speak %s there?",
			 c->place.tls ? "TLS" : "HTTP");
	else if (!held_back(c, ret))
		snprintf(ret,
			 160, c->looks_up ? "its name is still being looked up; do the servers of the DNS answer?" : "no connection; does the host answer there?");
}

void call__timer(struct call *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char took[48], why[160];
	int64_t now = pool__now();
	bool late = c->ask.timeout_ns > 0 && now - c->begun_ns >= c->ask.timeout_ns;

	if (c->unwatched) {
		error__sys(&err, c->unwatched, "%s: cannot wait for its socket", c->place.shown);
		call__finish(c, c->unwatched, err.text);
		return;
	}
	c->wake_ns = next_look(c);
	if (!late && c->wake_ns > now) {
		pool__set_timer(c);
		return;
	}
	describe_wait(c, why);
	/* What is left until a deadline is no round number. */
	units__format_duration(((late ? c->ask.timeout_ns : c->ask.silence_ns) + MS / 2) / MS * MS, took);
	error__set(&err, -ETIMEDOUT,
		   late ? "%s: no whole answer within %s: %s" : "%s: not a byte for %s: %s",
		   c->place.shown, took, why);
	call__finish(c, -ETIMEDOUT, err.text);
}

/* ------------------------------------------------------------------------------------------------
 * Over
 */

/* "Location" of the answer at hand; NULL: none. */
static const char *location_of(struct call *c)
{
	struct curl_header *h;

	return curl_easy_header(c->curl, "Location", 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? h->value
											   : NULL;
}

/* As browsers and Go: what was a POST asks for the result. */
static bool changes_method(struct call *c, int status)
{
	if (status == 307 || status == 308 || is_method(c, "GET") || is_method(c, "HEAD"))
		return false;
	return status == 303 || is_method(c, "POST");
}

static void change_method(struct call *c, int status)
{
	if (!changes_method(c, status))
		return;
	snprintf(c->method, sizeof(c->method), "GET");
	free(c->data);
	c->data = NULL;
	c->ask.n_body = 0;
	c->ask.file = NULL;
}

static void redirect(struct call *c, int status, const char *location)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct http_place to;
	int r = c->n_redirects == REDIRECTS_MAX ? -ELOOP
						: http_place__redirected(&c->place, location, &to);

	if (r == -ELOOP)
		error__set(&err, r, "%s: more than %d redirects; does it lead in a circle?",
			   c->first.url ? c->first.shown : c->place.shown, REDIRECTS_MAX);
	else if (r == -EINVAL)
		r = error__set(&err, -EPROTO, "%s: redirects to what cannot be asked", c->place.shown);
	if (r < 0) {
		call__finish(c, r, r == -ENOMEM ? "not enough memory" : err.text);
		return;
	}
	end_request(c);
	c->n_redirects++;
	if (c->first.url)
		http_place__fini(&c->place);
	else
		c->first = c->place;
	c->place = to;
	change_method(c, status);
	begin_request(c);
}

static void explain(struct call *c, CURLcode code)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct http_fault f = { .url = c->place.shown,
				.code = (int)code,
				.detail = c->detail,
				.remedy = "does something listen there?",
				.max_bytes = limit_of(c) };
	long os_error = 0;
	int r;

	if (c->stop == STOP_TAKE) {
		call__finish(c, -ECANCELED, "ended by who takes the answer");
		return;
	}
	if (c->stop == STOP_NOMEM)
		f.code = CURLE_OUT_OF_MEMORY;
	curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &os_error);
	f.os_error = (int)os_error;
	curl_easy_getinfo(c->curl, CURLINFO_SSL_VERIFYRESULT, &f.verdict);
	if (c->stop == STOP_TOO_LARGE)
		r = error__set(&err, -EFBIG, "%s: the answer is larger than %" PRIu64 " bytes, unpacked",
			       c->place.shown, limit_of(c));
	else if (c->stop == STOP_HEAD_TOO_LARGE)
		r = error__set(&err, -EFBIG, "%s: the answer has more headers than %u lines or %u bytes",
			       c->place.shown, HEAD_MAX_LINES, HEAD_MAX_BYTES);
	else
		r = http_fault__explain(&f, &err);
	call__finish(c, r, err.text);
}

void call__ended(struct call *c, CURLcode code)
{
	int status = status_of(c);
	const char *location;

	if (code != CURLE_OK) {
		explain(c, code);
		return;
	}
	location = c->setup->follow_redirects && is_redirect(status) &&
				   !(c->ask.keeps_method && changes_method(c, status))
			   ? location_of(c)
			   : NULL;
	if (location) {
		redirect(c, status, location);
	} else if (status == 401 && c->uses_token && !c->renewed_token) {
		c->renewed_token = true;
		http_token__forget(c->client->token, c->token_version);
		end_request(c);
		begin_request(c);
	} else {
		call__finish(c, 0, "");
	}
}

/* Names in lower case; what there is no memory for is left out, and told. */
static int read_headers(struct call *c, struct arena *arena, struct dcm_http_reply *ret)
{
	const unsigned origins = CURLH_HEADER | (c->ask.grpc ? CURLH_TRAILER : 0);
	struct curl_header *h = NULL;
	struct dcm_http_header *all;
	uint32_t n = 0;

	if (!c->curl)
		return 0;
	while ((h = curl_easy_nextheader(c->curl, origins, -1, h)))
		n++;
	all = n ? arena__zalloc(arena, n, sizeof(*all)) : NULL;
	if (n && !all)
		return -ENOMEM;
	n = 0;
	h = NULL;
	while ((h = curl_easy_nextheader(c->curl, origins, -1, h))) {
		struct dcm_str name = arena__str(arena, str__of(h->name));
		struct dcm_str value = arena__str(arena, str__of(h->value));

		if (!name.p || !value.p)
			return -ENOMEM;
		for (uint32_t i = 0; i < name.n; i++)
			if (name.p[i] >= 'A' && name.p[i] <= 'Z')
				((char *)(uintptr_t)name.p)[i] |= 0x20;
		all[n++] = (struct dcm_http_header){ name, value };
	}
	ret->headers = all;
	ret->n_headers = n;
	return 0;
}

void call__finish(struct call *c, int fault, const char *sentence)
{
	struct dcm_http_reply reply = { .size = sizeof(reply), .fault = fault, .sentence = sentence };
	struct arena arena = { 0 };
	curl_off_t wire = 0;

	if (!c->curl)
		wait_no_more(c);
	reply.status = status_of(c);
	if (read_headers(c, &arena, &reply) < 0 && fault == 0) {
		reply.fault = -ENOMEM;
		reply.sentence = "not enough memory";
	}
	if (c->curl)
		curl_easy_getinfo(c->curl, CURLINFO_SIZE_DOWNLOAD_T, &wire);
	reply.wire_bytes = (uint64_t)wire;
	if (c->kind == BODY_KEPT && c->body.n) {
		reply.data = c->body.data;
		reply.n = c->body.n;
	}
	/* The connection is free for whoever is asked next in done(). */
	end_request(c);
	pool__clear_timer(c);
	pool__release_id(c);
	reply.duration_ns = pool__now() - c->begun_ns;
	c->ask.done(c->ask.ctx, &reply);
	arena__fini(&arena);
	pool__forget(c);
}
