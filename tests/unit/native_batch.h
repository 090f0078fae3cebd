/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/native_batch.h - one stack of native frames, for what gives them names
 */
#ifndef DECIMA_TESTS_UNIT_NATIVE_BATCH_H
#define DECIMA_TESTS_UNIT_NATIVE_BATCH_H

#include <stdint.h>

#include <decima/plugin.h>

/* One profile with one row: the stack of these locations. What fails fails the test. */
struct dcm_batch *native_batch__seal(struct dcm_builder *b, const uint32_t *locations, uint32_t n);
/* Such a batch, of frames in one file at these addresses, as the file's ELF headers count them. */
struct dcm_batch *native_batch__of(const char *file, const char *build_id,
				   const uint64_t *addresses, uint32_t n);

#endif
