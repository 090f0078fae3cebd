/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/chain.c - spins at the end of a known chain of calls
 *
 *	chain SECONDS [DEPTH [THREAD_NAME]]
 *
 * main > alpha > beta > gamma > spin; with DEPTH, `down` calls itself that often between gamma and
 * spin; with THREAD_NAME it all happens in a thread of that name, below `thread_main`, while the
 * main thread has ended.
 *
 * gcc leaves the frame out of a leaf function whatever -fno-omit-frame-pointer says, so its caller
 * is not to be found by frame pointers; with -DLEAF_FRAME spin() asks for its frame. With
 * -DIN_KERNEL spin() spends its time in a system call, made without libc's function between. With
 * -DCLOCK=CLOCK_PROCESS_CPUTIME_ID the seconds are of its own CPU time, however busy the machine
 * is.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#ifndef CLOCK
#define CLOCK CLOCK_MONOTONIC
#endif

static volatile uint64_t sink;
static double seconds;
static unsigned depth;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Work without a call: about a millisecond. */
NOINLINE void spin(void)
{
#ifdef LEAF_FRAME
	sink += (uintptr_t)__builtin_frame_address(0);
#endif
#ifdef IN_KERNEL
	static char numbers[256 * 1024];
	long n = SYS_getrandom;

	__asm__ volatile("syscall"
			 : "+a"(n)
			 : "D"(numbers), "S"(sizeof(numbers)), "d"(0)
			 : "rcx", "r11", "memory");
	sink += (uint64_t)n;
#else
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
#endif
}

NOINLINE void down(unsigned n)
{
	if (n == 0)
		spin();
	else
		down(n - 1);
	sink++;
}

NOINLINE void gamma_(void)
{
	if (depth)
		down(depth - 1);
	else
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
	double end = now() + seconds;

	while (now() < end)
		beta();
	sink++;
}

NOINLINE void *thread_main(void *arg)
{
	alpha();
	sink++;
	exit(0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	depth = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	if (argc > 3 && pthread_create(&thread, NULL, thread_main, NULL) == 0) {
		pthread_setname_np(thread, argv[3]);
		pthread_exit(NULL);
	}
	alpha();
	sink++;
	return 0;
}
