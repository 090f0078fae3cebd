// SPDX-License-Identifier: Apache-2.0

// tests/programs/allocate.cc - allocates and computes, and writes profiles as its allocator's library does
//
//	allocate HEAP [CPU]		gperftools when built with -DGPERFTOOLS, else jemalloc
//
// Where it allocates: `keep` holds 1000 objects of 4000 bytes, `churn` frees what it allocates, and
// `compute` takes CPU time. jemalloc has to be told MALLOC_CONF=prof:true,lg_prof_sample:12.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#ifdef GPERFTOOLS
#include <gperftools/heap-profiler.h>
#include <gperftools/profiler.h>
#else
#include <jemalloc/jemalloc.h>
#endif

static std::vector<void *> kept;

__attribute__((noinline)) static void keep(int n)
{
	for (int i = 0; i < n; i++)
		kept.push_back(memset(malloc(4000), 1, 4000));
}

__attribute__((noinline)) static void churn(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(100);
		memset(p, 1, 100);
		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

/* Seconds of this process's CPU time. */
static double used()
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned compute(double seconds)
{
	unsigned x = 1;
	for (double end = used() + seconds; used() < end;)
		for (int i = 0; i < 100000; i++)
			x = x * 1664525u + 1013904223u + (x >> 7);
	return x;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
#ifdef GPERFTOOLS
	char *text;
	HeapProfilerStart("/dev/null");
	keep(1000);
	churn(500);
	text = GetHeapProfile();
	HeapProfilerStop();
	FILE *f = fopen(argv[1], "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		return 1;
	if (argc > 2) {
		ProfilerStart(argv[2]);
		unsigned x = compute(1);
		ProfilerStop();
		return x == 0;
	}
#else
	keep(1000);
	churn(500);
	const char *file = argv[1];
	int r = mallctl("prof.dump", nullptr, nullptr, &file, sizeof(file));
	if (r)
		fprintf(stderr, "prof.dump: %s\n", strerror(r));
	return r != 0 || compute(0) == 0;
#endif
	return 0;
}
