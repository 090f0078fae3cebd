/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/chain32.c - a 32-bit program, without a C library, that spins at the end of a
 * known chain
 *
 * _start > alpha > beta > gamma_ > spin, until it is killed. To be built with
 * -m32 -nostdlib -static -ffreestanding -fno-omit-frame-pointer.
 */
#define NOINLINE __attribute__((noinline, used))

static volatile unsigned sink;

void _start(void);
void alpha(void);
void beta(void);
void gamma_(void);
void spin(void);

NOINLINE void spin(void)
{
	sink += (unsigned)__builtin_frame_address(0);
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}

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
