/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/copy.h - brings entries of a batch into a builder: the one way in which batches are
 * merged
 *
 * A copier remembers what it has copied, so that each string, mapping, function, location and stack
 * of the source is looked up once. Storage, export and merge all use it. Only what is asked for is
 * copied, with what it refers to.
 */
#ifndef DECIMA_BATCH_COPY_H
#define DECIMA_BATCH_COPY_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"

struct copier;

/*
 * src and dst outlive the copier, and dst is not sealed or reset while it is used (ids of another
 * batch would come out). NULL when memory ran out.
 */
struct copier *copier__new(const struct dcm_batch *src, struct dcm_builder *dst);
void copier__free(struct copier *c);
DEFINE_CLEANUP(struct copier *, copier__free);

/*
 * Ids in the builder of the source's entries (adding them when new); failures stick to the builder.
 */
uint32_t copier__string(struct copier *c, uint32_t id);
uint32_t copier__location(struct copier *c, uint32_t id);
uint32_t copier__stack(struct copier *c, uint32_t id);
uint32_t copier__series(struct copier *c, uint32_t id);
uint32_t copier__label_set(struct copier *c, uint32_t id);
/* The whole profile with its rows. */
uint32_t copier__profile(struct copier *c, uint32_t id);

/*
 * All profiles of [n] batches in one new batch (its id is that of the builder). What stood in the
 * builder comes before them; it is empty afterwards, whatever is returned.
 */
int batch__merge(struct dcm_batch *const *batches, uint32_t n, struct dcm_builder *b,
		 struct dcm_batch **ret_batch, struct dcm_error *err);

/*
 * One profile of it as a batch of its own, with what it refers to. Its id is made of the batch's and the profile's number: it is
 * no retry of the whole, and the same each time. -ENOMEM, or as builder__seal().
 */
int batch__one(const struct dcm_batch *b, uint32_t profile, struct dcm_batch **ret,
	       struct dcm_error *err);

#endif
