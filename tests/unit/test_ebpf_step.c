/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_step.c - stacks of a few words made here, walked by the step that the kernel runs
 *
 * Code is where ranges say it is, or in this program, whose own file is compiled. Real stacks are in
 * tests/unit/test_ebpf_tables.c.
 */
#include "tests/unit/ebpf_host.h"
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/unwind_arch.h"
#include "core/base/cleanup.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/tables/tables.h"

#if defined(__x86_64__)

enum { FRAMES = 64, WORDS = 24, START = 0x10000 };

struct fixture {
	struct ebpf_memory memory;
	struct tables *tables;
	struct tables_image image; /* this program's file, of which code is taken */
	struct {
		struct sampler_raw raw;
		uint64_t words[WORDS];
	} sample;
};

extern const char step_test_rows[], step_test_bare[], step_test_frameless[];

/*
 * With rows; and without, in a file that has them for nearly all else: of a function that makes a frame
 * record, and of one that makes none, as its call says where it begins.
 */
__asm__(".text\n"
	"	.globl step_test_rows, step_test_bare, step_test_frameless\n"
	"step_test_rows:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"step_test_bare:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	.skip 64, 0x90\n"
	"	call step_test_frameless\n"
	"	.skip 64, 0x90\n"
	"step_test_frameless:\n"
	"	push %rbx\n"
	"	.skip 64, 0x90\n");

/* Where this code is mapped. */
static struct tables_range own_range(void)
{
	CLEANUP(maps__unrefp) struct maps *maps = NULL;
	const struct maps_range *m;
	int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &maps), 0);
	close(dir);
	m = maps__find(maps, (uint64_t)(uintptr_t)step_test_rows);
	assert_non_null(m);
	return (struct tables_range){ m->start, m->end, m->offset, TABLES_FILE, "own" };
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);
	const struct tables_range own = own_range();
	const struct timespec ms = { .tv_nsec = 1000000 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	f->tables = tables__new(&memory, 16 << 20);
	f->image = (struct tables_image){ 4711, 1, 1 };
	assert_int_equal(tables__start(f->tables), 0);
	assert_int_equal(tables__file(f->tables, "own", fd), 0);
	close(fd);
	assert_int_equal(tables__announce(f->tables, &f->image, 0, &own, 1), 0);
	for (int i = 0; i < 60000 && tables__stat(f->tables).builds < 1; i++)
		nanosleep(&ms, NULL);
	assert_int_equal(tables__stat(f->tables).n_ready, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tables__free(f->tables);
	free(f);
	return 0;
}

static struct tables_walk walk(struct fixture *f, const struct tables_image *image)
{
	uint64_t frames[FRAMES];
	struct tables_walk w;

	assert_int_equal(tables__walk(f->tables, image, &f->sample.raw, frames, FRAMES, &w), 0);
	return w;
}

/* A stack of `n` words at START, of code that is at `pc`; the frame pointer is words[0]. */
static struct tables_walk walk_words(struct fixture *f, const struct tables_image *image,
				     const void *pc, const uint64_t *words, uint32_t n)
{
	struct sampler_raw *raw = &f->sample.raw;

	assert_in_range(n, 1, WORDS);
	memset(&f->sample, 0, sizeof(f->sample));
	raw->pc = (uint64_t)(uintptr_t)pc;
	raw->start = raw->regs[UNWIND_X86_SP] = START;
	raw->regs[UNWIND_X86_FP] = words[0];
	raw->has_code = 1;
	memset(raw->code, 0x90, sizeof(raw->code));
	raw->n_bytes = n * (uint32_t)sizeof(*words);
	memcpy(f->sample.words, words, raw->n_bytes);
	return walk(f, image);
}

/* A return address of 0 ends a stack where the frame pointer is 0 too, and is no proof elsewhere. */
static void test_zeroes_that_end_a_stack(void **state)
{
	const struct tables_range jit = { 0x400000, 0x500000, 0, TABLES_MEMORY, NULL };
	const struct tables_image image = { 4712, 1, 1 };
	struct fixture *f = *state;
	/* words[0] is the frame pointer; a rule has the return address in words[0], a record in [1]. */
	uint64_t by_rule[] = { 0, 7 };
	uint64_t records[] = { 0x10010, 0, 0x10020, 0x400100, 0, 0, 0x10040 };
	const void *code = (const void *)(uintptr_t)0x400200;
	struct tables_walk w = walk_words(f, &f->image, step_test_rows, by_rule, 2);

	assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
	assert_int_equal(w.n, 1);
	f->sample.raw.regs[UNWIND_X86_FP] = 7;
	assert_int_equal(walk(f, &f->image).outcome, SAMPLER_OUTCOME_BAD_RA);

	assert_int_equal(tables__announce(f->tables, &image, 0, &jit, 1), 0);
	w = walk_words(f, &image, code, records, 6);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
	assert_int_equal(w.n, 2);
	/* argc and argv[0], above the outermost record */
	records[5] = 1;
	assert_int_equal(walk_words(f, &image, code, records, 7).outcome, SAMPLER_OUTCOME_ROOT);
	records[4] = 0x10028;
	records[5] = 0;
	w = walk_words(f, &image, code, records, 7);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_RA);
	assert_int_equal(w.n, 2);
	tables__gone(f->tables, &image);
}

/* Where nobody says that code keeps frame pointers, zeroes are what most of a stack is made of. */
static void test_zeroes_that_end_no_stack(void **state)
{
	uint64_t record[] = { 0x10008, 0, 0, 0 };
	struct fixture *f = *state;
	struct tables_walk w = walk_words(f, &f->image, step_test_bare + 32, record, 4);

	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_RA);
	assert_int_equal(w.n, 1);
	/* argc alone is a number like any other; with argv above it the kernel began the stack here. */
	record[2] = 1;
	w = walk_words(f, &f->image, step_test_bare + 32, record, 4);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_RA);
	record[3] = 0x10fff;
	w = walk_words(f, &f->image, step_test_bare + 32, record, 4);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
	record[3] = 0x10007;
	w = walk_words(f, &f->image, step_test_bare + 32, record, 4);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_RA);
}

/*
 * A record of a function that makes one has a caller in it, who has a frame pointer of his own: 0 is
 * another's. And what makes no record is not left by one.
 */
static void test_callers_without_a_record(void **state)
{
	uint64_t ra = (uint64_t)(uintptr_t)step_test_bare + 40;
	uint64_t last[] = { 0x10008, 0, ra, 0 }, twice[] = { 0x10008, 0x10018, ra, 0, 0, ra };
	struct fixture *f = *state;
	struct tables_walk w = walk_words(f, &f->image, step_test_bare + 32, last, 4);

	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_FP);
	assert_int_equal(w.n, 2);
	last[2] = (uint64_t)(uintptr_t)step_test_frameless + 32;
	w = walk_words(f, &f->image, step_test_bare + 32, last, 4);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_FP);
	assert_int_equal(w.n, 2);

	twice[2] = (uint64_t)(uintptr_t)step_test_frameless + 32;
	w = walk_words(f, &f->image, step_test_bare + 32, twice, 6);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_FP);
	assert_int_equal(w.n, 2);
	w = walk_words(f, &f->image, step_test_frameless + 32, last, 4);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_FP);
	assert_int_equal(w.n, 1);
}

/*
 * The record at the frame pointer is the caller's, where the leaf's is not there: what its bytes at the program counter (the
 * second one) say.
 */
static void test_leaf_without_its_record(void **state)
{
	enum { HERE = 0x400200, AT_SP = 0x400310, PAST_SP = 0x400320 };
	static const struct {
		uint8_t code[SAMPLER_CODE_BYTES];
		uint64_t caller; /* 0: it has a record, which is the outermost one */
	} cases[] = {
		{ { 0x90, 0xc3 }, AT_SP },
		{ { 0x90, 0xc2, 0x08, 0x00 }, AT_SP },		   /* ret $8 */
		{ { 0x90, 0xf3, 0xc3 }, AT_SP },		   /* rep ret */
		{ { 0x90, 0xf2, 0xc3 }, AT_SP },		   /* bnd ret */
		{ { 0x90, 0x55, 0x48, 0x8b, 0xec }, AT_SP },	   /* push %rbp */
		{ { 0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0x55 }, AT_SP }, /* endbr64 */
		{ { 0x55, 0x48, 0x89, 0xe5 }, PAST_SP },	   /* mov %rsp,%rbp */
		{ { 0x55, 0x48, 0x8b, 0xec }, PAST_SP },	   /* the same */
		{ { 0x90, 0x90, 0xc3 }, 0 },
		{ { 0x90, 0xf3, 0x90 }, 0 },	   /* pause */
		{ { 0x55, 0x48, 0x8b, 0xe5 }, 0 }, /* mov %rbp,%rsp */
		{ { 0x90, 0x48, 0x8b, 0xec }, 0 },
	};
	const struct tables_range jit = { 0x400000, 0x500000, 0, TABLES_MEMORY, NULL };
	const struct tables_image image = { 4715, 1, 1 };
	const uint64_t words[] = { START + 16, PAST_SP, 0, 0 };
	struct fixture *f = *state;

	assert_int_equal(tables__announce(f->tables, &image, 0, &jit, 1), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t frames[FRAMES];
		struct tables_walk w;

		walk_words(f, &image, (const void *)(uintptr_t)HERE, words, 4);
		f->sample.words[0] = AT_SP;
		memcpy(f->sample.raw.code, cases[i].code, sizeof(cases[i].code));
		assert_int_equal(tables__walk(f->tables, &image, &f->sample.raw, frames, FRAMES, &w), 0);
		assert_int_equal(w.outcome, SAMPLER_OUTCOME_ROOT);
		assert_int_equal(w.n, cases[i].caller ? 2 : 1);
		if (cases[i].caller)
			assert_int_equal(frames[1], cases[i].caller);
	}
	tables__gone(f->tables, &image);
}

/* Nor does code of a file that nobody can read, of which no more than some frames in a row are believed. */
static void test_a_file_that_nobody_can_read(void **state)
{
	const struct tables_range file = { 0x400000, 0x500000, 0, TABLES_UNKNOWN, NULL };
	const struct tables_image image = { 4714, 1, 1 };
	struct fixture *f = *state;
	uint64_t end[] = { 0x10010, 0, 0x10020, 0x400100, 0, 0 }, many[2 * 12];
	const void *code = (const void *)(uintptr_t)0x400200;
	struct tables_walk w;

	assert_int_equal(tables__announce(f->tables, &image, 0, &file, 1), 0);
	w = walk_words(f, &image, code, end, 6);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_RA);
	assert_int_equal(w.n, 2);
	for (uint64_t i = 0; i < 24; i += 2) {
		many[i] = START + 8 * (i + 2);
		many[i + 1] = 0x400100 + i;
	}
	w = walk_words(f, &image, code, many, 24);
	assert_int_equal(w.outcome, SAMPLER_OUTCOME_BAD_FP);
	assert_true(w.n <= 9);
	tables__gone(f->tables, &image);
}

/* An executable stack is no code that something returns to: the memory that sp is in, or one by name. */
static void test_return_into_the_stack(void **state)
{
	static const struct tables_range ranges[] = {
		{ 0x8000, 0x18000, 0, TABLES_MEMORY, NULL }, /* a thread's */
		{ 0x20000, 0x28000, 0, TABLES_MEMORY, NULL },
		{ 0x30000, 0x38000, 0, TABLES_STACK, NULL }, /* the process's, which has grown since */
	};
	static const struct {
		uint64_t ra;
		uint32_t outcome, n;
	} cases[] = {
		{ 0x10100, SAMPLER_OUTCOME_BAD_RA, 1 }, { 0x17ff0, SAMPLER_OUTCOME_BAD_RA, 1 },
		{ 0x18001, SAMPLER_OUTCOME_NO_MAP, 1 }, { 0x20100, SAMPLER_OUTCOME_ROOT, 2 },
		{ 0x30100, SAMPLER_OUTCOME_BAD_RA, 1 },
	};
	const struct tables_image image = { 4713, 1, 1 };
	struct fixture *f = *state;

	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, 3), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t records[] = { 0x10008, 0, cases[i].ra };
		struct tables_walk w = walk_words(f, &image, (const void *)0x20200, records, 3);

		assert_int_equal(w.outcome, cases[i].outcome);
		assert_int_equal(w.n, cases[i].n);
	}
	/* What runs there is a frame all the same: a trampoline. */
	assert_int_equal(
		walk_words(f, &image, (const void *)0x10200, (uint64_t[]){ 0x10008, 0, 0x20100 }, 3).outcome,
		SAMPLER_OUTCOME_ROOT);
	tables__gone(f->tables, &image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroes_that_end_a_stack),
		cmocka_unit_test(test_zeroes_that_end_no_stack),
		cmocka_unit_test(test_callers_without_a_record),
		cmocka_unit_test(test_return_into_the_stack),
		cmocka_unit_test(test_a_file_that_nobody_can_read),
		cmocka_unit_test(test_leaf_without_its_record),
	};

	return cmocka_run_group_tests_name("ebpf_step", tests, setup, teardown);
}

#else

SKIPPED_PROGRAM("ebpf_step", "tables are for x86-64")

#endif
