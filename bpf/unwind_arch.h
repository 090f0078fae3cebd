/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/unwind_arch.h - what unwinding must know of a processor: register numbers, the signal frame
 *
 * DWARF register numbers from the psABIs: x86-64 System V ABI 3.6.2; DWARF for the Arm 64-bit
 * Architecture 4.1. Signal frames as the kernel writes them
 * (arch/x86/include/uapi/asm/sigcontext.h, arch/arm64/include/uapi/asm/sigcontext.h), offsets from
 * sp in the trampoline, that is, after the handler returned. Both processors' constants are always
 * there, because tables of one are made and tested on the other.
 */
#ifndef DECIMA_BPF_UNWIND_ARCH_H
#define DECIMA_BPF_UNWIND_ARCH_H

enum unwind_x86 {
	UNWIND_X86_RCX = 2,
	UNWIND_X86_RBX = 3,
	UNWIND_X86_FP = 6,	    /* rbp */
	UNWIND_X86_SP = 7,	    /* rsp */
	UNWIND_X86_RA = 16,	    /* the column of the return address */
	UNWIND_X86_REGS = 16,	    /* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
	UNWIND_X86_SIGNAL_SP = 160, /* of struct ucontext at sp; pc is the next word */
	UNWIND_X86_SIGNAL_FP = 120,
	UNWIND_X86_SIGNAL_RBX = 128,
};

/* Where register n of the interrupted code lies in the signal frame. */
#define UNWIND_X86_SIGNAL_REGS                                                                     \
	{                                                                                          \
		144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96             \
	}

enum unwind_arm64 {
	UNWIND_ARM64_FP = 29,
	UNWIND_ARM64_LINK = 30,
	UNWIND_ARM64_SP = 31,
	UNWIND_ARM64_REGS = 32,		/* x0 ... x30, sp */
	UNWIND_ARM64_SIGNAL_REGS = 312, /* siginfo 128, up to regs of ucontext 184; 8 bytes each */
	UNWIND_ARM64_SIGNAL_FP = 312 + 8 * 29,
	UNWIND_ARM64_SIGNAL_LINK = 312 + 8 * 30,
	UNWIND_ARM64_SIGNAL_SP = 312 + 8 * 31, /* pc is the next word */
};

#endif
