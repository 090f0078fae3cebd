/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_unwind_bare.c - code without a description: its instructions, and which functions make records
 *
 * The oracle of the instructions is objdump.
 */
#include "tests/unit/shell.h"
#include "tests/unit/unit.h"
#include "tests/unit/unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/input/ebpf/unwind/x86.h"

enum { MOST = 300000, WORD = 24 };

/* "mov    %rsp,%rbp" */
struct text {
	char name[WORD];
	const char *last; /* operand */
	bool has_sp;	  /* the last one is, or one of xchg's */
	bool is_indirect; /* the first one */
};

static bool is_sp(const char *s, size_t n)
{
	return (n == 4 && (!strncmp(s, "%rsp", n) || !strncmp(s, "%esp", n) || !strncmp(s, "%spl", n))) ||
	       (n == 3 && !strncmp(s, "%sp", n));
}

static struct text text_of(char *s)
{
	static const char *const prefixes[] = { "lock ",    "rep ",   "repz ",	   "repnz ",
						"data16 ",  "cs ",    "ds ",	   "bnd ",
						"notrack ", "rex.W ", "xacquire ", "xrelease " };
	struct text t = { 0 };
	size_t n;

	s[strcspn(s, "#<\n")] = '\0';
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(s, prefixes[i], strlen(prefixes[i]))) {
			s += strlen(prefixes[i]);
			s += strspn(s, " ");
			i = (size_t)-1;
		}
	n = strcspn(s, " ");
	snprintf(t.name, sizeof(t.name), "%.*s", (int)n, s);
	s += n + strspn(s + n, " ");
	n = strcspn(s, " ");
	t.last = s;
	t.is_indirect = *s == '*';
	for (size_t i = 0; i < n; i++)
		if (s[i] == ',')
			t.last = s + i + 1;
	t.has_sp = is_sp(t.last, (size_t)(s + n - t.last)) ||
		   (!strncmp(t.name, "xchg", 4) && is_sp(s, strcspn(s, ",")));
	return t;
}

static bool moves_sp(const struct text *t)
{
	static const char *const no[] = { "cmp", "test", "bt", "jmp", "call", "nop" }, *const always[] = {
		"push", "pop", "leave", "enter"
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (!strncmp(t->name, always[i], strlen(always[i])))
			return strncmp(t->name, "popcnt", 6) != 0 || t->has_sp;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (!strncmp(t->name, no[i], strlen(no[i])) && strcmp(t->name, "bts") &&
		    strcmp(t->name, "btr"))
			return false;
	return t->has_sp;
}

struct totals {
	unsigned n, moves, calls, jumps, fillings, ends;
};

static void compare(const uint8_t *bytes, size_t n, uint64_t address, char *s, struct totals *totals)
{
	uint8_t code[16] = { 0 };
	struct x86_insn i = { 0 };
	uint64_t to = strtoull(strchr(s, ' ') ? strchr(s, ' ') : s, NULL, 16);
	struct text t = text_of(s);
	bool is_jump = t.name[0] == 'j' && !t.is_indirect;

	memcpy(code, bytes, n);
	if (!x86__decode(code, sizeof(code), &i))
		fail_msg("0x%llx %s: none", (unsigned long long)address, t.name);
	if (i.length != n || x86__moves_sp(&i) != moves_sp(&t) || x86__is_jump(&i) != is_jump ||
	    x86__is_call(&i) != !strncmp(t.name, "call", 4) ||
	    x86__is_indirect(&i) != (t.name[0] == 'j' && !is_jump))
		fail_msg("0x%llx %s %s: %d bytes, not %zu; moves %d, jump %d, call %d",
			 (unsigned long long)address, t.name, t.last, i.length, n,
			 x86__moves_sp(&i), x86__is_jump(&i), x86__is_call(&i));
	if (is_jump && !strncmp(s, t.name, strlen(t.name)))
		assert_int_equal(address + i.length + (uint64_t)(int64_t)i.rel, to);
	for (size_t cut = 0; cut < n; cut++)
		assert_false(x86__decode(code, cut, &i) && i.length > cut);
	totals->n++;
	totals->moves += moves_sp(&t);
	totals->calls += x86__is_call(&i);
	totals->jumps += is_jump;
	totals->fillings += x86__is_filling(&i);
	totals->ends += x86__is_end(&i);
}

static void compare_all(const char *command, struct totals *totals)
{
	char line[512];
	FILE *f = popen(command, "r");

	assert_non_null(f);
	while (totals->n < MOST && fgets(line, sizeof(line), f)) {
		char *bytes = strchr(line, '\t'), *text = bytes ? strchr(bytes + 1, '\t') : NULL, *end;
		uint64_t address = strtoull(line, &end, 16);
		uint8_t code[16];
		size_t n = 0;

		/* What objdump has no name for, and prefixes that stand alone. */
		if (*end != ':' || !text || strstr(text, "(bad)"))
			continue;
		*text = '\0';
		for (char *p = bytes + 1; n < 15; p = end, n++) {
			code[n] = (uint8_t)strtoul(p, &end, 16);
			if (end == p)
				break;
		}
		compare(code, n, address, text + 1, totals);
	}
	pclose(f);
}

static void test_against_objdump(void **state)
{
	struct totals totals = { 0 };
	char command[256];

	(void)state;
	if (!shell_has("objdump"))
		skip_because("objdump (package binutils) is missing");
	snprintf(command, sizeof(command),
		 "objdump -d -w --insn-width=15 -j .text $(ldd /proc/%d/exe 2>/dev/null | awk "
		 "'/libc[.]so/ { print $3 }')"
		 " /proc/%d/exe 2>/dev/null",
		 (int)getpid(), (int)getpid());
	compare_all(command, &totals);
	assert_true(totals.n > 1000);
	assert_true(totals.moves > 0 && totals.calls > 0 && totals.jumps > 0 && totals.fillings > 0);
}

/* From where on there is such a rule; the last one is UNWIND_CFA_NONE. */
struct place {
	uint32_t at;
	enum unwind_cfa cfa;
};

static void assert_places(const struct unwind_rows *r, const struct place *p)
{
	for (; p->cfa != UNWIND_CFA_NONE; p++)
		for (uint32_t at = p->at; at < p[1].at; at++)
			if (rule_at(r, ELF_MAKER_VADDR + at).cfa != p->cfa)
				fail_msg("0x%x: %d, not %d", at,
					 rule_at(r, ELF_MAKER_VADDR + at).cfa, p->cfa);
}

static void write_functions(uint8_t *code)
{
	/* sub $8,%rsp; call 0x40; call 0x80; call 0xc0 */
	memcpy(code, "\x48\x83\xec\x08\xe8\x37\0\0\0\xe8\x72\0\0\0\xe8\xad\0\0\0", 19);
	/* push %rbp; mov %rsp,%rbp; pop %rbp; ret; nop to where code is aligned */
	memcpy(code + 0x40, "\x55\x48\x89\xe5\x5d\xc3\x0f\x1f\x80\0\0\0\0\x0f\x1f\0", 16);
	/* what pointers lead to: xor %eax,%eax; ret; nop */
	memcpy(code + 0x50, "\x31\xc0\xc3\x90\x90\x0f\x1f\x44\0\0\x66\x0f\x1f\x44\0\0", 16);
	/* push %r12; jmp 0x70; nop; xor %eax,%eax; ret */
	memcpy(code + 0x60, "\x41\x54\xeb\x0c\x66\x0f\x1f\x84\0\0\0\0\0\x0f\x1f\0\x31\xc0\xc3", 19);
	memcpy(code + 0x80, "\x55\x48\x8d\x6c\x24\x40", 6); /* push %rbp; lea 64(%rsp),%rbp */
	/* test; jump; push %rbp; xor; mov %rsp,%rbp; nop; leave; xor; ret; nop */
	memcpy(code + 0xc0, "\x85\xc0\x74\x0b\x55\x31\xc0\x48\x8b\xec\x90\xc9\x31\xd2\xc3\x90", 16);
	/* lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; ret */
	memcpy(code + 0x380,
	       "\x4c\x8d\x54\x24\x08\x48\x83\xe4\xe0\x41\xff\x72\xf8\x55\x48\x89\xe5\xc3", 18);
	/* jmp *%rax; what may be a part of the same: xor, ret; what is none: push, mov, leave, ret */
	memcpy(code + 0x3a0, "\xff\xe0", 2);
	memcpy(code + 0x3b0, "\x31\xc0\xc3", 3);
	memcpy(code + 0x3c0, "\x55\x48\x89\xe5\xc9\xc3", 6);
}

/* Which functions make a frame record: their calls say where they begin. */
static void test_frame_records(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		enum unwind_cfa cfa;
	} leaves[] = {
		{ "\x48\x83\x05\x10\0\0\0\x01", 8, UNWIND_CFA_SP },    /* addq $1,16(%rip) */
		{ "\x48\x8b\x44\x24\x08", 5, UNWIND_CFA_SP },	       /* mov 8(%rsp),%rax */
		{ "\x83\xf8\xff", 3, UNWIND_CFA_SP },		       /* cmp $-1,%eax */
		{ "\x41\x54", 2, UNWIND_CFA_FRAMELESS },	       /* push %r12 */
		{ "\x48\x83\xec\x18", 4, UNWIND_CFA_FRAMELESS },       /* sub $24,%rsp */
		{ "\x48\x81\xec\0\x10\0\0", 7, UNWIND_CFA_FRAMELESS }, /* sub $4096,%rsp */
		{ "\x48\x8d\x64\x24\xf8", 5, UNWIND_CFA_FRAMELESS },   /* lea -8(%rsp),%rsp */
		{ "\x48\x89\xfc", 3, UNWIND_CFA_FRAMELESS },	       /* mov %rdi,%rsp */
		{ "\x4c\x89\xec", 3, UNWIND_CFA_FRAMELESS },	       /* mov %r13,%rsp */
		{ "\xff\xd0", 2, UNWIND_CFA_SP },		       /* call *%rax */
		{ "\xff\x35\x10\0\0\0", 6, UNWIND_CFA_FRAMELESS },     /* push 16(%rip) */
	};
	static const struct place rows[] = {
		{ 0x3f, UNWIND_CFA_FRAMELESS },	    { 0x40, UNWIND_CFA_SP },
		{ 0x44, UNWIND_CFA_FRAME_POINTER }, { 0x45, UNWIND_CFA_SP },
		{ 0x62, UNWIND_CFA_FRAMELESS },	    { 0x80, UNWIND_CFA_SP },
		{ 0xca, UNWIND_CFA_FRAME_POINTER }, { 0xcc, UNWIND_CFA_SP },
		{ 0x1f0, UNWIND_CFA_NONE },
	}, more[] = {
		{ 0x380, UNWIND_CFA_SP },	    { 0x389, UNWIND_CFA_FRAMELESS },
		{ 0x391, UNWIND_CFA_FRAME_POINTER }, { 0x3a0, UNWIND_CFA_SP },
		{ 0x3b0, UNWIND_CFA_FRAMELESS },    { 0x3c0, UNWIND_CFA_SP },
		{ 0x3c4, UNWIND_CFA_FRAME_POINTER }, { 0x3c5, UNWIND_CFA_SP },
		{ 0x3c6, UNWIND_CFA_NONE },
	};
	uint8_t code[0x400] = { 0 };
	struct elf_maker m = {
		.machine = EM_X86_64, .section = ".note", .data = "", .code = code, .n_code = sizeof(code)
	};
	struct buf image = { 0 };
	struct unwind_rows *r;

	(void)state;
	write_functions(code);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		int32_t to = (int32_t)(0x200 + 0x20 * i);

		code[0x20 * i + 0x200 + leaves[i].n] = 0xc3;
		memcpy(code + 0x20 * i + 0x200, leaves[i].code, leaves[i].n);
		code[0x120 + 5 * i] = 0xe8;
		to -= (int32_t)(0x120 + 5 * i + 5);
		memcpy(code + 0x121 + 5 * i, &to, sizeof(to));
	}
	elf_maker__make(&m, &image);
	r = rows_of(&image, NULL);
	assert_places(r, rows);
	assert_places(r, more);
	assert_rule(r, ELF_MAKER_VADDR + 0x40, UNWIND_CFA_SP, 0, 0, 8);
	assert_rule(r, ELF_MAKER_VADDR + 0x41, UNWIND_CFA_SP, UNWIND_FP_CFA, -16, 16);
	assert_rule(r, ELF_MAKER_VADDR + 0xca, UNWIND_CFA_FRAME_POINTER, UNWIND_FP_CFA, -16, 16);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x200 + 0x20 * i + leaves[i].n).cfa,
				 leaves[i].cfa);
	assert_int_equal(r->covered_bytes, 0);
	unwind_rows__free(r);
	buf__fini(&image);
}

/* Much code where most functions make one is somebody's who follows a rule; where few do, it is not. */
static void test_frame_records_in_much_code(void **state)
{
	static const enum unwind_cfa first[] = { UNWIND_CFA_FRAMELESS, UNWIND_CFA_FRAMELESS,
						 UNWIND_CFA_FRAME_RECORDS },
				     last[] = { UNWIND_CFA_FRAMELESS, UNWIND_CFA_FRAME_POINTER,
						UNWIND_CFA_FRAME_RECORDS };
	static char code[0x11000];

	(void)state;
	/* call 0x10000; call 0x10100; sub $8,%rsp there */
	memcpy(code, "\xe8\xfb\xff\0\0\xe8\xf6\0\x01\0", 10);
	memcpy(code + 0x10000, "\x48\x83\xec\x08", 4);
	memcpy(code + 0x10100, "\x48\x83\xec\x08", 4);
	for (int framed = 0; framed < 3; framed++) {
		struct unwind_rows *r;

		if (framed > 0)
			memcpy(code + 0x10100, "\x55\x48\x89\xe5", 4);
		if (framed > 1)
			memcpy(code + 0xfe, "\xc3\x90\x55\x48\x89\xe5", 6);
		r = rows_of_init(code, sizeof(code));
		assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x10004).cfa, first[framed]);
		assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x10104).cfa, last[framed]);
		unwind_rows__free(r);
	}
}

/* The same of more than is decoded, or even read: then a frame pointer is not followed. */
static void test_very_much_code(void **state)
{
	static const struct {
		size_t bytes;
		enum unwind_cfa unruled, ruled;
	} cases[] = {
		{ 5 << 20, UNWIND_CFA_FRAMELESS, UNWIND_CFA_FRAME_RECORDS },
		{ 33 << 20, UNWIND_CFA_FRAMELESS, UNWIND_CFA_FRAME_RECORDS },
		{ 65 << 20, UNWIND_CFA_FRAMELESS, UNWIND_CFA_FRAMELESS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *code = calloc(1, cases[i].bytes);
		struct unwind_rows *r;

		assert_non_null(code);
		/* call 0x10000; call 0x10100; sub $8,%rsp there */
		memcpy(code, "\xe8\xfb\xff\0\0\xe8\xf6\0\x01\0", 10);
		memcpy(code + 0x10000, "\x48\x83\xec\x08", 4);
		memcpy(code + 0x10100, "\x48\x83\xec\x08", 4);
		r = rows_of_init(code, cases[i].bytes);
		assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x10104).cfa, cases[i].unruled);
		unwind_rows__free(r);
		memcpy(code + 0xfe, "\xc3\x90\x55\x48\x89\xe5", 6);
		memcpy(code + 0x10100, "\x55\x48\x89\xe5", 4);
		r = rows_of_init(code, cases[i].bytes);
		assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x10104).cfa, cases[i].ruled);
		unwind_rows__free(r);
		free(code);
	}
}

/* An image in memory, and the most that was read of it at once. */
struct counted {
	struct buf image;
	size_t most;
};

static int read_counted(void *arg, void *p, size_t n, uint64_t offset)
{
	struct counted *c = arg;

	c->most = n > c->most ? n : c->most;
	return elf_maker__read(&c->image, p, n, offset);
}

/* Compiles two stretches of code, at ELF_MAKER_VADDR (NULL: zeroes) and at ELF_MAKER_SECTION. */
static int compile_two(const uint8_t *first, const uint8_t *second, size_t n,
		       const struct unwind_limits *limits, size_t *ret_most, struct unwind_rows **ret)
{
	struct elf_maker m = { .machine = EM_X86_64,
			       .section = ".text",
			       .data = second,
			       .n = n,
			       .code = first,
			       .n_code = first ? ELF_MAKER_CODE : 0,
			       .is_code = true };
	struct counted c = { .most = 0 };
	struct unwind_source source = { .read = read_counted, .arg = &c };
	int rc;

	elf_maker__make(&m, &c.image);
	source.size = c.image.n;
	rc = unwind__compile(&source, limits, ret, NULL);
	buf__fini(&c.image);
	*ret_most = c.most;
	return rc;
}

/* sub $8,%rsp; call 0x100 further; and so on */
static void write_chain(uint8_t *code, size_t n)
{
	memset(code, 0x90, n);
	for (size_t at = 0; at < n; at += 0x100)
		memcpy(code + at, "\x48\x83\xec\x08\xe8\xf7\0\0\0\xc3", 10);
}

/* What is decoded is bounded for all stretches together: an eighth of memory is read, a sixteenth judged. */
static void test_stretches_share_a_bound(void **state)
{
	enum { N = ELF_MAKER_CODE };
	struct unwind_limits limits = { .max_bytes = 16 * N };
	uint8_t first[N], second[2 * N];
	struct unwind_rows *r;
	size_t most;

	(void)state;
	write_chain(first, N);
	write_chain(second, sizeof(second));
	assert_int_equal(compile_two(first, second, N, &limits, &most, &r), 0);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x100).cfa, UNWIND_CFA_SP);
	assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x100).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(r->gaps[UNWIND_GAP_UNJUDGED], 1);
	unwind_rows__free(r);
	limits.max_bytes = 32 * N;
	assert_int_equal(compile_two(first, second, N, &limits, &most, &r), 0);
	assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x100).cfa, UNWIND_CFA_SP);
	assert_int_equal(r->gaps[UNWIND_GAP_UNJUDGED], 0);
	unwind_rows__free(r);
	/* More than is read: neither is judged. */
	limits.max_bytes = 23 * N;
	assert_int_equal(compile_two(first, second, 2 * N, &limits, &most, &r), 0);
	assert_int_equal(rule_at(r, ELF_MAKER_VADDR + 0x100).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(r->gaps[UNWIND_GAP_UNJUDGED], 2);
	unwind_rows__free(r);
}

/* A section header more, of a part of ELF_MAKER_SECTION. */
static void add_section(struct buf *image, uint32_t at, uint32_t n, uint64_t flags)
{
	const Elf64_Shdr more = { .sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC | flags,
				  .sh_addr = ELF_MAKER_SECTION + at,
				  .sh_size = n };

	buf__append(image, &more, sizeof(more));
	((Elf64_Ehdr *)(void *)image->data)->e_shnum++;
}

/*
 * What a section calls data is not read as code, where each of these bytes would be a call; and the code behind is judged
 * by itself, which makes records.
 */
static void test_data_among_code(void **state)
{
	enum { DATA = 0x1000, CODE = 0x20000, N = 0x40000 };
	static uint8_t code[N];
	const struct elf_maker m = {
		.machine = EM_X86_64, .section = ".text", .data = code, .n = sizeof(code), .is_code = true
	};
	struct unwind_limits limits = { .max_work = 4 << 20 };

	(void)state;
	write_chain(code, DATA);
	memset(code + DATA, 0xe8, CODE - DATA);
	memset(code + CODE, 0x90, N - CODE);
	memcpy(code + CODE + 0x100, "\x55\x48\x89\xe5", 4);
	for (int is_data = 0; is_data < 2; is_data++) {
		struct buf image = { 0 };
		struct unwind_source source = { .read = elf_maker__read, .arg = &image };
		struct unwind_rows *r = NULL;

		elf_maker__make(&m, &image);
		/* In two that overlap, the later one first, and one that is in neither segment. */
		add_section(&image, DATA + 0x100, CODE - DATA - 0x100, is_data ? 0 : SHF_EXECINSTR);
		add_section(&image, DATA, 0x1000, is_data ? 0 : SHF_EXECINSTR);
		add_section(&image, 0x1000000, 0x1000, 0);
		source.size = image.n;
		assert_int_equal(unwind__compile(&source, &limits, &r, NULL), is_data ? 0 : -ETIME);
		if (is_data) {
			assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x100).cfa, UNWIND_CFA_SP);
			assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x104).cfa, UNWIND_CFA_FRAMELESS);
			assert_int_equal(rule_at(r, ELF_MAKER_SECTION + CODE + 0x100).cfa,
					 UNWIND_CFA_FRAME_RECORDS);
		}
		unwind_rows__free(r);
		buf__fini(&image);
	}
}

/* Code is read in pieces, and a record may lie across two. */
static void test_a_record_anywhere(void **state)
{
	enum { PIECE = 64 << 10, N = 2 * PIECE };
	uint8_t *code = malloc(N);

	(void)state;
	assert_non_null(code);
	for (size_t at = PIECE - 4; at <= PIECE + 1; at++) {
		struct unwind_rows *r;
		size_t most;

		memset(code, 0x90, N);
		memcpy(code + at, "\x48\x89\xe5", 3);
		assert_int_equal(compile_two(NULL, code, N, NULL, &most, &r), 0);
		assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x100).cfa, UNWIND_CFA_FRAME_RECORDS);
		unwind_rows__free(r);
	}
	free(code);
}

/* A file that is made for it takes neither time nor memory without a bound. */
static void test_hostile_code(void **state)
{
	enum { N = 1 << 20, LONGEST = 128 << 10, PIECE = 64 << 10, AT = 200 << 10 };
	struct unwind_limits limits = { .max_bytes = 128 * LONGEST, .max_work = 16 * N };
	uint8_t *code = malloc(N);
	struct unwind_rows *r;
	size_t most;

	(void)state;
	assert_non_null(code);
	/* Each byte is a call, to nowhere. */
	memset(code, 0xe8, N);
	assert_int_equal(compile_two(NULL, code, N, &limits, &most, &r), -ETIME);
	limits.max_work = 0;
	assert_int_equal(compile_two(NULL, code, N / 2, &limits, &most, &r), 0);
	assert_true(most <= PIECE);
	unwind_rows__free(r);
	/* A function that would be in memory as a whole is not judged, the next one is. */
	memset(code, 0x90, N);
	memcpy(code, "\xe8\xfb\x1f\x03\0\xc3", 6);
	memcpy(code + AT, "\x48\x83\xec\x08\xe8\xf7\0\0\0\xc3", 10);
	assert_int_equal(compile_two(NULL, code, AT + LONGEST, &limits, &most, &r), 0);
	assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x100).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(rule_at(r, ELF_MAKER_SECTION + AT).cfa, UNWIND_CFA_SP);
	assert_int_equal(rule_at(r, ELF_MAKER_SECTION + AT + 4).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(r->gaps[UNWIND_GAP_UNJUDGED], 1);
	assert_true(most <= LONGEST);
	unwind_rows__free(r);
	/* push %rbp; pop %rbp; ...: each byte another row. */
	for (size_t i = 0; i < LONGEST; i++)
		code[i] = i % 2 ? 0x5d : 0x55;
	assert_int_equal(compile_two(NULL, code, LONGEST, &limits, &most, &r), 0);
	assert_int_equal(rule_at(r, ELF_MAKER_SECTION + 0x101).cfa, UNWIND_CFA_FRAMELESS);
	assert_int_equal(r->gaps[UNWIND_GAP_UNJUDGED], 1);
	assert_true(r->n < 10);
	unwind_rows__free(r);
	/* What is decoded is work. */
	limits.max_work = 9 * LONGEST;
	assert_int_equal(compile_two(NULL, code, LONGEST, &limits, &most, &r), -ETIME);
	free(code);
}

/* glibc's loader calls the constructors of libraries from where a process begins, and leaves it with a jump. */
static void test_entry_of_a_loader(void **state)
{
	/* Linux' glibc 2.31 and 2.36: RTLD_START of sysdeps/x86_64/dl-machine.h, without addresses */
	static const struct {
		const char *code;
		size_t n;
	} loaders[] = {
		{ "\x48\x89\xe7\xe8\0\0\0\0\x49\x89\xc4\x8b\x05\0\0\0\0\x5a\x48\x8d\x24\xc4\x29\xc2"
		  "\x52\x48"
		  "\x89\xd6\x49\x89\xe5\x48\x83\xe4\xf0\x48\x8b\x3d\0\0\0\0\x49\x8d\x4c\xd5\x10\x49"
		  "\x8d\x55"
		  "\x08\x31\xed\xe8\0\0\0\0\x48\x8d\x15\0\0\0\0\x4c\x89\xec\x41\xff\xe4",
		  71 },
		{ "\x48\x89\xe7\xe8\0\0\0\0\x49\x89\xc4\x48\x8b\x14\x24\x48\x89\xd6\x49\x89\xe5\x48"
		  "\x83"
		  "\xe4\xf0\x48\x8b\x3d\0\0\0\0\x49\x8d\x4c\xd5\x10\x49\x8d\x55\x08\x31\xed\xe8\0\0"
		  "\0\0"
		  "\x48\x8d\x15\0\0\0\0\x4c\x89\xec\x41\xff\xe4",
		  61 },
	};
	const uint64_t entry = ELF_MAKER_VADDR;
	struct buf image = { 0 };
	struct unwind_rows *r;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (size_t more = 0; more <= 64; more += 64) {
			uint8_t code[160];
			struct elf_maker m = { .machine = EM_X86_64,
					       .section = ".note",
					       .data = "",
					       .code = code,
					       .n_code = loaders[i].n + more };

			memset(code, 0x90, sizeof(code));
			memcpy(code, loaders[i].code, loaders[i].n);
			elf_maker__make(&m, &image);
			memcpy(image.data + offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
			r = rows_of(&image, NULL);
			assert_int_equal(rule_at(r, entry).cfa, UNWIND_CFA_ROOT);
			assert_int_equal(rule_at(r, entry + loaders[i].n - 1).cfa, UNWIND_CFA_ROOT);
			if (more)
				assert_int_not_equal(rule_at(r, entry + loaders[i].n).cfa,
						     UNWIND_CFA_ROOT);
			unwind_rows__free(r);
			buf__fini(&image);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry_of_a_loader),
		cmocka_unit_test(test_against_objdump),
		cmocka_unit_test(test_frame_records),
		cmocka_unit_test(test_frame_records_in_much_code),
		cmocka_unit_test(test_very_much_code),
		cmocka_unit_test(test_stretches_share_a_bound),
		cmocka_unit_test(test_data_among_code),
		cmocka_unit_test(test_a_record_anywhere),
		cmocka_unit_test(test_hostile_code),
	};

	return cmocka_run_group_tests_name("unwind_bare", tests, NULL, NULL);
}
