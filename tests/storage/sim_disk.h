/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/sim_disk.h - a disk in memory that keeps what was promised and no more
 *
 * A vfs (core/disk/vfs.h) with two states: what programs see, and what would be there
 * after a power cut. Between the two stand, for each file, the writes that were not synced, and the
 * changes of names that were not.
 *
 * A power cut keeps each sector of 512 bytes of each unsynced write or not, by chance; a size grows
 * or not; and of the names' changes
 *	SIM_PREFIX   a prefix, in the order in which they were made, as a journaling file system does. Syncing any
 *		     directory keeps all that was before;
 *	SIM_SUBSET   any subset, which is all that POSIX promises. Syncing a directory keeps its own changes.
 * When only the process dies, everything is still seen, and nothing is safer than before.
 *
 * A sync that fails decides at once, by chance, what of the file's unsynced writes is kept; the
 * rest is never kept by any later sync, though it is still seen: what Linux does since, and before,
 * "fsyncgate".
 *
 * When its journal is aborted nothing can be written any more, but a sync that is under way then says that all
 * is well: of what went to room that was allocated and never written before, nothing is kept. So does ext4.
 *
 * Calls can be made to fail: the n-th one, once or from there on. `cut_at` makes the n-th and all
 * later ones do nothing, which is what a power cut looks like from inside. `skip` leaves out calls
 * that the store's safety needs: what a bug in the store would do. Single-threaded.
 */
#ifndef DECIMA_TESTS_STORAGE_SIM_DISK_H
#define DECIMA_TESTS_STORAGE_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/disk/vfs.h"
#include "tests/unit/random.h"

enum sim_model { SIM_PREFIX, SIM_SUBSET };

/* Deviations from the order of commit.h and wal.h; bits. */
enum {
	SKIP_BLOCK_SYNC = 1,	 /* of blocks/NUMBER.tmp */
	SKIP_BLOCK_DIR_SYNC = 2, /* of blocks/ */
	SKIP_MANIFEST_SYNC = 4,	 /* of MANIFEST.tmp */
	SKIP_ROOT_DIR_SYNC = 8,	 /* after MANIFEST was renamed */
	SKIP_WAL_SYNC = 16,	 /* of a segment */
	SKIP_WAL_DIR_SYNC = 32,	 /* after a segment was made */
	SKIP_VOUCHING = 64,	 /* the first sync of frames after each start */
	SKIP_SYNC_ERRORS = 128,	 /* a sync that failed says that it did not */
	SKIP_ERA_SYNC = 256,	 /* of eras/NUMBER.log */
	SKIP_ERA_DIR_SYNC = 512, /* of eras/ */
	SKIP_ZEROES = 1024,	 /* that are written to a segment ahead of its frames */
};

enum sim_fault {
	FAULT_NONE,
	FAULT_EIO,
	FAULT_ENOSPC,
	FAULT_EROFS,
	FAULT_EINTR,
	FAULT_SHORT, /* reads and writes do half */
	N_FAULTS
};

struct sim;

/* NULL when memory ran out. */
struct sim *sim__new(uint64_t seed, enum sim_model model);
void sim__free(struct sim *s);
struct vfs *sim__vfs(struct sim *s);

/*
 * Counts calls from here on; the n-th (from 1) of them and, when `persistent`, all later ones fail
 * so. n 0: none does.
 */
void sim__fail(struct sim *s, uint64_t n, enum sim_fault fault, bool persistent);
/* The n-th call from here on and all later ones do nothing and fail. 0: none. */
void sim__cut_at(struct sim *s, uint64_t n);
/* By the n-th call from here on the journal is aborted, until the next restart, which is a power cut. 0: never. */
void sim__abort_at(struct sim *s, uint64_t n);
void sim__skip(struct sim *s, unsigned skip);
/* How many calls were made since sim__fail(), sim__cut_at(), sim__abort_at() or sim__new(), whichever was last. */
uint64_t sim__n_calls(const struct sim *s);
/* Whether the cut has come. */
bool sim__is_cut(const struct sim *s);
/* Whether the fault came up. */
bool sim__failed(const struct sim *s);
/* What the first call that failed was made of, "." for the directory itself; "" when none did. */
const char *sim__failed_path(const struct sim *s);

/*
 * What a power cut, or the end of the process alone, leaves. No file is open. Faults and cuts end.
 */
void sim__restart(struct sim *s, bool power_cut);

/* From now on a directory of the disk is the disk, and nothing else is there. After a power cut. */
void sim__enter(struct sim *s, const char *dir);

/* What vfs__room() says; nothing until then. */
void sim__set_room(struct sim *s, uint64_t bytes, uint64_t free_bytes);

/* The directory and all names in it vanish, or come back. */
void sim__vanish(struct sim *s, bool vanished);

/*
 * A directory on the disk is renamed away, or, with "", is back: it is not found any more, and what
 * is open in it goes on. Nobody may make one in its place meanwhile.
 */
void sim__take_away(struct sim *s, const char *dir);

/* Nothing can be written or changed any more, or it can again. Reads and syncs go on. */
void sim__set_read_only(struct sim *s, bool read_only);

/* Writes to segments that began in a sector which had synced frames: a cut could take these with it. */
uint64_t sim__n_shared(const struct sim *s);

unsigned sim__n_open(const struct sim *s);
/* Bytes of all files that are seen. */
uint64_t sim__bytes(const struct sim *s);
/* Of what is seen in a directory; 0 when there is none. */
size_t sim__n_names(const struct sim *s, const char *dir);
/* A file's bytes as they are seen, to be read or damaged; NULL when there is none. */
uint8_t *sim__peek(struct sim *s, const char *path, size_t *ret_n);

#endif
