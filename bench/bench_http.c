/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_http.c - how many calls a second the client thread makes, and what they take of memory
 *
 * One JSON line a figure. The server is tests/programs/http_server on the loopback, in a process of its
 * own; calls a second are told of our CPU time, all threads, so the server's share of the machine does
 * not count. Memory is what malloc has handed out (mallinfo2), without the kernel's part of a socket.
 * Needs go.
 *
 *	bench_http DIR [SECONDS]
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/figure.h"
#include "core/base/clock.h"
#include "core/net/http_pool.h"
#include "tests/unit/http_peer.h"
#include "tests/unit/shell.h"

enum { AT_ONCE = 64, /* calls */ IDLE = 1000 /* connections, clients */ };

struct load {
	struct dcm_http_client *client;
	struct dcm_http_call call;
	_Atomic uint64_t n_done, n_failed;
	_Atomic unsigned n_open;
	_Atomic bool ends;
};

static void next_call(void *ctx, const struct dcm_http_reply *r)
{
	struct load *l = ctx;

	l->n_done++;
	l->n_failed += r->fault != 0 || r->status != 200;
	if (l->ends || http_pool__start(l->client, &l->call, NULL, NULL) < 0)
		l->n_open--;
}

static int64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * INT64_C(1000);
}

static struct dcm_http_client *client_of(struct http_pool *pool, const struct dcm_http_options *o)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_http_client *c = NULL;

	if (http_pool__client_new(pool, NULL, o, &c, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return c;
}

static void measure_rate(struct http_pool *pool, const struct dcm_http_options *o,
			 const char *server, unsigned n_bytes, unsigned seconds)
{
	struct load l = { .client = client_of(pool, o), .n_open = AT_ONCE };
	char url[200], what[80];

	snprintf(url, sizeof(url), "%s/size?n=%u", peer__url(server), n_bytes);
	l.call = (struct dcm_http_call){ .size = sizeof(l.call), .url = url, .done = next_call, .ctx = &l };
	int64_t cpu = cpu_ns(), wall = clock__mono(&clock__system);
	for (int i = 0; i < AT_ONCE; i++)
		http_pool__start(l.client, &l.call, NULL, NULL);
	sleep(seconds);
	l.ends = true;
	while (l.n_open)
		usleep(1000);
	cpu = cpu_ns() - cpu;
	wall = clock__mono(&clock__system) - wall;
	snprintf(what, sizeof(what), "calls a second of our CPU time, %s, %u bytes%s", server,
		 n_bytes, o->enable_http2 ? "" : ", HTTP/1.1");
	need(l.n_failed == 0, "calls failed");
	figure(what, (double)l.n_done * 1e9 / (double)cpu, "calls/s",
	       "per second of the clock, beside the server", (double)l.n_done * 1e9 / (double)wall);
	http_pool__client_free(l.client);
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void settle_down(struct load *l)
{
	while (l->n_open)
		usleep(1000);
}

static void count_down(void *ctx, const struct dcm_http_reply *r)
{
	struct load *l = ctx;

	l->n_failed += r->fault != 0;
	l->n_open--;
}

/* Connections that lie idle, and calls that wait. */
static void measure_memory(struct http_pool *pool, const struct dcm_http_options *o,
			   const char *server, int n)
{
	struct load l = { 0 };
	char url[200], what[120];
	struct dcm_http_client *c = client_of(pool, o);
	struct dcm_http_call call = { .size = sizeof(call), .url = url, .done = count_down, .ctx = &l };
	size_t before = allocated();

	/* Long enough that none is done when the last one begins. */
	snprintf(url, sizeof(url), "%s/slow?n=2&ms=8000", peer__url(server));
	l.n_open = (unsigned)n;
	for (int i = 0; i < n; i++)
		http_pool__start(c, &call, NULL, NULL);
	sleep(6);
	size_t during = allocated();
	settle_down(&l);
	usleep(300000);
	size_t after = allocated();
	need(l.n_failed == 0, "calls failed");
	snprintf(what, sizeof(what), "memory of a call under way, its connection with it, %s%s",
		 server, n == IDLE ? "" : " with the system's authorities");
	figure(what, (double)(during - before) / n, "bytes",
	       "its connection alone, when it lies idle", (double)(after - before) / n);
	http_pool__client_free(c);
}

static void measure_clients(struct http_pool *pool, const struct dcm_http_options *o)
{
	static struct dcm_http_client *c[IDLE];
	size_t before = allocated();

	for (int i = 0; i < IDLE; i++)
		c[i] = client_of(pool, o);
	figure_at_most("memory of a client without a call", (double)(allocated() - before) / IDLE,
		       "bytes", 40000, NULL);
	for (int i = 0; i < IDLE; i++)
		http_pool__client_free(c[i]);
}

int main(int argc, char **argv)
{
	struct dcm_http_options plain = { .follow_redirects = true, .enable_http2 = true }, tls;
	unsigned seconds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
	struct http_pool *pool;

	need(argc > 1, "bench_http DIR [SECONDS]");
	need(http_pool__new("decima/bench", &pool) == 0 && peer__start(argv[1]) == 0,
	     "needs an empty folder, and go");
	tls = plain;
	tls.tls.ca_file = peer__file("ca.pem");
	measure_clients(pool, &plain);
	measure_rate(pool, &plain, "http", 100, seconds);
	measure_rate(pool, &plain, "http", 60000, seconds);
	measure_rate(pool, &tls, "https", 60000, seconds);
	tls.enable_http2 = false;
	measure_rate(pool, &tls, "https", 60000, seconds);
	measure_memory(pool, &plain, "http", IDLE);
	measure_memory(pool, &tls, "https", IDLE);
	/* As many authorities as a system has, which are kept once. */
	if (shell("cat /etc/ssl/certs/ca-certificates.crt '%s' >'%s' 2>/dev/null",
		  peer__file("ca.pem"), peer__file("all.pem")) == 0) {
		tls.tls.ca_file = peer__file("all.pem");
		measure_memory(pool, &tls, "https", 100);
	}
	http_pool__free(pool);
	peer__stop();
	return 0;
}
