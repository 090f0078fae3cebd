/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/http_peer.h - the server of tests/programs/http_server, and calls to it that wait
 */
#ifndef DECIMA_TESTS_UNIT_HTTP_PEER_H
#define DECIMA_TESTS_UNIT_HTTP_PEER_H

#include <pthread.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/*
 * Builds and starts it, with its files in a folder. 0; 1: there is no go here; -1: it could not be
 * built, and go has said why.
 */
int peer__start(const char *dir);
void peer__stop(void);
bool peer__is_missing(void); /* peer__start() found no go */
#define NEEDS_PEER                                                                                 \
	do {                                                                                       \
		if (peer__is_missing())                                                            \
			skip_because("no go to build the server with");                            \
	} while (0)

/* "http" -> "http://127.0.0.1:PORT"; valid for the program's life. */
const char *peer__url(const char *name);
/* DIR/NAME; valid for the program's life. */
const char *peer__file(const char *name);

/* One call's answer; a zeroed one is ready. */
struct answer {
	int n_done, fault, status;
	char sentence[1100];
	struct buf body, headers, taken; /* headers: "name: value\n" each */
	uint64_t wire_bytes;
	int64_t duration_ns;
	size_t stop_after; /* take() ends the call when that much has come; 0: never */
};
bool answer__take(void *ctx, const uint8_t *data, size_t n);
void answer__done(void *ctx, const struct dcm_http_reply *reply);
/* Until done() came. A minute at most. */
void answer__wait(struct answer *a);
bool answer__has(const struct answer *a, const char *text); /* in the body */
void answer__fini(struct answer *a);

#endif
