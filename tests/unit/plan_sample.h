/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/plan_sample.h - plans of YAML text, with the plugins of the build tree
 */
#ifndef DECIMA_TESTS_UNIT_PLAN_SAMPLE_H
#define DECIMA_TESTS_UNIT_PLAN_SAMPLE_H

#include "core/main/plan.h"

/* Finds memory, file, example and testing. Who owns the files does not matter here. */
struct loader *plan_sample__loader(void);

/* The plan; the test fails when the text has a fault. */
struct plan *plan_sample__load(struct loader *loader, const char *yaml);

#endif
