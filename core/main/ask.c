/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/ask.c - one question to /api/v1, over HTTP or in this process
 *
 * With --data the same handlers run here over the store in that directory (offline.h): there is one
 * code path for an answer, whoever asks.
 */
#include "core/main/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "core/base/units.h"
#include "core/main/interrupt.h"
#include "core/main/offline.h"
#include "core/main/progress.h"
#include "core/net/http_client.h"

#define MAX_ANSWER_BYTES ((size_t)1 << 30)
#define LOOK_NS		 INT64_C(500000000)

const struct args_option ask__options[] = {
	{ "url", 0, ARGS_TEXT, "URL", NULL, false,
	  "daemon to ask: http://HOST:PORT, https://HOST:PORT or unix:/PATH (default $DECIMA_URL, "
	  "else "
	  "http://127.0.0.1:7070)" },
	{ "data", 0, ARGS_DIR, "DIR", NULL, false,
	  "answer from the directory of a store, or of a daemon's data, without asking a daemon, "
	  "while one writes there too ($DECIMA_PLUGIN_PATH says where plugins are, if not where "
	  "they were installed)" },
	{ "token-file", 0, ARGS_FILE, "FILE", NULL, false, "file with the bearer token to send" },
	{ "ca-file", 0, ARGS_FILE, "FILE", NULL, false,
	  "PEM file of the authorities to trust, for https:// (default $DECIMA_CA_FILE, else the "
	  "system's)" },
	{ "cert-file", 0, ARGS_FILE, "FILE", NULL, false,
	  "PEM file of the certificate to show, where the server wants one (default "
	  "$DECIMA_CERT_FILE)" },
	{ "key-file", 0, ARGS_FILE, "FILE", NULL, false, "PEM file of its key (default $DECIMA_KEY_FILE)" },
	{ "timeout", 0, ARGS_TEXT, "D", NULL, false, "give up after this long (default 60s)" },
	{ 0 },
};

void ask__path(struct ask *q, const char *path)
{
	buf__text(&q->target, path);
}

void ask__param(struct ask *q, const char *name, const char *value)
{
	if (!value)
		return;
	buf__byte(&q->target, q->has_params ? '&' : '?');
	q->has_params = true;
	buf__text(&q->target, name);
	buf__byte(&q->target, '=');
	url__escape(&q->target, str__of(value));
}

/* First line of the token's file, without its newline, into `token`. */
static int read_token(const struct args *a, struct buf *token, struct dcm_error *err)
{
	const char *path = args__get(a, "token-file", NULL);
	int r;

	if (!path)
		return 0;
	r = fd__read_path(AT_FDCWD, path, 64 << 10, token);
	if (r < 0)
		return error__sys(err, r, "--token-file %s: cannot read the token", path);
	/* A second line would be a second header. */
	if (token->n > 0)
		token->n = strcspn((const char *)token->data, "\r\n");
	if (token->n == 0)
		return error__set(err, -EINVAL,
				  "--token-file %s: its first line is empty; write the token there",
				  path);
	token->data[token->n] = '\0';
	return 0;
}

/* What is left of a URL without a host would be asked for as a host of its own. */
static int check_url(const char *base, struct dcm_error *err)
{
	const char *rest = strncasecmp(base, "http:", 5) == 0	 ? base + 5
			   : strncasecmp(base, "https:", 6) == 0 ? base + 6
								 : NULL;

	if (!rest || rest[strspn(rest, "/")])
		return 0;
	return error__set(err, -EINVAL,
			  "\"%s\" names no host; write http://HOST:PORT or unix:/PATH", base);
}

/* What the command line says, or else the environment; NULL: neither. */
static const char *file_of(const struct args *a, const char *option, const char *variable)
{
	const char *env = getenv(variable);

	return args__get(a, option, env && *env ? env : NULL);
}

int ask__server(const struct args *a, struct ask_server *ret, struct dcm_error *err)
{
	const char *env = getenv("DECIMA_URL");
	const char *base = args__get(a, "url", env && *env ? env : "http://127.0.0.1:7070");
	size_t n = strlen(base);
	int r = check_url(base, err);

	*ret = (struct ask_server){ .ca_file = file_of(a, "ca-file", "DECIMA_CA_FILE"),
				    .cert_file = file_of(a, "cert-file", "DECIMA_CERT_FILE"),
				    .key_file = file_of(a, "key-file", "DECIMA_KEY_FILE") };
	if (r == 0 && !ret->cert_file != !ret->key_file)
		r = error__set(err, -EINVAL,
			       "--%s: is missing; give the certificate and its key, or neither",
			       ret->cert_file ? "key-file" : "cert-file");
	if (r == 0)
		r = read_token(a, &ret->token, err);
	if (r < 0)
		return r;
	while (n > 0 && base[n - 1] == '/')
		n--;
	buf__append(&ret->url, base, n);
	buf__text(&ret->url, strncmp(base, "unix:", 5) == 0 ? ":" : "");
	return ret->url.error ? error__nomem(err) : 0;
}

void ask_server__fini(struct ask_server *s)
{
	buf__fini(&s->url);
	buf__fini(&s->token);
}

/* A question that is under way over there, and how to ask how far it has come. */
struct under_way {
	char id[33]; /* "": it cannot be asked */
	struct buf url;
	struct http_call look;
};

static bool look_there(void *ctx, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct under_way *w = ctx;
	struct http_response answer = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	json_t *said = NULL;

	if (w->id[0] && http_client__call(&w->look, &answer, &err) == 0 && answer.status == 200)
		said = json_loadb((const char *)answer.body.data, answer.body.n, 0, NULL);
	*ret_done = (uint64_t)json_integer_value(json_object_get(said, "done"));
	*ret_total = (uint64_t)json_integer_value(json_object_get(said, "total"));
	http_response__fini(&answer);
	json_decref(said);
	return said;
}

/* Gives the call an id, and says in w->look by which other one it is looked at. 0, -ENOMEM. */
static int make_visible(struct http_call *call, const struct ask_server *server, struct under_way *w)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return 0;
	snprintf(w->id, sizeof(w->id), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	buf__append(&w->url, server->url.data, server->url.n);
	buf__text(&w->url, "/api/v1/queries/");
	buf__text(&w->url, w->id);
	w->look = *call;
	w->look.method = HTTP_GET;
	w->look.url = (const char *)w->url.data;
	w->look.timeout_ns = LOOK_NS;
	call->query_id = w->id;
	return w->url.error;
}

static int over_http(const struct args *a, enum http_method method, const struct ask *q,
		     int64_t timeout_ns, struct http_response *ret, struct dcm_error *err)
{
	struct ask_server server = { 0 };
	struct under_way under_way = { .url = { 0 } };
	struct progress *progress = NULL;
	struct http_call call;
	struct buf url = { 0 };
	int r = ask__server(a, &server, err);

	if (r == 0) {
		buf__append(&url, server.url.data, server.url.n);
		buf__text(&url, (const char *)q->target.data);
		call = (struct http_call){ .method = method,
					   .url = (const char *)url.data,
					   .bearer = (const char *)server.token.data,
					   .ca_file = server.ca_file,
					   .cert_file = server.cert_file,
					   .key_file = server.key_file,
					   .timeout_ns = timeout_ns,
					   .max_bytes = MAX_ANSWER_BYTES };
		r = url.error;
		if (r == 0 && progress__is_watched())
			r = make_visible(&call, &server, &under_way);
		if (r)
			error__nomem(err);
	}
	if (r == 0) {
		progress = progress__begin(a->verb->name, look_there, &under_way);
		r = http_client__call(&call, ret, err);
		progress__end(progress);
	}
	buf__fini(&url);
	buf__fini(&under_way.url);
	ask_server__fini(&server);
	return r;
}

static bool look_here(void *ctx, uint64_t *ret_done, uint64_t *ret_total)
{
	struct dcm_budget *budget = ctx;

	*ret_done = atomic_load_explicit(&budget->done, memory_order_relaxed);
	*ret_total = atomic_load_explicit(&budget->total, memory_order_relaxed);
	return true;
}

static void cancel(void *ctx)
{
	struct dcm_budget *budget = ctx;

	atomic_store(&budget->cancelled, 1);
}

static int in_directory(const struct args *a, const char *dir, enum http_method method,
			const struct ask *q, int64_t timeout_ns, struct http_response *ret,
			struct dcm_error *err)
{
	struct dcm_budget budget = { .deadline_mono_ns = clock__mono(&clock__system) + timeout_ns };
	struct interrupt *interrupt = q->is_patient ? interrupt__begin(cancel, &budget) : NULL;
	struct progress *progress = progress__begin(a->verb->name, look_here, &budget);
	int r = offline__call(dir, method, (const char *)q->target.data, &budget, ret, err);

	progress__end(progress);
	interrupt__end(interrupt);
	return r;
}

/* A sentence about a parameter that an option made ("max_rows: ...") names the option instead. */
static void print_detail(const struct args *a, const char *detail)
{
	size_t n = strspn(detail, "abcdefghijklmnopqrstuvwxyz_");
	char name[32] = "";

	fprintf(stderr, "decima %s: ", a->verb->name);
	for (size_t i = 0; detail[n] == ':' && n < sizeof(name) && i < n; i++)
		name[i] = detail[i] == '_' ? '-' : detail[i];
	if (name[0] && args__has(a, name))
		fprintf(stderr, "--%s%s\n", name, detail + n);
	else
		fprintf(stderr, "%s\n", detail);
}

/* The problem's detail, or what else came, on stderr. */
static void print_problem(const struct args *a, const struct http_response *r)
{
	json_t *problem = json_loadb((const char *)r->body.data, r->body.n, 0, NULL);
	const char *detail = json_string_value(json_object_get(problem, "detail"));
	char other[400];

	snprintf(other, sizeof(other), "the server answered with status %d: %.*s", r->status,
		 (int)(r->body.n < 300 ? r->body.n : 300), r->body.n ? (const char *)r->body.data : "");
	if (detail && r->status == 401) {
		/* The server speaks of headers; whoever reads this has options. */
		snprintf(other, sizeof(other), "%s (%s)", detail,
			 args__has(a, "token-file")
				 ? "one of them belongs into the file of --token-file"
				 : "--token-file FILE sends one");
		detail = other;
	}
	print_detail(a, detail ? detail : other);
	json_decref(problem);
}

int ask__timeout(const struct args *a, const char *otherwise, int64_t *ret_ns, struct dcm_error *err)
{
	const char *timeout = args__get(a, "timeout", otherwise);

	if (units__parse_duration(str__of(timeout), ret_ns) == 0 && *ret_ns > 0)
		return 0;
	return error__set(err, -EINVAL, "--timeout: \"%s\" is no duration; write it like 30s", timeout);
}

static int ask(const struct args *a, enum http_method method, struct ask *q, struct http_response *ret)
{
	struct dcm_error err = DCM_ERROR_INIT;
	const char *data = q->data ? q->data : args__get(a, "data", NULL);
	int64_t timeout_ns = 0;
	int r = q->target.error;

	if (data && args__has(a, "url"))
		r = error__set(&err, -EINVAL, "--url and the directory %s exclude each other", data);
	else if (q->data && args__has(a, "data"))
		r = error__set(&err, -EINVAL, "--data and the directory %s exclude each other", q->data);
	else if (ask__timeout(a, q->is_patient ? "24h" : "60s", &timeout_ns, &err) < 0)
		r = -EINVAL;
	else if (r == 0 && data)
		r = in_directory(a, data, method, q, timeout_ns, ret, &err);
	else if (r == 0)
		r = over_http(a, method, q, timeout_ns, ret, &err);
	else
		error__nomem(&err);
	buf__fini(&q->target);
	if (r < 0) {
		print_detail(a, err.text);
		return r == -EINVAL ? EXIT_USAGE : EXIT_NO;
	}
	if (ret->status >= 200 && ret->status < 300)
		return EXIT_DONE;
	print_problem(a, ret);
	return ret->status == 400 ? EXIT_USAGE : EXIT_NO;
}

int ask__get(const struct args *a, struct ask *q, struct http_response *ret)
{
	return ask(a, HTTP_GET, q, ret);
}

int ask__post(const struct args *a, struct ask *q, struct http_response *ret)
{
	return ask(a, HTTP_POST, q, ret);
}
