/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_telemetry.c - what Parca's agents say of their end: any bytes
 *
 * The answer is a yes, or a refusal with a sentence; what goes into the log is text of one line, and not without bound.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/receive/telemetry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dcm_endpoint method;
static unsigned n_replies, n_logged, n_counted;

static void expect(bool fact)
{
	if (!fact)
		abort();
}

/* The desk's, which would have it offered by the host. */
int desk__serve(struct desk *d, struct dcm_endpoint endpoint, struct dcm_error *err)
{
	(void)err;
	method = endpoint;
	method.ctx = d;
	return 0;
}

/* Each is told: a second has gone by. */
static int64_t mono_ns(const struct dcm_host *host)
{
	static int64_t now;

	(void)host;
	return now += INT64_C(1000000001);
}

__attribute__((format(printf, 3, 4))) static void log_line(const struct dcm_host *host,
							   enum dcm_log_level level, const char *fmt, ...)
{
	char text[4096];
	va_list args;
	int n;

	(void)host;
	(void)level;
	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	expect(n > 0 && n < 2000);
	n_logged++;
}

static void metric_add(struct dcm_metric *m, uint64_t n)
{
	(void)m;
	n_counted += (unsigned)n;
}

static void reply_put(struct dcm_reply *reply, int status, const char *type, const void *data, size_t n)
{
	(void)reply;
	(void)type;
	(void)data;
	(void)n;
	expect(status == 200);
	n_replies++;
}

static void reply_problem(struct dcm_reply *reply, int status, const char *fmt, ...)
{
	(void)reply;
	expect(status == 400 && fmt[0]);
	n_replies++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dcm_host host = { .size = sizeof(host),
					      .mono_ns = mono_ns,
					      .log = log_line,
					      .metric_add = metric_add,
					      .reply_put = reply_put,
					      .reply_problem = reply_problem };
	static struct desk d = { .host = &host };
	/* Exactly as large as it is, so that a sanitizer sees a read behind it. */
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (!method.answer)
		expect(telemetry__serve(&d, NULL) == 0);
	n_replies = n_logged = n_counted = 0;
	const struct dcm_request q = { .body = copy, .n_body = size };
	method.answer(method.ctx, &q, NULL);
	expect(n_replies == 1 && n_logged == n_counted);
	free(copy);
	return 0;
}
