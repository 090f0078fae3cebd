/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kept.h - names from what is kept on disk; private to this folder
 *
 * What joins the symbol store and its depot: files that are read from there because nobody offered
 * them, and what is told of it.
 */
#ifndef DECIMA_SYMBOLIZE_KEPT_H
#define DECIMA_SYMBOLIZE_KEPT_H

#include "core/symbolize/reading.h"
#include "core/symbolize/store.h"

/* Opens the depot where the configuration names one. 0 or -ENOMEM. */
int kept__init(struct symbols *s);
/* Starts the thread that puts files there, where they may be put. 0, -ENOMEM, or of the thread. */
int kept__start(struct symbols *s);

/* The file that is kept of an entry: itself, or else its debuginfo; a descriptor or an error. */
int kept__open(struct symbols *s, const struct file_entry *file);

/* What was resolved of an entry's file, by this process or one before it; NULL: nothing. */
struct names *kept__names(struct symbols *s, const struct file_entry *file);

/*
 * Of a file that tells little, or could not be read (rc), a better one may be kept: takes that one
 * in the place of *r. Returns what came of it.
 */
int kept__or_better(struct symbols *s, const struct file_entry *file, int rc, struct reading *r);

/*
 * Has what is kept on disk read, the file or what was resolved of it, when no other of that build
 * id is known, or debuginfo has come meanwhile. Under the lock.
 */
void kept__want(struct symbols *s, struct dcm_str build_id, uint64_t hash);

/*
 * Queues an entry, which is not queued, to be read from what is kept on disk; afresh: in the place
 * of its table, whatever that is. Under the lock.
 */
void kept__read(struct symbols *s, struct file_entry *e, bool afresh);

/* The members about store_dir. Not under the lock. */
void kept__stat(struct symbols *s, struct symbols_stat *ret);

#endif
