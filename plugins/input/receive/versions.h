/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/versions.h - which versions of OTLP came, and what each peer's requests were of when their bytes told
 *
 * A request with few samples may be of OTLP 1.9 and of 1.10, with other values. What its sender sent before says which. A
 * sender is an address and a User-Agent; PEERS_MAX of them are known, and one makes room for another.
 *
 * Any thread.
 */
#ifndef DECIMA_RECEIVE_VERSIONS_H
#define DECIMA_RECEIVE_VERSIONS_H

#include <pthread.h>

#include <decima/plugin.h>

enum { VERSIONS_PEERS_MAX = 1024, VERSIONS_N = 5 };

struct versions {
	const struct dcm_host *host;
	struct dcm_metric *taken[VERSIONS_N];
	pthread_mutex_t lock; /* guards: */
	struct {
		uint64_t peer;	     /* its hash */
		const char *version; /* NULL: nobody is here */
	} peers[VERSIONS_PEERS_MAX];
};

void versions__init(struct versions *v, const struct dcm_host *host);
void versions__fini(struct versions *v);

/* NULL: nothing is known. */
const char *versions__likely(struct versions *v, const struct dcm_request *q);

/* A request that was taken, as one of found->version. */
void versions__note(struct versions *v, const struct dcm_request *q, const struct dcm_found *found);

/* What a list of senders calls it: "otlp", or with the version where that is an old one. Lives as long as the program. */
const char *versions__protocol(const struct dcm_found *found);

#endif
