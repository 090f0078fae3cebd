/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/arch.bpf.h - all that the stack walk knows about a processor
 *
 * Registers of the interrupted code, how a frame record lies in memory, and what the instruction at
 * the leaf says about where the return address is. The step in sampler.bpf.c is the same for all.
 */
#ifndef DECIMA_BPF_ARCH_H
#define DECIMA_BPF_ARCH_H

/*
 * Where the leaf's return address is, when the frame record of the leaf does not exist (yet, or any
 * more).
 */
enum arch_leaf {
	ARCH_LEAF_FRAME,   /* in the frame record, as everywhere else */
	ARCH_LEAF_AT_SP,   /* at the stack pointer */
	ARCH_LEAF_PAST_SP, /* one word above the stack pointer */
};

#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)

#define ARCH_ADDRESS_MAX 0x00ffffffffffffffull /* 57-bit paging */
#define ARCH_CODE_BYTES	 8u
#define ARCH_CODE_BEFORE 1u /* how many of these lie before the program counter */
/* 16 KiB; only read before 5.15, where TOP_OF_KERNEL_STACK_PADDING is 0. */
#define ARCH_KERNEL_STACK 16384u

typedef struct pt_regs arch_regs;
#define arch_pc(r)     ((__u64)(r)->rip)
#define arch_sp(r)     ((__u64)(r)->rsp)
#define arch_fp(r)     ((__u64)(r)->rbp)
#define arch_user(r)   (((r)->cs & 3) == 3)
#define arch_compat(r) ((r)->cs == 0x23) /* __USER32_CS */
#define arch_code(ra)  (ra)

#define ARCH_HAS_TABLES 1 /* the step knows this processor's unwind rules */

/* The registers that the walk and arch_compat() need. */
#define arch_copy_regs(to, from)                                                                   \
	({                                                                                         \
		(to)->rip = (from)->rip;                                                           \
		(to)->cs = (from)->cs;                                                             \
		(to)->rax = (from)->rax;                                                           \
		(to)->rdx = (from)->rdx;                                                           \
		(to)->rcx = (from)->rcx;                                                           \
		(to)->rbx = (from)->rbx;                                                           \
		(to)->rsi = (from)->rsi;                                                           \
		(to)->rdi = (from)->rdi;                                                           \
		(to)->rbp = (from)->rbp;                                                           \
		(to)->rsp = (from)->rsp;                                                           \
		(to)->r8 = (from)->r8;                                                             \
		(to)->r9 = (from)->r9;                                                             \
		(to)->r10 = (from)->r10;                                                           \
		(to)->r11 = (from)->r11;                                                           \
		(to)->r12 = (from)->r12;                                                           \
		(to)->r13 = (from)->r13;                                                           \
		(to)->r14 = (from)->r14;                                                           \
		(to)->r15 = (from)->r15;                                                           \
	})

/* Registers 0 to 15 by DWARF number. */
#define arch_dwarf_regs(to, from)                                                                  \
	({                                                                                         \
		(to)[0] = (from)->rax;                                                             \
		(to)[1] = (from)->rdx;                                                             \
		(to)[2] = (from)->rcx;                                                             \
		(to)[3] = (from)->rbx;                                                             \
		(to)[4] = (from)->rsi;                                                             \
		(to)[5] = (from)->rdi;                                                             \
		(to)[6] = (from)->rbp;                                                             \
		(to)[7] = (from)->rsp;                                                             \
		(to)[8] = (from)->r8;                                                              \
		(to)[9] = (from)->r9;                                                              \
		(to)[10] = (from)->r10;                                                            \
		(to)[11] = (from)->r11;                                                            \
		(to)[12] = (from)->r12;                                                            \
		(to)[13] = (from)->r13;                                                            \
		(to)[14] = (from)->r14;                                                            \
		(to)[15] = (from)->r15;                                                            \
	})

/* ret; ret with words to pop; and ret behind a prefix that means nothing to it. */
static __always_inline int arch_is_ret(const __u8 *at)
{
	return (at[0] & 0xfe) == 0xc2 || ((at[0] & 0xfe) == 0xf2 && at[1] == 0xc3);
}

/* mov of the stack pointer to the frame pointer, in either of its two forms: gcc's, and that of HotSpot and CoreCLR. */
static __always_inline int arch_is_record(const __u8 *at)
{
	return (at[0] == 0x89 && at[1] == 0xe5) || (at[0] == 0x8b && at[1] == 0xec);
}

/*
 * code[1] is the byte at the program counter. `ret` finds its address at the stack pointer whatever
 * the code around it does. The other patterns are the standard prologue, endbr64; push %rbp; mov
 * %rsp,%rbp.
 */
static __always_inline enum arch_leaf arch_leaf_rule(const __u8 *code)
{
	if (arch_is_ret(code + 1) || code[1] == 0x55)
		return ARCH_LEAF_AT_SP;
	if (code[1] == 0xf3 && code[2] == 0x0f && code[3] == 0x1e && code[4] == 0xfa && code[5] == 0x55)
		return ARCH_LEAF_AT_SP;
	if (code[0] == 0x55 && code[1] == 0x48 && arch_is_record(code + 2))
		return ARCH_LEAF_PAST_SP;
	return ARCH_LEAF_FRAME;
}

/* The same of 32-bit code, whose words have 4 bytes: endbr32; push %ebp; mov %esp,%ebp. */
static __always_inline enum arch_leaf arch_leaf_rule_compat(const __u8 *code)
{
	if (arch_is_ret(code + 1) || code[1] == 0x55)
		return ARCH_LEAF_AT_SP;
	if (code[1] == 0xf3 && code[2] == 0x0f && code[3] == 0x1e && code[4] == 0xfb && code[5] == 0x55)
		return ARCH_LEAF_AT_SP;
	if (code[0] == 0x55 && arch_is_record(code + 1))
		return ARCH_LEAF_PAST_SP;
	return ARCH_LEAF_FRAME;
}

/*
 * Does a call end where these ARCH_CODE_BYTES of 32-bit code do? call rel32; or ff with 2 in the
 * middle of its second byte, of 2 to 7 bytes by how the address is given.
 */
#define ARCH_CALL_AT(code, n)                                                                      \
	((code)[ARCH_CODE_BYTES - (n)] == 0xff && ((code)[ARCH_CODE_BYTES - (n) + 1] & 0x38) == 0x10)
static __always_inline int arch_is_after_call(const __u8 *code)
{
	return code[ARCH_CODE_BYTES - 5] == 0xe8 || ARCH_CALL_AT(code, 2) || ARCH_CALL_AT(code, 3) ||
	       ARCH_CALL_AT(code, 4) || ARCH_CALL_AT(code, 6) || ARCH_CALL_AT(code, 7);
}

#elif defined(__TARGET_ARCH_arm64) || defined(__aarch64__)

#define ARCH_ADDRESS_MAX  0x000fffffffffffffull /* 52-bit addresses */
#define ARCH_CODE_BYTES	  8u
#define ARCH_CODE_BEFORE  0u
#define ARCH_KERNEL_STACK 16384u
#define ARCH_HAS_TABLES	  0 /* frame pointers only */

typedef struct user_pt_regs arch_regs;
#define arch_pc(r)	  ((__u64)(r)->pc)
#define arch_sp(r)	  ((__u64)(r)->sp)
#define arch_fp(r)	  ((__u64)(r)->regs[29])
#define arch_user(r)	  (((r)->pstate & 0xf) == 0)
#define arch_compat(r)	  (((r)->pstate & 0x10) != 0)
#define arch_code(ra)	  ((ra)&0x0000ffffffffffffull) /* without the pointer authentication code */

#define arch_copy_regs(to, from)                                                                   \
	({                                                                                         \
		(to)->pc = (from)->pc;                                                             \
		(to)->sp = (from)->sp;                                                             \
		(to)->regs[29] = (from)->regs[29];                                                 \
		(to)->pstate = (from)->pstate;                                                     \
	})
#define arch_dwarf_regs(to, from) ((void)(to), (void)(from))

/*
 * The return address of a leaf is in x30 until a frame record exists: the record's walk skips at
 * most one caller.
 */
static __always_inline enum arch_leaf arch_leaf_rule(const __u8 *code)
{
	(void)code;
	return ARCH_LEAF_FRAME;
}
#define arch_leaf_rule_compat	  arch_leaf_rule

static __always_inline int arch_is_after_call(const __u8 *code)
{
	(void)code;
	return 1;
}

#else
#error "the sampler knows x86 and arm64"
#endif

#endif
