/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_profile.h - a profile of an older format while it is read: private to legacy_*.c
 *
 * Each reader fills in the types and adds samples, whose frames are addresses; the section with the
 * mappings may follow. Then all of it is written as profile.proto, and what that means is said once,
 * in pprof.h.
 */
#ifndef DECIMA_CODEC_LEGACY_PROFILE_H
#define DECIMA_CODEC_LEGACY_PROFILE_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/vec.h"
#include "core/codec/legacy_lines.h"

enum { LEGACY_TYPES_MAX = 4 };

struct legacy_sample {
	uint32_t off, n; /* of its frames, the leaf first */
	int64_t values[LEGACY_TYPES_MAX];
	int64_t block_bytes; /* the label "bytes" of heap profiles; 0: none */
};

struct legacy_mapping {
	uint64_t start, limit, offset;
	struct dcm_str file, build_id;
};

/* What a symbol section says of an address: names, the caller's first, with "--" between them. */
struct legacy_symbol {
	uint64_t address;
	struct dcm_str names;
};

struct legacy_unit {
	const char *type, *unit;
};

struct legacy_profile {
	const char *what; /* for sentences: "heap profile" */
	const char *name; /* what it is called, where its types do not say; may be NULL */
	struct dcm_error *err;
	uint64_t max_bytes, max_samples, max_locations;

	uint32_t n_types;
	struct legacy_unit types[LEGACY_TYPES_MAX], period_type;
	int64_t period, duration_ns;
	bool is_delta;	     /* it is of a time that it does not tell */
	bool is_total;	     /* it is since a start, and duration_ns is how long ago that was */
	bool has_mean_sizes; /* some sample has block_bytes */

	VEC(struct legacy_sample) samples;
	VEC(uint32_t) frames;	 /* each an index of addresses */
	VEC(uint64_t) addresses; /* each once */
	struct hindex by_address;
	VEC(struct legacy_mapping) mappings;
	VEC(struct legacy_symbol) symbols;
	struct arena arena; /* texts that do not stand in the bytes */
	uint64_t expanded_bytes;
};

void legacy_profile__fini(struct legacy_profile *p);

/* -EINVAL with "pprof: heap profile, line 17: ..". */
int legacy_profile__fault(struct legacy_profile *p, const struct legacy_lines *l, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A frame of the sample that comes next. 0, -ENOMEM, -E2BIG. */
int legacy_profile__frame(struct legacy_profile *p, uint64_t address);

/*
 * The frames added since the last sample are one's. values[p->n_types]. 0, -ENOMEM, -E2BIG.
 */
int legacy_profile__sample(struct legacy_profile *p, const int64_t *values, int64_t block_bytes);

/*
 * The addresses in a line's rest as frames, each minus 1, so that it lies in the call and not
 * behind it. keep_leaf: but the first one.
 */
int legacy_profile__addresses(struct legacy_profile *p, const struct legacy_lines *l,
			      struct dcm_str rest, bool keep_leaf);

/* Takes the frame behind the leaf out of a sample of two frames and more. */
void legacy_profile__drop_second(struct legacy_profile *p, struct legacy_sample *s);

/*
 * Takes it out where it is the leaf again: a handler has it from the stack and from the signal's
 * context, and the one from the stack was made 1 less.
 */
void legacy_profile__drop_doubles(struct legacy_profile *p);

/* a * b, held to 64 bits. */
int64_t legacy_profile__times(int64_t a, int64_t b);
/* The whole part, held to 64 bits. */
int64_t legacy_profile__whole(double v);

/* As profile.proto. Changes the mappings to what they must have been (legacy_maps.c). */
int legacy_profile__write(struct legacy_profile *p, struct buf *out);

/* --- the readers: each takes what stands behind what tells it from the others --- */

int legacy_heap__read(struct legacy_profile *p, struct legacy_lines *l); /* at "heap profile:" */
int legacy_jemalloc__read(struct legacy_profile *p, struct legacy_lines *l); /* at "heap_v2/" */
int legacy_count__read(struct legacy_profile *p, struct legacy_lines *l); /* at "NAME profile: total" */
int legacy_contention__read(struct legacy_profile *p, struct legacy_lines *l); /* at "--- contentionz" */
int legacy_threads__read(struct legacy_profile *p, struct legacy_lines *l); /* at "--- thread" */
int legacy_cpu__read(struct legacy_profile *p, const uint8_t *data, size_t n);

/* True when the bytes begin as gperftools' CPU profile does, of C++ or of Java. */
bool legacy_cpu__is(const uint8_t *data, size_t n);

/* A symbol section, from behind "--- symbol" to behind the "---" at its end. */
int legacy_symbols__read(struct legacy_profile *p, struct legacy_lines *l);
/* They are of what a profiler numbered, from 1 on: no program has a function at the address 1. */
bool legacy_symbols__are_of_numbers(const struct legacy_profile *p);
/* To be found, once all are there. */
void legacy_symbols__sort(struct legacy_profile *p);
/* The names of an address, or of the one behind it; empty when there are none. */
struct dcm_str legacy_symbols__find(const struct legacy_profile *p, uint64_t address);

/* True for the line that the mappings follow. */
bool legacy_maps__begin(struct dcm_str line);
/* Skips lines until the mappings begin (perhaps at the line now), and reads these. */
int legacy_maps__read_behind(struct legacy_profile *p, struct legacy_lines *l);
/* All lines from the next one on. */
int legacy_maps__read(struct legacy_profile *p, struct legacy_lines *l);
/* Puts the mappings right, and tells for each address which it is in; DCM_NONE: in none. */
int legacy_maps__place(struct legacy_profile *p, uint32_t *ret);

/*
 * What a number read from a line is worth: 0, or the fault. `at` is what was expected there.
 */
int legacy_profile__number(struct legacy_profile *p, const struct legacy_lines *l,
			   enum legacy_number got, const char *expected);

#endif
