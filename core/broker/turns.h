/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/turns.h - so many at once, and so many a second for long: a bucket that fills by time
 *
 * No lock: one thread's. The caller says what time it is.
 */
#ifndef DECIMA_BROKER_TURNS_H
#define DECIMA_BROKER_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct turns {
	uint64_t cost_ns, full_ns; /* of a turn; of all that can be saved up */
	uint64_t left_ns, at_ns;   /* saved up then */
};

/* Full. per_second: 1 to 1,000,000,000. */
void turns__init(struct turns *t, uint32_t per_second, uint32_t burst, uint64_t now_ns);

/* Takes one; false: there is none. now_ns never goes back. */
bool turns__take(struct turns *t, uint64_t now_ns);

#endif
