/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/limits.h - how large the entries of a batch may be
 *
 * A builder refuses what is larger, and all sealed batches, decoded ones too, are within. Who
 * brings data that may be larger cuts it, and says so, before he adds it.
 */
#ifndef DECIMA_BATCH_LIMITS_H
#define DECIMA_BATCH_LIMITS_H

#include <stddef.h>

enum {
	STRING_MAX_BYTES = 1 << 20,
	STACK_MAX_DEPTH = 4096,
	LOCATION_MAX_LINES = 1024, /* inlined calls of one address */
	LABELS_MAX = 256,	   /* of one series or label set */
	TYPES_MAX = 16,		   /* of one profile */
	BUILD_ID_MAX_CHARS = 128,
	BUILD_ID_STAND_IN_CHARS = 17,
};
/* Of one table. Ids are 32 bits wide, and DCM_NONE is taken. */
#define ENTRIES_MAX ((size_t)1 << 31)

#endif
