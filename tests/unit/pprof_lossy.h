/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/pprof_lossy.h - what of a batch survives in pprof, built without the codec
 */
#ifndef DECIMA_TESTS_UNIT_PPROF_LOSSY_H
#define DECIMA_TESTS_UNIT_PPROF_LOSSY_H

#include <decima/plugin.h>

/*
 * The batch that reading should give back after writing `profile` (an index, or DCM_NONE for all as
 * one) of b. NULL only when memory ran out.
 */
struct dcm_batch *pprof_lossy__new(const struct dcm_batch *b, uint32_t profile);

#endif
