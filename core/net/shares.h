/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/shares.h - what each client has of what all have together, so that none has all of it
 *
 * A client is an address, of IPv6 the network of 64 bits that a machine chooses its own from, or a user on unix sockets.
 * One that has nothing is forgotten. Threads: any.
 */
#ifndef DECIMA_NET_SHARES_H
#define DECIMA_NET_SHARES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/net/address.h"

enum share_of {
	SHARE_CONNECTIONS,
	SHARE_BODIES,	  /* bytes in memory */
	SHARE_FILES,	  /* bodies that go into files */
	SHARE_FILE_BYTES, /* and what is set aside on the disk for them */
	SHARE_TALKS,	  /* calls that are streams */
	SHARE_PUSHES,	  /* requests that bring something, and work or wait */
	SHARE_N
};

struct share; /* one client's */

struct shares {
	pthread_mutex_t lock;
	struct share **buckets; /* [n_buckets] */
	uint32_t n_buckets;
};

/* n: clients that are likely at once. 0 or -ENOMEM. */
int shares__init(struct shares *s, uint32_t n);
void shares__fini(struct shares *s);

/*
 * A connection of that address (NULL: a unix socket's user uid), which ends with share__give(.., SHARE_CONNECTIONS, 1); NULL: it
 * has `most` already, or memory ran out.
 */
struct share *shares__enter(struct shares *s, const struct address *address, uint32_t uid, uint64_t most);

/*
 * Takes n more for who has `own` of it already; false: that would be more than `most`, and there are others: who has nothing but
 * one may have that one larger.
 * Whoever calls has something of it, or else the share may be gone. NULL is nobody, who has no bound.
 */
bool share__take(struct share *c, enum share_of what, uint64_t n, uint64_t own, uint64_t most);
void share__give(struct share *c, enum share_of what, uint64_t n);

/* Who is one client, as a number, of an address or a user as struct dcm_request.peer has them. */
uint64_t shares__client_of(struct dcm_str peer);

/* What one client may have of n, so that others have something too: three quarters. */
static inline uint64_t share__most(uint64_t n)
{
	return n - n / 4;
}

#endif
