/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/arrival.h - the bytes of a profile become a batch of the target's, and go on
 */
#ifndef DECIMA_PPROF_SCRAPE_ARRIVAL_H
#define DECIMA_PPROF_SCRAPE_ARRIVAL_H

#include "plugins/input/pprof_scrape/names.h"
#include "plugins/input/pprof_scrape/target.h"

struct arrival {
	struct target *target;
	const uint8_t *data; /* [n] */
	size_t n;
	const char *content_type; /* "" when it was not said */
	struct names *names; /* of addresses that have none; NULL: there are no others to be had */
	uint64_t n_rows;     /* out: of the profile, before anything was taken from it */
};

/* It has addresses, not one of which has a name: `names` knows which, and nobody has been asked yet. */
#define ARRIVAL_UNNAMED 1

/*
 * Decodes, keeps the sample types that the job wants, makes what was added of values that count up,
 * and emits. A first profile of values that count up gives nothing, and that is well. On the loop's
 * thread. 0; ARRIVAL_UNNAMED, and nothing was emitted; -EINVAL: no profile; -E2BIG: a limit; -ENOMEM.
 */
int arrival__take(struct arrival *a, struct dcm_error *err);

#endif
