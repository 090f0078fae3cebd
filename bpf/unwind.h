/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/unwind.h - how to get from a frame to its caller: one rule of eight bytes per stretch of code
 *
 * plugins/input/ebpf/unwind compiles an ELF file's call frame information into rows (address,
 * rule); a step function, in BPF or native, looks up the row of a program counter and does what its
 * rule says. The state that a step reads and writes is
 *
 *	pc, sp, fp	program counter, stack pointer, frame pointer (x86-64: rbp, arm64: x29)
 *	interrupted	true for the innermost frame, and for one that a signal interrupted: its
 *			pc is the next instruction to run, and the other registers are known, from the
 *			interrupt's registers or from the signal frame on the stack
 *
 * and a step is:
 *
 *	1. rule = the row that covers (interrupted ? pc : pc - 1). A caller's pc is a return address,
 *	   which may lie behind the last instruction of its function. (The compiler lets the rows of
 *	   functions that are only ever "returned" to, such as the signal trampoline, begin a byte early.)
 *	2. by rule.cfa: the canonical frame address (`enum unwind_cfa`), or the end of the walk
 *	3. by the two halves of rule.saved: the caller's fp and pc (`enum unwind_fp`, `enum unwind_ra`)
 *	4. sp = the canonical frame address; interrupted = rule.cfa is UNWIND_CFA_SIGNAL
 *
 * All stack slots are 8 bytes wide, addresses are computed modulo 2^64. A rule that needs a
 * register other than sp and fp, or the link register, holds in interrupted frames only: in any
 * other frame the walk ends there with a reason of its own. But for one: x86's rbx, which the
 * callee saves, and by which glibc's lazy resolver and its like find their frames. In files with
 * such code each rule says where the caller's rbx is (UNWIND_RA_RBX); elsewhere no rule does, and
 * rbx counts as lost, so that all other files' rules stay as few as they are. A step must check
 * that the frame address grows, by at least a word, unless the frame was interrupted (then it may
 * stay, where nothing was pushed) or the rule is UNWIND_CFA_SIGNAL or UNWIND_CFA_FP_SWITCH (another
 * stack may lie anywhere).
 *
 * Registers have their DWARF numbers. bpf/unwind_arch.h holds what differs between processors. Both
 * sides are built from this file; the table cache on disk has a version for it (unwind/cache.h).
 *
 * Includers bring __u8, __s16, __u16, __s32 (linux/types.h).
 */
#ifndef DECIMA_BPF_UNWIND_H
#define DECIMA_BPF_UNWIND_H

struct unwind_rule {
	__u8 cfa;   /* enum unwind_cfa; UNWIND_CFA_REG or UNWIND_CFA_REG_DEREF plus a register */
	__u8 saved; /* enum unwind_fp | enum unwind_ra << 4; 0 where the walk ends */
	__s16 off; /* of the saved fp; where fp has no offset, of the return address; or a register */
	__s32 cfa_off;
};

enum unwind_cfa {
	/* The walk ends. The rule of index 0 in each dictionary is all zeroes: UNWIND_CFA_NONE. */
	UNWIND_CFA_NONE = 0, /* no code here, as far as the file says */
	UNWIND_CFA_ROOT = 1, /* no caller: complete. cfa_off: 1 where nothing called it, only returned to it */
	UNWIND_CFA_STOP = 2, /* goes on another stack that cannot be found; cfa_off: enum unwind_stop */
	UNWIND_CFA_UNSUPPORTED = 3, /* described, not by a rule of ours; cfa_off: enum unwind_gap */
	/*
	 * Code without a description: frame = fp + cfa_off (two words), fp = *(fp), pc = *(fp + 8).
	 * A guess that the step checks (the frame record lies above sp and not far, pc is code),
	 * and that does not hold in an interrupted frame's prologue and epilogue.
	 */
	UNWIND_CFA_FRAME_POINTER = 4,
	/* The same in so much code together that somebody writes it so, as V8 does its builtins: no guess. */
	UNWIND_CFA_FRAME_RECORDS = 5,
	/* Code without a description that makes no frame record: the frame pointer is not its own. */
	UNWIND_CFA_FRAMELESS = 6,

	UNWIND_CFA_SP = 8,	   /* sp + cfa_off */
	UNWIND_CFA_FP = 9,	   /* fp + cfa_off */
	UNWIND_CFA_FP_SWITCH = 10, /* fp + cfa_off, which is on another stack than sp */
	/* *(register + low) + high, cfa_off packed by unwind_deref(): realigned stacks. */
	UNWIND_CFA_SP_DEREF = 11,
	UNWIND_CFA_FP_DEREF = 12,
	/* sp + 8, and 8 more when (pc & 15) >= cfa_off: a PLT, whose stubs of 16 bytes push once */
	UNWIND_CFA_PLT = 13,
	/*
	 * The kernel's signal frame: sp of the interrupted code at *(sp + cfa_off), its pc in the
	 * next word, its fp at *(sp + off), all others at unwind_arch.h's offsets. `saved` says
	 * nothing.
	 */
	UNWIND_CFA_SIGNAL = 14,

	UNWIND_CFA_REG = 0x40,	     /* + n, n < 0x40: register n + cfa_off */
	UNWIND_CFA_REG_DEREF = 0x80, /* + n: *(register n + low) + high */
};

/* The caller's fp. `cfa` is the frame address just found, `fp` the state before the step. */
enum unwind_fp {
	UNWIND_FP_SAME = 0,  /* fp */
	UNWIND_FP_CFA = 1,   /* *(cfa + off) */
	UNWIND_FP_FP = 2,    /* *(fp + off) */
	UNWIND_FP_VALUE = 3, /* cfa + off */
	UNWIND_FP_REG = 4,   /* register `off` */
	UNWIND_FP_LOST = 5,  /* not known: a later rule that needs it ends the walk */
	UNWIND_FP_SP = 6,    /* *(sp + off), sp before the step */
};

/* The caller's pc. */
enum unwind_ra {
	UNWIND_RA_WORD = 0, /* *(cfa - 8): all of x86 but a few lines of assembler */
	UNWIND_RA_LINK = 1, /* the link register: a leaf of arm64 */
	UNWIND_RA_PAIR = 2, /* the word above the saved fp, wherever UNWIND_FP_{CFA,FP,SP} has that */
	UNWIND_RA_OFF = 3, /* *(cfa + off), where fp is UNWIND_FP_SAME or _LOST */
	UNWIND_RA_REG = 4, /* register `off`, where fp is UNWIND_FP_SAME or _LOST */
	/*
	 * + n: as UNWIND_RA_WORD, and the caller's rbx is what it was (n = UNWIND_RBX_SAME) or at
	 * *(cfa - 8 * n). Where neither holds, or the return address lies elsewhere, rbx is lost.
	 */
	UNWIND_RA_RBX = 8,
};

/*
 * The n of UNWIND_RA_RBX; a function that pushes all six registers which it must keep pushes rbx
 * last.
 */
enum unwind_rbx { UNWIND_RBX_SAME = 1, UNWIND_RBX_NEAREST = 2, UNWIND_RBX_FARTHEST = 7 };

/* Why a walk ends at UNWIND_CFA_STOP. X(NAME, metric name, text). */
#define UNWIND_STOPS(X)                                                                            \
	X(GO_SWITCH, "go_stack_switch", "Go runtime switched stacks")                              \
	X(GO_CALLBACK, "go_callback", "called from Go through cgo")

enum unwind_stop {
#define UNWIND_X(name, metric, text) UNWIND_STOP_##name,
	UNWIND_STOPS(UNWIND_X)
#undef UNWIND_X
		UNWIND_STOP_N
};

/*
 * What a file's description holds that rules do not express. FP_* and RBX_PLACE rows lose a
 * register; AUGMENTATION, OUTSIDE and a DAMAGED entry leave a function without description; UNJUDGED code
 * never had one, and gets UNWIND_CFA_FRAMELESS; all else, and instructions that are DAMAGED, makes rows
 * UNWIND_CFA_UNSUPPORTED. X(NAME, metric name, text).
 */
#define UNWIND_GAPS(X)                                                                             \
	X(CFA_EXPRESSION, "cfa_expression", "frame address by an unknown expression")              \
	X(CFA_REGISTER, "cfa_register", "frame address by a register without a number of ours")    \
	X(CFA_OFFSET, "cfa_offset", "frame address by an offset out of range")                     \
	X(CFA_MISSING, "cfa_missing", "no rule for the frame address")                             \
	X(RA_EXPRESSION, "ra_expression", "return address by an unknown expression")               \
	X(RA_PLACE, "ra_place", "return address in an unusual place")                              \
	X(SIGNAL, "signal_frame", "signal frame of an unknown shape")                              \
	X(RULES, "rules", "more distinct rules than a dictionary holds")                           \
	X(FP_EXPRESSION, "fp_expression", "frame pointer by an unknown expression")                \
	X(FP_PLACE, "fp_place", "frame pointer in an unusual place")                               \
	X(RBX_PLACE, "rbx_place", "rbx, which the file's frames need, in an unusual place")        \
	X(OPCODE, "opcode", "unknown call frame instruction")                                      \
	X(STATES, "states", "remembered states nested too deep, or restored without one")          \
	X(AUGMENTATION, "augmentation", "unknown augmentation, version or pointer encoding")       \
	X(DAMAGED, "damaged", "description cut off, or beyond its section")                        \
	X(OUTSIDE, "outside", "description of code that no segment holds")                         \
	X(UNJUDGED, "unjudged", "code without a description, more than is looked at")

enum unwind_gap {
#define UNWIND_X(name, metric, text) UNWIND_GAP_##name,
	UNWIND_GAPS(UNWIND_X)
#undef UNWIND_X
		UNWIND_GAP_N
};

/* cfa_off of the DEREF rules: both offsets are 16 bits wide, with a sign. */
#define unwind_deref(low, high)	   ((__s32)((__u32)(__u16)(low) | (__u32)(__u16)(high) << 16))
#define unwind_deref_low(cfa_off)  ((__s16)(__u16)((__u32)(cfa_off)))
#define unwind_deref_high(cfa_off) ((__s16)(__u16)((__u32)(cfa_off) >> 16))

#define unwind_saved(fp, ra)   ((__u8)((fp) | (ra) << 4))
#define unwind_saved_fp(saved) ((saved)&15u)
#define unwind_saved_ra(saved) ((saved) >> 4)

#endif
