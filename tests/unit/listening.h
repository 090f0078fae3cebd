/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/listening.h - a listener with small bounds before routes that quickly answer, echo, wait, or do not come back
 */
#ifndef DECIMA_TESTS_UNIT_LISTENING_H
#define DECIMA_TESTS_UNIT_LISTENING_H

#include "core/net/listener.h"

#define LISTENING_CONNECTIONS 40
#define LISTENING_MEMORY                                                                           \
	((size_t)1 << 20) /* of an answer; /long has as much, and with ?more=1 a byte more */
#define LISTENING_FILE_BYTES ((size_t)3 << 20)

struct listening {
	struct http_routes *routes;
	struct listener *listener;
	struct stats *stats;
	char url[64], socket_path[64];
	uint16_t port;
	_Atomic int n_waiting, n_cancelled; /* in /slow and /deaf; of /slow */
	_Atomic bool come_back;		    /* /deaf */
};

extern struct listening served;
extern struct access_rules served_rules;
extern const struct log served_quiet;

/* Of a group of tests. */
int listening_begin(void **state);
int listening_end(void **state);

/* A socket to it; as client 0. */
int listening_connect(void);
/* Each client has an address of its own; they are numbered up to 253. */
int listening_connect_as(int client);
/* Until it is that many, or 5 s are over, and then it is. */
void listening_wait(_Atomic int *n, int want);

#endif
