/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_pool_inside.h - what the parts of the pool share: http_pool.c (its outside: clients,
 * inbox), http_turn.c (the thread and its waiting), http_leg.c (one request of a call and what came of it)
 *
 * Members are the client thread's unless they stand under "with the mutex".
 */
#ifndef DECIMA_NET_HTTP_POOL_INSIDE_H
#define DECIMA_NET_HTTP_POOL_INSIDE_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/vec.h"
#include "core/net/http_pool.h"
#include "core/net/http_setup.h"
#include "core/net/http_token.h"

enum { REDIRECTS_MAX = 10, SPARE_HANDLES = 32, PARTS_MAX = 16, PART_CONNECTIONS_MIN = 1024 };

/* Why the transfer's callback ended it. */
enum stop { STOP_NOT, STOP_TOO_LARGE, STOP_HEAD_TOO_LARGE, STOP_TAKE, STOP_NOMEM };

/* Which answer's body is at hand. */
enum body { BODY_UNKNOWN, BODY_KEPT, BODY_TAKEN, BODY_PASSED_OVER };

struct call {
	struct dcm_http_client *client;
	struct http_setup *setup; /* the client's, or its token's */
	uint64_t id;
	uint32_t slot; /* in pool->slots */

	/* What is asked. */
	struct dcm_http_call ask; /* texts in it are of `headers`, `method`, `data` */
	char method[24];
	void *data;	     /* body */
	uint64_t sent_bytes; /* of ask.file */
	struct dcm_http_file file;
	struct curl_slist *headers;
	bool has_authorization, has_type;
	struct http_place place, first; /* where it goes now; where it was to go, once that is elsewhere */

	/* One request of it. */
	CURL *curl; /* NULL: not under way */
	struct part *part;
	struct http_setup_lists lists;
	int64_t let_go_ns; /* since when it looks for its server, or connects; 0: curl still holds it back */
	bool looks_up; /* its server's name, or its proxy's: there is no socket yet */
	char detail[CURL_ERROR_SIZE];
	enum stop stop;
	enum body kind;
	struct buf body;
	uint64_t n_bytes;		     /* unpacked, of this answer */
	uint32_t n_head_bytes, n_head_lines; /* of what stands before it and behind it */
	uint32_t n_redirects;
	bool uses_token, renewed_token;
	uint64_t token_version;
	int unwatched; /* why nobody waits for its socket, a negative errno; 0: somebody does */

	/* Time, monotonic. */
	int64_t begun_ns, last_byte_ns, wake_ns;
	size_t at; /* in pool->timers; SIZE_MAX: not there */

	struct call *next_waiting; /* for the client's token */

	/* With the mutex. */
	struct call *next_start;
	bool cancelled, in_cancels;
	struct call *prev_cancel, *next_cancel;
};

struct dcm_http_client {
	struct http_pool *pool;
	const void *owner;
	struct http_setup *setup;
	struct http_token *token; /* NULL: none */
	struct call *waiting;	  /* for it */
	bool is_asking;		  /* for a token */

	/* With the mutex. */
	bool closed;
	uint32_t n_calls; /* until done() has returned */
	struct dcm_http_client *next;
};

/* A call's place; ids tell those that had it one after the other. */
struct slot {
	struct call *call; /* NULL: free */
	uint32_t turn, next_free;
};

/*
 * Connections that know of each other. curl goes through all of them, idle ones too, whenever a request is over: with two
 * thousand in one part that took as long as receiving 60 kB. So servers are spread over parts, where there are files
 * for PART_CONNECTIONS_MIN in each. What is asked by TLS or through a proxy is in the first part, which has half of all:
 * each other one would have the authorities for itself, and a proxy is one server.
 */
struct part {
	struct http_pool *pool;
	long n_max, n_host_max; /* connections, and to one server or proxy */
	CURLM *multi;		/* NULL: nothing was asked yet */
	int64_t wake_ns;	/* when curl wants a turn; INT64_MAX: never */
};

struct http_pool {
	const char *user_agent;
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* n_calls of a client has become 0 */
	pthread_t thread;
	int wake_fd, epoll_fd;
	long n_connections_max; /* in all */

	/* With the mutex. */
	bool runs, ends;
	struct call *starts, **last_start;
	struct call *cancels;
	VEC(struct slot) slots;
	uint32_t free_slot;		/* UINT32_MAX: none */
	uint32_t n_calls, n_most_calls; /* now; at once since there was none */
	struct dcm_http_client *clients;

	struct part parts[PARTS_MAX]; /* of which n_parts are used */
	uint32_t n_parts;
	_Atomic uint32_t n_open_parts; /* any thread */
	const char *encodings;
	VEC(struct call *) timers; /* heap by wake_ns */
	CURL *spare[SPARE_HANDLES];
	unsigned n_spare;
};

int64_t pool__now(void);

/* --- http_pool.c --- */
/* From any thread. */
int pool__start(struct dcm_http_client *c, struct http_setup *setup,
		const struct dcm_http_call *call, uint64_t *ret_id, struct dcm_error *err);
/* After its done(): the client thread. */
void pool__forget(struct call *c);
/* Its id means nothing any more. */
void pool__release_id(struct call *c);
void call__free(struct call *c);

/* --- http_turn.c --- */
void *pool__run(void *pool);
int pool__open(struct http_pool *p); /* epoll, wake, multi; -errno, and nothing is left open */
void pool__close(struct http_pool *p);
void pool__wake(struct http_pool *p);
/* Where requests to this place are; NULL: no memory. */
struct part *pool__part(struct http_pool *p, const struct http_place *place, bool may_have_proxy);
/* When the call is to be looked at again: c->wake_ns. False, of a call that had none: no memory. */
bool pool__set_timer(struct call *c);
void pool__clear_timer(struct call *c);

/* --- http_leg.c --- */
void call__begin(struct call *c);
/* What curl says of the request that is over. */
void call__ended(struct call *c, CURLcode code);
/* Its time has come: it ends, or the timer is set again. */
void call__timer(struct call *c);
/* Answers it: done() and no more of it. */
void call__finish(struct call *c, int fault, const char *sentence);

#endif
