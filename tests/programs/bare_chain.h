/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/bare_chain.h - the chain of calls of programs without a C library
 *
 * _start > alpha > beta > gamma_ > spin, until it is killed; spin() is the program's own. To be
 * built with -nostdlib -static -ffreestanding.
 */
#ifndef DECIMA_TESTS_PROGRAMS_BARE_CHAIN_H
#define DECIMA_TESTS_PROGRAMS_BARE_CHAIN_H

#define NOINLINE __attribute__((noinline, used))

static volatile unsigned sink;

void _start(void);
void alpha(void);
void beta(void);
void gamma_(void);
NOINLINE void spin(void);

NOINLINE void gamma_(void)
{
	spin();
	sink++;
}

NOINLINE void beta(void)
{
	gamma_();
	sink++;
}

NOINLINE void alpha(void)
{
	for (;;)
		beta();
}

/* The kernel enters with a frame pointer of 0. */
void _start(void)
{
	alpha();
	sink++;
}

#endif
