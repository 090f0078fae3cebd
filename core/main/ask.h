/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/ask.h - puts one question to /api/v1, of a daemon (--url) or of a data directory
 * (--data)
 */
#ifndef DECIMA_MAIN_ASK_H
#define DECIMA_MAIN_ASK_H

#include "core/main/args.h"
#include "core/net/http.h"

/* --url, --data, --token-file, --ca-file, --timeout: the options of every verb that asks. */
extern const struct args_option ask__options[];

/* A URL's path and query under construction. */
struct ask {
	struct buf target;
	bool has_params;
	const char *data; /* directory of a store that an operand names, instead of --data; or NULL */
	/* Of a POST; each may be NULL. */
	const struct http_file *file;	     /* its body */
	void (*sent)(void *ctx, uint64_t n); /* told at intervals how much of that has left */
	void *sent_ctx;
	const char *about;   /* what a sentence that tells a failure begins with */
	const char *timeout; /* without --timeout; NULL: 60s */
};

/* PATH must be clean already; params are percent-encoded. A NULL value adds nothing. */
void ask__path(struct ask *q, const char *path);
void ask__segment(struct ask *q, const char *segment); /* one more path segment, encoded */
void ask__param(struct ask *q, const char *name, const char *value);

/*
 * Sends it and waits. EXIT_DONE when the status is 2xx; otherwise the problem's sentence has been
 * printed on stderr: EXIT_USAGE when the question itself was wrong (400), EXIT_NO for anything
 * else. Frees the question.
 */
int ask__get(const struct args *a, struct ask *q, struct http_response *ret);
/* The same as a POST. */
int ask__post(const struct args *a, struct ask *q, struct http_response *ret);

#endif
