/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_tables.c - real stacks, walked by the step that the kernel runs, over real tables
 *
 * The test is its own victim: it copies its registers and its stack, announces its own mappings,
 * lets the tables of its own files be compiled, and compares each frame with libgcc's unwinder.
 */
#include "tests/unit/ebpf_host.h"
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "bpf/unwind_arch.h"
#include "core/base/fd.h"
#include "core/base/sanitizer.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/tables/state.h" /* time is let pass */
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/shell.h"

#if defined(__x86_64__) && !SANITIZER

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum {
	FRAMES = 1200,
	STACK_BYTES = 512 * 1024, /* of a copy: more than a record has, so that depth can be tested */
};

struct fixture {
	struct ebpf_memory memory;
	struct tables *tables;
	struct maps *maps;
	struct tables_image image;
	struct sampler_raw *raw;
};

/* ------------------------------------------------------------------------------------------------
 * This process
 */

static int open_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, image, 2 * 4096), 0);
	return fd;
}

/* Announces what is mapped now; every file is known by its path. */
static void announce_self(struct fixture *f)
{
	struct tables_range ranges[256];
	int dir = open("/proc/self", O_PATH | O_DIRECTORY), r;

	maps__unref(f->maps);
	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &f->maps), 0);
	close(dir);
	assert_in_range(f->maps->n, 3, 256);
	for (uint32_t i = 0; i < f->maps->n; i++) {
		const struct maps_range *m = &f->maps->ranges[i];
		int fd = m->kind == DCM_MAPPING_VDSO   ? open_vdso()
			 : m->kind == DCM_MAPPING_FILE ? open(m->name.p, O_RDONLY)
						       : -1;

		ranges[i] = (struct tables_range){ m->start, m->end, m->offset, TABLES_MEMORY, NULL };
		if (fd >= 0) {
			assert_int_equal(tables__file(f->tables, m->name.p, fd), 0);
			ranges[i].code = TABLES_FILE;
			ranges[i].build_id = m->name.p;
			close(fd);
		}
	}
	r = tables__announce(f->tables, &f->image, 0, ranges, f->maps->n);
	assert_int_equal(r, 0);
}

/* So many compilations have ended, one way or the other. */
static void wait_for_builds(struct fixture *f, uint64_t n)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < 60000; i++) {
		if (tables__stat(f->tables).builds >= n)
			return;
		nanosleep(&ms, NULL);
	}
	fail_msg("tables were not built within a minute");
}

/* One for each file. */
static void wait_for_tables(struct fixture *f)
{
	wait_for_builds(f, tables__stat(f->tables).n_files);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);

	f->tables = tables__new(&memory, 64 << 20);
	assert_non_null(f->tables);
	f->image = (struct tables_image){ (uint32_t)getpid(), 1, 1 };
	f->raw = calloc(1, sizeof(*f->raw) + STACK_BYTES);
	assert_int_equal(tables__start(f->tables), 0);
	announce_self(f);
	wait_for_tables(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tables__free(f->tables);
	maps__unref(f->maps);
	free(f->raw);
	free(f);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * A copy of the stack, and what it should say
 */

struct expected {
	uint64_t pc[FRAMES];
	uint32_t n;
};

static _Unwind_Reason_Code expect_frame(struct _Unwind_Context *context, void *arg)
{
	struct expected *e = arg;
	int before = 0;
	uint64_t pc = _Unwind_GetIPInfo(context, &before);

	if (e->n == FRAMES || pc == 0)
		return _URC_END_OF_STACK;
	/*
	 * As in a record: of a frame that a signal interrupted, one more than the address, and of
	 * the trampoline below it too, since nothing called it.
	 */
	if (before && e->n)
		e->pc[e->n - 1]++;
	e->pc[e->n++] = pc + (before != 0);
	return _URC_NO_REASON;
}

/* The end of the mapping that holds the stack of this thread. */
static uint64_t stack_end(uint64_t sp)
{
	unsigned long start, end;
	char line[512];
	FILE *file = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && sp >= start && sp < end) {
			fclose(file);
			return end;
		}
	fclose(file);
	return sp;
}

static void capture(struct fixture *f, const ucontext_t *u)
{
	static const int order[SAMPLER_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX,
						 REG_RSI, REG_RDI, REG_RBP, REG_RSP,
						 REG_R8,  REG_R9,  REG_R10, REG_R11,
						 REG_R12, REG_R13, REG_R14, REG_R15 };
	struct sampler_raw *raw = f->raw;
	uint64_t sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP] - SAMPLER_RED_BYTES;
	uint64_t n = stack_end(sp) - sp;

	memset(raw, 0, sizeof(*raw));
	raw->sample.head.pid = f->image.pid;
	raw->sample.head.start_ns = f->image.start_ns;
	raw->sample.head.exec_id = f->image.exec_id;
	for (int i = 0; i < SAMPLER_REGS; i++)
		raw->regs[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
	raw->pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	memcpy(raw->code, (const char *)raw->pc - 1, sizeof(raw->code));
	raw->has_code = 1;
	raw->start = sp;
	raw->n_bytes = (uint32_t)(n > STACK_BYTES ? STACK_BYTES : n);
	memcpy(raw + 1, (const void *)raw->start, raw->n_bytes);
}

static struct tables_walk walk(struct fixture *f, uint64_t *frames)
{
	struct tables_walk w;

	assert_int_equal(tables__walk(f->tables, &f->image, f->raw, frames, FRAMES, &w), 0);
	return w;
}

static void print_frames(const uint64_t *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < 40; i++) {
		Dl_info info = { 0 };

		dladdr((void *)(uintptr_t)(frames[i] - (i > 0)), &info);
		print_message("  %2u %#lx %s %s\n", i, (unsigned long)frames[i],
			      info.dli_fname ? info.dli_fname : "?",
			      info.dli_sname ? info.dli_sname : "");
	}
}

/* The walk of the copy is `skip` frames of expectation less, and equal from there to its root. */
static void check_walk(struct fixture *f, const struct expected *e, uint32_t skip)
{
	uint64_t frames[FRAMES];
	struct tables_walk w = walk(f, frames);

	if (w.outcome != SAMPLER_OUTCOME_ROOT || w.n != e->n - skip) {
		print_frames(frames, w.n);
		print_message("expected:\n");
		print_frames(e->pc + skip, e->n - skip);
	}
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
	assert_int_equal(w.n, e->n - skip);
	/* The innermost frame's pc is not the same: it goes on between the two looks. */
	for (uint32_t i = 1; i < w.n; i++)
		assert_int_equal(frames[i], e->pc[skip + i]);
}

static struct fixture *current;
static struct expected expected;
static uint32_t skip;

/* Both looks at the stack from one frame. */
NOINLINE static void look(void)
{
	ucontext_t u;

	expected.n = 0;
	_Unwind_Backtrace(expect_frame, &expected);
	skip = 0;
	/* It begins with the frame of the caller, or our own, as the libgcc at hand has it. */
	getcontext(&u);
	capture(current, &u);
	while (skip < expected.n) {
		Dl_info info;

		if (llabs((long long)(expected.pc[skip] - current->raw->pc)) < 4096)
			break;
		if (!dladdr((void *)(uintptr_t)expected.pc[skip], &info))
			break;
		skip++;
	}
}

static volatile uint64_t sink;

NOINLINE static void down(unsigned n)
{
	if (n == 0)
		look();
	else
		down(n - 1);
	sink++;
}

static void test_own_stack(void **state)
{
	current = *state;
	look();
	check_walk(*state, &expected, skip);
}

static void test_deep_recursion(void **state)
{
	current = *state;
	down(600);
	assert_true(expected.n > 600);
	check_walk(*state, &expected, skip);
}

NOINLINE static void with_alloca(size_t n)
{
	char *p = __builtin_alloca(n);

	memset(p, 1, n);
	sink += (uint64_t)p[n / 2];
	down(2);
	sink += (uint64_t)p[n / 3];
}

static void test_alloca(void **state)
{
	current = *state;
	with_alloca(10000);
	check_walk(*state, &expected, skip);
}

NOINLINE static void realigned(size_t n)
{
	char block[256] __attribute__((aligned(128)));
	char *p = __builtin_alloca(n);

	memset(block, 1, sizeof(block));
	memset(p, 2, n);
	assert_int_equal((uintptr_t)block % 128, 0);
	down(1);
	sink += (uint64_t)block[sink % 200] + (uint64_t)p[0];
}

static void test_realigned_stack(void **state)
{
	current = *state;
	realigned(100);
	check_walk(*state, &expected, skip);
}

static int compare(const void *a, const void *b)
{
	if (sink != 1) {
		sink = 1;
		look();
	}
	return *(const int *)a - *(const int *)b;
}

static void test_through_a_library(void **state)
{
	int v[] = { 3, 1, 2, 5, 4 };

	current = *state;
	sink = 0;
	qsort(v, 5, sizeof(*v), compare);
	assert_true(expected.n > 4);
	check_walk(*state, &expected, skip);
}

static jmp_buf back;

void tables_test_never_returns(void) __attribute__((noreturn));
void tables_test_ends_in_a_call(void) __attribute__((noreturn));

__attribute__((noinline, used)) void tables_test_never_returns(void)
{
	look();
	longjmp(back, 1);
}

void tables_test_next(void);

/* The call is the last instruction: the return address belongs to another function, of another frame. */
__asm__(".text\n"
	"	.globl tables_test_ends_in_a_call\n"
	"tables_test_ends_in_a_call:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call tables_test_never_returns\n"
	"	.cfi_endproc\n"
	"	.globl tables_test_next\n"
	"tables_test_next:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n");

static void test_return_address_behind_the_function(void **state)
{
	current = *state;
	if (setjmp(back) == 0)
		tables_test_ends_in_a_call();
	check_walk(*state, &expected, skip);
}

void tables_test_by_rbx(void (*then)(unsigned), unsigned n);

/*
 * A frame that is found by rbx, as the loader's lazy resolver has it: the stack is aligned, by how
 * much nobody knows.
 */
__asm__(".text\n"
	"	.globl tables_test_by_rbx\n"
	"tables_test_by_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	and $-64, %rsp\n"
	"	sub $256, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %esi, %edi\n"
	"	call *%rax\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n");

/* rbx is in the register where the walk begins, in a frame that nothing called, or in several on the way. */
static void test_frame_by_rbx(void **state)
{
	current = *state;
	tables_test_by_rbx(down, 5);
	assert_true(expected.n > 7);
	check_walk(*state, &expected, skip);
}

static void trap(unsigned n)
{
	__asm__ volatile("int3");
	sink += n;
}

static void on_signal(int number)
{
	(void)number;
	look();
}

/* Raised where it is: the interrupted frame is a system call's, or a leaf's. */
static void signal_walk(struct fixture *f, int flags)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags }, before;

	current = f;
	sigaction(SIGUSR1, &act, &before);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &before, NULL);
	assert_true(expected.n > 4);
	check_walk(f, &expected, skip);
}

static void test_signal_frame(void **state)
{
	signal_walk(*state, 0);
}

/* The interrupted code's rbx is in the signal frame, and so is what the frames above it have of it. */
static void test_frame_by_rbx_beyond_a_signal(void **state)
{
	struct sigaction act = { .sa_handler = on_signal }, before;

	current = *state;
	sigaction(SIGTRAP, &act, &before);
	tables_test_by_rbx(trap, 0);
	sigaction(SIGTRAP, &before, NULL);
	assert_true(expected.n > 4);
	check_walk(*state, &expected, skip);
}

/* Stacks that are apart do not fit into one copy: the walk says so, up to there it is right. */
static void test_alternate_stack(void **state)
{
	static char memory[256 * 1024] __attribute__((aligned(4096)));
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) }, before;
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK }, act_before;
	uint64_t frames[FRAMES];
	struct tables_walk w;

	current = *state;
	sigaltstack(&stack, &before);
	sigaction(SIGUSR1, &act, &act_before);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &act_before, NULL);
	sigaltstack(&before, NULL);
	w = walk(*state, frames);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_COPY_END);
	assert_true(w.n >= 3);
	for (uint32_t i = 1; i < w.n; i++)
		assert_int_equal(frames[i], expected.pc[skip + i]);
}

static volatile bool caught;

/* Wherever the timer strikes: prologues, epilogues, the middle of leaves. */
static void on_timer(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	if (caught)
		return;
	expected.n = 0;
	_Unwind_Backtrace(expect_frame, &expected);
	capture(current, context);
	caught = true;
}

static void spin(void)
{
	char text[64];

	while (!caught) {
		snprintf(text, sizeof(text), "%lu %g", (unsigned long)sink, (double)sink / 3);
		sink += strlen(text);
	}
}

static void test_interrupted_anywhere(void **state)
{
	struct sigaction act = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART }, before;
	struct fixture *f = *state;

	current = f;
	sigaction(SIGALRM, &act, &before);
	for (int i = 0; i < 300; i++) {
		timer_t timer;
		struct itimerspec in = { .it_value = { .tv_nsec = 100000 + 977 * i } };
		uint64_t frames[FRAMES];
		struct tables_walk w;
		uint32_t at = 0;

		caught = false;
		assert_int_equal(timer_create(CLOCK_MONOTONIC,
					      &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL,
								  .sigev_signo = SIGALRM },
					      &timer),
				 0);
		timer_settime(timer, 0, &in, NULL);
		spin();
		timer_delete(timer);
		/* libgcc begins in the handler; the copy begins behind it, at the interrupted frame. */
		while (at < expected.n && expected.pc[at] != f->raw->pc + 1)
			at++;
		assert_true(at < expected.n);
		w = walk(f, frames);
		if (w.outcome != SAMPLER_OUTCOME_ROOT || w.n != expected.n - at) {
			print_message("outcome %u n_bytes %u sp %lx\n", w.outcome, f->raw->n_bytes,
				      (unsigned long)f->raw->regs[7]);
			print_frames(frames, w.n);
			print_message("expected:\n");
			print_frames(expected.pc + at, expected.n - at);
		}
		assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
		assert_int_equal(w.n, expected.n - at);
		for (uint32_t k = 1; k < w.n; k++)
			assert_int_equal(frames[k], expected.pc[at + k]);
	}
	sigaction(SIGALRM, &before, NULL);
}

#ifdef __GLIBC__
static ucontext_t resumed, resumer;

static void coroutine(void)
{
	look();
	setcontext(&resumer);
}

/* What a coroutine returns to is its outermost frame, whatever lies above: nothing, or a pointer. */
static void test_coroutine(void **state)
{
	static char stack[64 * 1024] __attribute__((aligned(4096)));

	current = *state;
	for (int i = 0; i < 2; i++) {
		uint64_t frames[FRAMES], code;
		struct tables_walk w;

		getcontext(&resumed);
		resumed.uc_stack.ss_sp = stack;
		resumed.uc_stack.ss_size = sizeof(stack);
		resumed.uc_link = i ? &resumer : NULL;
		makecontext(&resumed, coroutine, 0);
		/* On top of its stack. */
		memcpy(&code, (const void *)(uintptr_t)resumed.uc_mcontext.gregs[REG_RSP], sizeof(code));
		swapcontext(&resumer, &resumed);
		w = walk(current, frames);
		assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
		/* Nothing called it, and its address is its own. */
		assert_int_equal(frames[w.n - 1], code + 1);
		assert_in_range(frames[w.n - 2], (uintptr_t)coroutine, (uintptr_t)coroutine + 256);
	}
}
#endif

static sigjmp_buf after_fault;

static void on_fault(int number)
{
	look();
	siglongjmp(after_fault, number);
}

/* What called a null pointer has callers, which are not known: the walk must not say that it is whole. */
static void test_call_of_null(void **state)
{
	struct sigaction act = { .sa_handler = on_fault }, before;
	void (*volatile null)(void) = NULL;
	uint64_t frames[FRAMES];

	current = *state;
	sigaction(SIGSEGV, &act, &before);
	if (sigsetjmp(after_fault, 1) == 0)
		null();
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(walk(*state, frames).outcome, SAMPLER_OUTCOME_BAD_RA);
}

/* Registers and stacks of any content: a walk ends, and looks at nothing but its copy. */
static void test_hostile_stacks(void **state)
{
	struct fixture *f = *state;
	struct random seed = { 42 };
	uint64_t outcomes = 0, frames[FRAMES];

	for (int i = 0; i < 20000; i++) {
		uint32_t n = (uint32_t)random__below(&seed, 2048);
		struct sampler_raw *raw = calloc(1, sizeof(*raw) + n);
		uint64_t *stack = (uint64_t *)(raw + 1);
		struct tables_walk w;

		raw->start = random__wide(&seed) & ~7ull;
		raw->n_bytes = n;
		raw->has_code = i % 2;
		random__text(&seed, (char *)raw->code, sizeof(raw->code), "\xc3\x55\x48\x89\xe5", 5);
		for (uint32_t k = 0; k <= n / 8; k++) {
			const struct maps_range *m = &f->maps->ranges[random__below(&seed, f->maps->n)];
			uint64_t word = random__below(&seed, 2)
						? m->start + random__below(&seed, m->end - m->start)
						: raw->start + random__below(&seed, 3000);

			if (k < n / 8)
				stack[k] = word;
			else
				raw->pc = word;
		}
		for (int k = 0; k < SAMPLER_REGS; k++)
			raw->regs[k] = raw->start + random__below(&seed, 4096);
		assert_int_equal(tables__walk(f->tables, &f->image, raw, frames, FRAMES, &w), 0);
		assert_in_range(w.n, 1, FRAMES);
		assert_true(w.outcome < SAMPLER_OUTCOME_N);
		outcomes |= 1ull << w.outcome;
		free(raw);
	}
	/* It was not one way to end over and over. */
	assert_true(outcomes & 1ull << SAMPLER_OUTCOME_COPY_END);
	assert_true(outcomes & 1ull << SAMPLER_OUTCOME_NO_MAP);
	assert_true(outcomes & 1ull << SAMPLER_OUTCOME_BAD_CFA);
}

/* ------------------------------------------------------------------------------------------------
 * Slots, memory that runs out
 */

/* What a program finds for an image: its mappings, or 0. */
static uint64_t slot_of(const struct fixture *f, const struct tables_image *image)
{
	const struct tables_bucket *b = &f->memory.buckets[tables_bucket_of(image->pid)];

	for (int i = 0; i < TABLES_WAYS; i++)
		if (b->slot[i].pid == image->pid && b->slot[i].start_ns == image->start_ns &&
		    b->slot[i].exec_id == image->exec_id)
			return b->slot[i].mappings;
	return 0;
}

static void test_a_bucket_holds_the_last_used(void **state)
{
	const struct tables_range range = { 0x1000, 0x2000, 0, TABLES_MEMORY, NULL };
	struct fixture *f = *state;
	struct tables_image images[TABLES_WAYS + 3];
	uint32_t n = 0;

	/* As many processes of one bucket as it has room for, and three. */
	for (uint32_t pid = 100000; n < TABLES_WAYS + 3; pid++)
		if (tables_bucket_of(pid) == tables_bucket_of(100000) && pid != f->image.pid)
			images[n++] = (struct tables_image){ pid, 5, 6 };
	for (uint32_t i = 0; i < n; i++) {
		f->memory.epoch++;
		assert_int_equal(tables__announce(f->tables, &images[i], 0, &range, 1), 0);
		assert_true(slot_of(f, &images[i]) > 0);
	}
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(slot_of(f, &images[i]), 0);
	for (uint32_t i = 3; i < n; i++)
		assert_true(slot_of(f, &images[i]) > 0);
	/* A deferred sample of one that had to go brings it back. */
	memset(f->raw, 0, sizeof(*f->raw));
	f->raw->pc = 0x1100;
	{
		uint64_t frames[FRAMES];
		struct tables_walk w;

		assert_int_equal(tables__walk(f->tables, &images[0], f->raw, frames, FRAMES, &w), 0);
	}
	assert_true(slot_of(f, &images[0]) > 0);
	/* exec(): the new image takes the slot of the old one; an image aside has none. */
	images[0].exec_id++;
	assert_int_equal(tables__announce(f->tables, &images[0], 0, &range, 1), 0);
	assert_true(slot_of(f, &images[0]) > 0);
	images[0].exec_id--;
	assert_int_equal(slot_of(f, &images[0]), 0);
	images[1].pid |= TABLES_ASIDE;
	assert_int_equal(tables__announce(f->tables, &images[1], 0, &range, 1), 0);
	assert_int_equal(slot_of(f, &images[1]), 0);
	tables__gone(f->tables, &images[1]);
	for (uint32_t i = 2; i < n; i++) {
		tables__gone(f->tables, &images[i]);
		assert_int_equal(slot_of(f, &images[i]), 0);
	}
}

static void test_memory_runs_out(void **state)
{
	const struct tables_range range = { 0x1000, 0x2000, 0, TABLES_FILE, "a" };
	const struct tables_image image = { 9, 1, 1 };
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct tables *t = tables__new(&memory, 1 << 20);
		int r = t ? tables__file(t, "a", STDIN_FILENO) : -ENOMEM;

		if (r == 0)
			r = tables__announce(t, &image, 0, &range, 1);
		failmalloc__disarm();
		/* A slab that cannot be made is a heap that is full. */
		assert_true(r == 0 || r == -ENOMEM || r == -ENOSPC);
		if (r == 0)
			assert_true(slot_of(f, &image) > 0);
		tables__free(t);
		memset(f->memory.buckets, 0, sizeof(f->memory.buckets));
	}
	free(f);
}

/* Some file of this process: one with enough rows to be kept, and fewer than fill a slab. */
static int open_libc(const struct fixture *own)
{
	for (uint32_t i = 0; i < own->maps->n; i++)
		if (strstr(own->maps->ranges[i].name.p, "libc.so"))
			return open(own->maps->ranges[i].name.p, O_RDONLY);
	return -1;
}

/* How a walk ends whose pc is there. */
static uint32_t outcome_at(struct fixture *f, const struct tables_image *image, uint64_t pc)
{
	struct sampler_raw raw = { .pc = pc };
	uint64_t frames[FRAMES];
	struct tables_walk w;

	assert_int_equal(tables__walk(f->tables, image, &raw, frames, FRAMES, &w), 0);
	return w.outcome;
}

/* Whoever is not used makes room; who finds none is told so, and tried again later. */
static void test_unused_files_make_room(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);
	const struct tables_image image = { 4711, 1, 1 };
	struct tables_range range = { 0x10000000, 0x20000000, 0, TABLES_FILE, "first" };
	int libc = open_libc(*state);

	assert_true(libc >= 0);
	/* One slab: room for some copies of libc's tables, which have 100 KiB or so. */
	f->tables = tables__new(&memory, 1 << 20);
	assert_int_equal(tables__start(f->tables), 0);
	assert_int_equal(tables__file(f->tables, "first", libc), 0);
	assert_int_equal(tables__announce(f->tables, &image, 0, &range, 1), 0);
	wait_for_tables(f);
	assert_int_equal(tables__stat(f->tables).n_ready, 1);
	for (int i = 0; i < 30; i++) {
		char name[16];

		snprintf(name, sizeof(name), "copy%d", i);
		assert_int_equal(tables__file(f->tables, name, libc), 0);
	}
	wait_for_tables(f);
	/* All are in use: some found no room, none was thrown out. */
	assert_true(tables__stat(f->tables).over_budget > 0);
	assert_int_equal(tables__stat(f->tables).evictions, 0);
	assert_int_equal(tables__stat(f->tables).heap.slab_bytes, 1 << 20);
	/* Two epochs later they are not. */
	f->memory.epoch += 2;
	assert_int_equal(tables__file(f->tables, "another", libc), 0);
	wait_for_tables(f);
	assert_true(tables__stat(f->tables).evictions > 0);
	assert_true(f->memory.recycled > 0);
	range.build_id = "another";
	assert_int_equal(tables__announce(f->tables, &image, 0, &range, 1), 0);
	/* Whoever found none has it when others are not in use, though no other file comes. */
	range.build_id = "copy29";
	assert_int_equal(tables__announce(f->tables, &image, 0, &range, 1), 0);
	assert_int_equal(outcome_at(f, &image, range.start + 0x30000), SAMPLER_OUTCOME_OVER_BUDGET);
	f->memory.epoch += 6;
	f->tables->epoch_ns = 0;
	tables__tick(f->tables);
	const uint64_t n_builds = tables__stat(f->tables).builds;

	assert_int_equal(outcome_at(f, &image, range.start + 0x30000), SAMPLER_OUTCOME_PENDING);
	wait_for_builds(f, n_builds + 1);
	assert_int_not_equal(outcome_at(f, &image, range.start + 0x30000), SAMPLER_OUTCOME_OVER_BUDGET);
	assert_int_not_equal(outcome_at(f, &image, range.start + 0x30000), SAMPLER_OUTCOME_PENDING);
	tables__free(f->tables);
	close(libc);
	free(f);
}

/* Two words of a stack on which the only frame pointer is 0, which ends one where all code keeps them. */
static uint32_t outcome_of_zeroes(struct fixture *f, const struct tables_image *image, uint64_t pc)
{
	struct {
		struct sampler_raw raw;
		uint64_t words[2];
	} s = { .raw = { .pc = pc, .start = 0x10000, .n_bytes = 16, .has_code = 1 } };
	uint64_t frames[4];
	struct tables_walk w;

	memset(s.raw.code, 0x90, sizeof(s.raw.code));
	s.raw.regs[UNWIND_X86_SP] = s.raw.regs[UNWIND_X86_FP] = s.raw.start;
	assert_int_equal(tables__walk(f->tables, image, &s.raw, frames, 4, &w), 0);
	return w.outcome;
}

/* Of code whose description cannot be read nothing is certain; and what the system failed to read is read again. */
static void test_what_cannot_be_read(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);
	const struct tables_image image = { 4712, 1, 1 };
	const struct tables_range ranges[] = {
		{ 0x10000000, 0x20000000, 0, TABLES_FILE, "no ELF file" },
		{ 0x20000000, 0x30000000, 0, TABLES_FILE, "not read" },
	};
	int text = memfd_create("text", MFD_CLOEXEC), shut;
	char path[64];

	(void)state;
	assert_int_equal(fd__write_all(text, path, sizeof(path)), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", text);
	shut = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(shut >= 0);
	f->tables = tables__new(&memory, 1 << 20);
	assert_int_equal(tables__start(f->tables), 0);
	assert_int_equal(tables__file(f->tables, "no ELF file", text), 0);
	assert_int_equal(tables__file(f->tables, "not read", shut), 0);
	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, 2), 0);
	wait_for_tables(f);
	assert_int_equal(tables__stat(f->tables).build_failures, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(outcome_of_zeroes(f, &image, ranges[i].start + 64),
				 SAMPLER_OUTCOME_BAD_RA);
	f->memory.epoch += 6;
	f->tables->epoch_ns = 0;
	tables__tick(f->tables);
	assert_int_equal(outcome_of_zeroes(f, &image, ranges[0].start + 64), SAMPLER_OUTCOME_BAD_RA);
	assert_int_equal(outcome_of_zeroes(f, &image, ranges[1].start + 64), SAMPLER_OUTCOME_PENDING);
	wait_for_builds(f, 3);
	assert_int_equal(outcome_of_zeroes(f, &image, ranges[1].start + 64), SAMPLER_OUTCOME_BAD_RA);
	tables__free(f->tables);
	close(text);
	close(shut);
	free(f);
}

/* Compiles a file under n names, with the folder; what became of that is in the statistics. */
static struct tables_stat with_cache(struct fixture *f, const char *folder, int fd, unsigned n)
{
	struct tables_memory memory = ebpf_memory__of(&f->memory);
	struct unwind_cache cache;
	struct tables_stat stat;

	f->memory.n_slabs = 0;
	assert_int_equal(unwind_cache__open(&cache, folder, 1 << 30, NULL), 0);
	f->tables = tables__new(&memory, 4 << 20);
	tables__keep_in(f->tables, &cache);
	assert_int_equal(tables__start(f->tables), 0);
	for (unsigned i = 0; i < n; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%x", 0xabcd + i);
		assert_int_equal(tables__file(f->tables, name, fd), 0);
		wait_for_tables(f);
	}
	stat = tables__stat(f->tables);
	tables__free(f->tables);
	unwind_cache__close(&cache);
	return stat;
}

static void test_tables_are_kept(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char folder[] = "/tmp/decima-tables-XXXXXX", path[64];
	int libc = open_libc(*state), none = open("/dev/null", O_RDONLY);
	int vdso = open_vdso();
	struct tables_stat first, second, third;

	assert_true(libc >= 0 && none >= 0);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/abcd.unwind", folder);
	first = with_cache(f, folder, libc, 1);
	assert_int_equal(first.cache.n_hits, 0);
	assert_int_equal(first.cache.n_misses, 1);
	assert_int_equal(first.cache.n_stored, 1);
	assert_int_equal(first.n_ready, 1);
	/* The file itself is not looked at any more. */
	second = with_cache(f, folder, none, 1);
	assert_int_equal(second.cache.n_hits, 1);
	assert_int_equal(second.cache.n_stored, 0);
	assert_int_equal(second.n_ready, 1);
	assert_int_equal(second.n_rows, first.n_rows);
	assert_int_equal(second.build_failures, 0);
	/* What is damaged is made again. */
	assert_int_equal(truncate(path, (off_t)first.cache.bytes - 1), 0);
	third = with_cache(f, folder, libc, 1);
	assert_int_equal(third.cache.n_damaged, 1);
	assert_int_equal(third.cache.n_hits, 0);
	assert_int_equal(third.cache.n_stored, 1);
	assert_int_equal(third.n_rows, first.n_rows);
	/* Beyond 400 files the descriptor goes, and of these small tables are kept, too. */
	assert_int_equal(with_cache(f, folder, vdso, 403).cache.n_stored, 3);
	assert_int_equal(shell("rm -r '%s'", folder), 0);
	close(libc);
	close(none);
	close(vdso);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_alloca),
		cmocka_unit_test(test_realigned_stack),
		cmocka_unit_test(test_through_a_library),
		cmocka_unit_test(test_return_address_behind_the_function),
		cmocka_unit_test(test_frame_by_rbx),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_frame_by_rbx_beyond_a_signal),
		cmocka_unit_test(test_alternate_stack),
		cmocka_unit_test(test_interrupted_anywhere),
		cmocka_unit_test(test_call_of_null),
#ifdef __GLIBC__
		cmocka_unit_test(test_coroutine),
#endif
		cmocka_unit_test(test_hostile_stacks),
		cmocka_unit_test(test_a_bucket_holds_the_last_used),
		cmocka_unit_test(test_memory_runs_out),
		cmocka_unit_test(test_unused_files_make_room),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_tables_are_kept),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

#else

SKIPPED_PROGRAM("tests", "tables are for x86-64, and sanitizers lay out stacks of their own")

#endif
