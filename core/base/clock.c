/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/clock.c - the machine's clocks, and one that tests drive
 *
 * CLOCK_MONOTONIC and CLOCK_REALTIME through the vDSO; neither can fail for these ids. Thread-safe.
 */
#include "core/base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t system_mono_ns(const struct clock *c)
{
	(void)c;
	return read_ns(CLOCK_MONOTONIC);
}

static int64_t system_real_ns(const struct clock *c)
{
	(void)c;
	return read_ns(CLOCK_REALTIME);
}

static int64_t fake_mono_ns(const struct clock *c)
{
	return c->fake_mono_ns;
}

static int64_t fake_real_ns(const struct clock *c)
{
	return c->fake_real_ns;
}

const struct clock clock__system = { .mono_ns = system_mono_ns, .real_ns = system_real_ns };

struct clock clock__fake(int64_t mono_ns, int64_t real_ns)
{
	return (struct clock){
		.mono_ns = fake_mono_ns,
		.real_ns = fake_real_ns,
		.fake_mono_ns = mono_ns,
		.fake_real_ns = real_ns,
	};
}
