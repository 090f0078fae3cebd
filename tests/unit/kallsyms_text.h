/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/kallsyms_text.h - /proc/kallsyms and /proc/modules as a test has them
 */
#ifndef DECIMA_TESTS_KALLSYMS_TEXT_H
#define DECIMA_TESTS_KALLSYMS_TEXT_H

#include "core/symbolize/kallsyms.h"

/* kallsyms__read() of files in memory that hold these texts. */
int kallsyms_text__read(struct dcm_str kallsyms, struct dcm_str modules,
			struct kallsyms **ret_table, struct dcm_error *err);

#endif
