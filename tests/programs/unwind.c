/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/unwind.c - spins below frames that are hard to unwind
 *
 *	unwind SECONDS MODE
 *
 * main > run > the frames of MODE > spin, where MODE is one of
 *
 *	plain		alpha > beta
 *	recursion	down, 600 times
 *	alloca		with_alloca, whose frame's size is known when it runs
 *	realigned	realigned, whose stack pointer is rounded down to 64 bytes
 *	both		realigned_alloca, both at once
 *	signal		handler, below the trampoline, on an alternate stack, and what it interrupted
 *	tail		tail_first jumps to tail_second, which is all that is there to see
 *	leaf		alpha > leaf, which has no frame of its own and does not call spin
 *	library		qsort's frames > compare
 *
 * To be built with -fomit-frame-pointer, and to be told apart from code that has frame pointers.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile uint64_t sink;
static struct timespec end;

static int is_over(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec >= end.tv_sec;
}

/* Work without a call: some ten milliseconds. */
NOINLINE void spin(void)
{
	for (unsigned i = 0; i < 10000000; i++)
		sink += i;
}

NOINLINE uint64_t leaf(uint64_t n)
{
	uint64_t x = n;

	for (unsigned i = 0; i < 10000000; i++)
		x = x * 6364136223846793005u + sink;
	return x;
}

NOINLINE void beta(void)
{
	spin();
	sink++;
}

NOINLINE void alpha(void)
{
	beta();
	sink++;
}

NOINLINE void leaf_caller(void)
{
	sink += leaf(sink);
}

NOINLINE void down(unsigned n)
{
	if (n == 0)
		spin();
	else
		down(n - 1);
	sink++;
}

NOINLINE void with_alloca(size_t n)
{
	char *p = __builtin_alloca(n);

	memset(p, 1, n);
	sink += (uint64_t)p[n / 2];
	spin();
	sink += (uint64_t)p[n / 3];
}

NOINLINE void realigned(void)
{
	char block[192] __attribute__((aligned(64)));

	memset(block, 1, sizeof(block));
	sink += (uint64_t)block[sink % 64] + ((uintptr_t)block & 63);
	spin();
	sink += (uint64_t)block[sink % 64];
}

NOINLINE void realigned_alloca(size_t n)
{
	char block[192] __attribute__((aligned(64)));
	char *p = __builtin_alloca(n);

	memset(block, 1, sizeof(block));
	memset(p, 2, n);
	sink += (uint64_t)block[sink % 64] + ((uintptr_t)block & 63);
	spin();
	sink += (uint64_t)block[sink % 64] + (uint64_t)p[n / 2];
}

static void handler(int number)
{
	sink += (uint64_t)number;
	spin();
	sink++;
}

NOINLINE void interrupted(void)
{
	/* No call here: the signal strikes right behind the instruction. */
	__asm__ volatile("mov $39, %%eax\n\tsyscall\n\t"
			 "mov %%eax, %%edi\n\tmov $10, %%esi\n\tmov $62, %%eax\n\tsyscall" ::
				 : "rax", "rcx", "rdi", "rsi", "r11", "memory");
	sink++;
}

NOINLINE void on_other_stack(void)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &act, NULL);
	interrupted();
	sink++;
}

NOINLINE void tail_second(void)
{
	spin();
	sink++;
}

NOINLINE void tail_first(void)
{
	sink++;
	tail_second();
}

static int compare(const void *a, const void *b)
{
	spin();
	return *(const int *)a - *(const int *)b;
}

NOINLINE void library(void)
{
	int v[] = { 2, 1 };

	qsort(v, 2, sizeof(*v), compare);
	sink++;
}

NOINLINE void run(const char *mode)
{
	while (!is_over()) {
		if (strcmp(mode, "recursion") == 0)
			down(599);
		else if (strcmp(mode, "alloca") == 0)
			with_alloca(1000 + sink % 1000);
		else if (strcmp(mode, "realigned") == 0)
			realigned();
		else if (strcmp(mode, "both") == 0)
			realigned_alloca(1000 + sink % 1000);
		else if (strcmp(mode, "signal") == 0)
			on_other_stack();
		else if (strcmp(mode, "tail") == 0)
			tail_first();
		else if (strcmp(mode, "leaf") == 0)
			leaf_caller();
		else if (strcmp(mode, "library") == 0)
			library();
		else
			alpha();
		sink++;
	}
}

int main(int argc, char **argv)
{
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += argc > 1 ? atol(argv[1]) : 1;
	run(argc > 2 ? argv[2] : "plain");
	sink++;
	return 0;
}
