/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/balance.c - the samples of one CPU held against the time that it was busy
 *
 * Sources: bpf_overflow_handler(), perf_swevent_hrtimer() and cpu_clock_event_update() in Linux,
 * kernel/events/core.c; get_idle_time() in fs/proc/stat.c.
 */
#include "plugins/input/ebpf/balance.h"

#define SLACK_SAMPLES	 2.0
#define SLACK_DEVIATIONS 5.0
#define SLACK_OF_ALL	 0.01
#define SLACK_OF_IDLE                                                                              \
	0.02 /* interrupts that find the CPU idle are not idle time, and not sampled */
#define SLACK_OF_STEPS_NS (3 * (double)CPU_TIMES_STEP_NS) /* idle, waiting, stolen */

/* Idle times may go back by a little. */
static double since(uint64_t then, uint64_t now)
{
	return now > then ? (double)(now - then) : 0;
}

static void forget(struct balance *b)
{
	b->open = b->noise = b->allowed = 0;
	b->n_windows = 0;
}

/* True when the readings are of one event, so that there is something between them. */
static bool go_on(struct balance *b, const struct balance_reading *now)
{
	const struct balance_reading *last = &b->last;
	bool is_same = b->is_known && now->enabled_ns >= last->enabled_ns &&
		       now->counted_ns >= last->counted_ns && now->entries >= last->entries;

	b->is_known = true;
	if (!is_same) {
		forget(b);
		b->throttled = 0;
	}
	return is_same;
}

static uint64_t whole(double *n)
{
	uint64_t told = (uint64_t)*n;

	*n -= (double)told;
	return told;
}

/* What the two readings say: samples due when all of the time had been busy, and of these on idle time. */
static void share_out(const struct balance_reading *from, const struct balance_reading *to,
		      double period, double *ret_all, double *ret_idle)
{
	double all = (double)(to->counted_ns - from->counted_ns) / period;
	double idle = (since(from->times.idle_ns, to->times.idle_ns) +
		       since(from->times.stolen_ns, to->times.stolen_ns)) /
		      period;

	*ret_all = all;
	*ret_idle = idle < all ? idle : all;
}

/* Tells what is open when luck does not explain it. */
static void weigh(struct balance *b, double steps, struct balance_missed *missed)
{
	double slack = SLACK_SAMPLES + b->allowed + (b->noise > 0 ? steps : 0);
	double over = b->open - slack;

	if (over > 0 && over * over > SLACK_DEVIATIONS * SLACK_DEVIATIONS * b->noise) {
		missed->not_run += (uint64_t)b->open;
		forget(b);
	} else if (++b->n_windows == BALANCE_WINDOWS) {
		forget(b);
	} else if (b->open < -slack) {
		b->open = -slack;
	}
}

void balance__step(struct balance *b, const struct balance_reading *now, uint64_t period_ns,
		   struct balance_missed *missed)
{
	const struct balance_reading last = b->last;
	double period = (double)period_ns, all, idle, held_up, share;
	bool may_go_on = go_on(b, now);

	b->last = *now;
	if (!may_go_on)
		return;
	share_out(&last, now, period, &all, &idle);
	share = all > 0 ? idle / all : 0;
	held_up = (double)(now->enabled_ns - last.enabled_ns) / period - all;
	if (held_up > 0)
		b->throttled += held_up;
	if (b->throttled >= SLACK_SAMPLES)
		missed->throttled += whole(&b->throttled);
	b->open += all - idle - (double)(now->entries - last.entries);
	b->noise += idle * (1 - share);
	b->allowed += SLACK_OF_ALL * (all - idle) + SLACK_OF_IDLE * idle +
		      share * since(last.times.irq_ns, now->times.irq_ns) / period;
	weigh(b, SLACK_OF_STEPS_NS / period, missed);
}
