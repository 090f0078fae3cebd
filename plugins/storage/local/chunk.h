/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/chunk.h - the profiles of one series within one block
 *
 * A chunk holds profiles of one series and one list of types (a CPU profile has one, a heap profile
 * four): for each profile when, how long and how many rows; for each row a stack, a label set and
 * one value a type. Stacks, label sets, series and types are numbers of the era's dictionary
 * (era.h).
 *
 * It is stored as columns, in pieces that are read and checked one by one, so that a question reads
 * only what it needs:
 *
 *	profiles	times, totals, row counts, durations, periods	-> time series read nothing else
 *	stacks		the stacks and label sets of the chunk, ascending; rows say their rank in these
 *	rollups		what each stack adds up to over the whole chunk	-> long ranges read nothing else
 *	pages		where in the rows each page of 256 stands
 *	rows		ranks of stacks, ranks of label sets, values: a column each, in groups of 32,768 rows
 *
 * Times are milliseconds since 1970. docs/FORMATS.md has every byte.
 *
 * Threads: a chunk that is read never changes. A writer belongs to one thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_CHUNK_H
#define DECIMA_STORAGE_LOCAL_CHUNK_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "plugins/storage/local/pfor.h"

enum {
	CHUNK_MAX_TYPES = 16,
	CHUNK_GROUP = 32768, /* rows; a multiple of PFOR_PAGE */
};

/* -------------------------------------------------------------------------------------------------
 * On disk: the directory's entries
 */

enum chunk_flag {
	CHUNK_LABELS = 1, /* rows have a column of label sets; without it all have the empty set, 0 */
	CHUNK_DURATIONS = 2, /* profiles have a column of durations; without it all last duration_ns */
	CHUNK_PERIODS = 4, /* the same of periods */
	/* Durations differ by whole milliseconds, as those of a sampler's windows do: the column counts these. */
	CHUNK_DURATIONS_MS = 8,
	/*
	 * Times are whole steps and what is over: fewer bytes for a process that is idle now and then,
	 * whose profiles are missing for some windows.
	 */
	CHUNK_STEPS = 16,
	CHUNK_FLAGS = 31, /* all of them: a block that has others is a newer program's */
};

/* A piece: bytes [off, off + n) of its section, and their checksum. */
struct chunk_piece {
	uint64_t off;
	uint32_t n, sum;
};

enum { CHUNK_NS_A_MS = 1000000 };

/* In which the column of durations counts. */
static inline int64_t chunk__duration_unit(unsigned flags)
{
	return flags & CHUNK_DURATIONS_MS ? CHUNK_NS_A_MS : 1;
}

struct chunk_entry {
	uint32_t series;
	uint32_t first_type; /* the chunk's types are types[first_type .. first_type + n_types) of the block */
	uint16_t n_types, flags; /* 1 .. CHUNK_MAX_TYPES; enum chunk_flag */
	uint32_t n_profiles;	 /* at least 1 */
	uint32_t n_stacks, n_label_sets;
	uint64_t n_rows;
	int64_t first_ms, last_ms; /* of profiles, inclusive */
	int64_t duration_ns, period;
	struct chunk_piece profiles, stacks, rollups, pages;
	uint64_t rows_off, rows_bytes;
};
_Static_assert(sizeof(struct chunk_entry) == 144, "docs/FORMATS.md");

/* Of all its pieces. */
static inline uint64_t chunk_entry__bytes(const struct chunk_entry *e)
{
	return (uint64_t)e->profiles.n + e->stacks.n + e->rollups.n + e->pages.n + e->rows_bytes;
}

enum chunk_type_flag {
	CHUNK_SIGNED = 1, /* some values are negative: numbers are zigzag(value / unit) */
	CHUNK_ONES = 2,	  /* all values are positive: numbers are value / unit - 1 */
	/*
	 * The sum of all values' magnitudes leaves 63 bits: there are no totals and no rollup, and
	 * who adds up needs more bits.
	 */
	CHUNK_WIDE = 4,
	CHUNK_TYPE_FLAGS = 7, /* all of them, as above */
};

struct chunk_type {
	uint32_t type, flags; /* enum chunk_type_flag */
	uint64_t unit;	      /* divides every value; at least 1 */
	int64_t total;	      /* of all rows; 0 when wide */
};
_Static_assert(sizeof(struct chunk_type) == 24, "docs/FORMATS.md");

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

struct chunk_profile {
	int64_t time_ms, duration_ns, period;
	uint32_t n_rows;
};

/*
 * What goes in. Profiles ascend by time; the rows of each, one after the other, ascend by (stack,
 * label set), each pair once. n_profiles >= 1.
 */
struct chunk_source {
	uint32_t series;
	uint32_t n_types;
	uint32_t types[CHUNK_MAX_TYPES];
	uint32_t n_profiles;
	const struct chunk_profile *profiles;
	uint64_t n_rows;	/* below 2^32 */
	const uint32_t *stacks; /* [n_rows] */
	const uint32_t *labels; /* [n_rows], or NULL: all 0 */
	const int64_t *values;	/* [n_types][n_rows]: a column each */
};

/* Where the bytes of the sections go; the block writer's. */
struct chunk_sections {
	struct buf profiles, stacks, rollups, pages;
	struct buf rows; /* of this chunk only */
};

struct chunk_writer;			      /* memory that is used again from chunk to chunk */
struct chunk_writer *chunk_writer__new(void); /* NULL when memory ran out */
void chunk_writer__free(struct chunk_writer *w);

struct chunk_options {
	uint64_t seed;	/* of checksums */
	int zstd_level; /* of the rows; 0: not compressed */
};

/*
 * Appends the chunk's pieces to the sections and fills its directory entries: ret_types[n_types];
 * first_type and rows_off are left to the caller. 0 or -ENOMEM.
 */
int chunk__write(struct chunk_writer *w, const struct chunk_source *from, const struct chunk_options *o,
		 struct chunk_sections *to, struct chunk_entry *ret, struct chunk_type *ret_types);

/* The checksum of a piece. */
uint32_t chunk__sum(const void *p, size_t n, uint64_t seed);

/* -------------------------------------------------------------------------------------------------
 * Reading
 *
 * All functions return 0, -ENOMEM, or -EBADMSG when bytes are not what their checksum or their
 * neighbours say; the outputs may then hold anything.
 */

/*
 * A chunk in a block that is open: block__chunk() fills it, and it is valid as long as the block.
 */
struct chunk {
	const struct chunk_entry *entry;
	const struct chunk_type *types;				   /* [entry->n_types] */
	const uint8_t *profiles, *stacks, *rollups, *pages, *rows; /* where its pieces begin */
	uint64_t seed;
};

enum chunk_want {
	CHUNK_WANT_TOTALS = (1 << CHUNK_MAX_TYPES) - 1, /* of all types; 1 << t: of type t */
	CHUNK_WANT_ROWS = 1 << CHUNK_MAX_TYPES,		/* row counts */
	CHUNK_WANT_SPANS = 2 << CHUNK_MAX_TYPES,	/* durations and periods */
	CHUNK_WANT_TIMES = 4 << CHUNK_MAX_TYPES,
};

/*
 * Columns of the profiles piece; zero it first, use it for any number of chunks, end with
 * chunk_profiles__fini().
 */
struct chunk_profiles {
	uint32_t n, cap;
	int64_t *time_ms; /* [n] */
	/*
	 * [n + 1] each: what the values of the profiles before this one add up to, in units of the
	 * type, modulo 2^64; of wide types unset.
	 */
	uint64_t *before[CHUNK_MAX_TYPES];
	uint32_t *n_rows;	       /* [n] */
	int64_t *duration_ns, *period; /* [n] */
	uint64_t *memory;
};
void chunk_profiles__fini(struct chunk_profiles *p);

/* `want`: of enum chunk_want. What is not wanted is unset. */
int chunk__profiles(const struct chunk *c, unsigned want, struct chunk_profiles *ret);

/*
 * The chunk's stacks, ret[n_stacks], and label sets, ret[n_label_sets], ascending; either may be
 * NULL.
 */
int chunk__stacks(const struct chunk *c, uint32_t *ret_stacks, uint32_t *ret_label_sets);

/*
 * What each stack adds up to, page by page, in the cache: begin, and then next() until it gives 0.
 * It gives how many stacks there are in ids[], and behind chunk_sums__begin() what these add up to
 * in values[]; or an error. `type` counts within the chunk and must not be wide.
 */
struct chunk_sums {
	const struct chunk_type *type; /* NULL: ids alone */
	struct pfor_in stacks, rollup;
	uint32_t left, next_id;
	uint32_t ids[PFOR_PAGE]; /* numbers of the era, ascending */
	int64_t values[PFOR_PAGE];
};
int chunk_ids__begin(struct chunk_sums *it, const struct chunk *c);
int chunk_sums__begin(struct chunk_sums *it, const struct chunk *c, unsigned type);
int chunk_sums__next(struct chunk_sums *it);

/* Up to PFOR_PAGE rows, from `row` on. Columns that were not asked for are NULL. */
struct chunk_page {
	uint64_t row;
	uint32_t n;
	const uint32_t *ranks; /* of stacks among the chunk's */
	const uint32_t *labels; /* ranks of label sets; NULL also where the chunk has no label column */
	const uint64_t *values[CHUNK_MAX_TYPES]; /* numbers: chunk__value() makes values of them */
};

static inline int64_t chunk__value(const struct chunk_type *t, uint64_t number)
{
	const uint64_t n = t->flags & CHUNK_SIGNED ? (number >> 1) ^ -(number & 1)
						   : number + (t->flags & CHUNK_ONES ? 1 : 0);

	return (int64_t)(n * t->unit);
}

/*
 * Whether profiles, stacks, rollups and pages have their checksums; rows are checked as they are
 * read.
 */
int chunk__check(const struct chunk *c);

struct chunk_cursor;			      /* a place in the rows of a chunk */
struct chunk_cursor *chunk_cursor__new(void); /* NULL when memory ran out */
void chunk_cursor__free(struct chunk_cursor *cur);

/*
 * Begins at the page that holds `row`; `types` is a mask of the values wanted. chunk_cursor__next()
 * gives page after page: 1, 0 behind the last row, or an error. The page is valid until the next
 * call.
 */
int chunk_cursor__begin(struct chunk_cursor *cur, const struct chunk *c, uint64_t row, bool labels,
			uint32_t types);
int chunk_cursor__next(struct chunk_cursor *cur, struct chunk_page *ret);

/*
 * Adds the rows of profiles [first, first + n) to sums[n_stacks], stack by stack, whatever their
 * label sets; or, with slots, to sums[][n_stacks], where slots[] says for each of the chunk's label
 * sets which of these rows take it (below 64). `profiles` has row counts. `type` must not be wide.
 * Sums wrap.
 */
struct chunk_span {
	const struct chunk *chunk;
	const struct chunk_profiles *profiles;
	uint32_t first, n;
	unsigned type;
	const uint8_t *slots; /* [n_label_sets], or NULL; the chunk has a label column */
	uint64_t *seen; /* [n] with slots: a bit for each slot that the profile's rows went to */
};
int chunk__sum_rows(struct chunk_cursor *cur, const struct chunk_span *span, int64_t *sums);

/*
 * The same without slots, in units of the type: half as much memory is gone over. For types of
 * which nothing adds up to more.
 */
static inline bool chunk__is_narrow(const struct chunk_type *t)
{
	return !(t->flags & (CHUNK_SIGNED | CHUNK_WIDE)) && t->total >= 0 &&
	       (uint64_t)t->total / t->unit <= UINT32_MAX;
}
int chunk__sum_narrow(struct chunk_cursor *cur, const struct chunk_span *span, uint32_t *sums);

#endif
