/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/lanes.h - requests that wait for a handler, and the threads that run it
 *
 * Five lanes, so that a reload never waits behind questions, and these not behind files or what is
 * brought: some threads for questions, many for pushes (which mostly wait for a store), one for what waits for
 * the control thread, one for bodies that go into files, two for what waits for time to pass: one that
 * asks all day leaves one. A handler that hangs in a plugin holds up its own thread and
 * nobody else; at the end it is left behind.
 */
#ifndef DECIMA_NET_LANES_H
#define DECIMA_NET_LANES_H

#include "core/net/exchange.h"

enum lane { LANE_QUESTIONS, LANE_PUSHES, LANE_CONTROL, LANE_FILES, LANE_TIME, N_LANES };

struct lanes_config {
	uint32_t n_threads[N_LANES];
	uint32_t max_waiting; /* in each lane */
	/* On a thread of the lane. `done` hands the exchange back: it may be freed from then on. */
	void (*handle)(void *ctx, struct exchange *x);
	void (*done)(void *ctx, struct exchange *x);
	void *ctx;
};

struct lanes;
int lanes__new(const struct lanes_config *config, struct lanes **ret, struct dcm_error *err);

/*
 * Has the exchange's carrier hold it, and queues it; false when too many wait, or after
 * lanes__stop(): then nothing has happened. The carrier's thread.
 */
bool lanes__give(struct lanes *l, enum lane lane, struct exchange *x);

/*
 * Takes nothing more, lets what runs and waits end until the deadline, then cancels its budgets and
 * gives it a second more. 0 when every thread has ended. -ETIMEDOUT: some are still in their
 * handlers, and everything that these look at must stay; another call waits again. Control thread.
 */
int lanes__stop(struct lanes *l, int64_t deadline_mono_ns);

/* After lanes__stop(): the requests that are still in their handlers. */
void lanes__each(struct lanes *l, void (*each)(void *ctx, const struct exchange *x), void *ctx);

/* Stops at once. What is still in a handler keeps all its memory until the process ends. */
void lanes__free(struct lanes *l);

#endif
