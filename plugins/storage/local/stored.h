/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/stored.h - a block of the store, mapped when it is first looked at
 *
 * Reference-counted, so that a question reads on when a compaction or retention has removed the
 * file meanwhile.
 *
 * Threads: any, at once.
 */
#ifndef DECIMA_STORAGE_LOCAL_STORED_H
#define DECIMA_STORAGE_LOCAL_STORED_H

#include <pthread.h>

#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/era.h"

/*
 * Whether a block has cumulative types: who asks from a time on needs their last profiles before
 * it.
 */
enum stored_cumulative { STORED_UNKNOWN, STORED_CUMULATIVE, STORED_NOT_CUMULATIVE };

struct stored {
	_Atomic uint32_t refs;
	struct manifest_block entry;
	struct era *era;	    /* referenced */
	_Atomic bool told;	    /* that something of it cannot be read */
	_Atomic uint8_t cumulative; /* enum stored_cumulative; it never changes once it is known */
	struct block_types *types; /* block_types.h: NULL: not asked for yet; with the store's `work` */
	bool rescued; /* and what can be read was saved, or nothing was wrong; with the store's `work` */
	bool reworked;	       /* somebody writes it anew (rework.h); with it too */
	_Atomic bool outdated; /* what is made of it then is wrong: set with `work`, seen without */
	/* Privately: use stored__block(). */
	struct vfs *vfs;
	pthread_mutex_t lock;
	bool mapped;
	struct block_map map;
	int failure;	 /* 0, or what is so for good: damaged, or of a later version */
	char *why;	 /* the sentence of it; NULL: memory ran out */
	uint64_t n_lost; /* vfs__n_lost() when its directory was checked */
};

/*
 * What an error says of the block that was being read or written anew. Who goes on with other
 * blocks, or gives one up, asks here.
 */
enum stored_fault {
	STORED_SOUND,	   /* there is none */
	STORED_DAMAGED,	   /* its file: what can be read of it is saved */
	STORED_UNREADABLE, /* now, or by this program, or without its dictionary: it stays as it is */
	STORED_ELSEWHERE, /* memory, the disk, an end: nothing of this one block */
};
enum stored_fault stored__fault(int error);

/* NULL when memory ran out. The vfs outlives it. */
struct stored *stored__new(struct vfs *v, struct era *era, const struct manifest_block *entry);
struct stored *stored__ref(struct stored *s);
void stored__unref(struct stored *s); /* NULL is fine */

/*
 * The block, valid as long as the reference. As block_map__open(); -EBADMSG also when its directory
 * was lost since.
 */
int stored__block(struct stored *s, const struct block **ret, struct dcm_error *err);

#endif
