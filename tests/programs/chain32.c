/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/chain32.c - a 32-bit program, without a C library, that spins at the end of a
 * known chain
 *
 * The chain of bare_chain.h; to be built with -m32 -fno-omit-frame-pointer too.
 */
#include "bare_chain.h"

NOINLINE void spin(void)
{
	sink += (unsigned)__builtin_frame_address(0);
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}
