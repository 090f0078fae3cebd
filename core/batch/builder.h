/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/builder.h - makes a batch: interns, checks once, hashes, seals
 *
 * The functions behind `struct dcm_host`'s add_*: their contract is written there. A builder
 * belongs to one thread at a time. Every add is O(1) amortised; equal entries get one id. A builder
 * that failed (memory, limit, bad entry) is sticky: adds return 0 and seal reports the first
 * failure.
 *
 * What is checked, each entry once, when it is new: every id; kinds and flags; mapping.start <=
 * limit; build ids are lower-case hex of at most 128 characters, or a stand-in of '~' and 16;
 * process only with runtime addresses, no address with addr_kind none; label names are not empty,
 * have no control characters and come once; 0 <= time_ns, duration_ns, period; type parts as in
 * type.h. Limits: max_bytes (the builder's memory), and
 * those of limits.h.
 *
 * What is made equal:
 *   text:     Bytes that are not UTF-8 become U+FFFD, one each. Refusing them would let one process
 *             with a broken name make everybody's samples of that window unsealable.
 *   function: A system_name equal to the name becomes none.
 *   location: Two that differ in `unnamed` alone are one, and keep the first reason that is known;
 *             with lines there is no reason.
 *   labels:   Sorted by name; those with an empty string as value are left out.
 *
 * Identity (xxh3-128; the layout is written in docs/FORMATS.md):
 *   location: kind, addr_kind, address; the mapping by build id, else by kind and file; the process
 *             for runtime addresses; the lines' texts unless the location can be named later
 *             (native, build id, address).
 *   stack:    the hashes of its locations, leaf first.
 *   series:   its labels, sorted.
 */
#ifndef DECIMA_BATCH_BUILDER_H
#define DECIMA_BATCH_BUILDER_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"

/* max_bytes 0: 256 MiB. NULL when memory ran out. */
struct dcm_builder *builder__new(uint64_t max_bytes);
void builder__free(struct dcm_builder *b);
DEFINE_CLEANUP(struct dcm_builder *, builder__free);

/*
 * The id that the next seal gives; the sequence counts up by one with each that succeeds. Default:
 * all zero.
 */
void builder__set_source(struct dcm_builder *b, struct dcm_hash source, uint64_t next_sequence);

/*
 * The next seal computes no content hashes, and the batch's three columns of them are NULL: for an
 * answer, which is read and goes to no store.
 */
void builder__leave_hashes(struct dcm_builder *b);

uint32_t builder__string(struct dcm_builder *b, struct dcm_str s);
uint32_t builder__mapping(struct dcm_builder *b, const struct dcm_mapping *m);
uint32_t builder__function(struct dcm_builder *b, const struct dcm_function *f);
uint32_t builder__process(struct dcm_builder *b, const struct dcm_process *p);
uint32_t builder__location(struct dcm_builder *b, const struct dcm_location *l,
			   const struct dcm_line *lines, uint32_t n_lines);
/*
 * The same in two steps, for who adds many: what an add looks at comes from memory after the first,
 * while others are in it. That returns the hash which the second, before the next seal, takes of
 * the same entry.
 */
uint64_t builder__fetch_string(const struct dcm_builder *b, struct dcm_str s);
uint64_t builder__fetch_function(const struct dcm_builder *b, const struct dcm_function *f);
uint64_t builder__fetch_location(const struct dcm_builder *b, const struct dcm_location *l,
				 const struct dcm_line *lines, uint32_t n_lines);
uint32_t builder__string_fetched(struct dcm_builder *b, struct dcm_str s, uint64_t hash);
uint32_t builder__function_fetched(struct dcm_builder *b, const struct dcm_function *f, uint64_t hash);
uint32_t builder__location_fetched(struct dcm_builder *b, const struct dcm_location *l,
				   const struct dcm_line *lines, uint32_t n_lines, uint64_t hash);

uint32_t builder__stack(struct dcm_builder *b, const uint32_t *locations, uint32_t n);
uint32_t builder__stacks(struct dcm_builder *b, const uint32_t *locations,
			 const uint32_t *n_locations, uint32_t n);
/*
 * The same for who unpacks many. The first gives room for at most `max` > 0 locations, or NULL when
 * the builder failed. He writes ids into it that this builder gave since its last seal (they are
 * not checked again), and ends the stack with the first n of them, n <= STACK_MAX_DEPTH; one that
 * is not ended was never there. What an end looks at comes from memory while others are unpacked:
 * it returns the stack that was ended BUILDER_STACKS_AHEAD ends before (DCM_NONE: there was none),
 * and the third, until there are no more, the last ones in order. Before that nothing else may add
 * stacks or seal. DCM_NONE when the builder failed.
 */
enum { BUILDER_STACKS_AHEAD = 4 };
uint32_t *builder__stack_begin(struct dcm_builder *b, uint32_t max);
uint32_t builder__stack_end(struct dcm_builder *b, uint32_t n);
uint32_t builder__stack_last(struct dcm_builder *b);
uint32_t builder__series(struct dcm_builder *b, const struct dcm_pair *pairs, uint32_t n);
uint32_t builder__label_set(struct dcm_builder *b, const struct dcm_label *labels, uint32_t n);
uint32_t builder__profile(struct dcm_builder *b, const struct dcm_profile *head,
			  const struct dcm_type *types, uint32_t n_types);
void builder__row(struct dcm_builder *b, uint32_t stack, uint32_t label_set, const int64_t *values);

/*
 * At most so many entries are about to come: a hint, which spares columns and indexes from growing.
 * What would take more than an eighth of what max_bytes still allows is not believed. Room that
 * stays empty goes back when the batch is sealed.
 */
struct builder_sizes {
	uint64_t strings, functions, locations, stacks;
	uint64_t stack_locations; /* of all stacks */
	uint64_t rows, values;
};
void builder__expect(struct dcm_builder *b, const struct builder_sizes *sizes);

/* Negative errno of the first failure, or 0. */
int builder__error(const struct dcm_builder *b);

/*
 * Makes the builder fail, when it has not yet: for who fills it on somebody's behalf and finds a
 * fault of his own.
 */
void builder__fail(struct dcm_builder *b, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * For who keeps a builder's entries for profiles that come later. What stands in it, until the next add; nothing has
 * hashes. And: its profiles with their types and rows go; all else keeps its id.
 */
void builder__view(struct dcm_builder *b, struct dcm_batch *ret);
void builder__drop_profiles(struct dcm_builder *b);

/* Memory that the builder holds, in bytes: what max_bytes bounds. */
uint64_t builder__bytes(const struct dcm_builder *b);

/* Forgets everything that was added since the last seal, failures too. */
void builder__reset(struct dcm_builder *b);

/*
 * Hashes, and hands the tables to a new batch. The builder is then empty and reusable (also after a
 * failure). -EINVAL names the entry and the field at fault: "profile 3: duration_ns is negative".
 */
int builder__seal(struct dcm_builder *b, struct dcm_batch **ret_batch, struct dcm_error *err);

#endif
