// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/lines.cc - spins three inlined calls deep
//
//	lines SECONDS
#include <cstdlib>
#include <ctime>

static volatile unsigned long sink;

static inline __attribute__((always_inline)) void innermost(unsigned n)
{
	for (unsigned i = 0; i < n; i++) // the loop
		sink += i;
}

static inline __attribute__((always_inline)) void middle(unsigned n)
{
	innermost(n);
}

extern "C" __attribute__((noinline)) void lines_outer(unsigned n)
{
	middle(n);
	sink++;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);

	while (time(NULL) < end)
		lines_outer(1000000);
	return 0;
}
