/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/dump.h - reads a jitdump: names and lines of code that a runtime made
 *
 * A jitdump is a log of binary records: code was made (with its name and its bytes), code has
 * moved, these are the lines of the code that comes next. It is fed in the file's order; names go
 * to one map, "FILE:LINE" to another, and in both the newest wins, as in a perf map.
 *
 * A record of 64 bytes may say that a gigabyte of code has moved, with a name every few bytes. What
 * records have copied is therefore paid for with the bytes of the file, DUMP_WORK_PER_BYTE each: a
 * compaction that moves every function with its lines stays far below it. What is not paid for is
 * left out and counted.
 *
 * Not thread-safe. Limits: DUMP_MAX_RECORD, DUMP_MAX_WORK, those of map.h. Sources: Linux,
 * tools/perf/Documentation/jitdump-specification.txt; V8, src/diagnostics/perf-jit.cc.
 */
#ifndef DECIMA_PERF_MAP_DUMP_H
#define DECIMA_PERF_MAP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/vec.h"
#include "plugins/input/perf_map/map.h"

enum {
	DUMP_MAX_RECORD = 120 << 10, /* bytes of a record of lines; a longer one is skipped */
	DUMP_MAX_PLACES = 1 << 20,   /* bytes of the places of one record of lines; likewise */
	/*
	 * Work is counted as bytes of a file that could have been read in that time: a range that
	 * is copied is DUMP_RANGE_WORK and its name.
	 */
	DUMP_RANGE_WORK = 64,
	DUMP_WORK_PER_BYTE = 256, /* that a byte of the file pays for */
	DUMP_MAX_WORK = 4 << 20,  /* that can be saved up, and that one feed does, about */
};

/* A line of the code that is loaded next: an address, and its place as "FILE:LINE". */
struct dump_line {
	uint64_t address;
	uint32_t place, n_place; /* in places */
};

struct dump {
	bool started;	  /* the file's header was read */
	bool broken;	  /* what follows cannot be told apart: nothing more is read */
	uint64_t to_skip; /* bytes ahead that are not looked at */
	struct map lines;
	VEC(struct dump_line) pending;
	VEC(char) places;
	uint64_t pending_code;	       /* the address of the code that `pending` is of */
	uint64_t credit;	       /* work that is paid for */
	uint64_t work;		       /* done, of all time */
	uint64_t n_records, n_skipped; /* read, and of these not understood */
	uint64_t n_cut;		       /* records that asked for more work than was paid for */
};

/* max_bytes: of lines. Nothing is allocated before the first record. */
void dump__init(struct dump *d, uint64_t max_bytes);
void dump__fini(struct dump *d);
/* Forgets all; counts go on. The file is then fed from its beginning. */
void dump__reset(struct dump *d);

/*
 * Takes the whole records at the beginning of [n] bytes; *ret_used of them, the rest is to come
 * again, with more behind it when nothing was taken (DUMP_MAX_RECORD bytes are always enough).
 * Names go into `names`. Records of another form are counted and skipped. -ENOMEM: what was taken
 * until then is known.
 */
int dump__feed(struct dump *d, struct map *names, const void *data, size_t n, size_t *ret_used);

/* Makes the lines that were fed findable. 0 or -ENOMEM, after which it may be tried again. */
int dump__settle(struct dump *d);

/* The place of an address. The text lives until the next call but this one. */
bool dump__find(const struct dump *d, uint64_t address, struct dcm_str *ret_file, int64_t *ret_line);

uint64_t dump__bytes(const struct dump *d);

#endif
