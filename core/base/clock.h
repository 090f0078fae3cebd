/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/clock.h - the two clocks, and one that tests drive
 *
 * Monotonic time orders and measures; real time labels data. Code that keeps either takes a `struct
 * clock *`.
 */
#ifndef DECIMA_BASE_CLOCK_H
#define DECIMA_BASE_CLOCK_H

#include <stdint.h>

struct clock {
	int64_t (*mono_ns)(const struct clock *c);
	int64_t (*real_ns)(const struct clock *c);
	int64_t fake_mono_ns, fake_real_ns; /* of clock__fake() */
};

/* The machine's clocks; a constant, shareable by threads. */
extern const struct clock clock__system;

/* A clock that stands still until its two fields are moved. */
struct clock clock__fake(int64_t mono_ns, int64_t real_ns);

static inline int64_t clock__mono(const struct clock *c)
{
	return c->mono_ns(c);
}
static inline int64_t clock__real(const struct clock *c)
{
	return c->real_ns(c);
}

#endif
