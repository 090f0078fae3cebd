/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/golang.h - rules for Go's functions, from the runtime's own table
 *
 * Go's compiler writes no .eh_frame, and the .debug_frame it writes lacks the frame pointer and
 * goes with stripping. But every program has .gopclntab, in which each function has a table of its
 * frame size by pc. With it, leaf functions that set up no frame are exact, too, where a walk of
 * frame pointers skips their caller.
 */
#ifndef DECIMA_EBPF_UNWIND_GOLANG_H
#define DECIMA_EBPF_UNWIND_GOLANG_H

#include "plugins/input/ebpf/unwind/build.h"

/*
 * Adds the functions to the layer. 0 with *ret_found: whether there is a table that can be read (Go
 * 1.18 and later; of other versions the code counts as without description), or as
 * unwind__compile().
 */
int golang__add(struct build *b, bool *ret_found);

#endif
