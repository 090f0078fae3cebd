/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/hard.c - spins at the end of a chain of calls that is hard to walk
 *
 *	hard CASE SECONDS
 *
 * CASES below says which chain each shows, from main on. Built without frame pointers; spin() is a
 * leaf that has no frame of its own. -DNO_UCONTEXT: for a C library without coroutines.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#ifndef NO_UCONTEXT
#include <ucontext.h>
#endif
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile uint64_t sink;
static double end_s;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int over(void)
{
	return now() >= end_s;
}

/* About a millisecond, without a call. */
NOINLINE void spin(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}

/* A caller that does something after the call, so that the call is no jump. */
#define THEN(call)                                                                                 \
	do {                                                                                       \
		call;                                                                              \
		sink++;                                                                            \
	} while (0)

/* main;sorted;LIBC;compare;spin: through a library without frame pointers */
NOINLINE int compare(const void *a, const void *b)
{
	THEN(spin());
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

NOINLINE void sorted(void)
{
	int v[8] = { 5, 3, 8, 1, 9, 2, 7, 4 };

	THEN(qsort(v, 8, sizeof(v[0]), compare));
}

/* main;scattered;spin: the frame's size is known at run time alone */
NOINLINE void scattered(void)
{
	char *room = alloca(64 + (size_t)(now() * 1e6) % 4096);

	room[0] = (char)sink;
	THEN(spin());
	sink += (uint64_t)room[0];
}

/* main;aligned;spin: the stack pointer is rounded down, and was kept in another register */
NOINLINE void aligned(unsigned n)
{
	_Alignas(256) char room[512 + 256];

	memset(room, (int)n, sizeof(room));
	THEN(spin());
	sink += (uint64_t)room[n % sizeof(room)];
}

/* main;aligned_and_scattered;spin */
NOINLINE void aligned_and_scattered(unsigned n)
{
	_Alignas(128) char room[256];
	char *more = alloca(n % 512 + 16);

	memset(room, (int)n, sizeof(room));
	more[0] = room[n % sizeof(room)];
	THEN(spin());
	sink += (uint64_t)more[0];
}

/* main;large;spin: a frame of more than a page */
NOINLINE void large(void)
{
	volatile char room[100 * 1024];

	room[0] = room[sizeof(room) - 1] = 1;
	THEN(spin());
	sink += (uint64_t)room[0];
}

/* main;jumper;thrower;spin, then main;jumper;after_jump;spin */
static jmp_buf place;

NOINLINE void thrower(void)
{
	THEN(spin());
	longjmp(place, 1);
}

NOINLINE void after_jump(void)
{
	THEN(spin());
}

NOINLINE void jumper(void)
{
	if (setjmp(place) == 0)
		thrower();
	THEN(after_jump());
}

/*
 * interrupted;..;on_signal;spin: a handler, on a stack of its own, that interrupted
 * main;interrupted
 */
static void on_signal(int signal)
{
	(void)signal;
	while (!over())
		spin();
	exit(0);
}

NOINLINE void interrupted(void)
{
	static char stack[256 * 1024];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct itimerval soon = { .it_value = { .tv_usec = 20000 } };

	sigaltstack(&other, NULL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		sink++;
}

#ifndef NO_UCONTEXT
/* coroutine;spin: on a stack that ends in __start_context */
static ucontext_t caller, callee;

static void coroutine(void)
{
	for (;;) {
		THEN(spin());
		swapcontext(&callee, &caller);
	}
}

NOINLINE void resumed(void)
{
	static char stack[64 * 1024];
	static int made;

	if (!made++) {
		getcontext(&callee);
		callee.uc_stack.ss_sp = stack;
		callee.uc_stack.ss_size = sizeof(stack);
		makecontext(&callee, coroutine, 0);
	}
	swapcontext(&caller, &callee);
	sink++;
}
#endif

/* main;tail_caller;spin: the function between made way with a jump */
NOINLINE void tail_called(void)
{
	sink += 3;
	spin();
}

NOINLINE void tail_caller(void)
{
	THEN(tail_called());
}

/* main;never_back;spin: what follows the last call belongs to another function */
NOINLINE __attribute__((noreturn)) void finish(void)
{
	while (!over())
		spin();
	exit(0);
}

NOINLINE __attribute__((noreturn)) void never_back(void)
{
	finish();
}

/* main;likely;unlikely part of likely;spin: gcc moves what is rarely run to another section */
NOINLINE __attribute__((cold)) void rare(void)
{
	THEN(spin());
}

NOINLINE void split(unsigned n)
{
	if (__builtin_expect(n != 12345, 0)) {
		char text[64];

		snprintf(text, sizeof(text), "%u", n);
		THEN(rare());
		sink += (uint64_t)text[0];
	} else {
		sink += n;
	}
}

/* main;asks;[vdso]: the kernel's code in the process */
NOINLINE void asks(void)
{
	for (unsigned i = 0; i < 20000; i++)
		sink += (uint64_t)now();
}

/* main;pushes;spin: pushes and pops between calls move the stack pointer under the frame */
NOINLINE void eats(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
		   uint64_t g, uint64_t h, uint64_t i)
{
	THEN(spin());
	sink += a + b + c + d + e + f + g + h + i;
}

NOINLINE void pushes(void)
{
	THEN(eats(1, 2, 3, 4, 5, 6, 7, sink, 9));
}

/* main;ping;pong;..: 300 times, through two functions with frames of different sizes */
NOINLINE void pong(unsigned n);

NOINLINE void ping(unsigned n)
{
	volatile char room[40];

	room[0] = (char)n;
	if (n)
		pong(n - 1);
	else
		spin();
	sink += (uint64_t)room[0];
}

NOINLINE void pong(unsigned n)
{
	volatile char room[200];

	room[0] = (char)n;
	if (n)
		ping(n - 1);
	else
		spin();
	sink += (uint64_t)room[0];
}

static void *thread_main(void *arg)
{
	while (!over())
		THEN(spin());
	return arg;
}

static void in_thread(void *(*function)(void *))
{
	pthread_t t;

	pthread_create(&t, NULL, function, NULL);
	pthread_join(t, NULL);
}

NOINLINE void threads(void)
{
	THEN(in_thread(thread_main));
}

/* It has nothing of its own in a register that a callee saves: rbp is as the thread began with it. */
static void *asking_thread(void *arg)
{
	(void)arg;
	while (!over())
		sink++;
	return NULL;
}

static void asking_threads(void)
{
	in_thread(asking_thread);
}

static void aligned_case(void)
{
	aligned((unsigned)sink);
}

static void aligned_and_scattered_case(void)
{
	aligned_and_scattered((unsigned)sink);
}

static void split_case(void)
{
	split((unsigned)sink | 1 << 20);
}

static void ping_case(void)
{
	ping(300);
}

/* main;lazy;LOADER: the loader looks up a function at each call of it, as told by main() */
NOINLINE void lazy(void)
{
	for (unsigned i = 0; i < 1000; i++)
		THEN(sink += (uint64_t)rand());
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "qsort", sorted },
	{ "alloca", scattered },
	{ "realigned", aligned_case },
	{ "realigned_alloca", aligned_and_scattered_case },
	{ "large", large },
	{ "longjmp", jumper },
	{ "signal", interrupted },
#ifndef NO_UCONTEXT
	{ "coroutine", resumed },
#endif
	{ "tail_call", tail_caller },
	{ "noreturn", never_back },
	{ "split", split_case },
	{ "vdso", asks },
	{ "pushes", pushes },
	{ "recursion", ping_case },
	{ "thread", threads },
	{ "thread_vdso", asking_threads },
	{ "lazy", lazy },
};

/* The loader reads its variables where a program begins. -Wl,-z,lazy is how it must be linked. */
static void bind_never(char **argv)
{
	if (getenv("LD_BIND_NOT"))
		return;
	setenv("LD_BIND_NOT", "1", 1);
	execv(argv[0], argv);
	perror(argv[0]);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "lazy") == 0)
		bind_never(argv);
	end_s = now() + (argc > 2 ? strtod(argv[2], NULL) : 1);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) == 0) {
			while (!over())
				THEN(cases[i].run());
			return 0;
		}
	}
	fprintf(stderr, "hard CASE SECONDS\n");
	return 2;
}
