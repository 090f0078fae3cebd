/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/http_peer.c - the server of tests/programs/http_server, and calls to it that wait
 */
#include "tests/unit/http_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/paths.h"
#include "tests/unit/shell.h"

static struct {
	char name[16], url[64];
} ports[24];
static unsigned n_ports;
static char folder[256];
static pid_t pid = -1;
static int its_input = -1;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int run(const char *program)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(program, program, folder, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	its_input = in[1];
	return pid < 0 ? -1 : out[0];
}

static bool is_missing;

bool peer__is_missing(void)
{
	return is_missing;
}

int peer__start(const char *dir)
{
	char program[300], line[128], name[16];
	unsigned port;
	int fd;

	snprintf(folder, sizeof(folder), "%s", dir);
	is_missing = !shell_has("go");
	if (is_missing)
		return 1;
	if (shell("cd '%s/tests/programs/http_server' && GOFLAGS= GO111MODULE=off go build -o "
		  "'%s/server' .",
		  TEST_SRCDIR, dir))
		return -1;
	snprintf(program, sizeof(program), "%s/server", dir);
	fd = run(program);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "r");
	while (out && fgets(line, sizeof(line), out) && strcmp(line, "ready\n") != 0) {
		if (n_ports == sizeof(ports) / sizeof(ports[0]) ||
		    sscanf(line, "%15s %u", name, &port) != 2)
			break;
		bool tls = strcmp(name, "http") != 0 && strcmp(name, "http2") != 0 &&
			   strcmp(name, "proxy") != 0 && strcmp(name, "closed") != 0;
		snprintf(ports[n_ports].name, sizeof(ports[0].name), "%s", name);
		snprintf(ports[n_ports].url, sizeof(ports[0].url), "%s://127.0.0.1:%u",
			 tls ? "https" : "http", port);
		n_ports++;
	}
	if (out)
		fclose(out);
	return out && strcmp(line, "ready\n") == 0 ? 0 : -1;
}

void peer__stop(void)
{
	if (its_input >= 0)
		close(its_input);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	pid = -1;
}

const char *peer__url(const char *name)
{
	for (unsigned i = 0; i < n_ports; i++)
		if (strcmp(ports[i].name, name) == 0)
			return ports[i].url;
	fprintf(stderr, "no port is called %s\n", name);
	abort();
}

const char *peer__file(const char *name)
{
	static char names[32][300];
	static unsigned n;

	snprintf(names[n % 32], sizeof(names[0]), "%s/%s", folder, name);
	return names[n++ % 32];
}

bool answer__take(void *ctx, const uint8_t *data, size_t n)
{
	struct answer *a = ctx;

	buf__append(&a->taken, data, n);
	return a->stop_after == 0 || a->taken.n < a->stop_after;
}

void answer__done(void *ctx, const struct dcm_http_reply *r)
{
	struct answer *a = ctx;

	pthread_mutex_lock(&mutex);
	a->n_done++;
	a->fault = r->fault;
	a->status = r->status;
	snprintf(a->sentence, sizeof(a->sentence), "%s", r->sentence);
	buf__append(&a->body, r->data, r->n);
	for (uint32_t i = 0; i < r->n_headers; i++)
		buf__printf(&a->headers, "%.*s: %.*s\n", (int)r->headers[i].name.n,
			    r->headers[i].name.p, (int)r->headers[i].value.n, r->headers[i].value.p);
	a->wire_bytes = r->wire_bytes;
	a->duration_ns = r->duration_ns;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

void answer__wait(struct answer *a)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&mutex);
	while (a->n_done == 0)
		if (pthread_cond_timedwait(&changed, &mutex, &until)) {
			fprintf(stderr, "a call has not been answered for a minute\n");
			abort();
		}
	pthread_mutex_unlock(&mutex);
}

bool answer__has(const struct answer *a, const char *text)
{
	return a->body.n && strstr((const char *)a->body.data, text);
}

void answer__fini(struct answer *a)
{
	buf__fini(&a->body);
	buf__fini(&a->headers);
	buf__fini(&a->taken);
	*a = (struct answer){ 0 };
}
