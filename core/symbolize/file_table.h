/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/file_table.h - files by build id, and their symbol tables within a bound; private
 * to this folder
 *
 * An entry stays when its table was evicted, so that what happened to a file is known; the number
 * of entries is bounded as well. Not thread-safe: its owner locks. Tables are reference-counted and
 * constant, so a reader takes one under the lock and looks names up without it.
 */
#ifndef DECIMA_SYMBOLIZE_FILE_TABLE_H
#define DECIMA_SYMBOLIZE_FILE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"

enum { FILE_TABLE_MAX_FILES = 1 << 16, FILE_TABLE_BUCKETS = 4096 };

struct symbol_table {
	_Atomic uint32_t refs;
	struct elf_symbols *elf;
};

enum file_state {
	FILE_QUEUED, /* offered, not read yet */
	FILE_READY,
	FILE_FAILED, /* `why` says it */
	FILE_EVICTED /* was read; its table had to make room */
};

struct file_entry {
	struct file_entry *next;	  /* in its bucket */
	struct file_entry *newer, *older; /* by last use */
	uint64_t hash;
	enum file_state state;
	uint8_t why;		    /* enum dcm_unnamed */
	struct symbol_table *table; /* FILE_READY */
	uint64_t table_bytes;
	uint32_t build_id_n;
	char build_id[]; /* [build_id_n] */
};

struct file_table {
	struct file_entry **buckets; /* [FILE_TABLE_BUCKETS] */
	struct file_entry *newest, *oldest;
	uint32_t n_files, n_tables;
	uint64_t bytes, max_bytes; /* of the tables */
	uint64_t n_evicted;
};

int file_table__init(struct file_table *t, uint64_t max_bytes); /* 0 or -ENOMEM */
void file_table__fini(struct file_table *t);

/* NULL when unknown. Finding counts as use. */
struct file_entry *file_table__find(struct file_table *t, struct dcm_str build_id, uint64_t hash);

/* A new entry, queued. NULL when memory ran out, or all entries wait to be read. */
struct file_entry *file_table__add(struct file_table *t, struct dcm_str build_id, uint64_t hash);
void file_table__remove(struct file_table *t, struct file_entry *e);

/*
 * Gives a queued entry its table (taking the reference) and evicts others until the tables fit;
 * never the new one.
 */
void file_table__set(struct file_table *t, struct file_entry *e, struct symbol_table *table);

/* Takes what elf__load() made; NULL when memory ran out (and frees it). */
struct symbol_table *symbol_table__new(struct elf_symbols *elf);
static inline struct symbol_table *symbol_table__ref(struct symbol_table *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}
void symbol_table__unref(struct symbol_table *t); /* NULL is fine; any thread */

#endif
