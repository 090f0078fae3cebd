/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_store_era.c - records of a dictionary, from anybody's bytes
 *
 * What is taken must be within bounds wherever it leads, and what is written of it must be taken
 * again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "plugins/storage/local/era_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ENTRIES = 1 << 16, HEADER_BYTES = 8 + 11 * 16 };

/* Counts and first numbers are believed up to a limit, or filling in would take all of the time. */
static int is_small(const uint8_t *p, size_t n)
{
	if (n < HEADER_BYTES)
		return 1;
	for (size_t at = 8; at < HEADER_BYTES; at += 16) {
		uint32_t first, count;

		__builtin_memcpy(&first, p + at, 4);
		__builtin_memcpy(&count, p + at + 4, 4);
		if (first > MOST_ENTRIES || count > MOST_ENTRIES)
			return 0;
	}
	return 1;
}

static void walk(const struct dict *d)
{
	uint32_t *locations = NULL;

	for (uint32_t i = 0; i < d->stacks.n; i++) {
		const struct dict_stack *s = dict__stack_at(d, i);

		locations = realloc(locations, (s->n + 1) * sizeof(*locations));
		if (!locations)
			abort();
		dict__stack_locations(d, s, locations);
		for (uint32_t k = 0; k < s->n; k++)
			if (locations[k] >= d->locations.n)
				abort();
	}
	free(locations);
	for (uint32_t i = 0; i < d->locations.n; i++) {
		const struct dict_location *l = dict__location_at(d, i);

		if (l->mapping != DCM_NONE && l->mapping >= d->mappings.n)
			abort();
	}
}

/* Of what is taken whole, the names alone are the same. */
static void check_names(const struct dict *d, const uint8_t *data, size_t size)
{
	struct dict *names = dict__new();
	struct dict_counts have = { 0 };
	uint64_t lost = 0;

	if (!names || era_record__decode_names(names, data, size, &have, &lost) < 0 ||
	    names->strings.n != d->strings.n || names->label_sets.n != d->label_sets.n ||
	    names->series.n != d->series.n || names->types.n != d->types.n || names->stacks.n)
		abort();
	dict__unref(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dict_counts have = { 0 };
	struct dict *names = dict__new();
	uint64_t n = 0;

	if (names && is_small(data, size))
		era_record__decode_names(names, data, size, &have, &n);
	dict__unref(names);
	const struct dict_counts since = { .strings = 1, .label_sets = 1 };
	struct dict *d = dict__new(), *again = dict__new();
	struct buf bytes = { 0 };
	uint64_t lost = 0, lost_again = 0;

	if (d && again && is_small(data, size) && era_record__decode(d, data, size, &lost) == 0) {
		walk(d);
		check_names(d, data, size);
		if (lost == 0 && (era_record__encode(d, &since, NULL, 0, &bytes) < 0 ||
				  era_record__decode(again, bytes.data, bytes.n, &lost_again) < 0))
			abort();
	}
	buf__fini(&bytes);
	dict__unref(d);
	dict__unref(again);
	return 0;
}
