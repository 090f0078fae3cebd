/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/stubs.h - code without CFI whose shape is known
 *
 * Procedure linkage tables (lld writes no CFI for them, and nobody on arm64), the entry point of C
 * libraries other than glibc, the calls of main and of threads' first functions in musl, the code
 * that returns from signal handlers in musl and the arm64 vDSO, and what crti.o, crtbegin.o and crtn.o bring into every program.
 */
#ifndef DECIMA_EBPF_UNWIND_STUBS_H
#define DECIMA_EBPF_UNWIND_STUBS_H

#include "plugins/input/ebpf/unwind/build.h"

/*
 * True when the code at an address, or at the next instruction, calls sigreturn and no more: the
 * rule is then the processor's UNWIND_CFA_SIGNAL.
 */
bool stubs__is_sigreturn(const struct image *im, uint64_t vaddr, struct unwind_rule *ret_rule);

/*
 * True when the code [vaddr, vaddr + n) is where glibc's coroutines (makecontext(3)) return to when
 * they end. Its description takes what lies above on that stack for a return address.
 */
bool stubs__is_context_end(const struct image *im, uint64_t vaddr, uint64_t n,
			   struct unwind_rule *ret_rule);

/* Adds what the table does not cover to the layer: 0, or as unwind__compile(). */
int stubs__add(struct build *b);

#endif
