/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/room.h - room for answers, from their first byte until they are read
 *
 * All targets have it together. Where it is full, the largest of the answers that still arrive, or wait for another answer of
 * the same target, gives way to a smaller one: who sends much and slowly, or never ends, keeps nobody else from being heard.
 * What has arrived stays until it is read. Any thread.
 */
#ifndef DECIMA_PPROF_SCRAPE_ROOM_H
#define DECIMA_PPROF_SCRAPE_ROOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct room {
	pthread_mutex_t lock;
	uint64_t max_bytes, n_bytes;
	struct room_piece *arriving; /* a list */
};

/* One answer; zeroed at first. Its owner reads `data` once it has arrived. */
struct room_piece {
	struct room_piece *next, **link; /* among those that may have to give way; link is NULL: it stays */
	uint8_t *data;			 /* [n], room for cap */
	size_t n, cap;
	size_t expected; /* what it will have, to the best of anyone's knowledge; 0: nobody knows */
	bool has_lost; /* it gave way, or there was no memory: nothing of it is left, nor taken any more */
};

void room__init(struct room *r, uint64_t max_bytes);
void room__fini(struct room *r); /* every piece is freed */

/* More of an answer, which is copied. False: it has lost. */
bool room__take(struct room *r, struct room_piece *p, const void *data, size_t n);
/* It is whole, or nothing more comes, and it stays; false: it has lost. */
bool room__arrived(struct room *r, struct room_piece *p);
/* It is not read yet, for something that is still to come; room__arrived() again before it is. */
void room__waits(struct room *r, struct room_piece *p);
void room__free(struct room *r, struct room_piece *p);

#endif
