/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/astray.c - a frame pointer that leads to a record of the program's choice
 *
 *	astray MODE		until it is killed
 *
 * .. > astray > spin. astray() has no unwind rows, begins as one that makes a frame record does, and
 * points the frame pointer at another record on the stack, which holds
 *
 *	zeroes		nothing, as most of a stack does
 *	count		a small number for a return address, as argc is
 *	stack, thread	for a return address one in the stack itself; to be built with -z execstack
 *	grown		the same, after a second without, and where the stack has grown to meanwhile
 *
 * or there is none: "null". x86-64, to be built with -fomit-frame-pointer.
 */
#include <alloca.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, used))

struct record {
	struct record *next;
	void *ra;
	void *above; /* where argv[0] would be */
};

static volatile unsigned long sink;
static double seconds = 1e9;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void spin(void);
NOINLINE void spin(void)
{
	double end = now() + seconds;

	while (now() < end)
		for (unsigned i = 0; i < 10000000; i++)
			sink += i;
}

void astray(const struct record *fp);
__asm__(".text\n"
	".type astray, @function\n"
	"astray:\n\t"
	"push %rbp\n\t"
	"mov %rsp, %rbp\n\t"
	"mov %rdi, %rbp\n\t"
	"call spin\n\t"
	"pop %rbp\n\t"
	"ret\n\t"
	".size astray, . - astray\n");

void into_stack(void);
NOINLINE void into_stack(void)
{
	struct record last = { 0 }, first = { &last, (char *)&last + 8, NULL };

	astray(&first);
	sink++;
}

void *thread_main(void *arg);
NOINLINE void *thread_main(void *arg)
{
	into_stack();
	return arg;
}

static void grow(void)
{
	seconds = 1;
	spin();
	seconds = 1e9;
	memset(alloca(4 << 20), 1, 4 << 20);
	into_stack();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct record record = { 0 };
	pthread_t thread;

	if (strcmp(mode, "thread") == 0 && pthread_create(&thread, NULL, thread_main, NULL) == 0)
		return pthread_join(thread, NULL);
	if (strcmp(mode, "stack") == 0)
		into_stack();
	if (strcmp(mode, "grown") == 0)
		grow();
	if (strcmp(mode, "count") == 0)
		record.ra = (void *)1;
	astray(strcmp(mode, "null") == 0 ? NULL : &record);
	return (int)sink;
}
