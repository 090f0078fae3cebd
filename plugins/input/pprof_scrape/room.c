/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/room.c - a list of those that arrive, walked where there is no room
 */
#include "plugins/input/pprof_scrape/room.h"

#include <stdlib.h>
#include <string.h>

/* Room at first. Nobody else gives way for what is only expected, beyond the little that it has to be for all. */
#define FIRST_BYTES	((size_t)16384)
#define FIRST_BYTES_MAX ((size_t)262144)

void room__init(struct room *r, uint64_t max_bytes)
{
	*r = (struct room){ .max_bytes = max_bytes };
	pthread_mutex_init(&r->lock, NULL);
}

void room__fini(struct room *r)
{
	pthread_mutex_destroy(&r->lock);
}

/* ---- with the lock ---- */

static void enter(struct room *r, struct room_piece *p)
{
	p->next = r->arriving;
	p->link = &r->arriving;
	if (p->next)
		p->next->link = &p->next;
	r->arriving = p;
}

static void leave(struct room_piece *p)
{
	if (!p->link)
		return;
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	p->link = NULL;
}

static void clear(struct room *r, struct room_piece *p)
{
	leave(p);
	r->n_bytes -= p->cap;
	free(p->data);
	p->data = NULL;
	p->n = p->cap = 0;
}

/* To what is there. */
static void cut(struct room *r, struct room_piece *p)
{
	uint8_t *data = p->n && p->n < p->cap ? realloc(p->data, p->n) : NULL;

	if (!data)
		return;
	r->n_bytes -= p->cap - p->n;
	p->data = data;
	p->cap = p->n;
}

static void lose(struct room *r, struct room_piece *p)
{
	clear(r, p);
	p->has_lost = true;
}

/* Of those that arrive and have more than that, the largest; NULL: there is none. */
static struct room_piece *larger_than(const struct room *r, size_t bytes)
{
	struct room_piece *largest = NULL;

	for (struct room_piece *p = r->arriving; p; p = p->next)
		if (p->cap > (largest ? largest->cap : bytes))
			largest = p;
	return largest;
}

static bool grow(struct room *r, struct room_piece *p, size_t cap)
{
	uint8_t *data;

	while (r->n_bytes - p->cap + cap > r->max_bytes) {
		struct room_piece *largest = larger_than(r, cap);

		if (!largest)
			return false;
		lose(r, largest);
	}
	data = realloc(p->data, cap);
	if (!data)
		return false;
	r->n_bytes += cap - p->cap;
	p->data = data;
	p->cap = cap;
	return true;
}

/* What came before is a good guess: and a little more than that, so that it need not grow by a half for as little. */
static size_t first_bytes(const struct room_piece *p)
{
	const size_t first = p->expected + p->expected / 16;

	return first < FIRST_BYTES	 ? FIRST_BYTES
	       : first > FIRST_BYTES_MAX ? FIRST_BYTES_MAX
					 : first;
}

static bool append(struct room *r, struct room_piece *p, const void *data, size_t n)
{
	size_t cap = p->cap ? p->cap : first_bytes(p);

	/* By halves, so that what arrives is not far from what it takes. */
	while (cap - p->n < n)
		cap += cap / 2;
	if (cap != p->cap && !grow(r, p, cap))
		return false;
	memcpy(p->data + p->n, data, n);
	p->n += n;
	return true;
}

/* ---- */

bool room__take(struct room *r, struct room_piece *p, const void *data, size_t n)
{
	bool is_taken;

	pthread_mutex_lock(&r->lock);
	if (!p->has_lost) {
		if (!p->link)
			enter(r, p);
		if (!append(r, p, data, n))
			lose(r, p);
	}
	is_taken = !p->has_lost;
	pthread_mutex_unlock(&r->lock);
	return is_taken;
}

bool room__arrived(struct room *r, struct room_piece *p)
{
	bool is_there;

	pthread_mutex_lock(&r->lock);
	leave(p);
	cut(r, p);
	is_there = !p->has_lost;
	pthread_mutex_unlock(&r->lock);
	return is_there;
}

void room__waits(struct room *r, struct room_piece *p)
{
	pthread_mutex_lock(&r->lock);
	if (!p->link && !p->has_lost)
		enter(r, p);
	pthread_mutex_unlock(&r->lock);
}

void room__free(struct room *r, struct room_piece *p)
{
	pthread_mutex_lock(&r->lock);
	clear(r, p);
	pthread_mutex_unlock(&r->lock);
}
