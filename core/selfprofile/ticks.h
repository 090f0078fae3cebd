/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/ticks.h - stacks of this process's own threads, one for each 10 ms of CPU that one takes
 *
 * Each thread has a timer on its own CPU clock (as Go's runtime does): who sleeps costs nothing, and
 * who runs is interrupted by SIGPROF and writes down its stack. Several recordings may run at once;
 * the timers are there while one does. Needs no right, and no kernel that can do more than POSIX.
 *
 * A stack is found by frame pointers, which Decima and its plugins are built with (leaf.h: but for small
 * functions). A library without them has its innermost frame, and what called it may be missing. Threads that block SIGPROF (those
 * of the eBPF input, which sees itself) are not seen.
 *
 * What is bounded: recordings at once, bytes of one, depth, threads. Any thread may call anything;
 * one recording belongs to one thread at a time.
 */
#ifndef DECIMA_SELFPROFILE_TICKS_H
#define DECIMA_SELFPROFILE_TICKS_H

#include <decima/plugin.h>

#define TICKS_PERIOD_NS INT64_C(10000000)

enum { TICKS_MAX_DEPTH = 128, TICKS_MAX_RECORDINGS = 4, TICKS_MAX_THREADS = 1024 };

struct ticks;

/* Begins a recording. -EBUSY: as many as there may be are under way; -ENOMEM, or of timers. */
int ticks__begin(struct ticks **ret, struct dcm_error *err);
/* Threads that are new since the last look have a timer, too. To be called every tenth of a second. */
void ticks__look(void);
/* Nothing is written into it any more, when this returns. NULL is fine, and so is a second time. */
void ticks__end(struct ticks *t);
void ticks__free(struct ticks *t); /* ends it first; NULL is fine */

struct tick {
	uint32_t tid;
	uint32_t n_periods; /* of CPU time that it stands for; at least 1 */
	const uint64_t *pcs; /* [n], leaf first; of callers the instruction of the call, or a byte of it */
	uint32_t n;
	uint64_t top; /* the word that the stack pointer points to; 0: nobody knows */
};
/* Of a recording that has ended: the next one from *at on (0 first); false: there is none. */
bool ticks__next(const struct ticks *t, uint64_t *at, struct tick *ret);
/* Periods that found no room. */
uint64_t ticks__n_lost(const struct ticks *t);
/* What a thread was called when it was last looked at; "" when nobody knows any more. */
void ticks__thread_name(const struct ticks *t, uint32_t tid, char ret[static 16]);

#endif
