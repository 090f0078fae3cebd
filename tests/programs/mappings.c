/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/mappings.c - has as many mappings as asked for, every other one executable, and
 * spins
 *
 *	mappings N SECONDS
 *
 * Says "ready" when they are there. N is bounded by vm.max_map_count.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) void spin(void)
{
	sink += (unsigned long)__builtin_frame_address(0);
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, page = 4096;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
	char *at = mmap(NULL, n * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	time_t end = time(NULL) + (time_t)seconds;

	if (at == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < n; i += 2)
		if (mprotect(at + i * page, page, PROT_READ | PROT_EXEC) < 0) {
			perror("mprotect");
			break;
		}
	puts("ready");
	fflush(stdout);
	while (time(NULL) < end)
		spin();
	return 0;
}
