/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/selfprofile.h - what this process's own CPU time went into, as a batch
 *
 * As Go's /debug/pprof/profile has it: samples and CPU nanoseconds, a row for each stack and thread name.
 */
#ifndef DECIMA_SELFPROFILE_SELFPROFILE_H
#define DECIMA_SELFPROFILE_SELFPROFILE_H

#include <stdatomic.h>

#include <decima/plugin.h>

#include "core/base/clock.h"

struct symbols;

/* Whether recordings shall end before their time: one for all that a server has under way. */
struct selfprofile;
struct selfprofile *selfprofile__new(void);    /* NULL: out of memory */
void selfprofile__free(struct selfprofile *s); /* nobody records any more; NULL is fine */
/* Every recording ends within a moment, with -ESHUTDOWN, and so does any that begins later. Any thread. */
void selfprofile__stop(struct selfprofile *s);

struct selfprofile_ask {
	const struct clock *clock;
	int64_t duration_ns;
	_Atomic int *cancelled;	 /* of who asks: nobody waits any more. NULL: cannot be */
	struct symbols *symbols; /* names what was seen; NULL: addresses alone */
};

/*
 * Blocks for the duration. 0; -EBUSY: as many are under way as there may be; -ECANCELED,
 * -ESHUTDOWN; -ENOMEM, or of timers. The caller unrefs the batch.
 */
int selfprofile__record(struct selfprofile *s, const struct selfprofile_ask *ask,
			struct dcm_batch **ret, struct dcm_error *err);

#endif
