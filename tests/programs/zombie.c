/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/zombie.c - the main thread ends, another one spins on
 *
 *	zombie SECONDS
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;
static time_t end;

__attribute__((noinline)) void spin(void)
{
	sink += (unsigned long)__builtin_frame_address(0);
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((noinline)) static void *run(void *arg)
{
	while (time(NULL) < end)
		spin();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}
