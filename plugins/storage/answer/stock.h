/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/stock.h - memory that one question leaves for the next
 *
 * What a short question costs is mostly memory that is touched for the first time: its sums stand in
 * blocks of one size, which are given back to here. A few megabytes at most; what is more is freed.
 *
 * Threads: any.
 */
#ifndef DECIMA_STORAGE_ANSWER_STOCK_H
#define DECIMA_STORAGE_ANSWER_STOCK_H

#include <pthread.h>
#include <stdint.h>

enum { STOCK_BLOCK_BYTES = 64 << 10, STOCK_MAX = 64 };

struct stock {
	pthread_mutex_t lock; /* of what follows */
	uint32_t n;
	void *blocks[STOCK_MAX];
};

void stock__init(struct stock *s);
void stock__fini(struct stock *s);

/* A block, in which anything may stand; NULL when there is none. s may be NULL. */
void *stock__take(struct stock *s);
/* Takes a block from malloc() over. s may be NULL: it is freed. */
void stock__give(struct stock *s, void *block);

#endif
