/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/delta.h - values that count up from a program's start, as what was added
 *
 * Go's alloc_space and the like only ever grow. Of two scrapes of one target this makes what was
 * added between them, stack by stack, with the arithmetic that stores have for cumulative types
 * (dcm_storage_ops.merge): the first scrape counts nothing; when any value decreased or went, the
 * program has begun anew, and all of the scrape counts. Gauges beside them (inuse_space) stay.
 *
 * Heap profiles of C++ are estimates: of a stack's objects so many are sampled, and what one has in
 * the mean says how seldom that was. Their objects may become fewer while the program lives, when
 * larger ones join them; their bytes only ever grow. So bytes alone say that it has begun anew, and
 * objects that became fewer add nothing, until there are more than ever.
 *
 * What is kept is the last value of each stack and label set, under a hash of 64 bits of their
 * content: of ten thousand rows two are taken for one in one of 10^11 scrapes. One thread at a time.
 */
#ifndef DECIMA_PPROF_SCRAPE_DELTA_H
#define DECIMA_PPROF_SCRAPE_DELTA_H

#include <decima/plugin.h>

struct delta {
	uint64_t *slots; /* [cap]: a hash, 0 for none */
	int64_t *values; /* [cap * n_columns] */
	uint32_t cap, n, n_columns;
	uint64_t meaning; /* of the columns */
	bool has_base;	  /* a scrape came before */
};

void delta__fini(struct delta *d); /* zeroed: nothing came yet */
uint64_t delta__bytes(const struct delta *d);
/* What delta__apply() would make of so many rows, of which any number may be of one stack. */
uint64_t delta__bytes_of(uint64_t n_rows, uint32_t n_columns);

/* What is compared with the scrape before. */
struct delta_scrape {
	const struct dcm_batch *batch;
	uint32_t profile;
	uint32_t columns; /* bits: of types that count up */
	uint32_t steady;  /* those of them that never decrease while the program lives */
	bool by_stack;	  /* labels tell no two rows apart: they change with the values */
};

/*
 * `values` [the profile's rows * its types] become what was added in the columns that count up; the
 * others stay. *ret_is_first: there was none before, and these columns say
 * nothing yet (they are 0). *ret_is_reset: the program has begun anew. 0; -ENOMEM: values are
 * untouched. `d` stays as it was: once the differences are on their way *ret_next takes its place
 * (delta__replace()), and until then it is as if the scrape had not come.
 */
int delta__apply(const struct delta *d, const struct delta_scrape *from, int64_t *values,
		 struct delta *ret_next, bool *ret_is_first, bool *ret_is_reset);
void delta__replace(struct delta *d, struct delta *next); /* takes what `next` has */

#endif
