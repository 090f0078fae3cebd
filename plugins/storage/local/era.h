/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/era.h - what profiles of one stretch of time refer to
 *
 * Numbers of stacks, series, label sets and types in blocks are numbers of a dictionary, and each
 * block belongs to one: its era's. An era covers ERA_MS of profile time from a multiple of it on.
 * Its dictionary is in memory while it is used and in eras/NUMBER.log as records (era_record.h),
 * one for what came since the one before. When the last block of an era goes, the log goes, and
 * with it all texts that only old profiles had.
 *
 * NUMBER is never used twice, so a log that an interrupted change has left is nobody's: the next
 * change that removes something removes it too (upkeep.h). Data that comes late for a stretch whose
 * era has gone, or is damaged, begins a new era for it; so does what comes when its dictionary has
 * become as large as one may be: labels or stacks that are new each time fill one after the other,
 * of which those that are full can leave memory, and go with the oldest blocks.
 *
 * What the log of writes (rows_frame.h) says by number is in records that the manifest promises, or
 * came in with an earlier frame of that log which is in no block. Three things see to it: a frame
 * brings along all that no frame before it has; a seal, after which older frames go, makes records
 * of all that its heads' dictionaries have; and a dictionary that such frames name, or that is in no
 * manifest, and of which that seal has no head is left alone from then on (closed). So is one whose
 * log has records that the manifest does not promise: a process died in the middle of a change, and a
 * power cut may yet take them. So an era that a frame names and the manifest does not list is younger
 * than the manifest's number of the next one, or has gone with all that was in it.
 *
 * Threads: take(), load(), unload() and log() need the store's lock for writing; the rest needs
 * none, and fetch() should not have it. sync() is called by one thread. Who brings a dictionary
 * into memory is eras.h.
 */
#ifndef DECIMA_STORAGE_LOCAL_ERA_H
#define DECIMA_STORAGE_LOCAL_ERA_H

#include <pthread.h>

#include "plugins/storage/dict/dict.h"
#include "plugins/storage/local/log_file.h"
#include "plugins/storage/local/manifest.h"

#define ERA_MS ((int64_t)3 * 24 * 3600 * 1000)
enum {
	ERA_LOG_KIND = 2, /* in frames_head */
	ERA_FRAME_RECORD = 1,
	ERA_RECORD_BYTES = 8 << 20, /* of memory that a dictionary may gain until it is time for a record */
	ERA_PATH_BYTES = 40,
};

struct era {
	_Atomic uint32_t refs;
	uint32_t number;
	int64_t begin_ms;	   /* of the time it covers */
	uint64_t n_records;	   /* that the log has at least: the manifest promises them */
	struct dict *dict;	   /* NULL: not loaded */
	struct dict *names;	   /* what series, types and labels are, when that alone was read */
	struct log_file *log;	   /* with dict */
	struct vfs_map image;	   /* beside the process that writes: the log as it was */
	uint64_t loaded_lsn;	   /* of it then */
	pthread_mutex_t load_lock; /* held by who reads the log; before the store's lock */
	_Atomic uint64_t asked_at; /* by the store's count of questions */
	pthread_mutex_t log_lock;  /* around it */
	struct dict_counts known;  /* what the dictionary held when it was last counted: kept.h */
	struct dict_counts logged; /* what the records hold */
	uint64_t logged_bytes;	   /* of the dictionary then */
	struct dict_counts written; /* what the log of writes, or such a record, holds */
	size_t n_learnt_written;    /* of the dictionary's list: so far */
	bool in_log;		    /* frames that are in no block name it */
	bool listed;		    /* the manifest has it, or will with the seal under way */
	bool closed;		    /* for good: nothing new is added */
	/*
	 * Something of the log is lost: entries without content stand for it, and nothing new is
	 * added, since numbers might be given again that blocks have in use.
	 */
	bool damaged;
	int unreadable;	   /* 0, or why the log cannot be read at all */
	_Atomic bool told; /* that it could not be read the last time */
};

/* "eras/NUMBER.log" */
const char *era__path(char to[static ERA_PATH_BYTES], uint32_t number);

/* Where the era that covers the time begins. */
int64_t era__begin_of(int64_t time_ms);

/*
 * Has the dictionary, which is loaded, as much as one may have (0: no bound)? Then nothing is added
 * to it any more.
 */
bool era__is_full(const struct era *e, uint64_t max_bytes);
/* May something new be added to it? */
bool era__takes_more(const struct era *e, uint64_t max_bytes);

struct era *era__new(uint32_t number, int64_t begin_ms, uint64_t n_records); /* NULL: memory */
struct era *era__ref(struct era *e);
void era__unref(struct era *e); /* NULL is fine */

/* Takes the log's image, which fetch() reads from now on; nothing can be logged. -ENOENT: there is no log. */
int era__map(struct era *e, struct vfs *v, struct dcm_error *err);
/* What its records say that the dictionary has, without reading them: into `known`. 0 or as fetch(). */
int era__count(struct era *e, struct dcm_error *err);
/* The dictionary, or with names_only perhaps `names`; NULL: not loaded. */
struct dict *era__dict(const struct era *e, bool names_only);

/* How a log is read. */
struct era_how {
	struct vfs *vfs;
	bool names_only;
	dcm_report_fn report; /* of damage; may be NULL */
	void *ctx;
};

/* What the log has, on its way into an era or out of it. */
struct era_content {
	struct dict *dict; /* referenced */
	struct log_file *log;
	bool damaged, names_only;
};
void era_content__fini(struct era_content *c); /* a zeroed one too */

/*
 * Reads the log; changes nothing. Of damage the first reading tells. 0, -ENOMEM, or what the log
 * cannot be read for.
 */
int era__fetch(const struct era *e, const struct era_how *how, struct era_content *ret,
	       struct dcm_error *err);
/* Is that so for good? */
bool era__is_final(int error);
/* Into an era that is not loaded; the dictionary in the place of its names. */
void era__take(struct era *e, struct era_content *c);
/*
 * Both, when the dictionary is not there. What is so for good is remembered: the same again at the
 * next call.
 */
int era__load(struct era *e, const struct era_how *how, struct dcm_error *err);

/* Has nobody else the dictionary, and does the file have all that was logged? */
bool era__can_unload(const struct era *e);
/*
 * What era__take() took, to be freed without the lock. What is in no record is in no use, and given
 * up.
 */
void era__unload(struct era *e, struct era_content *ret);

/* An empty dictionary and no log, for one that is only read. 0 or -ENOMEM. */
int era__begin_unlogged(struct era *e);

/*
 * Appends a record of what has come since the last one, when anything has. 0, -ENOMEM, -EINVAL
 * (more than a frame holds), or -EBUSY while sync() is under way.
 */
int era__log(struct era *e, struct dcm_error *err);
/*
 * For the log of writes: appends a record of what it has not yet, when there is anything. 0 or
 * -ENOMEM. It has that when written() is called, before anything is added.
 */
int era__put_unwritten(const struct era *e, struct buf *to);
void era__written(struct era *e);
/*
 * Back from there, into the dictionary, which may have some of it already: the record p[n], if any,
 * and what the dictionary had with it. What is missing stands as entries without content, and the
 * era is damaged: *ret_lost is how many. 0, -ENOMEM, or -EBADMSG: it is no record, or says something
 * else than the dictionary, which is damaged then.
 */
int era__replay(struct era *e, const uint8_t *p, size_t n, const struct dict_counts *with,
		uint64_t *ret_lost);
/* Heads are closed, and the era has one of them, or none. */
void era__sealed(struct era *e, bool has_head);
/* Makes all records durable. */
int era__sync(struct era *e, struct dcm_error *err);
/* How many there are, durable or not. */
uint64_t era__n_records(struct era *e);

#endif
