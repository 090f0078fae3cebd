/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/recorded.h - a recorded set: the profiles of a real machine, as the sampler made them
 *
 * A set is one batch (docs/FORMATS.md: format `batch`) in a zstd frame, its profiles by time; those
 * of one window of the sampler start at the same time. bench/data/ has one, and a text that says
 * what is in it; bench/record makes others.
 */
#ifndef DECIMA_BENCH_RECORDED_H
#define DECIMA_BENCH_RECORDED_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/* Where the first window of a set starts, whenever it was recorded. */
#define RECORDED_BASE_NS INT64_C(1700000000000000000)

/* The file's batch. -EINVAL: it is no set; -EFBIG, -ENOMEM, of the file system, or of wire.h. */
int recorded__read(const char *path, struct dcm_batch **ret, struct dcm_error *err);
/* Writes one, as small as zstd makes it. -ENOMEM or of the file system. */
int recorded__write(const char *path, const struct dcm_batch *set, struct dcm_error *err);

/* What is in a set: a line "NAME VALUE" each, as in the text beside it. 0 or -ENOMEM. */
int recorded__describe(const struct dcm_batch *set, struct buf *out);

/* The profiles of one window after the other, each as a batch of its own. */
struct recorded_windows {
	struct dcm_batch **v; /* [n] */
	uint32_t n;
	uint64_t n_rows;
};

/*
 * Without `labels`, rows of a profile that differ in their labels alone become one, as the sampler
 * would have added them up. 0 or -ENOMEM; then there is nothing to free.
 */
int recorded__split(const struct dcm_batch *set, bool labels, struct recorded_windows *ret);
void recorded_windows__fini(struct recorded_windows *w);

#endif
