/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/stubs.c - code without CFI whose shape is known
 *
 * Shapes: gcc's libgcc/crtstuff.c, glibc's sysdeps/x86_64/crti.S, binutils' bfd/elfxx-x86.c and
 * bfd/elfnn-aarch64.c, lld's ELF/Arch/, musl's arch/x86_64/crt_arch.h and
 * src/signal/x86_64/restore.s, src/thread/pthread_create.c and src/thread/x86_64/clone.s, Linux's
 * arch/arm64/kernel/vdso/sigreturn.S.
 */
#include "plugins/input/ebpf/unwind/stubs.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_arch.h"
#include "core/base/le.h"
#include "core/base/mem.h"

enum {
	PLT_ENTRY = 16,
	ARM64_PLT_HEAD = 32,
	ENTRY_BYTES = 96,     /* of code looked at behind the entry point */
	ENTRY_DEFAULT = 32,   /* that are taken for it when its end is not found */
	SCAN_BYTES = 4 << 20, /* of code without rows; files that have more are not searched */
	SCAN_AT_ONCE = 64 << 10,
	SCAN_OVERLAP = 16,     /* bytes, so that no short shape is cut */
	PADDING = 15,	       /* between functions */
	INIT_MAX = 128,	       /* bytes of .init and .fini */
	CRT_FRONT = 192,       /* bytes of crtbegin.o's functions before the push, */
	CRT_FRAME = 64,	       /* and from there to the pop, at most */
	CONTEXT_END_MAX = 128, /* bytes of it, with the part for shadow stacks */
};

static const struct unwind_rule root = { .cfa = UNWIND_CFA_ROOT };

static struct unwind_rule sp_rule(int32_t off, enum unwind_ra ra, int16_t ra_off)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
				     .saved = unwind_saved(UNWIND_FP_SAME, ra),
				     .off = ra_off,
				     .cfa_off = off };
}

/* ------------------------------------------------------------------------------------------------
 * Return from signal handlers, and from main
 */

/*
 * A stretch of code that was found: pieces one behind the other, each with the rule for all of it.
 */
struct found {
	const uint8_t *start;
	uint32_t n_pieces;
	struct {
		size_t n;
		struct unwind_rule rule;
	} pieces[3];
};

static bool found_one(const uint8_t *start, size_t n, struct unwind_rule rule, struct found *ret)
{
	*ret = (struct found){ .start = start, .n_pieces = 1, .pieces = { { n, rule } } };
	return true;
}

/* mov $15,%rax; syscall - and the same with %eax, whose bytes are the end of the former's */
static const uint8_t x86_long[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
static const uint8_t x86_short[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };
/* mov x8, #139; svc #0 */
static const uint8_t arm64_code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

static bool begins(const uint8_t *code, size_t n, const uint8_t *with, size_t n_with)
{
	return n >= n_with && !memcmp(code, with, n_with);
}

static struct unwind_rule signal_rule(uint16_t machine)
{
	bool arm64 = machine == EM_AARCH64;

	return (struct unwind_rule){
		.cfa = UNWIND_CFA_SIGNAL,
		.off = arm64 ? UNWIND_ARM64_SIGNAL_FP : UNWIND_X86_SIGNAL_FP,
		.cfa_off = arm64 ? UNWIND_ARM64_SIGNAL_SP : UNWIND_X86_SIGNAL_SP,
	};
}

/* Bytes of sigreturn code at the start of `code`, or 0. */
static size_t sigreturn_bytes(uint16_t machine, const uint8_t *code, size_t n)
{
	if (machine == EM_AARCH64)
		return begins(code, n, arm64_code, sizeof(arm64_code)) ? sizeof(arm64_code) : 0;
	if (begins(code, n, x86_long, sizeof(x86_long)))
		return sizeof(x86_long);
	return begins(code, n, x86_short, sizeof(x86_short)) ? sizeof(x86_short) : 0;
}

bool stubs__is_sigreturn(const struct image *im, uint64_t vaddr, struct unwind_rule *ret_rule)
{
	/* glibc's description begins a byte before its code, the arm64 vDSO's a nop. */
	unsigned skip = im->machine == EM_AARCH64 ? 4 : 1;
	uint8_t code[sizeof(x86_long) + 4];

	if (image__read(im, vaddr, code, sizeof(x86_long) + skip))
		return false;
	if (!sigreturn_bytes(im->machine, code, sizeof(x86_long)) &&
	    !sigreturn_bytes(im->machine, code + skip, sizeof(x86_long)))
		return false;
	*ret_rule = signal_rule(im->machine);
	return true;
}

bool stubs__is_context_end(const struct image *im, uint64_t vaddr, uint64_t n, struct unwind_rule *ret_rule)
{
	/* mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi */
	static const uint8_t next_context[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b,
						0x3c, 0x24, 0x48, 0x85, 0xff };
	uint8_t code[CONTEXT_END_MAX];

	if (im->machine != EM_X86_64 || n > sizeof(code) || n < sizeof(next_context) ||
	    image__read(im, vaddr, code, n) || !memmem(code, n, next_context, sizeof(next_context)))
		return false;
	*ret_rule = (struct unwind_rule){ .cfa = UNWIND_CFA_ROOT, .cfa_off = 1 };
	return true;
}

/*
 * Where sigreturn code begins at or behind `code`, and how long it is; NULL: not in these n bytes.
 */
static bool find_sigreturn(uint16_t machine, const uint8_t *code, size_t n, struct found *ret)
{
	bool arm64 = machine == EM_AARCH64;
	/* What both of x86's have: the number, and syscall. */
	const uint8_t *needle = arm64 ? arm64_code : x86_long + 3, *end = code + n;
	size_t n_needle = arm64 ? sizeof(arm64_code) : sizeof(x86_long) - 3, before = arm64 ? 0 : 3;

	for (const uint8_t *at = code; (at = memmem(at, (size_t)(end - at), needle, n_needle)); at++) {
		for (size_t i = before + 1; i-- > 0;) {
			size_t n_found = (size_t)(at - code) < i
						 ? 0
						 : sigreturn_bytes(machine, at - i,
								   (size_t)(end - at) + i);

			if (n_found)
				return found_one(at - i, n_found, signal_rule(machine), ret);
		}
	}
	return false;
}

/* call *%reg; mov %eax,%edi; call: exit(main(...)) of musl, above whose frame there is no more. */
static bool find_exit_of_main(uint16_t machine, const uint8_t *code, size_t n, struct found *ret)
{
	const uint8_t needle[] = { 0x89, 0xc7, 0xe8 }, *end = code + n;
	const size_t n_call = 2, n_exit = 7;

	if (machine != EM_X86_64)
		return false;
	for (const uint8_t *at = code;
	     (at = memmem(at, (size_t)(end - at), needle, sizeof(needle))); at++) {
		if ((size_t)(at - code) < n_call || (size_t)(end - at) < n_exit || at[-2] != 0xff ||
		    (at[-1] & 0xf8) != 0xd0)
			continue;
		return found_one(at - n_call, n_call + n_exit, root, ret);
	}
	return false;
}

/* Is [at, end) where mov 8(%reg),%rdi; call *(%reg) ends? How long that is, or 0. */
static size_t call_with_argument(const uint8_t *code, const uint8_t *at)
{
	size_t n_call = 2, n;

	if (at - code < 6 || at[-2] != 0xff || (at[-1] & 0xf8) != 0x10 || (at[-1] & 7) == 4 ||
	    (at[-1] & 7) == 5)
		return 0;
	if (at[-3] == 0x41) /* %r8 and up */
		n_call++;
	n = n_call + 4;
	at -= n;
	return at >= code && (at[0] & 0xfe) == 0x48 && at[1] == 0x8b && (at[2] & 0xf8) == 0x78 &&
			       at[3] == 8
		       ? n
		       : 0;
}

/*
 * mov 8(%reg),%rdi; call *(%reg); mov %rax,%rdi or movslq %eax,%rdi; call: pthread_exit(start(arg))
 * of musl, above whose frame there is none but clone's.
 */
static bool find_thread_start(uint16_t machine, const uint8_t *code, size_t n, struct found *ret)
{
	const uint8_t *end = code + n;
	const size_t n_exit = 8;

	if (machine != EM_X86_64)
		return false;
	for (const uint8_t *at = code; (at = memchr(at, 0x48, (size_t)(end - at))); at++) {
		size_t n_call;

		if ((size_t)(end - at) < n_exit || at[3] != 0xe8 ||
		    !((at[1] == 0x89 && at[2] == 0xc7) || (at[1] == 0x63 && at[2] == 0xf8)))
			continue;
		n_call = call_with_argument(code, at);
		if (n_call)
			return found_one(at - n_call, n_call + n_exit, root, ret);
	}
	return false;
}

/*
 * xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall: where musl's clone()
 * begins a thread, and ends it.
 */
static bool find_clone(uint16_t machine, const uint8_t *code, size_t n, struct found *ret)
{
	static const uint8_t clone[] = { 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89,
					 0xc7, 0x31, 0xc0, 0xb0, 60,   0x0f, 0x05 };
	const uint8_t *at = machine == EM_X86_64 ? memmem(code, n, clone, sizeof(clone)) : NULL;

	return at && found_one(at, sizeof(clone), root, ret);
}

/* What gcc's crtbegin.o brings into each program and library: four functions in a row. */
struct crt {
	const uint8_t *first; /* deregister_tm_clones */
	const uint8_t *pushed; /* behind the push of __do_global_dtors_aux, the one that has a frame */
	const uint8_t *popped; /* behind its pop */
	const uint8_t *end;    /* behind its second ret, or behind frame_dummy */
};

static int32_t jump32(const uint8_t *p)
{
	return (int32_t)le__get32(p);
}

/* Behind the jump of frame_dummy into the first functions; `at` when there is none near. */
static const uint8_t *frame_dummy_end(const struct crt *crt, const uint8_t *at, const uint8_t *end)
{
	for (const uint8_t *p = at; p < at + 2 * PLT_ENTRY && end - p >= 2; p++) {
		size_t n = p[0] == 0xeb ? 2 : p[0] == 0xe9 && end - p >= 5 ? 5 : 0;
		int64_t to = p + n - crt->first;

		if (n == 0)
			continue;
		to += n == 2 ? (int8_t)p[1] : jump32(p + 1);
		if (to > 0 && to < crt->pushed - crt->first)
			return p + n;
	}
	return at;
}

/* The push of %rbp behind cmpb $0,completed; jne, before `call`: NULL when there is none near. */
static const uint8_t *find_push(const uint8_t *call)
{
	for (const uint8_t *p = call; p > call - CRT_FRAME; p--)
		if (p[0] == 0x55 && p[-2] == 0x75 && p[-3] == 0 && p[-9] == 0x80 && p[-8] == 0x3d)
			return p;
	return NULL;
}

/*
 * cmpb $0,completed; jne 1f; push %rbp; ..; call deregister_tm_clones; movb $1,completed; pop %rbp;
 * ret; 1: ret. `mark` is the last byte of the movb.
 */
static bool read_crt(const uint8_t *code, const uint8_t *end, const uint8_t *mark, struct crt *ret)
{
	const uint8_t *set = mark - 6, *call = set - 5, *push, *out;
	int64_t first;

	if (mark - code < CRT_FRAME + 32 || set[0] != 0xc6 || set[1] != 0x05 || call[0] != 0xe8)
		return false;
	push = find_push(call);
	first = (set - code) + (int64_t)jump32(call + 1);
	if (!push || first < 0 || first >= push - code || push - code - first > CRT_FRONT)
		return false;
	out = push + (int8_t)push[-1];
	if (out < mark + 3 || end - out < 1 || *out != 0xc3)
		return false;
	*ret = (struct crt){ .first = code + first, .pushed = push + 1, .popped = mark + 2 };
	ret->end = frame_dummy_end(ret, out + 1, end);
	return true;
}

/*
 * Around the push and the pop there is a return address on the stack, between them two words more.
 */
static struct found found_crt(const struct crt *crt)
{
	const struct unwind_rule plain = sp_rule(8, UNWIND_RA_WORD, 0);
	const struct unwind_rule pushed_fp = { .cfa = UNWIND_CFA_SP,
					       .saved = unwind_saved(UNWIND_FP_CFA, UNWIND_RA_WORD),
					       .off = -16,
					       .cfa_off = 16 };

	return (struct found){
		.start = crt->first,
		.n_pieces = 3,
		.pieces = { { (size_t)(crt->pushed - crt->first), plain },
			    { (size_t)(crt->popped - crt->pushed), pushed_fp },
			    { (size_t)(crt->end - crt->popped), plain } },
	};
}

static bool find_crt(uint16_t machine, const uint8_t *code, size_t n, struct found *ret)
{
	const uint8_t needle[] = { 0x01, 0x5d, 0xc3 }, *end = code + n;
	struct crt crt;

	if (machine != EM_X86_64)
		return false;
	for (const uint8_t *at = code; (at = memmem(at, (size_t)(end - at), needle, sizeof(needle))); at++)
		if (read_crt(code, end, at, &crt)) {
			*ret = found_crt(&crt);
			return true;
		}
	return false;
}

/* The first code of a shape; false: none is there. */
typedef bool find_fn(uint16_t machine, const uint8_t *code, size_t n, struct found *ret);

/* Adds what was found, at `at`; its end is where the search goes on. */
static int add_found(struct build *b, const struct found *found, uint32_t at, uint32_t *ret_end)
{
	int rc = 0;

	for (uint32_t i = 0; i < found->n_pieces && !rc; i++) {
		uint32_t end = at + (uint32_t)found->pieces[i].n;

		rc = build__plain(b, at, end, found->pieces[i].rule);
		at = end;
	}
	*ret_end = at;
	return rc;
}

/* Code of that shape in [start, end), which is not covered, and more than padding. */
static int scan(struct build *b, find_fn *find, uint8_t *code, uint32_t start, uint32_t end)
{
	if (end - start <= PADDING)
		return 0;
	while (end - start >= sizeof(x86_long)) {
		size_t n = end - start < SCAN_AT_ONCE ? end - start : SCAN_AT_ONCE;
		struct found found;

		if (image__read(b->image, b->base + start, code, n))
			return b->image->work->error;
		if (find(b->image->machine, code, n, &found)) {
			int rc = add_found(b, &found, start + (uint32_t)(found.start - code), &start);

			if (rc)
				return rc;
		} else {
			start += n < SCAN_AT_ONCE ? (uint32_t)n : (uint32_t)(n - SCAN_OVERLAP);
		}
	}
	return 0;
}

static uint64_t uncovered(const struct build *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->image->n_segments; i++)
		if (b->image->segments[i].executable)
			n += b->image->segments[i].file_bytes;
	for (size_t i = 0; i < b->table.n; i++)
		n -= b->table.v[i].end - b->table.v[i].start;
	return n;
}

/* Code of that shape wherever the table has nothing. */
static int scan_gaps(struct build *b, find_fn *find, uint8_t *code)
{
	int rc = 0;

	for (uint32_t i = 0; i < b->image->n_segments && !rc; i++) {
		const struct image_segment *s = &b->image->segments[i];
		uint32_t at, end;

		if (!s->executable || !build__range(b, s->vaddr, s->file_bytes, &at, &end))
			continue;
		for (size_t k = build__first(b, at); k < b->table.n && !rc; k++) {
			const struct build_stretch *t = &b->table.v[k];

			if (t->start >= end)
				break;
			rc = build__tick(b);
			if (!rc && t->start > at)
				rc = scan(b, find, code, at, t->start);
			at = t->end;
		}
		if (!rc && at < end)
			rc = scan(b, find, code, at, end);
	}
	return rc;
}

static int add_shapes(struct build *b)
{
	find_fn *const shapes[] = { find_sigreturn, find_exit_of_main, find_thread_start,
				    find_clone, find_crt };
	CLEANUP(mem__freep) uint8_t *code = NULL;
	int rc = 0;

	if (uncovered(b) > SCAN_BYTES)
		return 0;
	code = malloc(SCAN_AT_ONCE);
	if (!code)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]) && !rc; i++)
		rc = scan_gaps(b, shapes[i], code);
	return rc;
}

/* ------------------------------------------------------------------------------------------------
 * Procedure linkage tables
 */

/* Where in a lazy stub of x86-64 the push has been done, or 0: it pushes nothing. */
static uint8_t push_done(const uint8_t *stub)
{
	if (stub[0] == 0xff && stub[1] == 0x25 && stub[6] == 0x68) /* jmp *GOT; push; jmp */
		return 11;
	if (begins(stub, PLT_ENTRY, (const uint8_t[]){ 0xf3, 0x0f, 0x1e, 0xfa, 0x68 }, 5))
		return 9; /* endbr64; push; jmp */
	return stub[0] == 0x68 ? 5 : 0;
}

static int x86_plt(struct build *b, uint64_t vaddr, uint32_t start, uint32_t end)
{
	uint8_t code[2 * PLT_ENTRY] = { 0 };
	uint32_t first = (uint32_t)b->rows.n;
	struct unwind_rule entry = sp_rule(8, UNWIND_RA_WORD, 0);
	int rc;

	/* push GOT[1]; jmp *GOT[2]: entered with the return address and an index on the stack */
	if (image__read(b->image, vaddr, code, sizeof(code)) || code[0] != 0xff ||
	    code[1] != 0x35 || vaddr % PLT_ENTRY)
		return build__plain(b, start, end, entry);
	if (push_done(code + PLT_ENTRY)) {
		entry.cfa = UNWIND_CFA_PLT;
		entry.cfa_off = push_done(code + PLT_ENTRY);
	}
	rc = build__row(b, start, sp_rule(16, UNWIND_RA_WORD, 0));
	if (!rc)
		rc = build__row(b, start + 6, sp_rule(24, UNWIND_RA_WORD, 0));
	if (!rc)
		rc = build__row(b, start + PLT_ENTRY, entry);
	return rc ? rc : build__stretch(b, start, end, first);
}

static int arm64_plt(struct build *b, uint64_t vaddr, uint32_t start, uint32_t end)
{
	const uint8_t stp[] = { 0xf0, 0x7b, 0xbf, 0xa9 }; /* stp x16, x30, [sp, #-16]! */
	struct unwind_rule leaf = sp_rule(0, UNWIND_RA_LINK, 0);
	uint32_t first = (uint32_t)b->rows.n, pushed;
	uint8_t code[8] = { 0 };
	int rc;

	image__read(b->image, vaddr, code, sizeof(code));
	pushed = begins(code, 4, stp, 4) ? 4 : begins(code + 4, 4, stp, 4) ? 8 : 0;
	rc = build__row(b, start, leaf);
	if (!rc && pushed)
		rc = build__row(b, start + pushed, sp_rule(16, UNWIND_RA_OFF, -8));
	if (!rc && pushed)
		rc = build__row(b, start + ARM64_PLT_HEAD, leaf);
	return rc ? rc : build__stretch(b, start, end, first);
}

static int add_plts(struct build *b)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	int rc = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rc; i++) {
		const struct image_section *s = image__section(b->image, names[i]);
		uint32_t start, end;

		if (!s || !(s->flags & SHF_EXECINSTR) ||
		    !build__range(b, s->vaddr, s->bytes, &start, &end))
			continue;
		rc = b->image->machine == EM_AARCH64 ? arm64_plt(b, s->vaddr, start, end)
						     : x86_plt(b, s->vaddr, start, end);
	}
	return rc;
}

/* ------------------------------------------------------------------------------------------------
 * Entry point
 */

/*
 * Bytes of the code at an entry point, up to behind the call that never returns, or the jump by which glibc's loader leaves for
 * the program, after it has called constructors from there; 0: not found.
 */
static uint32_t x86_entry_bytes(const uint8_t *code)
{
	const uint8_t align[] = { 0x48, 0x83, 0xe4, 0xf0 }; /* and $-16,%rsp */
	const uint8_t leave[] = { 0x41, 0xff, 0xe4 };	    /* jmp *%r12 */
	const uint8_t *found = memmem(code, ENTRY_BYTES - 8, align, sizeof(align)),
		      *end = code + ENTRY_BYTES, *last;

	if (!found)
		return 0;
	found += sizeof(align);
	if (found[0] == 0xe8) /* call */
		return (uint32_t)(found + 5 - code);
	if (found[0] == 0xff && found[1] == 0x15) /* call *GOT */
		return (uint32_t)(found + 6 - code);
	last = memmem(found, (size_t)(end - found), leave, sizeof(leave));
	if (last)
		return (uint32_t)(last + sizeof(leave) - code);
	last = memchr(found, 0xf4, (size_t)(end - found)); /* hlt */
	return last ? (uint32_t)(last + 1 - code) : 0;
}

static uint32_t arm64_entry_bytes(const uint8_t *code)
{
	for (uint32_t i = 0; i < ENTRY_BYTES; i += 4)
		if ((code[i + 3] & 0xfc) == 0x94) /* bl */
			return i + 4;
	return 0;
}

static int add_entry(struct build *b)
{
	uint64_t vaddr = b->image->entry;
	uint8_t code[ENTRY_BYTES] = { 0 };
	uint32_t start, end, n;

	if (!build__range(b, vaddr, ENTRY_BYTES, &start, &end) || build__find(b, start) ||
	    image__read(b->image, vaddr, code, end - start))
		return 0;
	n = b->image->machine == EM_AARCH64 ? arm64_entry_bytes(code) : x86_entry_bytes(code);
	n = n ? n : ENTRY_DEFAULT;
	return build__plain(b, start, start + n < end ? start + n : end, root);
}

/*
 * .init or .fini: one function, whose ends are in crti.o and crtn.o. glibc's moves the stack
 * pointer, musl's pushes and pops.
 */
static int add_init(struct build *b, const char *name)
{
	const struct image_section *s = image__section(b->image, name);
	const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t sub[] = { 0x48, 0x83, 0xec, 0x08 }, add[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	uint8_t code[INIT_MAX];
	uint32_t start, end, enter = 0, leave, first = (uint32_t)b->rows.n;
	int rc;

	if (!s || b->image->machine != EM_X86_64 || s->bytes > sizeof(code) || s->bytes < 3 ||
	    !build__range(b, s->vaddr, s->bytes, &start, &end) ||
	    image__read(b->image, s->vaddr, code, s->bytes))
		return 0;
	if (begins(code, s->bytes, endbr, sizeof(endbr)))
		enter = sizeof(endbr);
	leave = (uint32_t)s->bytes - 1;
	if (begins(code + enter, s->bytes - enter, sub, sizeof(sub)) &&
	    s->bytes >= enter + sizeof(sub) + sizeof(add) &&
	    !memcmp(code + s->bytes - sizeof(add), add, sizeof(add)))
		enter += sizeof(sub);
	else if (code[enter] == 0x50 && code[leave - 1] == 0x58 && code[leave] == 0xc3)
		enter++;
	else
		return 0;
	rc = build__row(b, start, sp_rule(8, UNWIND_RA_WORD, 0));
	if (!rc)
		rc = build__row(b, start + enter, sp_rule(16, UNWIND_RA_WORD, 0));
	if (!rc)
		rc = build__row(b, start + leave, sp_rule(8, UNWIND_RA_WORD, 0));
	return rc ? rc : build__stretch(b, start, end, first);
}

int stubs__add(struct build *b)
{
	int rc = add_plts(b);

	if (!rc)
		rc = add_init(b, ".init");
	if (!rc)
		rc = add_init(b, ".fini");
	if (!rc)
		rc = add_entry(b);
	return rc ? rc : add_shapes(b);
}
