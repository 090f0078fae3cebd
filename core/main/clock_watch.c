/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/clock_watch.c - notices when somebody sets the machine's clock
 */
#include "core/main/clock_watch.h"

#include <stdio.h>

#include "core/base/units.h"

#define SECOND_NS INT64_C(1000000000)
/* Two clocks cannot be read at once: when this much passes in between, the look does not count. */
#define LONGEST_LOOK_NS (SECOND_NS / 10)

static void describe(int64_t step_ns, char text[static CLOCK_WATCH_TEXT])
{
	char by[48];

	step_ns += step_ns < 0 ? -SECOND_NS / 2 : SECOND_NS / 2;
	units__format_duration((step_ns < 0 ? -step_ns : step_ns) / SECOND_NS * SECOND_NS, by);
	if (step_ns > 0)
		snprintf(text, CLOCK_WATCH_TEXT,
			 "the machine's clock went forward by %s (it was set, or the machine "
			 "slept): what is stored is that much older now, and retention goes by the "
			 "clock; if nobody meant to set it, check the time synchronization",
			 by);
	else
		snprintf(text, CLOCK_WATCH_TEXT,
			 "the machine's clock was set back by %s: profiles of that time come "
			 "twice, and what is stored "
			 "with later times is outside of ranges that end now; if nobody meant to "
			 "set it, check the time "
			 "synchronization",
			 by);
}

bool clock_watch__look(struct clock_watch *w, const struct clock *clock,
		       char text[static CLOCK_WATCH_TEXT])
{
	int64_t before = clock__mono(clock), real = clock__real(clock), after = clock__mono(clock);
	int64_t step = real - after - w->offset_ns;

	if (after - before > LONGEST_LOOK_NS)
		return false;
	w->offset_ns = real - after;
	if (!w->has_looked) {
		w->has_looked = true;
		return false;
	}
	if (step > -SECOND_NS && step < SECOND_NS)
		return false;
	describe(step, text);
	return true;
}
