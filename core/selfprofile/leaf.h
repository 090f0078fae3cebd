/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/leaf.h - the caller of a function that has made no frame
 */
#ifndef DECIMA_SELFPROFILE_LEAF_H
#define DECIMA_SELFPROFILE_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/selfprofile/objects.h"

/*
 * Was a function interrupted at `pc` before it made its frame, or is it one that makes none (compilers
 * leave it out of small ones that call nobody), so that `word`, which its stack pointer pointed to, is where it
 * returns to? Frame pointers then tell of its caller's caller only. Asks the code itself: true only
 * where a direct call stands right before `word` whose target is a function that `pc` is in and
 * that does not begin with a frame. x86-64; elsewhere always false.
 */
bool leaf__returns_to(const struct objects *o, uint64_t pc, uint64_t word);

#endif
