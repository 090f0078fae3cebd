/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/state.h - what tables.c (images) and build.c (files) share, and nobody
 * else
 */
#ifndef DECIMA_EBPF_TABLES_STATE_H
#define DECIMA_EBPF_TABLES_STATE_H

#include <stdatomic.h>

#include "plugins/input/ebpf/tables/pages.h"
#include "plugins/input/ebpf/tables/dictionary.h"
#include "plugins/input/ebpf/tables/tables.h"
#include "plugins/input/ebpf/background.h"

enum {
	TABLES_IMAGE_BUCKETS = 4096,
	TABLES_FILE_BUCKETS = 1024,
};

enum tables_file_state {
	TABLES_FILE_QUEUED, /* to be compiled; in the queue, or being compiled */
	TABLES_FILE_READY,
	TABLES_FILE_EVICTED,	 /* to be compiled again when a sample meets it */
	TABLES_FILE_OVER_BUDGET, /* no room */
	TABLES_FILE_FAILED,	 /* cannot be compiled */
	TABLES_FILE_NOT_READ,	 /* the same, because the system failed: perhaps not for ever */
};

struct tables_file {
	struct tables_file *next;   /* in the bucket */
	struct tables_file *queued; /* behind it in the queue */
	uint32_t refs;		    /* of mappings, and the thread's while it compiles */
	uint32_t left_epoch;	    /* when the last of them went */
	enum tables_file_state state;
	uint32_t refused_epoch; /* when there was no room, or it was not read */
	int fd;
	struct pages pages;
	uint16_t *numbers; /* [n_numbers] of the dictionary, in its pages */
	uint32_t n_numbers;
	char build_id[129];
};

struct tables_image_entry {
	struct tables_image_entry *next; /* in the bucket */
	struct tables_image key;
	uint64_t exec_pages;
	uint32_t address, n;	    /* struct tables_mapping [n] in the heap; 0: none */
	struct tables_file **files; /* [n], references; NULL: not a file, or not known yet */
	bool *unbound;		    /* [n]: TABLES_PENDING */
};

struct tables {
	struct tables_memory memory;
	struct heap *heap;
	struct dictionary rules;
	struct unwind_cache *cache; /* the thread's; NULL: none */
	struct tables_image_entry *images[TABLES_IMAGE_BUCKETS];
	struct tables_file *files[TABLES_FILE_BUCKETS];
	struct tables_file *queue, **queue_end;
	struct tables_stat stat;  /* but for the heap's */
	int64_t epoch_ns;	  /* mono, of the last change of the epoch */
	uint32_t collected_epoch; /* when rules of files that have gone were looked for last */

	struct background bg;	/* its lock: over all above and below */
	_Atomic bool cancelled; /* stopping, for a compilation that runs */
	_Atomic uint64_t changes;
	int wake_fd;
	bool is_awaited; /* a walk waits for a file that is being compiled */
};

/* The word that stands for the file's table in a mapping. With the lock. */
uint32_t tables_file__word(const struct tables_file *f);

/* Writes that word into every mapping of the file. With the lock. */
void tables__republish(struct tables *t, const struct tables_file *f);

/* The first of the queue, which is not empty, with the queue's reference. With the lock. */
struct tables_file *tables_file__take_queued(struct tables *t);

/* Lets it be compiled, unless that goes on already. With the lock. */
void tables_file__enqueue(struct tables *t, struct tables_file *f);

struct tables_file *tables_file__find(struct tables *t, const char *build_id);
struct tables_file *tables_file__ref(struct tables_file *f);
void tables_file__unref(struct tables *t, struct tables_file *f); /* NULL is fine */

/* Forgets what nobody has referred to for long; at the end, everything. With the lock. */
void tables__sweep_files(struct tables *t, bool all);

/*
 * Takes their tables from files that have not been used for longest, and not lately, until as many
 * bytes have become free or will. False when there is not that much to take. With the lock.
 */
bool tables__evict(struct tables *t, uint64_t bytes);

/*
 * Files that were not read may be tried again after a minute, when a sample meets them; and those that found no
 * room, if there is room by now or somebody to take it from. With the lock.
 */
void tables__forgive(struct tables *t);

/* The body of the compiling thread. */
void *tables__build_thread(void *arg);

#endif
