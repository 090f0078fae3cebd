/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/forker.h - the process that forks workers, and what they run; private to core/broker
 */
#ifndef DECIMA_BROKER_FORKER_H
#define DECIMA_BROKER_FORKER_H

#include "core/broker/worker.h"

/*
 * Requests to the forker: make a worker, answered with its socket and its pidfd, its pid in `what`;
 * and kill one, whose pidfd comes along, without an answer (the asker may be of another user, and
 * may not).
 */
enum { FORKER_FORK = 1, FORKER_KILL = 2, FORKER_FDS = 2 };

/* In the child, with the end of the channel to the asker; never returns. */
void forker__run(const struct workers_config *config, int end, pid_t parent) __attribute__((noreturn));

#endif
