/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/map.h - names of address ranges, where the newest line wins
 *
 * A perf map is a log: a runtime appends "START SIZE NAME" whenever it has made code, and where
 * code was moved or thrown away, later lines cover earlier ones. Lines are added in the file's
 * order; settle() then turns those that are new into ranges that do not overlap, a level. Newer
 * levels lie above older ones; two levels of like size become one, so there are only a few, each
 * searched by bisection.
 *
 * Memory is bounded: lines go to a young generation, and when that holds half of max_bytes it
 * becomes the old one and what was the old one is forgotten. So at least the newest half of what
 * fits is known.
 *
 * Not thread-safe. Source: Documentation of Linux perf, tools/perf/Documentation/jit-interface.txt.
 */
#ifndef DECIMA_PERF_MAP_MAP_H
#define DECIMA_PERF_MAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/intern.h"
#include "core/base/vec.h"

enum {
	MAP_MAX_NAME = 4096,	     /* bytes of a name that are kept */
	MAP_MAX_LINE = 64 << 10,     /* bytes; a longer one is skipped */
	MAP_SETTLE_LINES = 64 << 10, /* unsettled lines that are held at most */
	MAP_MAX_LEVELS = 40,
	MAP_MAX_RANGE = 1 << 30, /* bytes: no compiler makes a function of a gigabyte */
};

/* [start, start + bytes) */
struct map_range {
	uint64_t start;
	uint32_t bytes;
	uint32_t name; /* in the generation's names */
};

struct map_level {
	struct map_range *v; /* [n] by start, not overlapping */
	uint32_t n;
};

struct map_generation {
	struct intern names;			 /* zeroed until there is one */
	struct map_level levels[MAP_MAX_LEVELS]; /* oldest first */
	uint32_t n_levels;
	VEC(struct map_range) fresh; /* not settled, oldest first */
};

struct map {
	struct map_generation young, old;
	uint64_t max_bytes;
	bool skipping;		     /* inside a line that is too long */
	uint64_t n_lines, n_skipped; /* read, and of these not understood */
	uint64_t n_forgotten;	     /* lines that left with a generation */
};

/* Nothing is allocated before the first line. */
void map__init(struct map *m, uint64_t max_bytes);
void map__fini(struct map *m);
/* Forgets all lines; counts go on. */
void map__reset(struct map *m);

/*
 * Takes the whole lines at the beginning of text; *ret_used bytes of it, the rest is to come again
 * with more behind it. Lines of another form are counted and skipped. -ENOMEM: what was taken until
 * then is known.
 */
int map__feed(struct map *m, const char *text, size_t n, size_t *ret_used);

/*
 * Takes text for a last line whose newline will not come, when it may be one. Should its newline
 * come yet, the line is fed as any other and covers this one.
 */
int map__feed_last(struct map *m, const char *text, size_t n);

/*
 * Adds one range; the name is cleaned of what is no text and cut to MAP_MAX_NAME. 0; -EPROTO when
 * it is empty, too large, or leaves the address space, or has no name; -ENOMEM.
 */
int map__add(struct map *m, uint64_t start, uint64_t bytes, struct dcm_str name);

/* Makes what was fed or added findable. 0 or -ENOMEM, after which it may be tried again. */
int map__settle(struct map *m);

/* The name lives until the next call but this one. */
bool map__find(const struct map *m, uint64_t address, struct dcm_str *ret_name, uint64_t *ret_start);

/* A range as far as nothing newer covers it: [start, end). */
struct map_piece {
	uint64_t start, end;
	struct dcm_str name;
};

/* The first piece of [from, until), cut to it. Of what is settled; the name lives as above. */
bool map__next(const struct map *m, uint64_t from, uint64_t until, struct map_piece *ret);

uint64_t map__bytes(const struct map *m);
uint64_t map__n_ranges(const struct map *m); /* of the levels */

#endif
