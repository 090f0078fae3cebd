/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_symbols.c - how fast symbols are read, found and demangled
 *
 * One JSON line a figure: the best of several turns on one core. kallsyms is the machine's,
 * compared with reading the same file and forgetting it (the kernel makes its text on the fly); the
 * ELF file is the C library or the one given; the perf map is made here, a million lines of a
 * program that keeps compiling.
 *
 *	bench_symbols [TURNS [ELF_FILE [FILE_WITH_DWARF]]]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/symbolize/demangle.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/frames.h"
#include "core/symbolize/kallsyms.h"
#include "plugins/input/perf_map/map.h"
#include "tests/unit/random.h"

enum { N_LOOKUPS = 1000000, N_LINES = 1000000, N_FRAMES = 256 };

/* CPU time of this thread: other work on the machine is not ours. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t least(int64_t a, int64_t b)
{
	return a == 0 || b < a ? b : a;
}

static void bench_kallsyms(int turns)
{
	int64_t load_ns = 0, read_ns = 0, find_ns = 0;
	struct kallsyms *t = NULL;

	for (int i = 0; i < turns; i++) {
		struct random r = { 1 };
		struct kallsyms_symbol s;
		struct buf text = { 0 };
		int64_t from = now();

		if (fd__read_path(AT_FDCWD, "/proc/kallsyms", KALLSYMS_MAX_BYTES, &text))
			return;
		read_ns = least(read_ns, now() - from);
		buf__fini(&text);
		kallsyms__free(t);
		t = NULL;
		from = now();
		if (kallsyms__load("/proc/kallsyms", "/proc/modules", &t, NULL))
			return; /* hidden from us: nothing to measure */
		load_ns = least(load_ns, now() - from);
		from = now();
		for (unsigned k = 0; k < N_LOOKUPS; k++)
			kallsyms__find(t, 0xffffffff81000000u + random__below(&r, 16 << 20), &s);
		find_ns = least(find_ns, now() - from);
	}
	figure("kallsyms_load", (double)load_ns / 1e6, "ms", "reading the file alone",
	       (double)read_ns / 1e6);
	figure_at_most("kallsyms_memory", (double)kallsyms__bytes(t) / (1 << 20), "MiB", 6, NULL);
	figure_at_most("kallsyms_find", (double)find_ns / N_LOOKUPS, "ns", 200, NULL);
	kallsyms__free(t);
}

static void bench_elf(int turns, const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t load_ns = 0, find_ns = 0;
	struct elf_symbols *t = NULL;

	for (int i = 0; i < turns && fd >= 0; i++) {
		struct random r = { 1 };
		struct dcm_str name;
		int64_t from = now();

		elf__free(t);
		t = NULL;
		if (elf__load(fd, -1, NULL, &t, NULL))
			return;
		load_ns = least(load_ns, now() - from);
		from = now();
		for (unsigned k = 0; k < N_LOOKUPS; k++)
			elf__find(t, random__below(&r, 2 << 20), &name);
		find_ns = least(find_ns, now() - from);
	}
	if (!t)
		return;
	figure_at_most("elf_load", (double)load_ns / elf__count(t), "ns a name", 2000, NULL);
	figure("elf_memory", (double)elf__bytes(t) / elf__count(t), "B a name",
	       "the same in .symtab, names not counted", 24);
	figure_at_most("elf_find", (double)find_ns / N_LOOKUPS, "ns", 200, NULL);
	elf__free(t);
}

/* Peak memory of this process, MiB. */
static double peak_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

/* Lines and inlined functions of addresses that have a symbol, as a worker finds them. */
static void bench_frames(int turns, const char *path)
{
	static uint64_t addresses[N_FRAMES];
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elf__freep) struct elf_symbols *t = NULL;
	struct frames_question q = { .addresses = addresses,
				     .inlines = true,
				     .budget_ns = INT64_C(60000000000),
				     .n_files = 1,
				     .map = true };
	int64_t best_ns = 0, one_ns = 0;
	uint32_t n_frames = 0;
	double before = peak_mib();
	struct random r = { 1 };

	if (fd < 0 || elf__load(fd, -1, NULL, &t, NULL))
		return;
	for (unsigned i = 0; q.n < N_FRAMES && i < 100 * N_LOOKUPS; i++) {
		struct dcm_str name;
		uint64_t at = random__below(&r, 16 << 20);

		if (elf__find(t, at, &name) == 0)
			addresses[q.n++] = at;
	}
	for (int i = 0; i < turns; i++) {
		for (uint32_t n = q.n; n; n = n > 1 ? 1 : 0) {
			struct buf request = { 0 }, answer = { 0 };
			struct frames_question ask = q;
			struct frames f;
			int64_t from;

			ask.n = n;
			if (frames__ask(&ask, &request))
				return;
			from = now();
			if (frames__answer(request.data, request.n, &fd, 1, &answer) == 0 &&
			    frames__read(answer.data, answer.n, n, &f) == 0) {
				*(n > 1 ? &best_ns : &one_ns) = least(n > 1 ? best_ns : one_ns,
								      now() - from);
				n_frames = n > 1 ? f.n_frames : n_frames;
				frames__fini(&f);
			}
			buf__fini(&request);
			buf__fini(&answer);
		}
	}
	figure_at_most("frames", (double)best_ns / q.n, "ns an address, 256 at once", 100000, NULL);
	figure_at_most("frames_one", (double)one_ns / 1e6, "ms, one address alone", 50, NULL);
	figure("frames_found", (double)n_frames / q.n, "frames an address", "symbols alone", 1);
	figure("frames_memory", peak_mib() - before, "MiB more at the peak", "symbols.lines_memory", 1024);
}

static void bench_demangle(int turns)
{
	static const struct dcm_str raw = {
		"_ZNSt6vectorISt4pairINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiESaIS7_"
		"EE9push_backEOS7_",
		96
	};
	char out[DEMANGLE_MAX_OUTPUT];
	int64_t best_ns = 0;

	for (int i = 0; i < turns; i++) {
		int64_t from = now();

		for (unsigned k = 0; k < 100000; k++)
			demangle__name(raw, out, sizeof(out));
		best_ns = least(best_ns, now() - from);
	}
	figure_at_most("demangle", (double)best_ns / 100000, "ns", 5000, NULL);
}

static void bench_perf_map(int turns)
{
	struct buf text = { 0 };
	struct random r = { 1 };
	int64_t feed_ns = 0;

	for (unsigned i = 0; i < N_LINES; i++)
		buf__printf(&text,
			    "%" PRIx64 " %" PRIx64 " LazyCompile:~handler%" PRIu64
			    " /srv/app/lib/module.js:%u:7\n",
			    0x7f0000000000 + random__below(&r, 1 << 24) * 16,
			    16 + random__below(&r, 400), random__below(&r, 100000), i % 997);
	for (int i = 0; i < turns && !text.error; i++) {
		struct map m;
		size_t used;
		int64_t from = now();

		map__init(&m, 256 << 20);
		if (map__feed(&m, (const char *)text.data, text.n, &used) == 0 && map__settle(&m) == 0)
			feed_ns = least(feed_ns, now() - from);
		map__fini(&m);
	}
	if (feed_ns)
		figure_at_least("perf_map_read", (double)text.n * 1e3 / (double)feed_ns, "MB/s",
				100, NULL);
	buf__fini(&text);
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;

	/* First: it looks at the peak of memory. */
	bench_frames(turns, argc > 3 ? argv[3] : "/proc/self/exe");
	bench_kallsyms(turns);
	bench_elf(turns, argc > 2 ? argv[2] : "/usr/lib/x86_64-linux-gnu/libc.so.6");
	bench_demangle(turns);
	bench_perf_map(turns);
	return 0;
}
