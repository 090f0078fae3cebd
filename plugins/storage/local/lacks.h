/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/lacks.h - what an answer lacks because dictionaries of its eras are damaged
 *
 * Of a dictionary with lost records nobody can say which texts, frames or labels were in them. So
 * all profiles of its era that an answer looks at are told, as one gap with the era's file: those
 * whose type or series is lost are left out of the answer, and the others may be without names.
 *
 * Threads: expect() before there are several; note() by any.
 */
#ifndef DECIMA_STORAGE_LOCAL_LACKS_H
#define DECIMA_STORAGE_LOCAL_LACKS_H

#include <pthread.h>

#include <decima/plugin.h>

#include "core/base/vec.h"

struct lack {
	uint32_t era;
	int64_t first_ms, last_ms; /* inclusive */
	uint64_t n_profiles;	   /* 0: nothing was noted */
};

struct lacks {
	pthread_mutex_t lock;
	VEC(struct lack) v; /* one a damaged era */
};

void lacks__init(struct lacks *l);
void lacks__fini(struct lacks *l);

/* Makes room for what will be noted of the era. 0 or -ENOMEM. */
int lacks__expect(struct lacks *l, uint32_t era);
/* So many profiles, if that is not 0, of an era that is expected. */
void lacks__note(struct lacks *l, const struct lack *more);
/* What `more` has that ends then or later; of eras that `l` expects. */
void lacks__add(struct lacks *l, const struct lacks *more, int64_t from_ms);
/* Ascending by era. */
void lacks__tell(struct lacks *l, const struct dcm_budget *budget);

#endif
