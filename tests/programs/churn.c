/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/churn.c - processes, mappings and threads that come and go as fast as they can
 *
 *	churn fork MIN_MS MAX_MS SECONDS     children that spin so long, one after the other
 *	churn exec MIN_MS MAX_MS SECONDS     the same, each a program of its own
 *	churn map N SECONDS                  maps and unmaps executable pages, N at a time, and spins
 *	churn threads N SECONDS              N threads that wait, and one that spins; says how many first
 *
 * All of it is spent in main > ... > work > spin. Says how many there were. How long a child spins
 * is CPU time, so that a busy machine does not leave it with nothing but its start.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

__attribute__((noinline)) void spin(void)
{
	sink += (unsigned long)__builtin_frame_address(0);
	for (unsigned i = 0; i < 200000; i++)
		sink += i;
}

__attribute__((noinline)) void work(double seconds)
{
	double end = clock_of(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end)
		spin();
	sink++;
}

static void child(const char *self, const char *mode, double seconds)
{
	char text[32];

	if (strcmp(mode, "exec") == 0) {
		snprintf(text, sizeof(text), "%f", seconds);
		execl(self, self, "work", text, (char *)NULL);
	}
	work(seconds);
	_exit(0);
}

static unsigned long processes(char **argv)
{
	double min = atof(argv[2]) / 1000, max = atof(argv[3]) / 1000, end = now() + atof(argv[4]);
	unsigned long n = 0;

	for (; now() < end; n++) {
		/* Spread evenly over the range, the same in every run. */
		double seconds = min + (max - min) * (double)(n * 7 % 16) / 15;
		pid_t pid = fork();

		if (pid == 0)
			child("/proc/self/exe", argv[1], seconds);
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			break;
	}
	return n;
}

static unsigned long mappings(size_t n, double seconds)
{
	double end = now() + seconds;
	unsigned long rounds = 0;

	for (; now() < end; rounds++) {
		char *at[256];

		if (n > sizeof(at) / sizeof(*at))
			return 0;
		for (size_t i = 0; i < n; i++)
			at[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				     -1, 0);
		work(0.002);
		for (size_t i = 0; i < n; i++)
			munmap(at[i], 4096);
	}
	return rounds * n;
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

static unsigned long threads(unsigned long n, double seconds)
{
	pthread_attr_t small;
	pthread_t thread;
	unsigned long made = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	while (made < n && pthread_create(&thread, &small, idle, NULL) == 0)
		made++;
	printf("made %lu\n", made);
	fflush(stdout);
	work(seconds);
	return made;
}

int main(int argc, char **argv)
{
	unsigned long n = 0;

	if (argc == 3 && strcmp(argv[1], "work") == 0)
		work(atof(argv[2]));
	else if (argc == 5)
		n = processes(argv);
	else if (argc == 4 && strcmp(argv[1], "map") == 0)
		n = mappings(strtoul(argv[2], NULL, 10), atof(argv[3]));
	else if (argc == 4 && strcmp(argv[1], "threads") == 0)
		n = threads(strtoul(argv[2], NULL, 10), atof(argv[3]));
	else
		return 2;
	printf("%lu\n", n);
	return 0;
}
