/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/constructor.c - a program whose library spins before main is called, for a second
 *
 * -DLIBRARY: the library, in which begin_library() calls spin(); otherwise the program that is linked with it.
 */
#include <time.h>

int in_library(void);

#ifdef LIBRARY
static volatile unsigned long sink;

/* About a millisecond, without a call. */
__attribute__((noinline)) static void spin(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((constructor)) static void begin_library(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC;

	while (clock() < end) {
		spin();
		sink++;
	}
}

int in_library(void)
{
	return sink == 0;
}
#else
int main(void)
{
	return in_library();
}
#endif
