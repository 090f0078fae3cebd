/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/swap.c - two libraries that take turns at one address
 *
 *	swap LIBRARY_A LIBRARY_B SECONDS      exits with 3 when they were not at one address
 *
 * Built with -DLIBRARY=name it is a library instead, whose function name() spins for a moment;
 * -DMORE_CODE makes its code 16 pages larger, and its data without it, so that both take as much
 * room and the linker puts them at one place. -DSHIFTED has its function lie where another one's is
 * over, in as many pages: by that other's symbols it has no name. -DROOM=N makes its frame N words
 * larger, of words that look like return addresses: whoever walks by the other library's rules shows callers that
 * were none. -DTIMES=N is how long its moment is, in loops.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef LIBRARY

#ifdef SHIFTED
__asm__(".text\n.skip 512, 0x90\n");
#endif
#ifdef MORE_CODE
__asm__(".text\n.skip 4096 * 16, 0x90\n");
#else
__asm__(".bss\n.skip 4096 * 16\n.text\n");
#endif
static volatile unsigned long sink;
#ifndef TIMES
#define TIMES 300000000
#endif

__attribute__((noinline)) void LIBRARY(void);
void LIBRARY(void)
{
#ifdef ROOM
	volatile unsigned long room[ROOM];

	for (int i = 0; i < ROOM; i++)
		room[i] = (unsigned long)LIBRARY + 8;
#else
	sink += (unsigned long)__builtin_frame_address(0);
#endif
	for (unsigned i = 0; i < TIMES; i++)
		sink += i;
}

#else

static void *turn(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*run)(void);
	void *at;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	run = (void (*)(void))dlsym(library, "spin_a");
	if (!run)
		run = (void (*)(void))dlsym(library, "spin_b");
	run();
	at = *(void **)library; /* struct link_map: l_addr comes first */
	dlclose(library);
	return at;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 3 ? atoi(argv[3]) : 1);

	while (time(NULL) < end)
		if (turn(argv[1]) != turn(argv[2]))
			return 3;
	return 0;
}

#endif
