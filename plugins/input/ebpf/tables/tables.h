/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/tables.h - the unwind tables of running code, where the kernel reads
 * them
 *
 * A process image has executable mappings, a mapping shows a file, and a file's unwind rows become
 * code pages in memory that BPF programs see (bpf/tables.h). Whoever follows processes announces
 * the mappings of an image, and binds each to its file once a sample has met it. A file is compiled
 * once, by a thread of its own, however many processes map it; until then samples that meet it are
 * deferred.
 *
 * Memory is bounded. When it is full, the files that no sample has met for longest lose their
 * tables, and get them again when one does.
 *
 * One lock over everything, which is not held during a compilation. Any thread, unless it says so.
 */
#ifndef DECIMA_EBPF_TABLES_TABLES_H
#define DECIMA_EBPF_TABLES_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/tables/heap.h"
#include "plugins/input/ebpf/unwind/cache.h"
#include "bpf/unwind.h"

struct tables;

/*
 * A process between two exec()s: what struct sampler_head carries. With TABLES_ASIDE in its pid it
 * is one that programs do not see: an earlier state of a process, for tables__walk() alone.
 */
enum { TABLES_ASIDE = 1 << 30 }; /* the kernel's pids have 22 bits */
struct tables_image {
	uint32_t pid;
	uint64_t start_ns, exec_id;
};

/* What is known of the code in a mapping. */
enum tables_code {
	TABLES_PENDING, /* it lies in a file that nobody has opened yet */
	TABLES_FILE,	/* the file of this build id was handed over by tables__file() */
	TABLES_MEMORY,	/* no file: unwound by frame pointers */
	TABLES_UNKNOWN, /* a file that cannot be read: the same, as a guess */
	TABLES_STACK,	/* the process's stack: where a walk comes to it, it went astray */
};

/* An executable mapping. */
struct tables_range {
	uint64_t start, end; /* [start, end) */
	uint64_t offset;     /* in the file, of `start` */
	enum tables_code code;
	const char *build_id; /* for TABLES_FILE */
};

/* The memory that programs read. */
struct tables_memory {
	struct heap_source heap;
	struct unwind_rule *rules;     /* [TABLES_RULES], zeroed */
	struct tables_bucket *buckets; /* [TABLES_BUCKETS], zeroed */
	volatile __u32 *epoch;	       /* what programs mark things with that they use */
};

/* limit_bytes: of the heap. `memory` is copied. NULL when memory ran out. */
struct tables *tables__new(const struct tables_memory *memory, uint64_t limit_bytes);
/*
 * Keeps what is compiled there, and takes it from there. Borrowed, the thread's alone until
 * tables__free(). Before tables__start(), or never.
 */
void tables__keep_in(struct tables *t, struct unwind_cache *cache);
int tables__start(struct tables *t); /* the compiling thread: 0 or a negative errno */
void tables__free(struct tables *t); /* ends the thread; NULL is fine */
DEFINE_CLEANUP(struct tables *, tables__free);

/*
 * Hands over the file behind `fd`, of which a duplicate is kept, by its build id (or what stands in
 * for one): a second file with the same one is the same. It is compiled soon, and after a minute again when the
 * system failed to read it. Beyond 4,096 files, one that no image has had for five minutes is forgotten. -ENOMEM.
 */
int tables__file(struct tables *t, const char *build_id, int fd);

/*
 * From now on these are the image's executable mappings, all of them, ascending; what was announced
 * of it before is forgotten. exec_pages: the kernel's count of them at that time; 0: not known;
 * TABLES_TURNS may be added.
 * -ENOMEM; -ENOSPC: no room in the heap; -E2BIG: there are more than TABLES_MAPPINGS, though memory
 * that goes on in the next one counts once, and the smallest ones of memory are missing.
 */
int tables__announce(struct tables *t, const struct tables_image *image, uint64_t exec_pages,
		     const struct tables_range *ranges, uint32_t n);

/*
 * What became known of the mapping that begins at `start`: its file was opened, or cannot be. False
 * when no such mapping is announced, or no such file was handed over.
 */
bool tables__bind(struct tables *t, const struct tables_image *image, uint64_t start,
		  enum tables_code code, const char *build_id);

/* The image ended, and no sample of it can come any more. */
void tables__gone(struct tables *t, const struct tables_image *image);

/* How a walk over a copied stack went. */
struct tables_walk {
	uint32_t outcome; /* enum sampler_outcome */
	uint32_t n;	  /* frames */
	/*
	 * With SAMPLER_OUTCOME_PENDING: the start of the mapping whose tables are missing, and
	 * whether its file has yet to be bound. Otherwise they come by themselves.
	 */
	uint64_t pending;
	bool unbound;
};

/*
 * Walks the stack that a deferred sample brought, by the image's mappings; frames has room for max.
 * -ESRCH: the image was not announced.
 */
int tables__walk(struct tables *t, const struct tables_image *image, const struct sampler_raw *raw,
		 uint64_t *frames, uint32_t max, struct tables_walk *ret);

/*
 * The same rule holds at these offsets of two files, so that a walk is right whichever of them it took it from. False
 * where one of them has no tables now.
 */
bool tables__same_rule(struct tables *t, const char *a_build_id, uint64_t a_offset,
		       const char *b_build_id, uint64_t b_offset);

/* To be called about once a second: memory that has rested becomes free, time goes on. */
void tables__tick(struct tables *t);

/* Grows with each file whose tables came or went, and with each announcement. */
uint64_t tables__changes(const struct tables *t);

/* Readable after a change that tables__walk() was told to wait for; tables__woken() ends that. */
int tables__wake_fd(const struct tables *t);
void tables__woken(struct tables *t);

struct tables_stat {
	struct heap_stat heap;
	uint32_t n_images, n_files, n_ready, n_rules;
	uint64_t n_rows; /* in the heap */
	uint64_t builds, build_failures, build_ns, evictions, over_budget;
	uint64_t rules_refused; /* of n_rules, there was no room for */
	uint64_t too_long;	/* of the failures: over the limit of work */
	uint64_t no_room;	/* mappings or pages that were cut off */
	struct unwind_cache_stat cache;
};
struct tables_stat tables__stat(struct tables *t);

#endif
