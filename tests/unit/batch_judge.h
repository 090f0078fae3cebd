/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/batch_judge.h - finds what is wrong with a batch
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

#endif
