/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_frames.c - functions, inlined functions and lines of addresses
 *
 * The oracle is llvm-symbolizer (DWARF, with its own reader), for C++, Rust and Go programs
 * compiled in the ways that other readers stumble over: clang without .debug_aranges, gcc's LTO,
 * compressed and split DWARF. A stripped Go program has to say what the same program says by its
 * DWARF. Then requests and answers that are none, budgets, damage, and allocations that fail.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/le.h"
#include "core/base/vec.h"
#include "core/symbolize/frames.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/random.h"
#include "tests/unit/shell.h"

enum { N_ADDRESSES = 400, SECOND = 1000000000 };

DEFINE_FOLDER(dir, "frames", 0700);

struct addresses {
	uint64_t v[N_ADDRESSES];
	uint32_t n;
};

/* Addresses all over .text, from a seed. */
static void pick(const char *name, struct addresses *ret)
{
	char command[512], line[512];
	unsigned long long start = 0, bytes = 0;
	struct random r = { 7 };
	FILE *f;

	snprintf(command, sizeof(command), "readelf -SW %s/%s", dir, name);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "] .text ");

		if (at && sscanf(at, "] .text PROGBITS %llx %*x %llx", &start, &bytes) != 2)
			start = 0;
	}
	pclose(f);
	assert_true(start && bytes);
	ret->n = N_ADDRESSES;
	for (uint32_t i = 0; i < ret->n; i++)
		ret->v[i] = start + random__below(&r, bytes);
}

static int answer_of(const struct frames_question *q, const struct addresses *a, const int *fds,
		     struct frames *ret)
{
	struct buf request = { 0 }, bytes = { 0 };
	int rc = frames__ask(q, &request);

	if (!rc)
		rc = frames__answer(request.data, request.n, fds, q->n_files, &bytes);
	if (!rc)
		rc = frames__read(bytes.data, bytes.n, a->n, ret);
	buf__fini(&request);
	buf__fini(&bytes);
	return rc;
}

static int answer(int fd, enum frames_file kind, const struct addresses *a, int64_t budget_ns,
		  uint64_t max_bytes, struct frames *ret)
{
	struct frames_question q = { .addresses = a->v,
				     .n = a->n,
				     .inlines = true,
				     .budget_ns = budget_ns,
				     .max_bytes = max_bytes,
				     .files = { (uint8_t)kind },
				     .n_files = 1 };

	return answer_of(&q, a, &fd, ret);
}

static int open_in_dir(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static struct frames ask(const char *name, const struct addresses *a)
{
	CLEANUP(fd__closep) int fd = open_in_dir(name);
	CLEANUP(fd__closep) int package = -1;
	struct frames_question q = { .addresses = a->v,
				     .n = a->n,
				     .inlines = true,
				     .budget_ns = 60ll * SECOND,
				     .files = { FRAMES_ELF, FRAMES_PACKAGE },
				     .n_files = 1 };
	struct frames f;
	char path[256];

	/* With its package, where it has one. */
	snprintf(path, sizeof(path), "%s/%s.dwp", dir, name);
	package = open(path, O_RDONLY | O_CLOEXEC);
	q.n_files += package >= 0;
	assert_int_equal(answer_of(&q, a, (int[]){ fd, package }, &f), 0);
	return f;
}

/* --- the oracle --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "a.cc:9:7" of llvm-symbolizer to "a.cc:9"; what it does not know is "". */
static void place_of_line(char *line, char *ret, size_t n)
{
	char *colon;

	line[strcspn(line, "\n")] = '\0';
	colon = strrchr(line, ':');
	if (colon)
		*colon = '\0';
	colon = strrchr(line, ':');
	if (!colon || line[0] == '?' || strcmp(colon, ":0") == 0)
		line[0] = '\0';
	snprintf(ret, n, "%s", last_part(line));
}

static void place_of_frame(const struct frame *f, char *ret, size_t n)
{
	if (f->file[0] && f->line)
		snprintf(ret, n, "%s:%u", last_part(f->file), f->line);
	else
		ret[0] = '\0';
}

struct verdict {
	unsigned n, n_named, n_inlined;
};

/*
 * One address: pairs of lines until an empty one. The outermost name is not compared: there
 * llvm-symbolizer prefers the symbol table, which is not asked here.
 */
static void compare(FILE *oracle, const char *name, uint64_t address, const struct frames *f,
		    const struct frames_span *span, struct verdict *v)
{
	static char function[65536], line[65536];
	char theirs[512], ours[512];
	unsigned i = 0;

	for (; fgets(function, sizeof(function), oracle) && function[0] != '\n'; i++) {
		const struct frame *mine = i < span->n ? &f->frames[span->off + i] : NULL;

		assert_non_null(fgets(line, sizeof(line), oracle));
		function[strcspn(function, "\n")] = '\0';
		place_of_line(line, theirs, sizeof(theirs));
		if (mine)
			place_of_frame(mine, ours, sizeof(ours));
		else
			ours[0] = '\0';
		/* A place without a file: the compiler's own code; Go calls it <autogenerated>. */
		if (strcmp(ours, theirs) != 0 && !strstr(ours, "<autogenerated>"))
			fail_msg("%s: 0x%llx: frame %u is at \"%s\", not at \"%s\"", name,
				 (unsigned long long)address, i, ours, theirs);
		if (mine && i + 1 < span->n && strcmp(mine->name, function) != 0)
			fail_msg("%s: 0x%llx: frame %u is \"%s\", not \"%s\"", name,
				 (unsigned long long)address, i, mine->name, function);
		if (mine && i + 1 == span->n)
			v->n_named += mine->name[0] != '\0';
	}
	if (span->n > i)
		fail_msg("%s: 0x%llx: %u frames, not %u", name, (unsigned long long)address, span->n, i);
	v->n++;
	v->n_inlined += span->n > 1;
}

static struct verdict judge(const char *name)
{
	struct addresses a;
	struct verdict v = { 0 };
	char command[1024];
	struct frames f;
	FILE *input, *oracle;

	pick(name, &a);
	f = ask(name, &a);
	snprintf(command, sizeof(command), "%s/addresses", dir);
	input = fopen(command, "w");
	assert_non_null(input);
	for (uint32_t i = 0; i < a.n; i++)
		fprintf(input, "0x%llx\n", (unsigned long long)a.v[i]);
	fclose(input);
	snprintf(command, sizeof(command),
		 "llvm-symbolizer --inlines --no-demangle --obj=%s/%s <%s/addresses", dir, name, dir);
	oracle = popen(command, "r");
	assert_non_null(oracle);
	for (uint32_t i = 0; i < a.n; i++)
		compare(oracle, name, a.v[i], &f, &f.spans[i], &v);
	pclose(oracle);
	frames__fini(&f);
	assert_int_equal(v.n, a.n);
	return v;
}

/* --- compilers --- */

struct way {
	const char *name, *tools, *command; /* %1$s: the folder, %2$s: the sources */
};
static const struct way ways[] = {
	{ "gcc", "g++", "g++ -O2 -g -o %1$s/gcc %2$s/inlines.cc" },
	{ "dwarf4", "g++", "g++ -O2 -gdwarf-4 -o %1$s/dwarf4 %2$s/inlines.cc" },
	{ "lto", "g++", "g++ -O2 -g -flto -o %1$s/lto %2$s/inlines.cc" },
	{ "types", "g++", "g++ -O2 -g -fdebug-types-section -o %1$s/types %2$s/inlines.cc" },
	{ "zlib", "g++", "g++ -O2 -g -gz=zlib -o %1$s/zlib %2$s/inlines.cc" },
	{ "split", "g++", "cd %1$s && g++ -O2 -g -gsplit-dwarf -o split %2$s/inlines.cc" },
	{ "package", "llvm-dwp",
	  "cd %1$s && g++ -O2 -gdwarf-5 -gsplit-dwarf -o package %2$s/inlines.cc && "
	  "timeout 60 llvm-dwp -e package -o package.dwp && rm *.dwo" },
	{ "packages", "llvm-dwp clang++",
	  "cd %1$s && clang++ -O2 -gdwarf-5 -gsplit-dwarf -ffunction-sections -c %2$s/inlines.cc "
	  "&& "
	  "clang++ -fPIC -gdwarf-5 -gsplit-dwarf -O2 -c %2$s/lines.cc && clang++ -o packages "
	  "inlines.o && "
	  "clang++ -shared -o lines.so lines.o && timeout 60 llvm-dwp -e packages -e lines.so -o "
	  "packages.dwp "
	  "&& "
	  "rm *.dwo" },
	{ "clang", "clang++", "clang++ -O2 -g -o %1$s/clang %2$s/inlines.cc" },
	{ "lines", "clang++", "clang++ -O2 -gline-tables-only -o %1$s/lines %2$s/inlines.cc" },
	{ "dwz", "dwz", "g++ -O2 -g -o %1$s/dwz %2$s/inlines.cc && dwz %1$s/dwz" },
	{ "rust", "rustc", "rustc -O -g -o %1$s/rust %2$s/inlines.rs" },
	{ "go", "go", "GOFLAGS= GO111MODULE=off GOCACHE=${GOCACHE:-%1$s/cache} go build -o %1$s/go %2$s/inlines.go" },
	{ "gopie", "go",
	  "GOFLAGS= GO111MODULE=off GOCACHE=${GOCACHE:-%1$s/cache} go build -buildmode=pie "
	  "-o %1$s/gopie %2$s/inlines.go" },
};

/* By tools that are there. */
static void build(const char *command)
{
	char text[1024], sources[512];

	snprintf(sources, sizeof(sources), "%s/tests/programs", TEST_SRCDIR);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), command, dir, sources);
#pragma GCC diagnostic pop
	if (shell("( %s ) >/dev/null", text))
		fail_msg("fails: %s", text);
}

static void need_plain(void)
{
	struct stat st;
	char path[256];

	snprintf(path, sizeof(path), "%s/plain", dir);
	if (stat(path, &st) < 0)
		build("g++ -O2 -g -o %1$s/plain %2$s/inlines.cc");
}

static void test_llvm_symbolizer_agrees(void **state)
{
	unsigned n_ways = 0;

	(void)state;
	if (!shell_has("llvm-symbolizer g++"))
		skip_because("llvm-symbolizer and g++ are needed");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct verdict v;

		if (!shell_has(ways[i].tools)) {
			fprintf(stderr, "note: %s: %s is missing\n", ways[i].name, ways[i].tools);
			continue;
		}
		build(ways[i].command);
		v = judge(ways[i].name);
		fprintf(stderr, "note: %s: %u addresses, %u with a function, %u with inlined ones\n",
			ways[i].name, v.n, v.n_named, v.n_inlined);
		/*
		 * What the C library and the runtimes bring along has no DWARF; Go and Rust have.
		 */
		assert_true(v.n_named >= v.n / 4 && v.n_inlined >= v.n / 20);
		n_ways++;
	}
	assert_true(n_ways >= 5);
}

/* Compares every frame of one file with those of another at the same addresses. */
static void same_frames(const char *left, const char *right, const struct addresses *a)
{
	struct frames x = ask(left, a), y = ask(right, a);

	for (uint32_t i = 0; i < a->n; i++) {
		assert_int_equal(x.spans[i].state, y.spans[i].state);
		assert_int_equal(x.spans[i].n, y.spans[i].n);
		for (uint32_t k = 0; k < x.spans[i].n; k++) {
			const struct frame *f = &x.frames[x.spans[i].off + k],
					   *g = &y.frames[y.spans[i].off + k];

			if (strcmp(f->name, g->name) != 0 || strcmp(f->file, g->file) != 0 ||
			    f->line != g->line)
				fail_msg("0x%llx: %s says %s at %s:%u, %s says %s at %s:%u",
					 (unsigned long long)a->v[i], left, f->name, f->file,
					 f->line, right, g->name, g->file, g->line);
		}
	}
	frames__fini(&x);
	frames__fini(&y);
}

static void test_zstd_is_as_good_as_plain(void **state)
{
	struct addresses a;

	(void)state;
	if (!shell_has("g++ objcopy"))
		skip_because("g++ and objcopy are needed");
	need_plain();
	/* One without zstd says so, and of nothing else that fails. */
	if (shell("LC_ALL=C objcopy --compress-debug-sections=zstd /bin/true %s/none 2>&1 | grep "
		  "-q zstd",
		  dir) == 0)
		skip_because("an objcopy with zstd is needed");
	build("objcopy --compress-debug-sections=zstd %1$s/plain %1$s/zstd");
	pick("plain", &a);
	same_frames("plain", "zstd", &a);
}

/* Every Go that is here: the tables differ between 1.18 and 1.20. */
static void check_stripped_go(const char *go, const char *mode)
{
	struct addresses a;

	assert_int_equal(shell("GOFLAGS= GOTOOLCHAIN=local GO111MODULE=off "
			       "GOCACHE=${GOCACHE:-%s/cache} '%s' "
			       "build %s -o %s/full "
			       "%s/tests/programs/inlines.go && "
			       "GOFLAGS= GOTOOLCHAIN=local GO111MODULE=off "
			       "GOCACHE=${GOCACHE:-%s/cache} '%s' "
			       "build %s -ldflags=-s "
			       "-o %s/bare %s/tests/programs/inlines.go",
			       dir, go, mode, dir, TEST_SRCDIR, dir, go, mode, dir, TEST_SRCDIR),
			 0);
	pick("full", &a);
	same_frames("full", "bare", &a);
}

static void test_stripped_go_keeps_lines(void **state)
{
	static const char *const places[] = { "go", "/usr/lib/go-1.19/bin/go" };
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!shell_has(places[i]))
			continue;
		check_stripped_go(places[i], "");
		check_stripped_go(places[i], "-buildmode=pie");
		n++;
	}
	if (!n)
		skip_because("go is needed");
}

/* --- budgets and damage --- */

static void test_budgets(void **state)
{
	struct addresses a;
	struct frames f;

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	need_plain();
	pick("plain", &a);
	CLEANUP(fd__closep) int fd = open_in_dir("plain");
	assert_int_equal(answer(fd, FRAMES_DEBUG, &a, 0, 0, &f), 0);
	for (uint32_t i = 0; i < f.n; i++)
		assert_int_equal(f.spans[i].state, FRAMES_LATE);
	frames__fini(&f);
	assert_int_equal(answer(fd, FRAMES_DEBUG, &a, 60ll * SECOND, 1000, &f), 0);
	for (uint32_t i = 0; i < f.n; i++)
		assert_int_equal(f.spans[i].state, FRAMES_TOO_LARGE);
	frames__fini(&f);
}

static void test_one_frame_without_inlines(void **state)
{
	struct addresses a;
	unsigned n_lines = 0;

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	need_plain();
	pick("plain", &a);
	CLEANUP(fd__closep) int fd = open_in_dir("plain");
	struct frames_question q = { .addresses = a.v, .n = a.n, .budget_ns = 60ll * SECOND, .n_files = 1 };
	struct buf request = { 0 }, bytes = { 0 };
	struct frames f, all = ask("plain", &a);
	assert_int_equal(frames__ask(&q, &request), 0);
	assert_int_equal(frames__answer(request.data, request.n, &fd, 1, &bytes), 0);
	assert_int_equal(frames__read(bytes.data, bytes.n, a.n, &f), 0);
	for (uint32_t i = 0; i < a.n; i++) {
		const struct frame *outer = &all.frames[all.spans[i].off + all.spans[i].n - 1];

		assert_int_equal(f.spans[i].state, all.spans[i].state);
		assert_int_equal(f.spans[i].n, all.spans[i].n > 0);
		if (!f.spans[i].n)
			continue;
		assert_string_equal(f.frames[f.spans[i].off].name, outer->name);
		assert_int_equal(f.frames[f.spans[i].off].line, outer->line);
		n_lines++;
	}
	assert_true(n_lines > a.n / 4);
	frames__fini(&f);
	frames__fini(&all);
	buf__fini(&request);
	buf__fini(&bytes);
}

/* A reader of damaged DWARF may die (that is what the workers are for); it must not hang. */
static void test_damaged_dwarf_ends(void **state)
{
	struct random r = { 11 };
	struct addresses a;
	struct buf good = { 0 };
	char path[256];

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	need_plain();
	pick("plain", &a);
	snprintf(path, sizeof(path), "%s/plain", dir);
	assert_int_equal(fd__read_path(AT_FDCWD, path, 64 << 20, &good), 0);
	for (int turn = 0; turn < 20; turn++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			struct frames f;
			int fd;

			snprintf(path, sizeof(path), "%s/damaged", dir);
			for (int i = 0; i < 200; i++)
				good.data[4096 + random__below(&r, good.n - 4096)] =
					(uint8_t)random__below(&r, 256);
			fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			alarm(120);
			if (fd < 0 || fd__write_all(fd, good.data, good.n) ||
			    answer(fd, FRAMES_ELF, &a, 2ll * SECOND, 256 << 20, &f))
				_exit(1);
			_exit(0);
		}
		random__below(&r, 2); /* another seed for the next child */
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_false(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	}
	buf__fini(&good);
}

/* Names that reach the end of their section before their own: none, instead of what lies there. */
static void test_names_without_end(void **state)
{
	/* Where the linker puts the text of a static program; 16 bytes a function. */
	const struct addresses a = { .v = { 0x401008, 0x401018, 0x401028 }, .n = 3 };
	static const char *const names[] = { "good", "", "" };

	(void)state;
#if !defined(__x86_64__)
	skip_because("the program is written for x86-64");
#endif
	if (!shell_has("gcc"))
		skip_because("gcc is needed");
	build("gcc -nostdlib -static -o %1$s/unended %2$s/unended.s");
	struct frames f = ask("unended", &a);
	for (uint32_t i = 0; i < a.n; i++) {
		assert_int_equal(f.spans[i].state, FRAMES_FOUND);
		assert_int_equal(f.spans[i].n, 1);
		assert_string_equal(f.frames[f.spans[i].off].name, names[i]);
	}
	frames__fini(&f);
}

static void test_what_is_no_request(void **state)
{
	struct addresses a = { .v = { 1, 2, 3 }, .n = 3 };
	struct frames_question q = { .addresses = a.v, .n = 3, .budget_ns = SECOND, .n_files = 1 };
	struct buf good = { 0 }, out = { 0 };
	int fds[2] = { 0, 0 };

	(void)state;
	assert_int_equal(frames__ask(&q, &good), 0);
	for (size_t n = 0; n < good.n; n++)
		assert_int_equal(frames__answer(good.data, n, fds, 1, &out), -EINVAL);
	assert_int_equal(frames__answer(good.data, good.n, fds, 2, &out), -EINVAL);
	fds[0] = -1;
	assert_int_equal(frames__answer(good.data, good.n, fds, 1, &out), -EINVAL);
	assert_int_equal(out.n, 0);
	q.n = FRAMES_MAX_ADDRESSES + 1;
	assert_int_equal(frames__ask(&q, &good), -EINVAL);
	q.n = 3;
	q.n_files = 0;
	assert_int_equal(frames__ask(&q, &good), -EINVAL);
	buf__fini(&good);
	buf__fini(&out);
}

static void test_what_is_no_answer(void **state)
{
	struct addresses a;
	struct buf request = { 0 }, good = { 0 };
	struct random r = { 3 };
	struct frames f;

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	need_plain();
	pick("plain", &a);
	CLEANUP(fd__closep) int fd = open_in_dir("plain");
	struct frames_question q = {
		.addresses = a.v, .n = a.n, .inlines = true, .budget_ns = 60ll * SECOND, .n_files = 1
	};
	assert_int_equal(frames__ask(&q, &request), 0);
	assert_int_equal(frames__answer(request.data, request.n, &fd, 1, &good), 0);
	for (size_t n = 0; n < good.n; n++)
		assert_int_equal(frames__read(good.data, n, a.n, &f), -EBADMSG);
	assert_int_equal(frames__read(good.data, good.n, a.n - 1, &f), -EBADMSG);
	for (int i = 0; i < 20000; i++) {
		size_t at = random__below(&r, good.n);
		uint8_t old = good.data[at];

		good.data[at] = (uint8_t)random__below(&r, 256);
		if (frames__read(good.data, good.n, a.n, &f) == 0) {
			for (uint32_t k = 0; k < f.n_frames; k++)
				assert_true(strlen(f.frames[k].name) + strlen(f.frames[k].file) < good.n);
			frames__fini(&f);
		}
		good.data[at] = old;
	}
	buf__fini(&request);
	buf__fini(&good);
}

static void test_failing_allocations(void **state)
{
	struct addresses a;

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	need_plain();
	pick("plain", &a);
	a.n = 40;
	CLEANUP(fd__closep) int fd = open_in_dir("plain");
	FAILMALLOC_SWEEP (i) {
		struct frames f = { 0 };
		int rc = answer(fd, FRAMES_ELF, &a, 60ll * SECOND, 0, &f);

		failmalloc__disarm();
		if (rc == 0)
			frames__fini(&f);
		else
			assert_int_equal(rc, -ENOMEM);
	}
}

#define PACKAGED                                                                                   \
	"cd %1$s && g++ -O2 -gdwarf-5 -gsplit-dwarf -o package %2$s/inlines.cc && "                \
	"timeout 60 llvm-dwp -e package -o package.dwp && rm *.dwo"

/* The answer of a program and what is said to be its package: 0 or -ENOMEM. */
static int ask_packaged(int fd, const char *package, const struct addresses *a, struct frames *ret)
{
	CLEANUP(fd__closep) int package_fd = open_in_dir(package);
	struct frames_question q = { .addresses = a->v,
				     .n = a->n,
				     .inlines = true,
				     .budget_ns = 60ll * SECOND,
				     .files = { FRAMES_PACKAGE, FRAMES_ELF },
				     .n_files = 2 };

	return answer_of(&q, a, (int[]){ package_fd, fd }, ret);
}

/* In a process of its own: libdw may die of what a damaged index calls a unit. It must not hang. */
static void ask_damaged(int fd, const struct addresses *a)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct frames f;

		alarm(120);
		_exit(ask_packaged(fd, "damaged", a, &f) != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* Cut, with wrong bytes in the index; not a package at all; and memory that runs out. */
static void test_packages_that_are_none(void **state)
{
	CLEANUP(fd__closep) int fd = -1;
	struct random r = { 5 };
	struct addresses a;
	struct buf good = { 0 };
	struct frames f;
	char path[256];

	(void)state;
	if (!shell_has("g++ llvm-dwp"))
		skip_because("g++ and llvm-dwp are needed");
	build(PACKAGED);
	pick("package", &a);
	a.n = 40;
	fd = open_in_dir("package");
	snprintf(path, sizeof(path), "%s/package.dwp", dir);
	assert_int_equal(fd__read_path(AT_FDCWD, path, 64 << 20, &good), 0);
	snprintf(path, sizeof(path), "%s/damaged", dir);
	for (int turn = 0; turn < 60; turn++) {
		/* The index is the last section before the table of sections. */
		const uint64_t index = le__get64(good.data + offsetof(Elf64_Ehdr, e_shoff)) - 256;
		uint8_t *at = good.data + index + random__below(&r, 256), kept = *at;

		*at = (uint8_t)random__below(&r, 256);
		assert_int_equal(fd__replace(path, 0600, good.data,
					     turn % 3 ? good.n : random__below(&r, good.n), NULL),
				 0);
		*at = kept;
		ask_damaged(fd, &a);
	}
	buf__fini(&good);
	need_plain();
	assert_int_equal(ask_packaged(fd, "plain", &a, &f), 0);
	frames__fini(&f);
	FAILMALLOC_SWEEP (i) {
		int rc = ask_packaged(fd, "package.dwp", &a, &f);

		failmalloc__disarm();
		assert_true(rc == 0 || rc == -ENOMEM);
		if (rc == 0)
			frames__fini(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_llvm_symbolizer_agrees),
		cmocka_unit_test(test_zstd_is_as_good_as_plain),
		cmocka_unit_test(test_stripped_go_keeps_lines),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_one_frame_without_inlines),
		cmocka_unit_test(test_damaged_dwarf_ends),
		cmocka_unit_test(test_names_without_end),
		cmocka_unit_test(test_what_is_no_request),
		cmocka_unit_test(test_what_is_no_answer),
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_packages_that_are_none),
	};

	return cmocka_run_group_tests_name("frames", tests, make_dir, remove_dir);
}
