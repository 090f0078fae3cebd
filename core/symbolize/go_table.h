/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/go_table.h - Go's own table of functions, files and lines (.gopclntab); private to
 * this folder
 *
 * The table is read whole and checked where it is used: every number in it may be wrong.
 */
#ifndef DECIMA_SYMBOLIZE_GO_TABLE_H
#define DECIMA_SYMBOLIZE_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf_collect.h"

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_table {
	uint8_t *data; /* [n] */
	uint64_t n;
	enum go_version version;
	unsigned pointer; /* bytes of one: 4 or 8 */
	unsigned quantum; /* bytes of the smallest instruction */
	uint64_t n_functions;
	uint64_t names, units, files, values, functions; /* where these parts begin; of 1.2 and 1.16 names
							    and functions only */
	uint64_t text;					 /* what pcs are counted from since 1.18 */
	uint64_t gofunc; /* what trees of inlined calls are counted from; 0: not found */
};

/*
 * Fills *t, which is to be fini()ed in any case. c: the file's text, and limits to count against.
 * -ENODATA: the file has no table, or one that is not understood; -EFBIG, -EIO, -ENOMEM.
 */
int go_table__open(struct go_table *t, struct elf_collect *c, const struct elf_file *f);
void go_table__fini(struct go_table *t);

/*
 * Sets `text` and `gofunc` (go_module.c). 0; 1: `text` is right only if the program starts in Go;
 * -ENODATA: nothing tells it; -ENOMEM.
 */
int go_module__find(struct go_table *t, struct elf_collect *c, const struct elf_file *f,
		    const struct elf_section *table);

/* A little-endian number of that many bytes (up to 8); false outside of the table. */
bool go_table__get(const struct go_table *t, uint64_t at, unsigned bytes, uint64_t *ret);

/*
 * Entry i of the list: its pc, and where its record lies; the last one (n_functions) has a pc only.
 */
bool go_table__entry(const struct go_table *t, uint64_t i, uint64_t *ret_pc, uint64_t *ret_record);

/* The name in a record: behind its pc stands the name's offset. NUL-terminated. */
bool go_table__name(const struct go_table *t, uint64_t record, struct dcm_str *ret);
/* A text at an offset of a part that begins at `part`; false outside, or when it has no end. */
bool go_table__text(const struct go_table *t, uint64_t part, uint64_t offset, struct dcm_str *ret);

#endif
