/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/turns.c - so many at once, and so many a second for long: a bucket that fills by time
 *
 * What is saved up is time: nanoseconds, of which a turn costs its share of a second. So nothing is
 * rounded away however often somebody comes.
 */
#include "core/broker/turns.h"

#define SECOND UINT64_C(1000000000)

void turns__init(struct turns *t, uint32_t per_second, uint32_t burst, uint64_t now_ns)
{
	t->cost_ns = SECOND / per_second;
	t->full_ns = t->cost_ns * burst;
	t->left_ns = t->full_ns;
	t->at_ns = now_ns;
}

bool turns__take(struct turns *t, uint64_t now_ns)
{
	const uint64_t passed = now_ns - t->at_ns, room = t->full_ns - t->left_ns;

	t->left_ns += passed < room ? passed : room;
	t->at_ns = now_ns;
	if (t->left_ns < t->cost_ns)
		return false;
	t->left_ns -= t->cost_ns;
	return true;
}
