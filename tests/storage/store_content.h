/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_content.h - everything that a store holds, in a form that knows no numbers
 *
 * A profile of one type becomes a few hashes of its contents: of who it is (series, type, time) and
 * of all it has (spans, and for each row the frames' contents, the labels and the value). What two
 * stores, or a store and the batches that were written to it, have in common can then be compared
 * whatever their dictionaries are. Everything asserts.
 */
#ifndef DECIMA_TESTS_STORAGE_STORE_CONTENT_H
#define DECIMA_TESTS_STORAGE_STORE_CONTENT_H

#include "core/base/vec.h"
#include "plugins/storage/local/store.h"

struct content_profile {
	uint64_t who, all;
	int64_t time_ms;
	bool is_state; /* gauge or cumulative: of two with one `who` the later counts */
};

/* In the order in which they were written. Zeroed is empty. */
struct content {
	VEC(struct content_profile) profiles;
};

void content__fini(struct content *c);
void content__add_batch(struct content *c, const struct dcm_batch *b);
void content__add_store(struct content *c, struct store *s);
/* Leaves out states that a later one replaced, and sorts. */
void content__settle(struct content *c);
/* Of two that are settled: how many profiles only one of them has. */
uint32_t content__differences(const struct content *a, const struct content *b);
/* There is what was told, and nothing else. Settles `there`; `told` stays in its order. */
void content__compare(const struct content *told, struct content *there);
void content__compare_store(const struct content *told, struct store *s);
/*
 * The store acknowledges n batches before this returns; `told` has them from then on, unless it is
 * NULL.
 */
void content__write(struct content *told, struct store *s, struct dcm_batch *const *batches, uint32_t n);

#endif
