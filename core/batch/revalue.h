/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/revalue.h - a batch with other values: what was counted since the last time, fewer types
 */
#ifndef DECIMA_BATCH_REVALUE_H
#define DECIMA_BATCH_REVALUE_H

#include <decima/plugin.h>

/*
 * An overlay of the batch whose profiles are those of the changes [n], in order: types that stay,
 * their temporality, values, times. Rows that are 0 in all types that stay are left out; profiles
 * stay, also without a row. 0; -EINVAL: a change of no profile of the batch, without a type, with one
 * that the profile has not, an unknown temporality or a negative duration; -ENOMEM.
 */
int batch__revalued(struct dcm_batch *batch, const struct dcm_revalue *changes, uint32_t n,
		    struct dcm_batch **ret, struct dcm_error *err);

#endif
