/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_unwind.c - unwind tables: rules, expressions, programs of compilers, hostile
 * files
 *
 * What compilers wrote is judged by libdw (tests/unwind/judge.h). Sections written by hand, in
 * images made here, show the limits, and what is counted as not supported.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/unwind_arch.h"
#include "core/base/fd.h"
#include "plugins/input/ebpf/unwind/expression.h"
#include "plugins/input/ebpf/unwind/rows.h"
#include "plugins/input/ebpf/unwind/rules.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/shell.h"
#include "tests/unit/unwind_rows.h"
#include "tests/unwind/judge.h"

#define CORPUS TEST_SRCDIR "/fuzz/corpus/unwind/"

static struct unwind_rows *rows_of_section(const char *name, const void *data, size_t n)
{
	struct elf_maker m = { .machine = EM_X86_64, .section = name, .data = data, .n = n };
	struct buf image = { 0 };
	struct unwind_rows *r;

	elf_maker__make(&m, &image);
	r = rows_of(&image, NULL);
	buf__fini(&image);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Rules and expressions
 */

static void test_rule_layout(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct unwind_rule), 8);
	assert_int_equal(offsetof(struct unwind_rule, off), 2);
	assert_int_equal(offsetof(struct unwind_rule, cfa_off), 4);
	assert_int_equal(unwind_deref_low(unwind_deref(-8, 16)), -8);
	assert_int_equal(unwind_deref_high(unwind_deref(-8, 16)), 16);
	assert_int_equal(unwind_deref_high(unwind_deref(8, -32768)), -32768);
}

/* More rules than a dictionary holds: each that fits keeps its number, the rest share one. */
static void test_dictionary_is_bounded(void **state)
{
	struct rules r;
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP };
	int overflow = -1;

	(void)state;
	assert_int_equal(rules__init(&r), 0);
	for (int i = 1; i < 70000; i++) {
		int index;

		rule.cfa_off = i;
		index = rules__index(&r, rule);
		if (i < RULES_MAX - 1) {
			assert_int_equal(index, i);
		} else {
			overflow = overflow < 0 ? index : overflow;
			assert_int_equal(index, overflow);
		}
	}
	assert_int_equal(r.v[overflow].cfa, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(r.n, RULES_MAX);
	rule.cfa_off = 77;
	assert_int_equal(rules__index(&r, rule), 77);
	rules__fini(&r);
}

static void test_dictionary_survives_failing_allocations(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct rules r;
		struct unwind_rule rule = { .cfa = UNWIND_CFA_SP };
		int rc = rules__init(&r);

		for (int k = 1; k < 1000 && rc >= 0; k++) {
			rule.cfa_off = k;
			rc = rules__index(&r, rule);
		}
		failmalloc__disarm();
		if (rc < 0)
			assert_int_equal(rc, -ENOMEM);
		rules__fini(&r);
	}
}

static bool evaluate(const char *code, size_t n, bool with_cfa, struct expression_value *v)
{
	return expression__evaluate((const uint8_t *)code, n, with_cfa, v);
}

static void test_expressions(void **state)
{
	struct expression_value v;
	uint8_t literal = 0;
	char nops[300];

	(void)state;
	/* breg6 -8; deref */
	assert_true(evaluate("\x76\x78\x06", 3, false, &v));
	assert_int_equal(v.base, EXPRESSION_REGISTER);
	assert_int_equal(v.reg, 6);
	assert_int_equal(v.low, -8);
	assert_true(v.deref);
	/* breg7 160; deref; plus_uconst 8 */
	assert_true(evaluate("\x77\xa0\x01\x06\x23\x08", 6, false, &v));
	assert_int_equal(v.low, 160);
	assert_int_equal(v.high, 8);
	/* cfa; lit16; minus */
	assert_true(evaluate("\x40\x1c", 2, true, &v));
	assert_int_equal(v.base, EXPRESSION_CFA);
	assert_int_equal(v.low, -16);
	/* const1s -8; bregx 3, 4; plus */
	assert_true(evaluate("\x09\xf8\x92\x03\x04\x22", 6, false, &v));
	assert_int_equal(v.reg, 3);
	assert_int_equal(v.low, -4);
	/* two registers, two loads, cut off, nothing, unknown, too deep */
	assert_false(evaluate("\x76\x00\x77\x00\x22", 5, false, &v));
	assert_false(evaluate("\x76\x00\x06\x06", 4, false, &v));
	assert_false(evaluate("\x76\x80", 2, false, &v));
	assert_false(evaluate("", 0, false, &v));
	assert_false(evaluate("\x76\x00\xff", 3, false, &v));
	memset(nops, 0x96, sizeof(nops));
	assert_false(evaluate(nops, sizeof(nops), true, &v)); /* every row would run them all */
	assert_true(evaluate(nops, 20, true, &v));
	assert_false(evaluate("\x30\x30\x30\x30\x30\x30\x30\x30\x30", 9, false, &v));
	assert_true(expression__is_plt(
		(const uint8_t *)"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11, &literal));
	assert_int_equal(literal, 11);
	assert_false(expression__is_plt(
		(const uint8_t *)"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x1c", 11, &literal));
}

/* ------------------------------------------------------------------------------------------------
 * Real files
 */

static void judged(const char *path, uint64_t at_least)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct judge j = { .max_lines = 5 };

	assert_true(fd >= 0);
	assert_int_equal(judge__file(&j, fd, path), 0);
	assert_int_equal(j.mismatches, 0);
	assert_true(j.equal >= at_least);
}

/*
 * A frame of each kind that compilers make: variable, large, realigned, both, variadic, without
 * end.
 */
static const char program[] =
	"#include <stdarg.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"int sink(void *, int);\n"
	"int variable(int n) { char p[n + 1]; memset(p, n, n + 1); return sink(p, n) + 1; }\n"
	"int large(int n) { char p[70000]; return sink(p, n) + p[n]; }\n"
	"int aligned(int n) { _Alignas(64) char p[64]; return sink(p, n) + p[n]; }\n"
	"int both(int n) { _Alignas(128) char p[128]; char *q = __builtin_alloca(n); return "
	"sink(p, n) + sink(q, n); }\n"
	"int many(int n, ...) { va_list a; int s = 0; va_start(a, n); while (n--) s += va_arg(a, "
	"int);\n"
	"	va_end(a); return sink(&s, s) + s; }\n"
	"int deep(int n) { return n ? deep(n - 1) + sink(&n, n) : 0; }\n"
	"void never(int n) { sink(&n, n); abort(); }\n"
	"int cold(int n) { if (__builtin_expect(n == 77, 0)) { sink(&n, 1); never(n); } return "
	"sink(&n, n); }\n"
	"int main(int c, char **v) { _Alignas(32) char p[32]; return variable(c) + large(c) + "
	"aligned(c) + both(c)\n"
	"	+ many(2, c, 3) + deep(c) + cold(c) + sink(p, v != 0); }\n"
	"__attribute__((weak)) int sink(void *p, int n) { return ((char *)p)[0] + n; }\n";

static void compiled(const char *compiler, const char *flags)
{
	char dir[] = "/tmp/decima-unwind-XXXXXX", path[64];
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(program, f);
	fclose(f);
	assert_int_equal(shell("cd %s && %s %s -w -o a.out a.c", dir, compiler, flags), 0);
	snprintf(path, sizeof(path), "%s/a.out", dir);
	judged(path, 40);
	assert_int_equal(shell("rm -r '%s'", dir), 0);
}

static void test_what_gcc_writes(void **state)
{
	(void)state;
	if (!shell_has("gcc"))
		skip_because("gcc is missing");
	compiled("gcc", "-O2 -fomit-frame-pointer");
	compiled("gcc", "-O0");
	compiled("gcc", "-Os -mavx2 -mstackrealign -fno-plt");
	compiled("gcc", "-O2 -fno-asynchronous-unwind-tables -g");
	compiled("gcc", "-O3 -static -fomit-frame-pointer");
}

static void test_what_clang_writes(void **state)
{
	(void)state;
	if (!shell_has("clang"))
		skip_because("clang is missing");
	compiled("clang", "-O2 -fomit-frame-pointer");
	compiled("clang", "-O0 -mstackrealign");
}

static void test_what_arm64_compilers_write(void **state)
{
	(void)state;
	if (!shell_has("aarch64-linux-gnu-gcc"))
		skip_because("aarch64-linux-gnu-gcc is missing");
	compiled("aarch64-linux-gnu-gcc", "-O2 -fomit-frame-pointer");
	compiled("aarch64-linux-gnu-gcc", "-O2 -mbranch-protection=standard");
	compiled("aarch64-linux-gnu-gcc", "-O0");
}

static void test_corpus_is_what_libdw_says(void **state)
{
	(void)state;
	judged(CORPUS "elf_so", 6);
	judged(CORPUS "elf_debug_z", 6);
	judged(CORPUS "elf_arm64", 4);
}

/* Without section headers the same rows come out. */
static void test_sections_are_not_needed(void **state)
{
	struct unwind_rows *with = NULL, *without = NULL;
	CLEANUP(fd__closep) int a = open(CORPUS "elf_so", O_RDONLY | O_CLOEXEC);
	CLEANUP(fd__closep) int b = open(CORPUS "elf_nosect", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(unwind__compile_fd(a, NULL, &with, NULL), 0);
	assert_int_equal(unwind__compile_fd(b, NULL, &without, NULL), 0);
	assert_int_equal(with->n_fdes, without->n_fdes);
	for (uint32_t i = 0; i < with->n; i++) {
		uint64_t vaddr = with->base + with->at[i];

		if (with->rules[with->rule[i]].cfa < UNWIND_CFA_SP)
			continue;
		/* the linkage table is known by its section only */
		if (with->rules[with->rule[i]].cfa != UNWIND_CFA_PLT)
			assert_memory_equal(
				&with->rules[with->rule[i]],
				&without->rules[without->rule[unwind_rows__find(without, vaddr)]], 8);
	}
	unwind_rows__free(with);
	unwind_rows__free(without);
}

static int read_memory(void *arg, void *p, size_t n, uint64_t offset)
{
	memcpy(p, (const char *)arg + offset, n);
	return 0;
}

/* The vDSO is in memory alone. */
static void test_vdso(void **state)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_source source = { .read = read_memory, .arg = image };
	struct unwind_rows *r = NULL;
	Elf64_Ehdr head;

	(void)state;
	if (!image)
		skip_because("this kernel has no vDSO");
	memcpy(&head, image, sizeof(head));
	source.size = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
	assert_int_equal(unwind__compile(&source, NULL, &r, NULL), 0);
	assert_true(r->n_fdes > 3);
	assert_true(r->covered_bytes > 256);
	unwind_rows__free(r);
}

/* ------------------------------------------------------------------------------------------------
 * Sections by hand
 */

/* A CIE (16 bytes: "zR", absolute addresses, cfa = rsp + 8), then functions at ELF_MAKER_VADDR. */
static void put_cie(struct buf *b)
{
	static const uint8_t body[] = { 1,    'z',  'R', 0, 1,	  0x78, 16, 1,
					0x00, 0x0c, 7,	 8, 0x90, 1,	0,  0 };

	buf__le32(b, 4 + sizeof(body));
	buf__le32(b, 0);
	buf__append(b, body, sizeof(body));
}

static void put_fde(struct buf *b, uint64_t vaddr, uint64_t n, const char *code, size_t n_code)
{
	buf__le32(b, (uint32_t)(4 + 16 + 1 + n_code));
	buf__le32(b, (uint32_t)b->n);
	buf__le64(b, vaddr);
	buf__le64(b, n);
	buf__byte(b, 0);
	buf__append(b, code, n_code);
}

static struct unwind_rows *rows_of_code(const char *code, size_t n)
{
	struct buf b = { 0 };
	struct unwind_rows *r;

	put_cie(&b);
	put_fde(&b, ELF_MAKER_VADDR + 0x100, 0x40, code, n);
	r = rows_of_section(".eh_frame", b.data, b.n);
	buf__fini(&b);
	return r;
}

static void test_rows_of_a_function(void **state)
{
	/*
	 * advance 1; def_cfa_offset 16; offset r6, 2; advance 3; def_cfa_register r6; advance 0x3c;
	 * def_cfa r7, 8
	 */
	static const char code[] = "\x41\x0e\x10\x86\x02\x43\x0d\x06\x7b\x0c\x07\x08\xc6";
	struct unwind_rows *r = rows_of_code(code, sizeof(code) - 1);
	uint64_t at = ELF_MAKER_VADDR + 0x100;

	(void)state;
	assert_rule(r, at - 17, UNWIND_CFA_FRAMELESS, 0, 0, 0);
	assert_rule(r, at, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, at + 1, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_CFA, 0), -16, 16);
	assert_rule(r, at + 4, UNWIND_CFA_FP, unwind_saved(UNWIND_FP_CFA, 0), -16, 16);
	assert_rule(r, at + 0x3e, UNWIND_CFA_FP, unwind_saved(UNWIND_FP_CFA, 0), -16, 16);
	assert_rule(r, at + 0x3f, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, at + 0x40, UNWIND_CFA_FRAMELESS, 0, 0, 0);
	assert_int_equal(unwind_rows__find(r, ELF_MAKER_VADDR + ELF_MAKER_CODE), -1);
	assert_int_equal(unwind_rows__find(r, ELF_MAKER_VADDR - 1), -1);
	assert_int_equal(r->n_fdes, 1);
	assert_int_equal(r->covered_bytes, 0x40);
	assert_int_equal(r->code_bytes, ELF_MAKER_CODE);
	unwind_rows__free(r);
}

/*
 * The rules of a function, with one beside it that finds its frame by rbx, as the loader's resolver
 * does, or without.
 */
static struct unwind_rows *rows_beside_rbx(const char *code, size_t n, bool with)
{
	/* advance 1; def_cfa_offset 16; offset r3, 2; advance 3; def_cfa_register r3 */
	static const char by_rbx[] = "\x41\x0e\x10\x83\x02\x43\x0d\x03";
	struct buf b = { 0 };
	struct unwind_rows *r;

	put_cie(&b);
	put_fde(&b, ELF_MAKER_VADDR + 0x100, 0x40, code, n);
	if (with)
		put_fde(&b, ELF_MAKER_VADDR + 0x200, 0x40, by_rbx, sizeof(by_rbx) - 1);
	r = rows_of_section(".eh_frame", b.data, b.n);
	buf__fini(&b);
	return r;
}

static void test_rbx_is_followed_where_frames_need_it(void **state)
{
	/* push %rbp; push %rbx, each with its def_cfa_offset */
	static const char code[] = "\x41\x0e\x10\x86\x02\x41\x0e\x18\x83\x03";
	const uint64_t at = ELF_MAKER_VADDR + 0x100, by_rbx = ELF_MAKER_VADDR + 0x200;
	const unsigned same = UNWIND_RA_RBX + UNWIND_RBX_SAME;
	struct unwind_rows *r = rows_beside_rbx(code, sizeof(code) - 1, true);

	(void)state;
	assert_rule(r, at, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_SAME, same), 0, 8);
	assert_rule(r, at + 1, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_CFA, same), -16, 16);
	assert_rule(r, at + 2, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_CFA, UNWIND_RA_RBX + 3), -16, 24);
	assert_rule(r, by_rbx + 1, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_SAME, UNWIND_RA_RBX + 2), 0, 16);
	assert_rule(r, by_rbx + 4, UNWIND_CFA_REG + UNWIND_X86_RBX,
		    unwind_saved(UNWIND_FP_SAME, UNWIND_RA_RBX + 2), 0, 16);
	unwind_rows__free(r);
	r = rows_beside_rbx(code, sizeof(code) - 1, false);
	assert_rule(r, at, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, at + 2, UNWIND_CFA_SP, UNWIND_FP_CFA, -16, 24);
	unwind_rows__free(r);
}

static void test_places_of_rbx(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		unsigned ra; /* of the rule behind the instructions */
		unsigned gaps;
	} cases[] = {
		{ "\x83\x02", 2, UNWIND_RA_RBX + 2, 0 },
		{ "\x83\x07", 2, UNWIND_RA_RBX + 7, 0 },
		{ "\x83\x08", 2, UNWIND_RA_WORD, 1 },
		{ "\x83\x01", 2, UNWIND_RA_WORD, 1 }, /* where the return address is */
		{ "\x83\x02\xc3", 3, UNWIND_RA_RBX + UNWIND_RBX_SAME, 0 },
		{ "\x83\x02\x08\x03", 4, UNWIND_RA_RBX + UNWIND_RBX_SAME, 0 },
		{ "\x09\x03\x03", 3, UNWIND_RA_RBX + UNWIND_RBX_SAME, 0 },
		{ "\x09\x03\x0c", 3, UNWIND_RA_WORD, 1 },
		{ "\x07\x03", 2, UNWIND_RA_WORD, 0 },
		{ "\x10\x03\x03\x11\x68\x22", 6, UNWIND_RA_RBX + 3, 0 }, /* cfa, consts -24, plus */
		{ "\x10\x03\x02\x77\x08", 5, UNWIND_RA_WORD, 1 },
		{ "\x83\x02\x90\x03", 4, UNWIND_RA_OFF, 1 }, /* the return address elsewhere */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_rows *r = rows_beside_rbx(cases[i].code, cases[i].n, true);

		assert_int_equal(unwind_saved_ra(rule_at(r, ELF_MAKER_VADDR + 0x120).saved), cases[i].ra);
		assert_int_equal(r->gaps[UNWIND_GAP_RBX_PLACE], cases[i].gaps);
		unwind_rows__free(r);
	}
}

/* What a rule cannot say is counted by its name, and ends the walk there with a reason. */
static void test_gaps_are_counted(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		enum unwind_gap gap;
		uint8_t cfa; /* behind the instructions */
	} cases[] = {
		{ "\x41\x3f", 2, UNWIND_GAP_OPCODE, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x2d", 2, UNWIND_GAP_OPCODE, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x0b", 2, UNWIND_GAP_STATES, UNWIND_CFA_UNSUPPORTED },
		{ "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 17,
		  UNWIND_GAP_STATES, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x0e", 2, UNWIND_GAP_DAMAGED, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x0e\x80\x80", 4, UNWIND_GAP_DAMAGED, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x0f\x02\x31\x32", 5, UNWIND_GAP_CFA_EXPRESSION, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x0c\x60\x08", 4, UNWIND_GAP_CFA_REGISTER, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x0c\x07\x80\x80\x80\x80\x08", 8, UNWIND_GAP_CFA_OFFSET, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x10\x10\x02\x31\x06", 6, UNWIND_GAP_RA_EXPRESSION, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x08\x10", 3, UNWIND_GAP_RA_PLACE, UNWIND_CFA_UNSUPPORTED },
		{ "\x41\x86\x80\x80\x01", 5, UNWIND_GAP_FP_PLACE, UNWIND_CFA_SP },
		/* far from the frame address, but near sp */
		{ "\x41\x0e\x80\x80\x08\x86\x80\x80\x01", 9, UNWIND_GAP_N, UNWIND_CFA_SP },
		{ "\x41\x0c\x00\x08\x86\x80\x80\x01", 8, UNWIND_GAP_FP_PLACE, UNWIND_CFA_REG },
		{ "\x41\x10\x06\x02\x31\x06", 6, UNWIND_GAP_FP_EXPRESSION, UNWIND_CFA_SP },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_rows *r = rows_of_code(cases[i].code, cases[i].n);
		unsigned total = 0;

		for (unsigned k = 0; k < UNWIND_GAP_N; k++)
			total += r->gaps[k];
		assert_int_equal(total, cases[i].gap == UNWIND_GAP_N ? 0 : 1);
		if (cases[i].gap != UNWIND_GAP_N)
			assert_int_equal(r->gaps[cases[i].gap], 1);
		assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x120).cfa, cases[i].cfa);
		unwind_rows__free(r);
	}
}

/* The end of _Unwind_Resume(): from where rcx has the frame on nobody is told a caller, and behind it all is as before. */
static void test_what_leaves_for_a_handler(void **state)
{
	/* rbp+16; remembered; rcx+8; rsp+8; rsp+0, the address in rcx; restored */
	static const char code[] = "\x0c\x06\x10\x41\x0a\x41\x0c\x02\x08\x41\x0c\x07\x08\x41\x0e"
				   "\x00\x09\x10\x02\x41\x0b"
				   "\x41\x0c\x07\x08";
	static const enum unwind_cfa cfas[] = { UNWIND_CFA_FP,		UNWIND_CFA_FP,
						UNWIND_CFA_UNSUPPORTED, UNWIND_CFA_UNSUPPORTED,
						UNWIND_CFA_UNSUPPORTED, UNWIND_CFA_FP,
						UNWIND_CFA_SP };
	struct unwind_rows *r = rows_of_code(code, sizeof(code) - 1);

	(void)state;
	for (size_t i = 0; i < sizeof(cfas) / sizeof(cfas[0]); i++)
		assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x100 + i).cfa, cfas[i]);
	assert_int_equal(r->gaps[UNWIND_GAP_RA_PLACE], 1);
	unwind_rows__free(r);
}

static void test_damaged_sections(void **state)
{
	struct buf b = { 0 };
	struct unwind_rows *r;

	(void)state;
	/*
	 * a function whose CIE is not there, one outside of the code, and one whose length is a lie
	 */
	put_cie(&b);
	buf__le32(&b, 24);
	buf__le32(&b, 0x70000000);
	buf__append(&b, (uint8_t[20]){ 0 }, 20);
	put_fde(&b, 0x10, 0x40, "", 0);
	put_fde(&b, ELF_MAKER_VADDR, 0x40, "", 0);
	buf__le32(&b, 0x7fffffff);
	r = rows_of_section(".eh_frame", b.data, b.n);
	assert_int_equal(r->gaps[UNWIND_GAP_DAMAGED], 2);
	assert_int_equal(r->gaps[UNWIND_GAP_OUTSIDE], 1);
	assert_int_equal(r->n_fdes, 1);
	unwind_rows__free(r);
	/* augmentation and version that nobody knows */
	b.data[9] = 'q';
	r = rows_of_section(".eh_frame", b.data, b.n);
	assert_int_equal(r->n_fdes, 0);
	assert_int_equal(r->gaps[UNWIND_GAP_AUGMENTATION], 2);
	unwind_rows__free(r);
	buf__fini(&b);
}

/*
 * Functions that overlap, come unordered, or twice: each byte has one rule, the later start wins.
 */
static void test_overlapping_functions(void **state)
{
	struct buf b = { 0 };
	struct unwind_rows *r;

	(void)state;
	put_cie(&b);
	put_fde(&b, ELF_MAKER_VADDR + 0x40, 0x40, "\x0e\x20", 2);
	put_fde(&b, ELF_MAKER_VADDR, 0x60, "\x0e\x18", 2);
	put_fde(&b, ELF_MAKER_VADDR + 0xff0, 0x1000, "\x0e\x28", 2);
	r = rows_of_section(".eh_frame", b.data, b.n);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x3f).cfa_off, 0x18);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x40).cfa_off, 0x20);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x7f).cfa_off, 0x20);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0xfff).cfa_off, 0x28);
	assert_int_equal(r->at[r->n - 1], ELF_MAKER_CODE);
	unwind_rows__free(r);
	buf__fini(&b);
}

/* Padding keeps the rule before it; a function that is returned to begins in it. */
static void test_padding_and_roots(void **state)
{
	struct buf b = { 0 };
	struct unwind_rows *r;

	(void)state;
	put_cie(&b);
	put_fde(&b, ELF_MAKER_VADDR, 0x33, "\x0e\x18", 2);
	put_fde(&b, ELF_MAKER_VADDR + 0x40, 0x10, "\x07\x10", 2);
	r = rows_of_section(".eh_frame", b.data, b.n);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x3e).cfa_off, 0x18);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x3f).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x40).cfa, UNWIND_CFA_ROOT);
	unwind_rows__free(r);
	buf__fini(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Code without description
 */

static void test_musl_roots_and_sigreturn(void **state)
{
	/*
	 * xor; mov; lea; and $-16,%rsp; call - and behind it, after other code, mov $15,%rax;
	 * syscall
	 */
	uint8_t code[0x140] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35, 0, 0,
				0,    0,    0x48, 0x83, 0xe4, 0xf0, 0xe8, 0,	0,    0, 0 };
	/* pthread_exit(start(arg)), clone()'s child; and others' f(p->g(q)), f(g(p->q)) */
	static const char *const threads[] = {
		"\x48\x8b\x7b\x08\xff\x13\x48\x89\xc7\xe8\0\0\0\0\0",
		"\x48\x8b\x7f\x08\xff\x10\x48\x63\xf8\xe8\0\0\0\0\0",
		"\x49\x8b\x7e\x08\x41\xff\x16\x48\x89\xc7\xe8\0\0\0\0",
		"\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\0",
		"\x48\x8b\x7b\x18\xff\x13\x48\x89\xc7\xe8\0\0\0\0\0",
		"\x48\x8b\x7b\x08\xff\xd3\x48\x89\xc7\xe8\0\0\0\0\0",
	};
	struct elf_maker m = {
		.machine = EM_X86_64, .section = ".note", .data = "", .code = code, .n_code = sizeof(code)
	};
	struct buf image = { 0 };
	struct unwind_rows *r;
	uint64_t entry = ELF_MAKER_VADDR, sigreturn = ELF_MAKER_VADDR + 0x60;

	(void)state;
	/* call *%rbx; mov %eax,%edi; call */
	memcpy(code + 0x40, "\xff\xd3\x89\xc7\xe8\0\0\0\0", 9);
	memcpy(code + 0x60, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	for (size_t i = 0; i < 6; i++)
		memcpy(code + 0x80 + 0x20 * i, threads[i], 15);
	elf_maker__make(&m, &image);
	memcpy(image.data + offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	r = rows_of(&image, NULL);
	assert_int_equal(rule_at(r, entry).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, entry + 21).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, entry + 22).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(rule_at(r, entry + 0x3e).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(rule_at(r, entry + 0x41).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, entry + 0x48).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, entry + 0x49).cfa, UNWIND_CFA_FRAMELESS);
	/* from a byte before: the handler returns to its start */
	assert_rule(r, sigreturn - 1, UNWIND_CFA_SIGNAL, 0, UNWIND_X86_SIGNAL_FP, UNWIND_X86_SIGNAL_SP);
	assert_int_equal(rule_at(r, sigreturn + 8).cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(rule_at(r, sigreturn + 9).cfa, UNWIND_CFA_FRAMELESS);
	for (uint32_t i = 0; i < 6 * 0x20; i += 1 + (i % 32 == 30))
		assert_int_equal(rule_at(r, entry + 0x80 + i).cfa == UNWIND_CFA_ROOT,
				 i < 4 * 0x20 && i % 32 < 14 + (i / 32 == 2));
	unwind_rows__free(r);
	buf__fini(&image);
}

/* What gcc's crtbegin.o has in front of everybody's code, of which one function has a frame. */
static void test_crtbegin(void **state)
{
	uint8_t code[0x100] = { 0 };
	struct elf_maker m = {
		.machine = EM_X86_64, .section = ".note", .data = "", .code = code, .n_code = sizeof(code)
	};
	const uint64_t first = ELF_MAKER_VADDR + 0x40, last = ELF_MAKER_VADDR + 0xe0;
	struct buf image = { 0 };
	struct unwind_rows *r;

	(void)state;
	/*
	 * endbr64; cmpb $0,completed; jne; push %rbp; mov %rsp,%rbp; call; movb $1,completed; pop;
	 * ret
	 */
	memcpy(code + 0xb0,
	       "\xf3\x0f\x1e\xfa\x80\x3d\0\0\0\0\0\x75\x13\x55\x48\x89\xe5\xe8\x7a\xff\xff\xff\xc6"
	       "\x05"
	       "\0\0\0\0\x01\x5d\xc3\x90\xc3",
	       33);
	/* endbr64; jmp */
	memcpy(code + 0xe0, "\xf3\x0f\x1e\xfa\xeb\x8a", 6);
	elf_maker__make(&m, &image);
	r = rows_of(&image, NULL);
	assert_int_equal(rule_at(r, first - 1).cfa, UNWIND_CFA_FRAMELESS);
	assert_rule(r, first, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, ELF_MAKER_VADDR + 0xbd, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, ELF_MAKER_VADDR + 0xbe, UNWIND_CFA_SP, UNWIND_FP_CFA, -16, 16);
	assert_rule(r, ELF_MAKER_VADDR + 0xcd, UNWIND_CFA_SP, UNWIND_FP_CFA, -16, 16);
	assert_rule(r, ELF_MAKER_VADDR + 0xce, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, last + 5, UNWIND_CFA_SP, 0, 0, 8);
	assert_int_equal(rule_at(r, last + 6).cfa, UNWIND_CFA_FRAMELESS);
	unwind_rows__free(r);
	image.n = 0;
	/* A call that leads elsewhere: another's code, behind a ret. */
	memcpy(code + 0xae, "\xc3\0", 2);
	memset(code + 0xc2, 0, 4);
	elf_maker__make(&m, &image);
	r = rows_of(&image, NULL);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0xc1).cfa, UNWIND_CFA_FRAME_POINTER);
	unwind_rows__free(r);
	buf__fini(&image);
}

static void test_init(void **state)
{
	/* sub $8,%rsp; call; add $8,%rsp; ret - and push %rax; pop %rax; ret */
	struct unwind_rows *r = rows_of_init("\x48\x83\xec\x08\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", 14);

	(void)state;
	assert_rule(r, ELF_MAKER_SECTION, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, ELF_MAKER_SECTION + 4, UNWIND_CFA_SP, 0, 0, 16);
	assert_rule(r, ELF_MAKER_SECTION + 12, UNWIND_CFA_SP, 0, 0, 16);
	assert_rule(r, ELF_MAKER_SECTION + 13, UNWIND_CFA_SP, 0, 0, 8);
	unwind_rows__free(r);
	r = rows_of_init("\xf3\x0f\x1e\xfa\x50\x58\xc3", 7);
	assert_rule(r, ELF_MAKER_SECTION + 4, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, ELF_MAKER_SECTION + 5, UNWIND_CFA_SP, 0, 0, 16);
	assert_rule(r, ELF_MAKER_SECTION + 6, UNWIND_CFA_SP, 0, 0, 8);
	unwind_rows__free(r);
	for (size_t n = 1; n < 14; n++) {
		r = rows_of_init("\x48\x83\xec\x08\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", n);
		assert_int_equal(rule_at(r, ELF_MAKER_SECTION).cfa, UNWIND_CFA_FRAME_POINTER);
		unwind_rows__free(r);
	}
}

static void test_go(void **state)
{
	struct buf file = { 0 };
	struct unwind_rows *r;
	uint64_t at = ELF_MAKER_VADDR;

	(void)state;
	assert_int_equal(fd__read_path(AT_FDCWD, CORPUS "go120", 1 << 16, &file), 0);
	r = rows_of_section(".gopclntab", file.data + 1, file.n - 1);
	assert_true(r->is_go);
	/* main.f: push %rbp, then 24 bytes; at its end as at its beginning */
	assert_rule(r, at, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, at + 4, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_CFA, 0), -16, 16);
	assert_rule(r, at + 8, UNWIND_CFA_SP, unwind_saved(UNWIND_FP_CFA, 0), -16, 40);
	assert_rule(r, at + 48, UNWIND_CFA_SP, 0, 0, 8);
	assert_int_equal(rule_at(r, at + 0x40).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, at + 0x80).cfa, UNWIND_CFA_ROOT);
	/* writes sp, and its code (zeroes) saves no frame pointer */
	assert_int_equal(rule_at(r, at + 0xc0).cfa, UNWIND_CFA_STOP);
	assert_int_equal(rule_at(r, at + 0x100).cfa, UNWIND_CFA_ROOT);
	assert_int_equal(rule_at(r, at + 0x140).cfa, UNWIND_CFA_STOP);
	unwind_rows__free(r);
	buf__fini(&file);
}

/* ------------------------------------------------------------------------------------------------
 * Limits and failures
 */

static bool yes(void *arg)
{
	(void)arg;
	return true;
}

static int compile(const struct buf *image, const struct unwind_limits *limits)
{
	struct unwind_source source = { elf_maker__read, (void *)image, image->n };
	struct unwind_rows *r = NULL;
	int rc = unwind__compile(&source, limits, &r, NULL);

	assert_true(rc == 0 || r == NULL);
	unwind_rows__free(r);
	return rc;
}

static void test_limits(void **state)
{
	struct buf b = { 0 }, image = { 0 };
	struct elf_maker m = { .machine = EM_X86_64, .section = ".eh_frame" };

	(void)state;
	put_cie(&b);
	for (unsigned i = 0; i < 3000; i++)
		put_fde(&b, ELF_MAKER_VADDR + i, 1, "", 0);
	m.data = b.data;
	m.n = b.n;
	elf_maker__make(&m, &image);
	assert_int_equal(compile(&image, NULL), 0);
	assert_int_equal(compile(&image, &(struct unwind_limits){ .max_fdes = 2999 }), -EFBIG);
	assert_int_equal(compile(&image, &(struct unwind_limits){ .max_fdes = 3000 }), 0);
	assert_int_equal(compile(&image, &(struct unwind_limits){ .max_rows = 2999 }), -EFBIG);
	assert_int_equal(compile(&image, &(struct unwind_limits){ .max_bytes = 1000 }), -EFBIG);
	assert_int_equal(compile(&image, &(struct unwind_limits){ .stop = yes }), -ECANCELED);
	assert_int_equal(compile(&image, &(struct unwind_limits){ .max_work = 100000 }), -ETIME);
	buf__fini(&b);
	buf__fini(&image);
}

/* Every function names a CIE of its own, and each of these is all of the rest of the section. */
static void test_overlapping_cies(void **state)
{
	enum { CIES = 1000, EMPTY = 300 };
	struct buf b = { 0 }, image = { 0 };
	struct elf_maker m = { .machine = EM_X86_64, .section = ".eh_frame" };
	struct unwind_limits limits = { 0 };

	(void)state;
	for (uint32_t i = 0; i < CIES; i++) {
		static const uint8_t body[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8 };

		buf__le32(&b, (CIES - i) * (8 + sizeof(body) + EMPTY) - 4);
		buf__le32(&b, 0);
		buf__append(&b, body, sizeof(body));
		for (uint32_t k = 0; k < EMPTY; k++)
			buf__byte(&b, 0);
	}
	for (uint32_t i = 0; i < CIES; i++) {
		buf__le32(&b, 4 + 16 + 1);
		buf__le32(&b, (uint32_t)b.n - i * (8 + 12 + EMPTY));
		buf__le64(&b, ELF_MAKER_VADDR + i);
		buf__le64(&b, 1);
		buf__byte(&b, 0);
	}
	m.data = b.data;
	m.n = b.n;
	elf_maker__make(&m, &image);
	limits.max_work = 100 * image.n; /* about 1,300 if all of them ran */
	assert_int_equal(compile(&image, &limits), 0);
	buf__fini(&b);
	buf__fini(&image);
}

/*
 * A file of a terabyte with nothing in it, whose sections are all of it: each reading gives what is
 * asked for, without end.
 */
static int read_sparse(void *arg, void *p, size_t n, uint64_t offset)
{
	const struct buf *b = arg;

	memset(p, 0, n);
	if (offset < b->n)
		memcpy(p, b->data + offset, n < b->n - offset ? n : b->n - offset);
	return 0;
}

static void test_sections_that_are_one_hole(void **state)
{
	enum { SECTIONS = 60, NAMES = 32 };
	const uint64_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	Elf64_Ehdr e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(e),
			 .e_shoff = at + NAMES,
			 .e_ehsize = sizeof(e),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = SECTIONS,
			 .e_shstrndx = 1 };
	const Elf64_Phdr p = { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_vaddr = ELF_MAKER_VADDR,
			       .p_filesz = 64,
			       .p_memsz = 64 };
	struct buf image = { 0 };
	struct unwind_source source = { .read = read_sparse, .arg = &image, .size = 40 << 20 };
	struct unwind_rows *r = NULL;
	char names[NAMES] = "\0.shstrtab\0.go.buildinfo";

	(void)state;
	buf__append(&image, &e, sizeof(e));
	buf__append(&image, &p, sizeof(p));
	buf__append(&image, names, sizeof(names));
	for (uint32_t i = 0; i < SECTIONS; i++) {
		Elf64_Shdr s = { .sh_name = 11,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC,
				 .sh_size = source.size };

		if (i == 0)
			s = (Elf64_Shdr){ 0 };
		if (i == 1)
			s = (Elf64_Shdr){
				.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = NAMES
			};
		buf__append(&image, &s, sizeof(s));
	}
	assert_int_equal(unwind__compile(&source, &(struct unwind_limits){ .max_work = 2 * source.size },
					 &r, NULL),
			 0);
	unwind_rows__free(r);
	/* All of it once is too much as well when there is a terabyte. */
	source.size = UINT64_C(1) << 40;
	for (uint32_t i = 2; i < SECTIONS; i++)
		memcpy(image.data + at + NAMES + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
		       &source.size, sizeof(source.size));
	assert_int_equal(
		unwind__compile(&source, &(struct unwind_limits){ .max_work = 64 << 20 }, &r, NULL),
		-ETIME);
	buf__fini(&image);
}

/* Every beginning of a file is refused or compiled, and nothing is read beyond it. */
static void test_cut_files(void **state)
{
	struct buf whole = { 0 };

	(void)state;
	assert_int_equal(fd__read_path(AT_FDCWD, CORPUS "elf_so", 1 << 20, &whole), 0);
	for (size_t n = 0; n < whole.n; n += 7) {
		struct buf part = { 0 };

		part.data = malloc(n ? n : 1);
		assert_non_null(part.data);
		memcpy(part.data, whole.data, n);
		part.n = n;
		compile(&part, NULL);
		free(part.data);
	}
	buf__fini(&whole);
}

static void test_foreign_files(void **state)
{
	struct buf image = { 0 };
	struct elf_maker m = { .machine = EM_386, .section = ".eh_frame", .data = "", .n = 0 };
	CLEANUP(fd__closep) int dir = open("/", O_RDONLY | O_CLOEXEC);
	struct unwind_rows *r = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	elf_maker__make(&m, &image);
	assert_int_equal(compile(&image, NULL), -ENOEXEC);
	image.data[0] = 'x';
	assert_int_equal(compile(&image, NULL), -ENOEXEC);
	assert_int_equal(unwind__compile_fd(dir, NULL, &r, &err), -ENOEXEC);
	assert_string_equal(err.text, "not a regular file");
	buf__fini(&image);
}

static void sweep(const char *path, unsigned n_skip, const char *section)
{
	struct buf file = { 0 }, made = { 0 };
	struct elf_maker m = { .machine = EM_X86_64, .section = section };
	const struct buf *image = section ? &made : &file;

	assert_int_equal(fd__read_path(AT_FDCWD, path, 1 << 20, &file), 0);
	m.data = file.data + n_skip;
	m.n = file.n - n_skip;
	if (section)
		elf_maker__make(&m, &made);
	FAILMALLOC_SWEEP (i) {
		struct unwind_source source = { elf_maker__read, (void *)image, image->n };
		struct unwind_rows *r = NULL;
		int rc = unwind__compile(&source, NULL, &r, NULL);

		failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		unwind_rows__free(r);
	}
	buf__fini(&file);
	buf__fini(&made);
}

static void test_failing_allocations(void **state)
{
	(void)state;
	sweep(CORPUS "elf_so", 0, NULL);
	sweep(CORPUS "go120", 1, ".gopclntab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_layout),
		cmocka_unit_test(test_dictionary_is_bounded),
		cmocka_unit_test(test_dictionary_survives_failing_allocations),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_what_gcc_writes),
		cmocka_unit_test(test_what_clang_writes),
		cmocka_unit_test(test_what_arm64_compilers_write),
		cmocka_unit_test(test_corpus_is_what_libdw_says),
		cmocka_unit_test(test_sections_are_not_needed),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_rows_of_a_function),
		cmocka_unit_test(test_rbx_is_followed_where_frames_need_it),
		cmocka_unit_test(test_places_of_rbx),
		cmocka_unit_test(test_gaps_are_counted),
		cmocka_unit_test(test_what_leaves_for_a_handler),
		cmocka_unit_test(test_damaged_sections),
		cmocka_unit_test(test_overlapping_functions),
		cmocka_unit_test(test_padding_and_roots),
		cmocka_unit_test(test_musl_roots_and_sigreturn),
		cmocka_unit_test(test_crtbegin),
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_overlapping_cies),
		cmocka_unit_test(test_sections_that_are_one_hole),
		cmocka_unit_test(test_cut_files),
		cmocka_unit_test(test_foreign_files),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
