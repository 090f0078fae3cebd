/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/tiny_store.h - the smallest store over the real log, manifest and commit order
 *
 * What it stores are numbers; each is once in the store or not at all. A frame of the log has one
 * number and bytes that follow from it, a block has many, and a record in a dictionary without
 * which it means nothing. What the checkers ask of it they ask through `struct subject`, so that a
 * larger engine can take its place.
 */
#ifndef DECIMA_TESTS_STORAGE_TINY_STORE_H
#define DECIMA_TESTS_STORAGE_TINY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/disk/vfs.h"

/* Deviations from the order that the store itself makes; bits above those of sim_disk.h. */
enum {
	DEVIATE_ACK_EARLY = 1 << 16,	  /* a write returns before its sync */
	DEVIATE_REMOVE_EARLY = 1 << 17,	  /* blocks are removed before the manifest is replaced */
	DEVIATE_FORGET_EARLY = 1 << 18,	  /* segments are */
	DEVIATE_NO_RECORD_SYNC = 1 << 19, /* what blocks refer to is not synced before the manifest */
	DEVIATE_UNFILTER_EARLY = 1 << 20,   /* what was removed is forgotten while the log has it */
	DEVIATE_FILTER_IN_MEMORY = 1 << 21, /* what was removed is not written down */
	DEVIATE_NO_NOTE = 1 << 22,	    /* the manifest does not hear of a segment */
};

struct subject_setup {
	uint64_t segment_bytes;
	uint32_t align;
	unsigned deviations;
};

/*
 * A store that a checker drives. Every function returns 0 or a negative errno. It belongs to one
 * thread.
 */
struct subject {
	/*
	 * *ret_complaints: damage that was reported, files that are missing, content that is wrong.
	 */
	int (*open)(struct vfs *v, const struct subject_setup *setup, void **ret,
		    unsigned *ret_complaints);
	void (*close)(void *store);
	/* Numbers from..from + n - 1. 0: acknowledged. */
	int (*write)(void *store, uint64_t from, unsigned n);
	int (*seal)(void *store);
	int (*compact)(void *store); /* 1: blocks became another one; 0: there was nothing to do */
	/* The numbers of the oldest block leave the store; each() hears of them before. */
	int (*retain)(void *store, void (*each)(void *ctx, uint64_t id), void *ctx);
	/*
	 * Numbers leave the store by what they are: those of `kind` that removed() tells of, but
	 * none that is written later. 0: for good. Both NULL: this store cannot.
	 */
	int (*remove)(void *store, unsigned kind);
	bool (*removed)(unsigned kind, uint64_t id);
	int (*backup)(void *store, const char *dir); /* NULL: this store cannot */
	int (*settle)(void *store);		     /* 0: the last change is durable */
	int (*probe)(void *store);
	/* All numbers, in no order, as queries would find them. */
	void (*ids)(void *store, void (*each)(void *ctx, uint64_t id), void *ctx);
};

extern const struct subject tiny_subject;

#endif
