/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/clock_watch.h - notices when somebody sets the machine's clock
 *
 * Durations, deadlines and schedules go by monotonic time and do not notice. Profiles carry real
 * time, and ranges and retention go by it: who looks at them then has to know that it jumped.
 */
#ifndef DECIMA_MAIN_CLOCK_WATCH_H
#define DECIMA_MAIN_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"

/* Zeroed: has not looked yet. One thread. */
struct clock_watch {
	int64_t offset_ns; /* of real time against monotonic time at the last look */
	bool has_looked;
};

enum { CLOCK_WATCH_TEXT = 320 };

/*
 * Has real time moved against monotonic time by a second or more since the last look? Less is
 * drift, or a time service at work, which moves a clock by a tenth at most: so to be called at
 * least every nine seconds. True: `text` says which way, how far, and what follows.
 */
bool clock_watch__look(struct clock_watch *w, const struct clock *clock,
		       char text[static CLOCK_WATCH_TEXT]);

#endif
