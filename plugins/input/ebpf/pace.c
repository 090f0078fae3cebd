/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/pace.c - how long the reader leaves the rings alone
 */
#include "plugins/input/ebpf/pace.h"

int64_t pace__next(int64_t before_ns, int64_t waited_ns, uint64_t n_samples)
{
	if (n_samples > PACE_FEW || before_ns < PACE_SHORTEST_NS)
		return PACE_SHORTEST_NS;
	if (waited_ns < before_ns)
		return before_ns;
	return before_ns < PACE_LONGEST_NS / 2 ? 2 * before_ns : PACE_LONGEST_NS;
}
