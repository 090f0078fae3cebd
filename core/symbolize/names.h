/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/names.h - what was resolved of a file, as bytes that are appended to and as a
 * table; private to this folder
 *
 * A log of one build id is a row of frames (docs/FORMATS.md). Each has a checksum and texts of its
 * own, so frames are written one behind the other, and what is damaged is left out without harm to
 * what follows. Of an address that is there several times, the last one counts, unless one before
 * is better (learned_set__has_better()). Bytes may be anybody's: what a frame says is checked, and texts are
 * UTF-8.
 */
#ifndef DECIMA_SYMBOLIZE_NAMES_H
#define DECIMA_SYMBOLIZE_NAMES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/symbolize/learned.h"

enum {
	NAMES_HEAD_BYTES = 24,
	NAMES_MAX_BYTES = 16 << 20 /* of a log: nobody reads a larger one */
};

/* Constant, and shared by threads. */
struct names {
	_Atomic uint32_t refs;
	struct learned_set set; /* of one build id */
	uint64_t bytes;		/* memory */
};

struct names_found {
	uint64_t n_frames;
	uint64_t n_bad_bytes; /* of frames that are damaged, or not there whole */
	uint64_t first_bytes; /* of the first sound frame */
};

/*
 * n <= NAMES_MAX_BYTES. 0 (also when nothing in it is sound) or -ENOMEM. Behind damage that claims
 * to be several times the log, what is sound may be left out, too. ret_found may be NULL.
 */
int names__read(const uint8_t *p, size_t n, struct dcm_str build_id, struct names **ret,
		struct names_found *ret_found);

static inline struct names *names__ref(struct names *n)
{
	if (n)
		atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
	return n;
}
void names__unref(struct names *n); /* NULL is fine; any thread */
DEFINE_CLEANUP(struct names *, names__unref);

/*
 * Appends one frame with these entries of the set, all of that build id. Out of memory the buffer
 * says so, and what it has got is no frame.
 */
void names__write(const struct learned_set *set, const uint32_t *rows, size_t n_rows,
		  struct dcm_str build_id, struct buf *out);

#endif
