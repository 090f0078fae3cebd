/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/bare32.c - a 32-bit program without frame pointers, whose %ebp is used for this and that
 *
 * The chain of bare_chain.h; to be built with -m32 -fomit-frame-pointer too.
 */
#include "bare_chain.h"

/* What might be a frame record: a next one above, or none, and something for a return address. */
struct record {
	void *next, *ra;
};

static void spin_with(void *ebp)
{
	__asm__ volatile("push %%ebp\n\t"
			 "mov %0, %%ebp\n\t"
			 "mov $3000000, %%ecx\n"
			 "1:\tdec %%ecx\n\t"
			 "jnz 1b\n\t"
			 "pop %%ebp"
			 :
			 : "r"(ebp)
			 : "ecx", "memory");
}

NOINLINE void spin(void)
{
	struct record last = { 0, 0 }, code = { &last, (char *)&spin + 1 },
		      data = { &last, (void *)&sink };
	static char text[] = "neither";

	spin_with(0);
	spin_with(text);
	spin_with(&last);
	spin_with(&code);
	spin_with(&data);
}
