/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/http_asking.h - how tests of the HTTP client ask their server, and what they expect of answers
 *
 * One pool, and the server's folder, for all cases of a program; included by test_http_pool.c, test_http_pool_tls.c and
 * test_http_sign.c alone.
 */
#ifndef DECIMA_TESTS_UNIT_HTTP_ASKING_H
#define DECIMA_TESTS_UNIT_HTTP_ASKING_H

#include <stdlib.h>
#include <string.h>

#include "core/net/http_pool.h"
#include "tests/unit/folder.h"
#include "tests/unit/http_peer.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

DEFINE_FOLDER(dir, "http-pool", 0700);
static struct http_pool *pool;
static struct dcm_http_options plain = { .follow_redirects = true, .enable_http2 = true };

static struct dcm_http_client *client_of(const struct dcm_http_options *o)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_http_client *c = NULL;

	if (http_pool__client_new(pool, &pool, o, &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static int begin(void **state)
{
	int r = make_dir(state);

	if (r == 0)
		r = http_pool__new("decima/test", &pool);
	if (r == 0)
		r = peer__start(dir);
	return r < 0 ? -1 : 0;
}

static int end(void **state)
{
	http_pool__free(pool);
	peer__stop();
	return remove_dir(state);
}

/* A file in the server's folder, as a whole. */
static inline void write_file(const char *name, const char *text)
{
	char next[320];

	snprintf(next, sizeof(next), "%s.new", peer__file(name));
	FILE *f = fopen(next, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(rename(next, peer__file(name)), 0);
}

/* The options of most TLS tests: our authority is trusted. */
static inline struct dcm_http_options trusting(void)
{
	struct dcm_http_options o = plain;

	o.tls.ca_file = peer__file("ca.pem");
	return o;
}

static void ask_with(struct dcm_http_client *c, struct dcm_http_call ask, struct answer *a)
{
	struct dcm_error err = DCM_ERROR_INIT;

	answer__fini(a);
	ask.size = sizeof(ask);
	ask.done = answer__done;
	ask.ctx = a;
	if (!ask.timeout_ns)
		ask.timeout_ns = 50000 * MS;
	if (http_pool__start(c, &ask, NULL, &err) < 0)
		fail_msg("%s", err.text);
	answer__wait(a);
	assert_int_equal(a->n_done, 1);
}

__attribute__((format(printf, 4, 5))) static inline void ask(struct dcm_http_client *c,
							     struct answer *a, const char *server,
							     const char *path, ...)
{
	char url[800], formatted[700];
	va_list ap;

	va_start(ap, path);
	vsnprintf(formatted, sizeof(formatted), path, ap);
	va_end(ap);
	snprintf(url, sizeof(url), "%s%s", peer__url(server), formatted);
	ask_with(c, (struct dcm_http_call){ .url = url }, a);
}

/* A client of one call. */
static inline void ask_once(const struct dcm_http_options *o, struct answer *a, const char *server,
			    const char *path)
{
	struct dcm_http_client *c = client_of(o);

	ask(c, a, server, "%s", path);
	http_pool__client_free(c);
}

static void expect(const struct answer *a, int status)
{
	if (a->fault || a->status != status)
		fail_msg("fault %d, status %d and not %d: %s", a->fault, a->status, status, a->sentence);
}

static void expect_fault(const struct answer *a, int fault, const char *words)
{
	if (a->fault != fault || !strstr(a->sentence, words))
		fail_msg("fault %d and not %d, status %d: \"%s\" without \"%s\"", a->fault, fault,
			 a->status, a->sentence, words);
}

static inline long counted(const char *what)
{
	struct answer a = { 0 };
	const char *at;

	ask_once(&plain, &a, "http2", "/counts");
	at = strstr((const char *)a.body.data, what);
	assert_non_null(at);
	long n = strtol(at + strlen(what), NULL, 10);
	answer__fini(&a);
	return n;
}

#endif
