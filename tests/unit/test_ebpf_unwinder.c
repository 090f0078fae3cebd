/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_unwinder.c - deferred samples: each comes out once, walked as far as it can
 * be
 *
 * The samples are of this process, whose mappings are read from /proc and whose file is compiled;
 * the stacks are words made here, of functions below whose frames are known.
 */
#include "tests/unit/ebpf_host.h"
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/unwind_arch.h"
#include "core/base/clock.h"
#include "plugins/input/ebpf/unwinder.h"
#include "tests/unit/failmalloc.h"

#if defined(__x86_64__)

enum {
	WINDOW = 7,
	RESULTS = 2048,
	FRAMES = 8, /* of a result, that are kept */
	WORDS = 16,
	CODE = 4096, /* bytes of memory that is code without a file */
	STACK = 0x10000,
	KERNEL_FRAME = 0x1234,
};
#define SECOND_NS 1000000000ll

/*
 * Functions that nobody calls: the outer one has three words between its return address and the
 * inner one's.
 */
extern const char unwinder_inner[], unwinder_outer_return[];

__asm__(".text\n"
	"	.globl unwinder_inner, unwinder_outer_return\n"
	"unwinder_inner:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"unwinder_outer:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call unwinder_inner\n"
	"unwinder_outer_return:\n"
	"	add $24, %rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	"	.cfi_endproc\n");

struct result {
	uint32_t tid, outcome, n_kernel, n_user;
	uint64_t frames[FRAMES];
	const struct maps *maps;
	bool certain;
};

struct fixture {
	struct ebpf_host host; /* first: its functions get back to us by it */
	int64_t (*mono_ns)(const struct dcm_host *host); /* its own, while a test's stands there */
	const struct sampler_raw *awaited;
	struct ebpf_memory memory;
	struct files *files;
	struct processes *processes;
	struct tables *tables;
	struct unwinder *unwinder;
	uint64_t exec_pages; /* of this process; 0: no matter */
	uint32_t n_results;
	struct result results[RESULTS];
};

static void on_opened(void *ctx, const struct file *file, int fd)
{
	struct fixture *f = ctx;

	/* -ENOMEM in a sweep: then the file has no table. */
	tables__file(f->tables, file->build_id, fd);
}

static void on_sample(void *ctx, const struct sampler_sample *sample, const uint64_t *frames,
		      struct maps *maps, bool certain)
{
	struct fixture *f = ctx;
	struct result *r = &f->results[f->n_results++];
	uint32_t n = (uint32_t)sample->n_kernel + sample->n_user;

	assert_in_range(f->n_results, 1, RESULTS);
	assert_int_equal(sample->head.kind, SAMPLER_SAMPLE);
	assert_int_equal(sample->head.size, sizeof(*sample) + n * sizeof(uint64_t));
	assert_in_range(sample->n_user, 1, SAMPLER_USER_FRAMES);
	*r = (struct result){ .tid = sample->head.tid,
			      .outcome = sample->outcome,
			      .n_kernel = sample->n_kernel,
			      .n_user = sample->n_user,
			      .maps = maps,
			      .certain = certain };
	memcpy(r->frames, frames, (n < FRAMES ? n : FRAMES) * sizeof(*frames));
}

static struct unwinder *unwinder_of(struct fixture *f)
{
	return unwinder__new(&(struct unwinder_parts){ .host = &f->host.host,
						       .tables = f->tables,
						       .processes = f->processes,
						       .sample = on_sample,
						       .ctx = f,
						       .max_depth = SAMPLER_USER_FRAMES });
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);

	ebpf_host__init(&f->host);
	f->files = files__new(&f->host.host);
	f->processes = processes__new(&f->host.host, f->files, NULL, NULL);
	f->tables = tables__new(&memory, 16 << 20);
	f->unwinder = unwinder_of(f);
	assert_non_null(f->unwinder);
	files__on_open(f->files, on_opened, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unwinder__free(f->unwinder);
	tables__free(f->tables);
	processes__free(f->processes);
	files__free(f->files);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

/* A deferred sample with n words of stack, of which rbp is 0. */
struct deferred {
	struct sampler_raw raw;
	uint64_t words[WORDS];
};

static struct deferred deferred(const struct fixture *f, const void *pc, const uint64_t *words, uint32_t n)
{
	struct deferred d = { .raw.pc = (uint64_t)(uintptr_t)pc };
	struct sampler_sample *s = &d.raw.sample;
	uint64_t start_ns;

	s->head.kind = SAMPLER_RAW;
	s->head.size = (uint32_t)(sizeof(d.raw) + n * sizeof(*words));
	s->head.pid = (uint32_t)getpid();
	s->head.tid = s->head.pid;
	s->head.exec_id = 3;
	s->head.time_ns = (uint64_t)clock__mono(&clock__system);
	assert_int_equal(procfs__start(s->head.pid, &start_ns), 0);
	s->head.start_ns = start_ns;
	s->outcome = SAMPLER_OUTCOME_DEFERRED;
	s->exec_pages = f->exec_pages;
	s->n_kernel = 1;
	d.raw.kernel[0] = KERNEL_FRAME;
	d.raw.start = d.raw.regs[UNWIND_X86_SP] = STACK;
	d.raw.n_bytes = n * (uint32_t)sizeof(*words);
	memcpy(d.words, words, d.raw.n_bytes);
	return d;
}

/* unwinder_inner, called by unwinder_outer, which nobody called. */
static struct deferred whole(const struct fixture *f)
{
	const uint64_t words[] = { (uint64_t)(uintptr_t)unwinder_outer_return, 1, 2, 3, 0 };

	return deferred(f, unwinder_inner, words, 5);
}

static void take(struct fixture *f, const struct deferred *d)
{
	const struct sampler_raw *raw;

	assert_int_equal(record__raw(d, d->raw.sample.head.size, &raw), 0);
	unwinder__take(f->unwinder, raw, WINDOW);
}

/* Every one that was taken has come out, or waits. */
static void check_sums(const struct fixture *f)
{
	struct unwinder_stat s = unwinder__stat(f->unwinder);
	uint64_t sum = 0;

	for (int i = 0; i < SAMPLER_OUTCOME_N; i++)
		sum += s.outcomes[i];
	assert_int_equal(sum, f->n_results);
	assert_int_equal(s.n_taken, f->n_results + s.n_waiting);
}

static void check_result(const struct result *r, enum sampler_outcome outcome, uint32_t n_user)
{
	assert_int_equal(r->outcome, outcome);
	assert_int_equal(r->n_kernel, 1);
	assert_int_equal(r->n_user, n_user);
	assert_int_equal(r->frames[0], KERNEL_FRAME);
}

/* Retries whenever tables say so, until nothing waits. */
static void wait_until_done(struct fixture *f)
{
	struct pollfd wake = { .fd = tables__wake_fd(f->tables), .events = POLLIN };

	for (int i = 0; unwinder__stat(f->unwinder).n_waiting; i++) {
		assert_in_range(i, 0, 1000);
		assert_int_equal(poll(&wake, 1, 60000), 1);
		tables__woken(f->tables);
		unwinder__retry(f->unwinder, WINDOW, false);
	}
}

static void test_waits_for_tables(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);

	/* The clock stands still: five seconds do not pass on a slow machine. */
	f->host.mono_ns = clock__mono(&clock__system);
	take(f, &d);
	assert_int_equal(f->n_results, 0);
	assert_int_equal(unwinder__stat(f->unwinder).n_waiting, 1);
	/* Nothing has changed: nothing is tried. */
	unwinder__retry(f->unwinder, WINDOW, false);
	assert_int_equal(f->n_results, 0);
	assert_int_equal(tables__start(f->tables), 0);
	wait_until_done(f);
	assert_int_equal(f->n_results, 1);
	check_result(&f->results[0], SAMPLER_OUTCOME_ROOT, 2);
	assert_int_equal(f->results[0].frames[1], (uintptr_t)unwinder_inner);
	assert_int_equal(f->results[0].frames[2], (uintptr_t)unwinder_outer_return);
	assert_non_null(f->results[0].maps);
	check_sums(f);
	/* From now on there is nothing to wait for. */
	take(f, &d);
	assert_int_equal(f->n_results, 2);
	check_result(&f->results[1], SAMPLER_OUTCOME_ROOT, 2);
	assert_int_equal(unwinder__stat(f->unwinder).n_waited, 1);
	check_sums(f);
}

/* The time is asked for behind the first look at the tables: they become ready then. */
static int64_t mono_while_tables_come(const struct dcm_host *host)
{
	struct fixture *f = (struct fixture *)(uintptr_t)host;
	struct pollfd wake = { .fd = tables__wake_fd(f->tables), .events = POLLIN };
	const struct sampler_head *h = &f->awaited->sample.head;
	const struct tables_image image = { h->pid, h->start_ns, h->exec_id };
	struct tables_walk walk = { .outcome = SAMPLER_OUTCOME_PENDING };
	uint64_t frames[FRAMES];

	f->host.host.mono_ns = f->mono_ns;
	assert_int_equal(tables__start(f->tables), 0);
	for (int i = 0; walk.outcome == SAMPLER_OUTCOME_PENDING; i++) {
		assert_in_range(i, 0, 1000);
		assert_int_equal(poll(&wake, 1, 60000), 1);
		tables__woken(f->tables);
		assert_int_equal(tables__walk(f->tables, &image, f->awaited, frames, FRAMES, &walk), 0);
	}
	return f->host.mono_ns;
}

/* A table that comes while the waiting are looked through is news the next time. */
static void test_tables_that_come_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);

	f->host.mono_ns = clock__mono(&clock__system);
	take(f, &d);
	unwinder__retry(f->unwinder, WINDOW, false);
	f->awaited = &d.raw;
	f->mono_ns = f->host.host.mono_ns;
	f->host.host.mono_ns = mono_while_tables_come;
	unwinder__retry(f->unwinder, WINDOW, false);
	assert_ptr_equal(f->host.host.mono_ns, f->mono_ns);
	assert_int_equal(unwinder__stat(f->unwinder).n_waiting, 1);
	unwinder__retry(f->unwinder, WINDOW, false);
	assert_int_equal(f->n_results, 1);
	check_result(&f->results[0], SAMPLER_OUTCOME_ROOT, 2);
	check_sums(f);
}

/* After five seconds it is handed on with what is known: the leaf. */
static void test_waits_for_five_seconds(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);
	int64_t now = clock__mono(&clock__system);

	f->host.mono_ns = now;
	take(f, &d);
	f->host.mono_ns = now + 5 * SECOND_NS;
	unwinder__retry(f->unwinder, WINDOW, false);
	assert_int_equal(f->n_results, 0);
	f->host.mono_ns = now + 5 * SECOND_NS + 1;
	unwinder__retry(f->unwinder, WINDOW, false);
	assert_int_equal(f->n_results, 1);
	check_result(&f->results[0], SAMPLER_OUTCOME_DEFERRED, 1);
	assert_int_equal(f->results[0].frames[1], (uintptr_t)unwinder_inner);
	assert_int_equal(unwinder__stat(f->unwinder).n_given_up, 1);
	check_sums(f);
}

static int opens_maps_alone(const struct dcm_host *host, const struct dcm_guarded *g)
{
	return g->what == DCM_GUARDED_MAPS ? ebpf_host__rights.open_guarded(host, g) : -ETIMEDOUT;
}

/* Whoever opens files does not answer: no callers are guessed where the file has tables. */
static void test_waits_for_an_answer(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);
	int64_t now = clock__mono(&clock__system);

	f->host.host.open_guarded = opens_maps_alone;
	f->host.mono_ns = now;
	/* A record that a frame pointer would be taken for. */
	d.words[1] = (uint64_t)(uintptr_t)unwinder_outer_return;
	d.raw.regs[UNWIND_X86_FP] = STACK;
	take(f, &d);
	assert_int_equal(f->n_results, 0);
	/* Nor when mappings are announced whose files are known so. */
	unwinder__free(f->unwinder);
	f->unwinder = unwinder_of(f);
	take(f, &d);
	assert_int_equal(f->n_results, 0);
	f->host.host.open_guarded = ebpf_host__rights.open_guarded;
	assert_int_equal(tables__start(f->tables), 0);
	d.raw.regs[UNWIND_X86_FP] = 0;
	take(f, &d);
	wait_until_done(f);
	assert_int_equal(f->n_results, 2);
	for (int i = 0; i < 2; i++)
		check_result(&f->results[i], i ? SAMPLER_OUTCOME_ROOT : SAMPLER_OUTCOME_BAD_RA, 2);
	check_sums(f);
}

static int denies_files(const struct dcm_host *host, const struct dcm_guarded *g)
{
	return g->what == DCM_GUARDED_MAPS ? ebpf_host__rights.open_guarded(host, g) : -EACCES;
}

/* Whether the code of a file that may not be read keeps frame pointers nobody knows: zeroes are no end of a stack. */
static void test_files_that_may_not_be_read(void **state)
{
	const uint64_t zeroes[] = { 0, 0, 0 };
	struct fixture *f = *state;
	struct deferred d = deferred(f, unwinder_outer_return, zeroes, 3);

	f->host.host.open_guarded = denies_files;
	d.raw.regs[UNWIND_X86_FP] = STACK;
	d.raw.has_code = 1;
	memset(d.raw.code, 0x90, sizeof(d.raw.code));
	take(f, &d);
	assert_int_equal(f->n_results, 1);
	check_result(&f->results[0], SAMPLER_OUTCOME_BAD_RA, 1);
	check_sums(f);
}

/* More than can wait: the oldest go first; at the end all do, in order. */
static void test_room_for_512(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);

	f->host.mono_ns = clock__mono(&clock__system);
	for (uint32_t i = 0; i < 600; i++) {
		d.raw.sample.head.tid = i;
		take(f, &d);
		check_sums(f);
	}
	assert_int_equal(unwinder__stat(f->unwinder).n_waiting, 512);
	assert_int_equal(f->n_results, 600 - 512);
	unwinder__retry(f->unwinder, WINDOW, true);
	assert_int_equal(f->n_results, 600);
	for (uint32_t i = 0; i < 600; i++) {
		assert_int_equal(f->results[i].tid, i);
		check_result(&f->results[i], SAMPLER_OUTCOME_DEFERRED, 1);
	}
	check_sums(f);
}

/* Nobody has that pid: what it ran is not known. */
static void test_process_that_is_gone(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);

	d.raw.sample.head.pid = 1 << 29;
	take(f, &d);
	assert_int_equal(f->n_results, 1);
	check_result(&f->results[0], SAMPLER_OUTCOME_GONE, 1);
	assert_null(f->results[0].maps);
	check_sums(f);
}

/* It ended before its files were opened, nor are they to be had by path: where they are met, the walk ends, by no guess. */
static void test_file_that_went_with_its_process(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);
	struct sampler_head *h = &d.raw.sample.head;
	pid_t child = fork();
	uint64_t start_ns;

	if (child == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	h->pid = h->tid = (uint32_t)child;
	assert_int_equal(procfs__start(h->pid, &start_ns), 0);
	h->start_ns = start_ns;
	/* A record that a frame pointer would be taken for. */
	d.words[1] = (uint64_t)(uintptr_t)unwinder_outer_return;
	d.raw.regs[UNWIND_X86_FP] = STACK;
	d.raw.has_code = 1;
	memset(d.raw.code, 0x90, sizeof(d.raw.code));
	assert_non_null(processes__of(f->processes, &d.raw.sample, WINDOW)->maps);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	f->host.host.open_guarded = denies_files;
	for (uint32_t i = 0; i < 2; i++) {
		take(f, &d);
		assert_int_equal(f->n_results, i + 1);
		check_result(&f->results[i], SAMPLER_OUTCOME_GONE, 1);
	}
	check_sums(f);
}

/* Code without a file has no tables to wait for. */
static void *map_code(void)
{
	void *code = mmap(NULL, CODE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(code, MAP_FAILED);
	return code;
}

/* Two frame records; the code at the leaf is no prologue. */
static struct deferred jit(const struct fixture *f, const char *code)
{
	const uint64_t words[] = { STACK + 16, (uint64_t)(uintptr_t)(code + 64), 0, 0 };
	struct deferred d = deferred(f, code + 32, words, 4);

	d.raw.regs[UNWIND_X86_FP] = STACK;
	d.raw.has_code = 1;
	return d;
}

/*
 * A frame pointer of 0 is the outermost frame's when a frame record says so. In the register it may
 * be anything.
 */
/* A process that cannot be seen for a moment has not gone: what its files say is waited for. */
static void test_process_that_is_not_seen(void **state)
{
	struct fixture *f = *state;
	struct deferred d = whole(f);
	struct rlimit limit, none;

	f->host.mono_ns = clock__mono(&clock__system);
	assert_non_null(processes__of(f->processes, &d.raw.sample, WINDOW)->maps);
	processes__rest(f->processes);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	take(f, &d);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(f->n_results, 0);
	assert_int_equal(unwinder__stat(f->unwinder).n_waiting, 1);
	/* With the next one its file is opened. */
	take(f, &d);
	assert_int_equal(tables__start(f->tables), 0);
	wait_until_done(f);
	assert_int_equal(f->n_results, 2);
	check_result(&f->results[0], SAMPLER_OUTCOME_ROOT, 2);
	check_result(&f->results[1], SAMPLER_OUTCOME_ROOT, 2);
	check_sums(f);
}

static void test_frame_pointers_of_zero(void **state)
{
	struct fixture *f = *state;
	char *code = map_code();
	const uint64_t one_record[] = { 0, (uint64_t)(uintptr_t)(code + 64) };
	const uint64_t called[] = { (uint64_t)(uintptr_t)(code + 64) };
	struct deferred ends = deferred(f, code + 32, one_record, 2),
			leaf = deferred(f, code + 32, one_record, 2),
			caller = deferred(f, unwinder_inner, called, 1);

	ends.raw.regs[UNWIND_X86_FP] = STACK;
	ends.raw.has_code = leaf.raw.has_code = 1;
	assert_int_equal(tables__start(f->tables), 0);
	take(f, &ends);
	take(f, &leaf);
	take(f, &caller);
	wait_until_done(f);
	assert_int_equal(f->n_results, 3);
	check_result(&f->results[0], SAMPLER_OUTCOME_ROOT, 2);
	check_result(&f->results[1], SAMPLER_OUTCOME_BAD_FP, 1);
	check_result(&f->results[2], SAMPLER_OUTCOME_BAD_FP, 2);
	check_sums(f);
	munmap(code, CODE);
}

/* Mapped after the mappings were read: they are read again, since the leaf lies in none of them. */
static void test_mapped_since(void **state)
{
	struct fixture *f = *state;
	struct deferred first = whole(f), second;
	int64_t now = clock__mono(&clock__system);
	uint64_t changes;
	char *code;

	f->host.mono_ns = now;
	take(f, &first);
	code = map_code();
	second = jit(f, code);
	second.raw.sample.head.time_ns += SECOND_NS;
	f->host.mono_ns = now + SECOND_NS + 1;
	take(f, &second);
	assert_int_equal(f->n_results, 1);
	check_result(&f->results[0], SAMPLER_OUTCOME_ROOT, 2);
	assert_int_equal(f->results[0].frames[1], (uintptr_t)(code + 32));
	assert_int_equal(f->results[0].frames[2], (uintptr_t)(code + 64));
	/* The first still waits, under the mappings of its time: announced for each walk, which is no news. */
	unwinder__retry(f->unwinder, WINDOW, false);
	changes = tables__changes(f->tables);
	unwinder__retry(f->unwinder, WINDOW, false);
	assert_int_equal(tables__changes(f->tables), changes);
	unwinder__retry(f->unwinder, WINDOW, true);
	assert_int_equal(f->n_results, 2);
	check_result(&f->results[1], SAMPLER_OUTCOME_DEFERRED, 1);
	assert_ptr_not_equal(f->results[1].maps, f->results[0].maps);
	check_sums(f);
	munmap(code, CODE);
}

/* Executable pages of this process by the maps that were read last. */
static uint64_t exec_pages(const struct fixture *f)
{
	return f->results[f->n_results - 1].maps->exec_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * A sample of an earlier state of the process is walked by that state, not by what is announced
 * now.
 */
static void test_mappings_of_its_time(void **state)
{
	struct fixture *f = *state;
	int64_t now = clock__mono(&clock__system);
	char *code = map_code(), *other;
	struct deferred d = jit(f, code), late;
	uint64_t before, after;

	f->host.mono_ns = now;
	take(f, &d);
	check_result(&f->results[0], SAMPLER_OUTCOME_ROOT, 2);
	before = exec_pages(f);
	other = map_code();
	munmap(code, CODE);
	late = jit(f, other);
	late.raw.sample.head.time_ns += SECOND_NS;
	f->host.mono_ns = now + SECOND_NS + 1;
	take(f, &late);
	after = exec_pages(f);
	assert_int_equal(after, before);
	assert_ptr_not_equal(f->results[1].maps, f->results[0].maps);
	/* It took place before the change, and is taken after it. */
	d.raw.sample.exec_pages = before;
	take(f, &d);
	check_result(&f->results[2], SAMPLER_OUTCOME_ROOT, 2);
	assert_ptr_equal(f->results[2].maps, f->results[0].maps);
	/* One image, whose announcement aside is gone. */
	assert_int_equal(tables__stat(f->tables).n_images, 1);
	check_sums(f);
	munmap(other, CODE);
}

/*
 * The copy ends before the stack does: all files are opened for the walks that follow, in the
 * kernel.
 */
static void test_copy_that_ends(void **state)
{
	struct fixture *f = *state;
	char *code = map_code();
	const uint64_t words[] = { STACK + 1024, (uint64_t)(uintptr_t)(code + 64) };
	struct deferred d = deferred(f, code + 32, words, 2);
	uint32_t n;

	d.raw.regs[UNWIND_X86_FP] = STACK;
	d.raw.has_code = 1;
	take(f, &d);
	check_result(&f->results[0], SAMPLER_OUTCOME_COPY_END, 2);
	n = tables__stat(f->tables).n_files;
	assert_true(n >= 2);
	take(f, &d);
	assert_int_equal(tables__stat(f->tables).n_files, n);
	munmap(code, CODE);
}

/* Images go when they have ended and nobody asks any more, or when nobody has asked for long. */
static void test_images_are_forgotten(void **state)
{
	struct fixture *f = *state;
	char *code = map_code();
	struct deferred d = jit(f, code);
	struct sampler_event event = { .head = d.raw.sample.head };

	take(f, &d);
	unwinder__sweep(f->unwinder, WINDOW + 31);
	assert_int_equal(tables__stat(f->tables).n_images, 1);
	unwinder__sweep(f->unwinder, WINDOW + 32);
	assert_int_equal(tables__stat(f->tables).n_images, 0);
	take(f, &d);
	assert_int_equal(tables__stat(f->tables).n_images, 1);
	/* The exec of an image that comes after; the exit of another one. */
	event.head.kind = SAMPLER_EXIT;
	event.head.exec_id = 4;
	unwinder__event(f->unwinder, &event);
	unwinder__sweep(f->unwinder, WINDOW + 4);
	assert_int_equal(tables__stat(f->tables).n_images, 1);
	event.head.kind = SAMPLER_EXEC;
	unwinder__event(f->unwinder, &event);
	unwinder__sweep(f->unwinder, WINDOW + 3);
	assert_int_equal(tables__stat(f->tables).n_images, 1);
	unwinder__sweep(f->unwinder, WINDOW + 4);
	assert_int_equal(tables__stat(f->tables).n_images, 0);
	munmap(code, CODE);
}

static struct maps *maps_of(const char *text)
{
	struct maps_parser parser;
	struct maps *maps;

	assert_int_equal(maps__parse_begin(&parser), 0);
	maps__parse(&parser, text, strlen(text));
	assert_int_equal(maps__parse_end(&parser, &maps), 0);
	return maps;
}

/* Announces a process with the mappings of a text: what programs compare its executable pages with. */
static uint64_t announced_pages(struct fixture *f, const char *text)
{
	struct process p = { .id.pid = 4711, .start_ns = 1, .exec_id = 1, .maps = maps_of(text) };
	const struct tables_bucket *b = &f->memory.buckets[tables_bucket_of(p.id.pid)];

	unwinder__see(f->unwinder, &p);
	maps__unref(p.maps);
	for (int i = 0; i < TABLES_WAYS; i++)
		if (b->slot[i].pid == p.id.pid)
			return b->slot[i].exec_pages;
	return 0;
}

/* Of a process that had ended before its first sample came nobody tells any more. */
static void test_image_of_one_that_is_missing(void **state)
{
	struct fixture *f = *state;
	struct process p = { .id.pid = 4711, .start_ns = 1, .exec_id = 1, .missing_ns = 1 };

	p.maps = maps_of("400000-402000 r-xp 00000000 08:01 10 /bin/program\n");
	unwinder__sweep(f->unwinder, WINDOW);
	unwinder__see(f->unwinder, &p);
	unwinder__sweep(f->unwinder, WINDOW + 3);
	assert_int_equal(tables__stat(f->tables).n_images, 1);
	unwinder__sweep(f->unwinder, WINDOW + 4);
	assert_int_equal(tables__stat(f->tables).n_images, 0);
	maps__unref(p.maps);
}

/* Files that change places in as many pages: from then on the count is known to tell nothing. */
static void test_files_that_take_turns(void **state)
{
#define MAPS_PROGRAM "400000-402000 r-xp 00000000 08:01 10 /bin/program\n"
#define MAPS_A	     "500000-501000 r-xp 00000000 08:01 11 /lib/a.so\n"
#define MAPS_MEMORY  "600000-601000 r-xp 00000000 00:00 0\n"
	struct fixture *f = *state;

	assert_int_equal(announced_pages(f, MAPS_PROGRAM MAPS_A), 3);
	assert_int_equal(announced_pages(f, MAPS_PROGRAM), 2);
	/* More pages, which the count shows. */
	assert_int_equal(
		announced_pages(f, MAPS_PROGRAM "500000-502000 r-xp 00000000 08:01 12 /lib/b.so\n"), 4);
	assert_int_equal(announced_pages(f, MAPS_PROGRAM MAPS_A), 3);
	/* As many elsewhere; and code made at run time, which changes places all the time. */
	assert_int_equal(announced_pages(f, MAPS_PROGRAM MAPS_MEMORY), 3);
	assert_int_equal(announced_pages(f, MAPS_PROGRAM "601000-602000 r-xp 00000000 00:00 0\n"), 3);
	assert_int_equal(announced_pages(f, MAPS_PROGRAM MAPS_A), 3);
	assert_int_equal(
		announced_pages(f, MAPS_PROGRAM "500000-501000 r-xp 00000000 08:01 12 /lib/b.so\n"),
		3 | TABLES_TURNS);
	assert_int_equal(announced_pages(f, MAPS_PROGRAM), 2 | TABLES_TURNS);
}

/* What is to be believed of a walk that ended so after n frames in /lib, and one in the program. */
static void check_verdict(struct fixture *f, const char *text, enum sampler_outcome outcome,
			  uint16_t n, enum sampler_outcome expected, uint16_t n_expected)
{
	static const uint64_t frames[] = { 0x500010, 0x400010 };
	const struct process p = { .id.pid = 4711, .start_ns = 1, .exec_id = 1 };
	struct sampler_sample sample = { .n_user = n, .outcome = (uint8_t)outcome };
	struct maps *maps = maps_of(text);
	struct unwinder_verdict v;

	sample.head.time_ns = (uint64_t)clock__mono(&clock__system);
	v = unwinder__judge(f->unwinder, &p, &sample, maps, frames);
	assert_int_equal(v.outcome, expected);
	assert_int_equal(v.n_user, n_expected);
	maps__unref(maps);
}

/*
 * Callers that were found by a library's rules that was there no longer are cut, however the walk ended. Only of a last
 * frame whose tables were awaited no caller was looked for.
 */
static void test_walked_by_other_rules(void **state)
{
#define MAPS_B "500000-501000 r-xp 00000000 08:01 12 /lib/b.so\n"
	struct fixture *f = *state;

	announced_pages(f, MAPS_PROGRAM MAPS_A);
#define CHECK(maps, outcome, n, expected, n_expected)                                              \
	check_verdict(f, MAPS_PROGRAM maps, SAMPLER_OUTCOME_##outcome, n,                          \
		      SAMPLER_OUTCOME_##expected, n_expected)
	CHECK(MAPS_A, ROOT, 2, ROOT, 2);
	CHECK(MAPS_A, DEFERRED_LIMIT, 2, DEFERRED_LIMIT, 2);
	CHECK(MAPS_B, ROOT, 2, CHANGED, 1);
	CHECK(MAPS_B, DEFERRED_LIMIT, 2, CHANGED, 1);
	CHECK(MAPS_B, ROOT, 1, CHANGED, 1);
	CHECK(MAPS_B, DEFERRED_LIMIT, 1, DEFERRED_LIMIT, 1);
#undef CHECK
}

/* Whatever cannot be kept for later is handed on at once. */
static void test_memory_runs_out(void **state)
{
	char *code = map_code();

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct deferred file, memory;
		struct fixture *f;
		void *own;

		failmalloc__disarm();
		setup(&own);
		f = own;
		file = whole(f);
		memory = jit(f, code);
		failmalloc__arm(i);
		take(f, &file);
		take(f, &memory);
		unwinder__retry(f->unwinder, WINDOW, true);
		failmalloc__disarm();
		assert_int_equal(f->n_results, 2);
		check_sums(f);
		teardown(&own);
	}
	munmap(code, CODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_waits_for_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables_that_come_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits_for_five_seconds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits_for_an_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_that_may_not_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_for_512, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_that_is_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_that_went_with_its_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_that_is_not_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frame_pointers_of_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mapped_since, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mappings_of_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy_that_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_images_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_image_of_one_that_is_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_that_take_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_walked_by_other_rules, setup, teardown),
		cmocka_unit_test(test_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

SKIPPED_PROGRAM("tests", "tables are for x86-64")

#endif
