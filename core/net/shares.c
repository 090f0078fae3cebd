/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/shares.c - what each client has of what all have together
 */
#include "core/net/shares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"

enum { MIN_BUCKETS = 64, HOST_BYTES = 8 };

struct key {
	uint8_t b[16];
	uint8_t is_unix;
};

struct share {
	struct shares *all;
	struct share *next; /* in its bucket */
	struct key key;
	uint64_t n[SHARE_N];
};

int shares__init(struct shares *s, uint32_t n)
{
	uint32_t n_buckets = MIN_BUCKETS;

	while (n_buckets < n)
		n_buckets *= 2;
	*s = (struct shares){ .buckets = mem__zalloc(n_buckets, sizeof(struct share *)),
			      .n_buckets = n_buckets };
	pthread_mutex_init(&s->lock, NULL);
	return s->buckets ? 0 : -ENOMEM;
}

void shares__fini(struct shares *s)
{
	for (uint32_t i = 0; s->buckets && i < s->n_buckets; i++) {
		while (s->buckets[i]) {
			struct share *c = s->buckets[i];

			s->buckets[i] = c->next;
			free(c);
		}
	}
	free(s->buckets);
	pthread_mutex_destroy(&s->lock);
}

static struct key key_of(const struct address *address, uint32_t uid)
{
	struct key key = { .is_unix = !address };

	if (!address)
		memcpy(key.b, &uid, sizeof(uid));
	else
		memcpy(key.b, address->b,
		       address->is_v4 || address__is_loopback(address) ? sizeof(key.b) : HOST_BYTES);
	return key;
}

uint64_t shares__client_of(struct dcm_str peer)
{
	struct address address;
	char text[ADDRESS_TEXT];
	struct key key;

	snprintf(text, sizeof(text), "%.*s", (int)peer.n, peer.p);
	if (!address__read(text, &address))
		return hash__bytes(peer.p, peer.n, 0);
	key = key_of(&address, 0);
	return hash__bytes(&key, sizeof(key), 0);
}

static struct share **bucket_of(struct shares *s, const struct key *key)
{
	return &s->buckets[hash__bytes(key, sizeof(*key), 0) & (s->n_buckets - 1)];
}

/* With the lock. */
static struct share *find(struct shares *s, const struct key *key)
{
	struct share *c = *bucket_of(s, key);

	while (c && memcmp(&c->key, key, sizeof(*key)) != 0)
		c = c->next;
	return c;
}

/* With the lock. */
static struct share *add(struct shares *s, const struct key *key)
{
	struct share **bucket = bucket_of(s, key), *c = NEW(struct share);

	if (!c)
		return NULL;
	*c = (struct share){ .all = s, .next = *bucket, .key = *key };
	*bucket = c;
	return c;
}

/* With the lock. */
static void forget_idle(struct share *c)
{
	struct share **at = bucket_of(c->all, &c->key);

	for (int i = 0; i < SHARE_N; i++)
		if (c->n[i])
			return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}

struct share *shares__enter(struct shares *s, const struct address *address, uint32_t uid, uint64_t most)
{
	const struct key key = key_of(address, uid);
	struct share *c;

	pthread_mutex_lock(&s->lock);
	c = find(s, &key);
	c = c ? c : add(s, &key);
	if (c && c->n[SHARE_CONNECTIONS] >= most)
		c = NULL;
	if (c)
		c->n[SHARE_CONNECTIONS]++;
	pthread_mutex_unlock(&s->lock);
	return c;
}

bool share__take(struct share *c, enum share_of what, uint64_t n, uint64_t own, uint64_t most)
{
	bool room;

	if (!c)
		return true;
	pthread_mutex_lock(&c->all->lock);
	room = c->n[what] == own || (n <= most && c->n[what] <= most - n);
	c->n[what] += room ? n : 0;
	pthread_mutex_unlock(&c->all->lock);
	return room;
}

void share__give(struct share *c, enum share_of what, uint64_t n)
{
	struct shares *s;

	if (!c || n == 0)
		return;
	s = c->all;
	pthread_mutex_lock(&s->lock);
	c->n[what] -= n;
	forget_idle(c);
	pthread_mutex_unlock(&s->lock);
}
