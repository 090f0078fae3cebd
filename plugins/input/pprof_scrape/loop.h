/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/loop.h - the one thread that does everything: timers, files, answers
 *
 * Discovery, schedules and decoding all run on the thread that is in loop__run(), so none of them
 * needs a lock against the others. Other threads reach it by loop__post() alone. Answers of servers
 * come that way from the host's client thread.
 */
#ifndef DECIMA_PPROF_SCRAPE_LOOP_H
#define DECIMA_PPROF_SCRAPE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

struct loop;

/* Part of what it wakes, zeroed at first; belongs to the loop's thread. */
struct loop_timer {
	int64_t at_mono_ns;
	void (*fn)(void *ctx);
	void *ctx;
	uint32_t place; /* in the heap, from 1; 0: not set */
};

/* Part of what is handed over; the loop's from loop__post() until `fn` is called. */
struct loop_item {
	struct loop_item *next;
	void (*fn)(struct loop_item *item);
};

/* NULL when memory or descriptors ran out. The host's clock counts. */
struct loop *loop__new(const struct dcm_host *host);
/* After loop__run() has returned; what was posted and not run is run here. */
void loop__free(struct loop *l);

/* Runs until loop__end(). */
void loop__run(struct loop *l);
/* Any thread. */
void loop__end(struct loop *l);

/* Sets it anew when it was set already. 0 or -ENOMEM. */
int loop__set(struct loop *l, struct loop_timer *t, int64_t at_mono_ns);
void loop__cancel(struct loop *l, struct loop_timer *t);

/* Calls fn whenever fd can be read. 0 or -ENOMEM. */
int loop__watch(struct loop *l, int fd, void (*fn)(void *ctx), void *ctx);
/* The same for events of poll(): POLLIN, POLLOUT, or both. */
int loop__watch_events(struct loop *l, int fd, short events, void (*fn)(void *ctx), void *ctx);
void loop__unwatch(struct loop *l, int fd);

/* Any thread; never fails. Items run in the order of posting. */
void loop__post(struct loop *l, struct loop_item *item);
/* Runs it on the loop's thread, and returns then. Another thread, while one is in loop__run(). */
void loop__call(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* What was posted and not run, after loop__run() has returned. */
void loop__run_posted(struct loop *l);

#endif
