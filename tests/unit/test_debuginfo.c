/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_debuginfo.c - the symbol store with lines: separate debuginfo, memory of what was
 * asked, files that are given up
 *
 * One program, compiled with debug information, is the oracle for itself: stripped, and with what
 * was split off in each of the places where it may be, it has to be named in the same way.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/broker/broker.h"
#include "core/broker/rights.h"
#include "core/main/frames_workers.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/frames.h"
#include "core/symbolize/later.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/native_batch.h"
#include "tests/unit/paths.h"
#include "tests/unit/shell.h"

#define SECOND INT64_C(1000000000)

enum { N_ADDRESSES = 200 };

static char dir[] = "/tmp/decima-debuginfo-XXXXXX";
#define must(...) assert_int_equal(shell_in(dir, __VA_ARGS__), 0)
static uint64_t addresses[N_ADDRESSES]; /* of inlines_outer and main, in all of its shapes */
static char debug_dir[64];
static bool made;

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

/* n addresses all over a function. */
static void read_addresses(const char *function, uint64_t *ret, unsigned n)
{
	char line[512];
	unsigned long long start = 0, bytes = 0;
	FILE *f;

	snprintf(line, sizeof(line), "readelf -sW %s | grep ' %s$'", in_dir("full"), function);
	f = popen(line, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	assert_int_equal(sscanf(line, " %*d: %llx %llu", &start, &bytes), 2);
	for (unsigned i = 0; i < n; i++)
		ret[i] = start + i * bytes / n;
}

/* full, and what becomes of it, by MAKERS. */
#define MAKERS "g++ objcopy"
static void make(void)
{
	if (made)
		return;
	must("g++ -O2 -g -Wl,--build-id -o full %s/tests/programs/inlines.cc && "
	     "objcopy --only-keep-debug full split && objcopy --strip-all full bare && "
	     "g++ -O2 -g -Wl,--build-id=none -o noid %s/tests/programs/inlines.cc && "
	     "objcopy --only-keep-debug noid noid.debug && "
	     "objcopy --strip-all --add-gnu-debuglink=noid.debug noid linked",
	     TEST_SRCDIR, TEST_SRCDIR);
	read_addresses("main", addresses, N_ADDRESSES / 2);
	read_addresses("inlines_outer", addresses + N_ADDRESSES / 2, N_ADDRESSES / 2);
	made = true;
}

static struct dcm_batch *batch_of(const char *build_id, uint32_t n)
{
	return native_batch__of("/x/program", build_id, addresses, n);
}

static struct symbols *store(const struct symbols_config *config)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct symbols *s = NULL;

	if (symbols__new(config, &s, &err))
		fail_msg("%s", err.text);
	return s;
}

static void offer(struct symbols *s, const char *id, const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	symbols__offer(s, str__of(id), str__of(path), fd);
}

/* "a.cc:7 inner < b.cc:9 outer" of each address, a line each; or the reason's number. */
static char *written(const struct dcm_batch *b)
{
	struct buf out = { 0 };

	for (uint32_t i = 0; i < b->stacks[0].n; i++) {
		const struct dcm_location *l = &b->locations[b->stack_locations[b->stacks[0].off + i]];

		if (!l->n_lines)
			buf__printf(&out, "unnamed %u", l->unnamed);
		for (uint32_t k = 0; k < l->n_lines; k++) {
			const struct dcm_line *line = &b->lines[l->line_off + k];
			const struct dcm_function *fn = &b->functions[line->function];

			buf__printf(&out, "%.*s:%lld %.*s < ", STR_ARG(b->strings[fn->file]),
				    (long long)line->line, STR_ARG(b->strings[fn->name]));
		}
		buf__byte(&out, '\n');
	}
	assert_int_equal(out.error, 0);
	return (char *)buf__take(&out, &(size_t){ 0 });
}

/* What the store says of the addresses, once the file was offered. Caller frees. */
static char *named(const struct symbols_config *config, const char *path, struct symbols_stat *ret)
{
	CLEANUP(symbols__freep) struct symbols *s = store(config);
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("aa", N_ADDRESSES), *n = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	offer(s, "aa", path);
	if (symbols__resolve(s, b, 60 * SECOND, &n, &err))
		fail_msg("%s", err.text);
	if (ret)
		symbols__stat(s, ret);
	return written(n);
}

static const struct symbols_config with_lines = { .lines = true,
						  .inlines = true,
						  .frames_timeout_ns = 60 * SECOND };

static struct symbols_config with_dir(const char *const *dirs)
{
	struct symbols_config c = with_lines;

	c.debug_dirs = dirs;
	c.n_debug_dirs = 1;
	return c;
}

static void test_lines_and_inlined_functions(void **state)
{
	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	struct symbols_config no_inlines = with_lines;
	no_inlines.inlines = false;
	CLEANUP(mem__freep)
	char *plain = named(NULL, in_dir("full"), NULL),
	     *lines = named(&with_lines, in_dir("full"), NULL),
	     *outer = named(&no_inlines, in_dir("full"), NULL);
	assert_non_null(strstr(plain, ":0 main < \n"));
	assert_null(strstr(plain, "inlines.cc"));
	/* Three deep, and demangled. */
	assert_non_null(strstr(lines, " innermost"));
	assert_non_null(strstr(lines, " middle"));
	assert_non_null(strstr(lines, " std::vector<int, std::allocator<int> >"));
	assert_non_null(strstr(lines, "inlines.cc:"));
	assert_null(strstr(outer, "innermost"));
	assert_non_null(strstr(outer, "inlines.cc:"));
	assert_non_null(strstr(outer, " main < \n"));
}

/* Each place that separate debuginfo may be in. */
static void test_separate_debuginfo(void **state)
{
	const char *const dirs[] = { debug_dir };
	struct symbols_config c = with_dir(dirs);
	struct debuginfo_facts facts;
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	CLEANUP(mem__freep)
	char *want = named(&with_lines, in_dir("full"), NULL),
	     *want_noid = named(&with_lines, in_dir("noid"), NULL);
	CLEANUP(fd__closep) int fd = open(in_dir("bare"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(debuginfo__facts(fd, &facts), 0);
	assert_false(facts.has_symtab || facts.has_dwarf);

	must("rm -rf debug; mkdir -p debug/.build-id/%.2s && cp split "
	     "debug/.build-id/%.2s/%s.debug",
	     facts.build_id, facts.build_id, facts.build_id + 2);
	CLEANUP(mem__freep) char *by_id = named(&c, in_dir("bare"), &stat);
	assert_string_equal(by_id, want);
	assert_int_equal(stat.debuginfo_found, 1);
	CLEANUP(mem__freep) char *beside = named(&c, in_dir("linked"), &stat);
	assert_string_equal(beside, want_noid);
	must("mkdir -p .debug && mv noid.debug .debug/");
	CLEANUP(mem__freep) char *hidden = named(&c, in_dir("linked"), NULL);
	assert_string_equal(hidden, want_noid);
	must("mkdir -p debug/%s && mv .debug/noid.debug debug/%s/", dir, dir);
	CLEANUP(mem__freep) char *below = named(&c, in_dir("linked"), NULL);
	assert_string_equal(below, want_noid);
	must("mv debug/%s/noid.debug .", dir);
}

static void test_dwz(void **state)
{
	const char *const dirs[] = { debug_dir };
	struct symbols_config c = with_dir(dirs);
	struct debuginfo_facts facts;

	(void)state;
	if (!shell_has(MAKERS " dwz"))
		skip_because("g++, objcopy and dwz are needed");
	make();
	must("g++ -O2 -g -Wl,--build-id -DOTHER -o full2 %s/tests/programs/inlines.cc", TEST_SRCDIR);
	must("rm -rf debug; mkdir -p debug; objcopy --only-keep-debug full a.debug && "
	     "objcopy --only-keep-debug full2 b.debug && dwz -m debug/common -M %s/debug/common "
	     "a.debug b.debug",
	     dir);
	CLEANUP(fd__closep) int fd = open(in_dir("bare"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(debuginfo__facts(fd, &facts), 0);
	must("mkdir -p debug/.build-id/%.2s && cp a.debug debug/.build-id/%.2s/%s.debug",
	     facts.build_id, facts.build_id, facts.build_id + 2);
	CLEANUP(mem__freep)
	char *want = named(&with_lines, in_dir("full"), NULL), *got = named(&c, in_dir("bare"), NULL);
	assert_string_equal(got, want);
}

/* What nobody has has no name, and is no frame of its caller's address. */
static void test_without_what_dwz_moved(void **state)
{
	(void)state;
	if (!shell_has(MAKERS " dwz"))
		skip_because("g++, objcopy and dwz are needed");
	make();
	must("g++ -O2 -g -Wl,--build-id -DOTHER -o full2 %s/tests/programs/inlines.cc", TEST_SRCDIR);
	must("cp full one && cp full2 two && dwz -m common -M common one two && rm common");
	CLEANUP(mem__freep) char *got = named(&with_lines, in_dir("one"), NULL);
	assert_non_null(strstr(got, " main"));
	assert_null(strstr(got, "innermost"));
	assert_null(strstr(got, "  < "));
}

static void assert_all_unnamed(const char *text, enum dcm_unnamed why)
{
	char line[32];
	size_t n = 0;

	snprintf(line, sizeof(line), "unnamed %d\n", (int)why);
	for (const char *at = text; *at; at += strlen(line), n++) {
		if (strncmp(at, line, strlen(line)) != 0)
			fail_msg("not %s: %.100s", line, at);
	}
	assert_int_equal(n, N_ADDRESSES);
}

static void test_why_there_is_no_debuginfo(void **state)
{
	const char *const dirs[] = { debug_dir };
	struct symbols_config c = with_dir(dirs);
	struct debuginfo_facts facts;
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	must("rm -rf debug");
	CLEANUP(mem__freep) char *none = named(&c, in_dir("bare"), &stat);
	assert_all_unnamed(none, DCM_UNNAMED_NO_DEBUGINFO);
	assert_int_equal(stat.debuginfo_missing, 1);
	/* Another build's file in its place. */
	CLEANUP(fd__closep) int fd = open(in_dir("bare"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(debuginfo__facts(fd, &facts), 0);
	must("mkdir -p debug/.build-id/%.2s && cp noid.debug debug/.build-id/%.2s/%s.debug",
	     facts.build_id, facts.build_id, facts.build_id + 2);
	CLEANUP(mem__freep) char *other = named(&c, in_dir("bare"), NULL);
	assert_all_unnamed(other, DCM_UNNAMED_DEBUGINFO_BAD);
	/* A byte changed: the checksum tells. */
	must("mkdir -p elsewhere && cp linked elsewhere/ && cp noid.debug elsewhere/ && "
	     "printf x >> elsewhere/noid.debug");
	CLEANUP(mem__freep) char *changed = named(&c, in_dir("elsewhere/linked"), NULL);
	assert_all_unnamed(changed, DCM_UNNAMED_DEBUGINFO_BAD);
	/* No directory to look in: as it was without them. */
	CLEANUP(mem__freep) char *stripped = named(&with_lines, in_dir("bare"), NULL);
	assert_all_unnamed(stripped, DCM_UNNAMED_STRIPPED);
}

/* --- who answers --- */

struct answerer {
	unsigned n_calls;
	int rc; /* 0: answer truly */
	bool nonsense;
	struct clock *clock; /* moves on by `takes_ns` with each call; NULL: none */
	int64_t takes_ns;
};

static int answer(void *ctx, const struct symbols_frames_call *call, struct buf *ret_answer)
{
	struct answerer *a = ctx;

	a->n_calls++;
	if (a->clock)
		a->clock->fake_mono_ns += a->takes_ns;
	assert_true(call->timeout_ns > 0 && call->timeout_ns <= 60 * SECOND);
	if (a->nonsense)
		buf__text(ret_answer, "nonsense");
	if (a->rc || a->nonsense)
		return a->rc;
	return frames__answer(call->request, call->n, call->fds, call->n_fds, ret_answer);
}

/* Asks `n` times, each with so much time; returns what was said the last time. */
static char *asked_often(struct answerer *a, const char *path, int64_t time_ns, int n,
			 struct symbols_stat *ret)
{
	struct symbols_config c = with_lines;
	struct dcm_error err = DCM_ERROR_INIT;
	char *text = NULL;

	c.frames = answer;
	c.frames_ctx = a;
	CLEANUP(symbols__freep) struct symbols *s = store(&c);
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("aa", N_ADDRESSES);
	offer(s, "aa", path);
	for (int i = 0; i < n; i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *answered = NULL;

		assert_int_equal(symbols__resolve(s, b, time_ns, &answered, &err), 0);
		free(text);
		text = written(answered);
	}
	symbols__stat(s, ret);
	return text;
}

static void test_each_address_is_asked_for_once(void **state)
{
	struct answerer a = { 0 };
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	CLEANUP(mem__freep)
	char *want = named(&with_lines, in_dir("full"), NULL),
	     *got = asked_often(&a, in_dir("full"), 90 * SECOND, 6, &stat);
	assert_string_equal(got, want);
	assert_int_equal(a.n_calls, 1);
	assert_true(stat.frames_asked > N_ADDRESSES / 2 && stat.frames_asked <= N_ADDRESSES);
	assert_int_equal(stat.frames_given_up, 0);
	assert_int_equal(stat.n_sources, 1);
}

/* Has the first n addresses learned, and waits until that is done. */
static void learn(struct symbols *s, uint32_t n)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("aa", n);
	struct symbols_stat before, now;

	symbols__stat(s, &before);
	symbols__learn(s, b);
	do {
		usleep(1000);
		symbols__stat(s, &now);
	} while (now.batches_learned == before.batches_learned);
}

static pid_t only_child(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid = 0;

	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static char *resolved(struct symbols *s)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("aa", N_ADDRESSES), *n = NULL;

	assert_int_equal(symbols__resolve(s, b, 60 * SECOND, &n, NULL), 0);
	return written(n);
}

/* A store whose broker stands still: who is asked for debuginfo does not answer. */
struct silent {
	struct clock clock;
	const char *dirs[1];
	struct symbols_config config;
	pid_t broker;
	struct symbols *s;
};

static void silent__init(struct silent *x)
{
	x->clock = clock__fake(SECOND, 0);
	x->dirs[0] = debug_dir;
	x->config = with_dir(x->dirs);
	must("rm -rf debug");
	assert_int_equal(broker__new(&x->config.broker, &(struct dcm_error)DCM_ERROR_INIT), 0);
	x->broker = only_child();
	assert_true(x->broker > 0);
	x->config.clock = &x->clock;
	x->s = store(&x->config);
	kill(x->broker, SIGSTOP);
}

/* It answers again. */
static void silent__speak(struct silent *x)
{
	int sh;

	kill(x->broker, SIGCONT);
	while ((sh = rights__open_named(x->config.broker, "/bin/sh")) < 0)
		usleep(1000);
	close(sh);
}

static void silent__fini(struct silent *x)
{
	symbols__free(x->s);
	broker__free(x->config.broker);
}

/* A broker that hangs in a file system has not said that there is nothing. */
static void test_who_does_not_answer_is_asked_again(void **state)
{
	struct symbols_stat stat;
	struct silent x;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	CLEANUP(mem__freep) char *want = named(&with_lines, in_dir("noid"), NULL);
	silent__init(&x);
	offer(x.s, "aa", in_dir("linked"));
	CLEANUP(mem__freep) char *before = resolved(x.s);
	assert_all_unnamed(before, DCM_UNNAMED_DEBUGINFO_ASKED);
	x.clock.fake_mono_ns += 60 * SECOND;
	learn(x.s, 1);
	learn(x.s, 1);
	CLEANUP(mem__freep) char *still = resolved(x.s);
	assert_all_unnamed(still, DCM_UNNAMED_DEBUGINFO_ASKED);
	symbols__stat(x.s, &stat);
	assert_int_equal(stat.debuginfo_unanswered, 2);
	assert_int_equal(stat.debuginfo_missing, 0);

	silent__speak(&x);
	/* Each time later. */
	x.clock.fake_mono_ns += 119 * SECOND;
	learn(x.s, 1);
	learn(x.s, 1);
	symbols__stat(x.s, &stat);
	assert_int_equal(stat.debuginfo_found, 0);
	x.clock.fake_mono_ns += SECOND;
	learn(x.s, 1);
	learn(x.s, 1);
	CLEANUP(mem__freep) char *got = resolved(x.s);
	assert_string_equal(got, want);
	symbols__stat(x.s, &stat);
	assert_int_equal(stat.debuginfo_found, 1);
	silent__fini(&x);
}

static void test_what_finds_no_room_is_asked_when_it_is_offered(void **state)
{
	struct symbols_stat stat;
	struct silent x;
	char id[16];

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	CLEANUP(mem__freep) char *want = named(&with_lines, in_dir("noid"), NULL);
	silent__init(&x);
	for (int i = 0; i < LATER_MAX_FILES; i++) {
		snprintf(id, sizeof(id), "%04x", i);
		offer(x.s, id, in_dir("linked"));
	}
	offer(x.s, "aa", in_dir("linked"));
	CLEANUP(mem__freep) char *before = resolved(x.s);
	assert_all_unnamed(before, DCM_UNNAMED_DEBUGINFO_ASKED);
	symbols__stat(x.s, &stat);
	assert_int_equal(stat.debuginfo_unanswered, LATER_MAX_FILES + 1);
	silent__speak(&x);
	/* Not sooner than another one. */
	x.clock.fake_mono_ns += 59 * SECOND;
	offer(x.s, "aa", in_dir("linked"));
	learn(x.s, 1);
	CLEANUP(mem__freep) char *still = resolved(x.s);
	assert_all_unnamed(still, DCM_UNNAMED_DEBUGINFO_ASKED);
	x.clock.fake_mono_ns += SECOND;
	offer(x.s, "aa", in_dir("linked"));
	learn(x.s, 1);
	CLEANUP(mem__freep) char *got = resolved(x.s);
	assert_string_equal(got, want);
	silent__fini(&x);
}

/* Whether it is read again by itself or when it is offered: who could not read it has not been told. */
static void test_a_file_that_could_not_be_read_again_is_asked_about(void **state)
{
	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	CLEANUP(mem__freep) char *want = named(&with_lines, in_dir("noid"), NULL);
	for (int n_others = 0; n_others <= LATER_MAX_FILES; n_others += LATER_MAX_FILES) {
		struct symbols_stat stat;
		struct silent x;
		char id[16];

		must("cp linked torn");
		silent__init(&x);
		for (int i = 0; i < n_others; i++) {
			snprintf(id, sizeof(id), "%04x", i);
			offer(x.s, id, in_dir("linked"));
		}
		offer(x.s, "aa", in_dir("torn"));
		learn(x.s, 1);
		must(": >torn");
		silent__speak(&x);
		x.clock.fake_mono_ns += 60 * SECOND;
		offer(x.s, "aa", in_dir("torn"));
		learn(x.s, 1);
		learn(x.s, 1);
		symbols__stat(x.s, &stat);
		assert_int_equal(stat.files_bad, 1);
		CLEANUP(mem__freep) char *still = resolved(x.s);
		assert_all_unnamed(still, DCM_UNNAMED_DEBUGINFO_ASKED);
		/* The same file. */
		must("cat linked >torn");
		offer(x.s, "aa", in_dir("torn"));
		learn(x.s, 1);
		symbols__stat(x.s, &stat);
		assert_int_equal(stat.files_bad, 1);
		x.clock.fake_mono_ns += 120 * SECOND;
		offer(x.s, "aa", in_dir("torn"));
		learn(x.s, 1);
		CLEANUP(mem__freep) char *got = resolved(x.s);
		assert_string_equal(got, want);
		silent__fini(&x);
	}
}

/* Of two files of one build, of which the second has symbols, the first is asked about no more. */
static void test_who_answers_late_takes_no_names_away(void **state)
{
	struct symbols_stat stat;
	struct silent x;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	must("objcopy --strip-debug --add-gnu-debuglink=noid.debug noid named");
	CLEANUP(mem__freep) char *want = named(NULL, in_dir("named"), NULL);
	silent__init(&x);
	offer(x.s, "aa", in_dir("linked"));
	learn(x.s, 1);
	offer(x.s, "aa", in_dir("named"));
	learn(x.s, 1);
	symbols__stat(x.s, &stat);
	assert_int_equal(stat.debuginfo_unanswered, 2);
	/* What was asked once is remembered. */
	must("mv noid.debug away");
	silent__speak(&x);
	for (int i = 0; i < 5; i++) {
		x.clock.fake_mono_ns += 120 * SECOND;
		learn(x.s, 1);
		learn(x.s, 1);
	}
	must("mv away noid.debug");
	symbols__stat(x.s, &stat);
	assert_int_equal(stat.debuginfo_unanswered, 2);
	CLEANUP(mem__freep) char *after = resolved(x.s);
	assert_string_equal(after, want);
	silent__fini(&x);
}

static void test_a_file_rests_unless_somebody_waits(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct answerer a = { .clock = &clock, .takes_ns = SECOND / 10 };
	struct symbols_config c = with_lines;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	c.frames = answer;
	c.frames_ctx = &a;
	c.clock = &clock;
	CLEANUP(symbols__freep) struct symbols *s = store(&c);
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("aa", N_ADDRESSES), *n = NULL;
	CLEANUP(mem__freep) char *want = named(&with_lines, in_dir("full"), NULL);
	offer(s, "aa", in_dir("full"));
	learn(s, 10);
	assert_int_equal(a.n_calls, 1);
	clock.fake_mono_ns += 99 * SECOND;
	learn(s, 20);
	assert_int_equal(a.n_calls, 1);
	clock.fake_mono_ns += SECOND;
	learn(s, 20);
	assert_int_equal(a.n_calls, 2);
	learn(s, 30);
	assert_int_equal(a.n_calls, 2);
	assert_int_equal(symbols__resolve(s, b, 60 * SECOND, &n, &err), 0);
	assert_int_equal(a.n_calls, 3);
	CLEANUP(mem__freep) char *got = written(n);
	assert_string_equal(got, want);
}

static void test_a_file_that_kills_is_asked_no_more(void **state)
{
	static const struct {
		struct answerer a;
		unsigned n_calls;
		enum dcm_unnamed why;
	} cases[] = {
		{ { .rc = -ETIMEDOUT }, 3, DCM_UNNAMED_DEBUGINFO_LIMIT },
		{ { .rc = -ENOMEM }, 1, DCM_UNNAMED_DEBUGINFO_LIMIT },
		{ { .rc = -EPROTO }, 1, DCM_UNNAMED_DEBUGINFO_LIMIT },
		{ { .rc = 0, .nonsense = true }, 1, DCM_UNNAMED_DEBUGINFO_BAD },
		{ { .rc = -EAGAIN }, 6, DCM_UNNAMED_STRIPPED }, /* nobody's fault: asked every time */
	};

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	must("objcopy --strip-all --keep-section='.debug_*' full nosyms");
	CLEANUP(mem__freep) char *plain = named(NULL, in_dir("full"), NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answerer a = cases[i].a, b = cases[i].a;
		struct symbols_stat stat;
		CLEANUP(mem__freep)
		char *named_still = asked_often(&a, in_dir("full"), 90 * SECOND, 6, &stat),
		     *unnamed = asked_often(&b, in_dir("nosyms"), 90 * SECOND, 6, &stat);

		assert_string_equal(named_still, plain);
		assert_int_equal(a.n_calls, cases[i].n_calls);
		assert_all_unnamed(unnamed, cases[i].why);
		assert_int_equal(stat.frames_given_up, cases[i].why != DCM_UNNAMED_STRIPPED);
	}
}

/* Who asks leaves it some seconds at a time: it is given up when these are three minutes. */
static void test_a_file_that_had_little_time_is_asked_again(void **state)
{
	struct answerer often = { .rc = -ETIMEDOUT }, more = { .rc = -ETIMEDOUT };
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	free(asked_often(&often, in_dir("full"), 5 * SECOND, 30, &stat));
	assert_true(often.n_calls > 3);
	assert_int_equal(stat.frames_given_up, 0);
	free(asked_often(&more, in_dir("full"), 31 * SECOND, 9, &stat));
	assert_int_equal(stat.frames_given_up, 1);
	assert_true(more.n_calls < 9);
}

/*
 * A line table of endless rows: a mebibyte in the file, 256 times that decompressed, 40 times that
 * in memory once read.
 */
static void make_hostile(void)
{
	static uint8_t rows[1 << 20]; /* DW_LNS_copy, each a row */
	struct buf line = { 0 };
	uint32_t unit_bytes;
	FILE *f;

	must("objcopy -O binary --set-section-flags .debug_line=alloc "
	     "--only-section=.debug_line full line");
	assert_int_equal(fd__read_path(AT_FDCWD, in_dir("line"), 64 << 20, &line), 0);
	assert_true(line.n > 64);
	unit_bytes = (uint32_t)line.n - 4 + (256u << 20);
	memcpy(line.data, &unit_bytes, sizeof(unit_bytes)); /* of the first unit: the program's own */
	memset(rows, 1, sizeof(rows));
	f = fopen(in_dir("line"), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(line.data, 1, line.n, f), line.n);
	for (int i = 0; i < 256; i++)
		assert_int_equal(fwrite(rows, 1, sizeof(rows), f), sizeof(rows));
	fclose(f);
	buf__fini(&line);
	must("objcopy --update-section .debug_line=line full swollen && rm line && "
	     "objcopy --compress-debug-sections=zlib swollen hostile && rm swollen && "
	     "objcopy --strip-all --keep-section='.debug_*' hostile hostile_nosyms");
}

static void test_a_worker_that_eats_memory_is_killed(void **state)
{
	struct symbols_config c = with_lines;
	struct workers *w = NULL;
	struct workers_stat stat;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	make_hostile();
	assert_int_equal(frames_workers__new(512 << 20, 0, &w, NULL), 0);
	c.frames = frames_workers__ask;
	c.frames_ctx = w;
	CLEANUP(mem__freep)
	char *want = named(&with_lines, in_dir("full"), NULL),
	     *in_worker = named(&c, in_dir("full"), NULL), *plain = named(NULL, in_dir("full"), NULL);
	assert_string_equal(in_worker, want);
	stat = workers__stat(w);
	assert_int_equal(stat.n_questions, 1);
	CLEANUP(mem__freep)
	char *still_named = named(&c, in_dir("hostile"), NULL),
	     *unnamed = named(&c, in_dir("hostile_nosyms"), NULL);
	assert_string_equal(still_named, plain);
	assert_all_unnamed(unnamed, DCM_UNNAMED_DEBUGINFO_LIMIT);
	stat = workers__stat(w);
	assert_int_equal(stat.n_out_of_memory + stat.n_crashed, 2);
	/* And the next one is answered as if nothing had been. */
	CLEANUP(mem__freep) char *after = named(&c, in_dir("full"), NULL);
	assert_string_equal(after, want);
	workers__free(w);
}

static void test_files_that_stay_open_are_few(void **state)
{
	struct symbols_config c = with_lines;
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	c.max_sources = 2;
	CLEANUP(symbols__freep) struct symbols *s = store(&c);
	for (int i = 0; i < 10; i++) {
		char id[8];

		snprintf(id, sizeof(id), "%02d", i);
		offer(s, id, in_dir("full"));
	}
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("09", 3), *n = NULL;
	assert_int_equal(symbols__resolve(s, b, 60 * SECOND, &n, NULL), 0);
	symbols__stat(s, &stat);
	assert_int_equal(stat.n_sources, 2);
	assert_int_equal(stat.n_tables, 10);
	assert_int_equal(stat.frames_asked, 3);
}

static void test_failing_allocations(void **state)
{
	(void)state;
	if (!shell_has(MAKERS))
		skip_because("g++ and objcopy are needed");
	make();
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of("aa", 20);
	CLEANUP(symbols__freep) struct symbols *s = store(&with_lines);
	offer(s, "aa", in_dir("full"));
	CLEANUP(batch__unrefp) struct dcm_batch *none = batch_of("bb", 1), *first = NULL;
	assert_int_equal(symbols__resolve(s, none, 60 * SECOND, &first, NULL), 0);
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *n = NULL;
		int rc = symbols__resolve(s, b, 60 * SECOND, &n, NULL);

		failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		batch__unref(n);
	}
}

static void test_reasons_tell_the_build_id(void **state)
{
	char text[512];
	uint32_t n = symbols__why_of(DCM_UNNAMED_NO_DEBUGINFO, STR("12ab"), text, sizeof(text));

	(void)state;
	assert_int_equal(n, strlen(text));
	assert_non_null(strstr(text, "stripped: no debuginfo for build id 12ab in "));
	symbols__why_of(DCM_UNNAMED_NO_DEBUGINFO, STR("~0011"), text, sizeof(text));
	assert_string_equal(text, symbols__why(DCM_UNNAMED_NO_DEBUGINFO));
	symbols__why_of(DCM_UNNAMED_STRIPPED, STR("12ab"), text, sizeof(text));
	assert_string_equal(text, symbols__why(DCM_UNNAMED_STRIPPED));
	assert_int_equal(symbols__why_of(DCM_UNNAMED_NO_DEBUGINFO, STR("12ab"), text, 10), 9);
	assert_string_equal(text, "stripped:");
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	return shell_in(dir, "rm -rf %s", dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_and_inlined_functions),
		cmocka_unit_test(test_separate_debuginfo),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_without_what_dwz_moved),
		cmocka_unit_test(test_why_there_is_no_debuginfo),
		cmocka_unit_test(test_each_address_is_asked_for_once),
		cmocka_unit_test(test_who_does_not_answer_is_asked_again),
		cmocka_unit_test(test_what_finds_no_room_is_asked_when_it_is_offered),
		cmocka_unit_test(test_a_file_that_could_not_be_read_again_is_asked_about),
		cmocka_unit_test(test_who_answers_late_takes_no_names_away),
		cmocka_unit_test(test_a_file_rests_unless_somebody_waits),
		cmocka_unit_test(test_a_file_that_kills_is_asked_no_more),
		cmocka_unit_test(test_a_file_that_had_little_time_is_asked_again),
		cmocka_unit_test(test_a_worker_that_eats_memory_is_killed),
		cmocka_unit_test(test_files_that_stay_open_are_few),
		cmocka_unit_test(test_reasons_tell_the_build_id),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests_name("debuginfo", tests, make_dir, remove_dir);
}
