/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/broker_process.h - what runs in the broker; private to core/broker
 */
#ifndef DECIMA_BROKER_BROKER_PROCESS_H
#define DECIMA_BROKER_BROKER_PROCESS_H

#include <sys/types.h>

#include "core/broker/broker.h"

/* In the child, with the end of the channel to the asker; never returns. */
void broker_process__run(int end, pid_t parent) __attribute__((noreturn));

#endif
