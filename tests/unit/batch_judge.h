/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/batch_judge.h - finds what is wrong with a batch, and tells stacks apart
 */
#ifndef DECIMA_TESTS_UNIT_BATCH_JUDGE_H
#define DECIMA_TESTS_UNIT_BATCH_JUDGE_H

#include <stdbool.h>

#include <decima/plugin.h>

/*
 * The first fault of a batch against the rules of plugin.h and builder.h, found by walking it
 * without any of the code that made it; NULL when there is none. Overlays may be judged too, when
 * `overlay` is true: equal entries are then allowed. The text is static, valid until the next call.
 */
const char *batch_judge__fault(const struct dcm_batch *b, bool overlay);

/* Has stack `of_a` of one batch the content hash of stack `of_b` of the other? */
bool batch_judge__same_stack(const struct dcm_batch *a, uint32_t of_a, const struct dcm_batch *b,
			     uint32_t of_b);

#endif
