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
#include <sys/types.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"
#include "core/symbolize/frames.h"
#include "core/symbolize/names.h"

enum { FILE_TABLE_MAX_FILES = 1 << 16, FILE_TABLE_BUCKETS = 4096, FILE_TABLE_MAX_TRIED = 4 };

struct symbol_table {
	_Atomic uint32_t refs;
	struct elf_symbols *elf;
};

/* Open files that tell lines and inlined functions. Constant but for `failed`. */
struct debug_source {
	_Atomic uint32_t refs;
	_Atomic uint8_t failed; /* enum dcm_unnamed: why it is asked no more; 0: nothing is wrong */
	_Atomic int64_t late_ns;	/* that it had without an answer */
	_Atomic int64_t rests_until_ns; /* mono: not asked before that unless somebody waits for names */
	int fds[FRAMES_MAX_FILES];	/* by enum frames_file; -1: none */
};

enum file_state {
	FILE_QUEUED, /* offered, not read yet */
	FILE_READY,
	FILE_FAILED, /* `why` says it */
	FILE_EVICTED /* its table had to make room, or nothing but what was resolved of it is there */
};

struct file_entry {
	struct file_entry *next;	  /* in its bucket */
	struct file_entry *newer, *older; /* by last use */
	uint64_t hash;
	enum file_state state;
	bool fetched;	      /* debuginfod servers were asked, once */
	bool lacks_debuginfo; /* none was found when it was read */
	int64_t look_at_ns;   /* mono: when it may be looked for again */
	uint8_t n_unanswered; /* times in a row that nobody said whether there is any */
	int64_t owed_at_ns; /* mono: from then on the next offer is to ask once more; 0: none is */
	int64_t note_at_ns; /* mono: when its use is told to the depot again */
	/*
	 * Several files may have one build id, stripped or not. Those that were read since the
	 * table is here, so that each is read once, and no more than so many.
	 */
	struct file_identity {
		dev_t dev;
		ino_t ino;
	} tried[FILE_TABLE_MAX_TRIED]; /* [n_tried] */
	uint8_t n_tried;
	uid_t owner;	  /* of the last of them */
	bool is_complete; /* no other file can tell more */
	/* While it is queued: what is kept on disk has changed, and is to be read after that. */
	enum { FILE_READ_ONCE, FILE_READ_AGAIN, FILE_READ_AFRESH } again;
	bool unkept; /* it was to be kept on disk, and was not: the next offer is for that */
	uint8_t why; /* enum dcm_unnamed: of the file, or of addresses without a symbol */
	struct symbol_table *table;  /* FILE_READY */
	struct debug_source *source; /* FILE_READY, or NULL: it has none, or had to make room */
	bool is_kept;		     /* the table is of the file that is kept on disk */
	struct names *names; /* what was resolved of it before; NULL: nothing, or it had to make room */
	uint64_t table_bytes;
	uint32_t build_id_n;
	char build_id[]; /* [build_id_n] */
};

struct file_table {
	struct file_entry **buckets; /* [FILE_TABLE_BUCKETS] */
	struct file_entry *newest, *oldest;
	uint32_t n_files, n_tables;
	uint64_t bytes, max_bytes; /* of the tables, and of names */
	uint64_t n_evicted;
	uint32_t n_sources, max_sources;
};

/* max_sources: files that are kept open. 0 or -ENOMEM. */
int file_table__init(struct file_table *t, uint64_t max_bytes, uint32_t max_sources);
void file_table__fini(struct file_table *t);

/* NULL when unknown. Finding counts as use. */
struct file_entry *file_table__find(struct file_table *t, struct dcm_str build_id, uint64_t hash);

/* A new entry, queued. NULL when memory ran out, or all entries wait to be read. */
struct file_entry *file_table__add(struct file_table *t, struct dcm_str build_id, uint64_t hash);
void file_table__remove(struct file_table *t, struct file_entry *e);

/*
 * Gives an entry its table and its source (which may be NULL; takes both references), in the place
 * of older ones, and evicts others until they fit; never the new ones.
 */
void file_table__set(struct file_table *t, struct file_entry *e, struct symbol_table *table,
		     struct debug_source *source);

/* Gives an entry what was resolved before (takes the reference; NULL is fine); else as above. */
void file_table__set_names(struct file_table *t, struct file_entry *e, struct names *names);

/* Takes what elf__load() made; NULL when memory ran out (and frees it). */
struct symbol_table *symbol_table__new(struct elf_symbols *elf);
static inline struct symbol_table *symbol_table__ref(struct symbol_table *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}
void symbol_table__unref(struct symbol_table *t); /* NULL is fine; any thread */

/* Takes the descriptors, also on failure; NULL when memory ran out. */
struct debug_source *debug_source__new(const int fds[static FRAMES_MAX_FILES]);
static inline struct debug_source *debug_source__ref(struct debug_source *d)
{
	if (d)
		atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}
void debug_source__unref(struct debug_source *d); /* NULL is fine; any thread */

#endif
