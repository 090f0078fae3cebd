/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_layout.h - the ends of a block file, as they lie in it
 *
 * Little-endian, no holes. docs/FORMATS.md describes every byte. A reader takes files of its own
 * major version only, and any minor one: what a minor version adds, an older reader can do without.
 */
#ifndef DECIMA_STORAGE_LOCAL_BLOCK_LAYOUT_H
#define DECIMA_STORAGE_LOCAL_BLOCK_LAYOUT_H

#include <stdint.h>

#define BLOCK_MAGIC 0x31304b4c424d4344u /* "DCMBLK01" */
#define BLOCK_SEED  0x6b636f6c62u /* of the header's checksum; the file's own comes from its id */

enum { BLOCK_MAJOR = 1, BLOCK_MINOR = 0 };

struct block_header {
	uint64_t magic;
	uint16_t major, minor;
	uint32_t flags; /* 0 */
	uint8_t id[16];
	uint32_t era, level;
	uint64_t reserved[2]; /* 0 */
	uint64_t sum;	      /* xxh3-64 of the bytes before */
};
_Static_assert(sizeof(struct block_header) == 64, "docs/FORMATS.md");

enum block_section {
	BLOCK_ROWS,
	BLOCK_PROFILES,
	BLOCK_STACKS,
	BLOCK_ROLLUPS,
	BLOCK_PAGES,
	BLOCK_TYPES,
	BLOCK_CHUNKS,
	BLOCK_N_SECTIONS,
};

struct block_span {
	uint64_t off, n; /* bytes; off is a multiple of 8 */
};

struct block_footer {
	struct block_span sections[BLOCK_N_SECTIONS];
	int64_t first_ms, last_ms;
	uint64_t n_rows, n_profiles;
	uint64_t types_sum, chunks_sum; /* xxh3-64 of these sections */
	uint64_t bytes;			/* of the file */
	uint64_t sum;			/* xxh3-64 of the footer's bytes before */
	uint64_t magic;
};
_Static_assert(sizeof(struct block_footer) == 184, "docs/FORMATS.md");

#endif
