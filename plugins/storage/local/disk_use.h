/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/disk_use.h - what the store's files take on the disk, by kind
 *
 * Blocks and what is set aside are counted by who writes them (kept.h, quarantine.h). Dictionaries,
 * the log and the manifest are few files that grow in many places: they are looked at, when the
 * store is opened and after each round of its upkeep. Who asks waits for no disk.
 */
#ifndef DECIMA_STORAGE_LOCAL_DISK_USE_H
#define DECIMA_STORAGE_LOCAL_DISK_USE_H

#include <stdatomic.h>
#include <stdint.h>

struct vfs;

/* Sizes of files: the log's with the room that is allocated to it. */
struct disk_use {
	_Atomic uint64_t dictionary_bytes, log_bytes;
	_Atomic uint64_t other_bytes; /* the manifest, and the lock */
};

/* Looks. What cannot be read keeps its last number. */
void disk_use__look(struct disk_use *u, struct vfs *v);

#endif
