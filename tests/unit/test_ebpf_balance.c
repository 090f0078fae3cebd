/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_balance.c - what a CPU's samples lack is told, and luck is not
 *
 * A CPU is played: its timer ends a period again and again, and finds it busy or idle by a pattern,
 * or by chance. What the balance is given is what the kernel would say of that.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/input/ebpf/balance.h"
#include "tests/unit/unit.h"

#define SECOND UINT64_C(1000000000)

struct played {
	struct balance balance;
	struct balance_reading now; /* times in ns; told in steps */
	struct balance_missed missed;
	uint64_t period_ns, n_due; /* samples that found the CPU busy */
	uint64_t lose_one_in;	   /* 0: none */
	unsigned busy_percent;	   /* by chance, 1 ms at a time */
	uint64_t to_next_ns;
	unsigned short seed[3];
};

static void begin(struct played *p, uint64_t hz, unsigned busy_percent)
{
	*p = (struct played){ .period_ns = SECOND / hz, .busy_percent = busy_percent, .seed = { 1, 2, 3 } };
	p->to_next_ns = p->period_ns;
	balance__step(&p->balance, &p->now, p->period_ns, &p->missed);
}

static void millisecond(struct played *p)
{
	const uint64_t step = SECOND / 1000;
	bool busy = erand48(p->seed) * 100 < p->busy_percent;
	uint64_t left = step;

	for (; p->to_next_ns <= left; p->to_next_ns = p->period_ns) {
		left -= p->to_next_ns;
		if (busy && (p->lose_one_in == 0 || ++p->n_due % p->lose_one_in))
			p->now.entries++;
	}
	p->to_next_ns -= left;
	p->now.enabled_ns += step;
	p->now.counted_ns += step;
	if (!busy)
		p->now.times.idle_ns += step;
}

static void window(struct played *p, unsigned seconds)
{
	struct balance_reading told;

	for (unsigned i = 0; i < seconds * 1000; i++)
		millisecond(p);
	told = p->now;
	told.times.idle_ns -= told.times.idle_ns % CPU_TIMES_STEP_NS;
	balance__step(&p->balance, &told, p->period_ns, &p->missed);
}

/* An hour of windows at each frequency and load: nothing is missing, and nothing is told. */
static void test_luck_is_not_told(void **state)
{
	static const unsigned busy[] = { 0, 1, 5, 30, 50, 90, 99, 100 }, hz[] = { 1, 19, 97, 997 };

	(void)state;
	for (size_t i = 0; i < sizeof(busy) / sizeof(*busy); i++)
		for (size_t k = 0; k < sizeof(hz) / sizeof(*hz); k++) {
			struct played p;

			begin(&p, hz[k], busy[i]);
			for (int n = 0; n < 400; n++)
				window(&p, 10);
			assert_int_equal(p.missed.not_run, 0);
			assert_int_equal(p.missed.throttled, 0);
		}
}

/* A third of a busy CPU's samples: told window by window, all but a few. */
static void test_a_loss_is_told(void **state)
{
	static const unsigned hz[] = { 1, 19, 97, 997 };

	(void)state;
	for (size_t k = 0; k < sizeof(hz) / sizeof(*hz); k++) {
		struct played p;
		uint64_t lost;

		begin(&p, hz[k], 100);
		p.lose_one_in = 3;
		for (int n = 0; n < 10; n++) {
			window(&p, 10);
			lost = p.n_due / 3;
			assert_true(p.missed.not_run <= lost + 1);
			assert_true(p.missed.not_run + 3 + p.n_due / 100 >= lost);
		}
	}
}

/* On a CPU that is idle for half of the time it takes some windows, and comes out whole. */
static void test_a_loss_beside_idle_time(void **state)
{
	struct played p;
	uint64_t lost;

	(void)state;
	begin(&p, 19, 50);
	p.lose_one_in = 5;
	for (int n = 0; n < 500; n++)
		window(&p, 10);
	lost = p.n_due / 5;
	assert_true(p.missed.not_run > lost * 9 / 10);
	assert_true(p.missed.not_run < lost * 11 / 10);
}

/* Time that the hypervisor took is nobody's, and interrupts of an idle CPU are not sampled. */
static void test_what_is_no_loss(void **state)
{
	struct played p;

	(void)state;
	begin(&p, 97, 100);
	p.lose_one_in = 4;
	for (int n = 0; n < 10; n++) {
		p.now.times.stolen_ns += 10 * SECOND / 4;
		window(&p, 10);
	}
	assert_int_equal(p.missed.not_run, 0);

	begin(&p, 97, 0);
	for (int n = 0; n < 100; n++) {
		p.now.times.irq_ns += SECOND / 2;
		window(&p, 10);
		p.now.times.idle_ns -= SECOND / 2;
	}
	assert_int_equal(p.missed.not_run, 0);
}

static void test_throttled(void **state)
{
	struct played p;

	(void)state;
	begin(&p, 997, 100);
	p.now.enabled_ns += 3 * SECOND; /* with a timer that stood still */
	window(&p, 1);
	assert_in_range(p.missed.throttled, 2990, 2992);
	assert_int_equal(p.missed.not_run, 0);
}

/* The CPU went and came back, and idle times may go back by a little: nothing to hold against. */
static void test_a_new_event(void **state)
{
	struct played p;

	(void)state;
	begin(&p, 97, 100);
	window(&p, 10);
	p.now.enabled_ns = p.now.counted_ns = 5 * SECOND;
	p.now.entries += 10;
	window(&p, 1);
	assert_int_equal(p.missed.not_run, 0);
	p.now.times.idle_ns = 0;
	window(&p, 10);
	assert_int_equal(p.missed.not_run, 0);
	p.lose_one_in = 2;
	window(&p, 10);
	assert_true(p.missed.not_run > 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_luck_is_not_told),
		cmocka_unit_test(test_a_loss_is_told),
		cmocka_unit_test(test_a_loss_beside_idle_time),
		cmocka_unit_test(test_what_is_no_loss),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_a_new_event),
	};

	return cmocka_run_group_tests_name("ebpf_balance", tests, NULL, NULL);
}
