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

/* The daemon that --url, --token-file and --ca-file name, for other questions than these. */
struct ask_server {
	struct buf url;	  /* NUL-terminated; a path is appended to it as it is */
	struct buf token; /* likewise; data is NULL when there is none */
	/* These live as long as the arguments; or NULL. */
	const char *ca_file, *cert_file, *key_file;
};
/* To be freed in any case. -EINVAL: the options are wrong; or of the token's file. */
int ask__server(const struct args *a, struct ask_server *ret, struct dcm_error *err);
void ask_server__fini(struct ask_server *s);
/* --timeout; -EINVAL: it is no duration. */
int ask__timeout(const struct args *a, const char *otherwise, int64_t *ret_ns, struct dcm_error *err);

/* A URL's path and query under construction. */
struct ask {
	struct buf target;
	bool has_params;
	const char *data; /* directory of a store that an operand names, instead of --data; or NULL */
	/*
	 * It takes as long as there is data: unless --timeout is given, it may take a day; of a directory Ctrl-C ends
	 * it, and its answer says how far it came.
	 */
	bool is_patient;
};

/* PATH must be clean already; params are percent-encoded. A NULL value adds nothing. */
void ask__path(struct ask *q, const char *path);
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
