/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/bare.h - which functions without a description make a frame record
 *
 * A frame pointer is followed through code that nobody describes. Where a function makes no record,
 * the pointer is another function's, perhaps the caller's caller's: a step by it leaves out frames
 * in the middle, and looks right. So such functions get a rule that ends the walk
 * (UNWIND_CFA_FRAMELESS), but for what comes before the stack pointer moves, where the return address
 * is where it points to: compilers make no record in a leaf even when they are told to.
 *
 * A function begins where code without a description calls to, where such code begins with a prologue,
 * and where aligned code that nothing before jumps to follows one that has ended. It makes a record by
 * push %rbp and mov %rsp,%rbp with nothing between them that moves the stack pointer. Not told apart:
 * functions that only pointers lead to, in code that is not aligned (-Os). x86-64 only: on arm64 all
 * code makes records.
 */
#ifndef DECIMA_EBPF_UNWIND_BARE_H
#define DECIMA_EBPF_UNWIND_BARE_H

#include "plugins/input/ebpf/unwind/build.h"

/* Adds rows for what the table does not cover to b->bare: 0, or as unwind__compile(). */
int bare__add(struct build *b);

#endif
