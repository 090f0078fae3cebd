/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/crew.h - the threads that help a store's questions
 *
 * A question is answered by the thread that asks; where it has much to read, others help it. There
 * are so many for all questions together: one that finds none free goes on alone, and nobody waits.
 * They live as long as what they help with.
 *
 * Threads: any.
 */
#ifndef DECIMA_STORAGE_ANSWER_CREW_H
#define DECIMA_STORAGE_ANSWER_CREW_H

#include <stdatomic.h>
#include <stdint.h>

enum { CREW_MAX = 16 }; /* threads that answer one question */

struct crew {
	_Atomic int32_t n_free; /* helpers that are not at work; below 0 after it was made smaller */
	_Atomic uint32_t n_threads; /* that a question has at most: its own, and helpers */
	uint64_t rows_each;	    /* a thread for so many rows */
};

/* n_threads: 1 .. CREW_MAX */
void crew__init(struct crew *c, uint32_t n_threads, uint64_t rows_each);

/* Also while questions are answered: those go on with the helpers that they have. */
void crew__resize(struct crew *c, uint32_t n_threads);

/* How many threads so many rows are worth, at least 1. c may be NULL: it has nobody. */
uint32_t crew__worth(const struct crew *c, uint64_t n_rows);

/*
 * Calls work(ctx, i) for i from 0 on, each in a thread of its own, up to n of them as far as they
 * can be had; i = 0 in this one. Returns how many there were, when all are done.
 */
typedef void (*crew_fn)(void *ctx, uint32_t i);
uint32_t crew__work(struct crew *c, uint32_t n, crew_fn work, void *ctx);

#endif
