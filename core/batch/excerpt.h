/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/excerpt.h - what a kept builder's profiles use of it, as a batch of its own
 *
 * For who fills one builder again and again with profiles that use the same entries: a batch is made of those that they
 * do use, in the order in which they are met, without looking anything up and without hashing anything twice. It keeps
 * the rules of builder.h. One thread at a time.
 */
#ifndef DECIMA_BATCH_EXCERPT_H
#define DECIMA_BATCH_EXCERPT_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/batch/builder.h"

struct excerpt;

/* The builder is borrowed, and is neither sealed nor reset from now on. NULL: no memory. */
struct excerpt *excerpt__new(struct dcm_builder *from);
void excerpt__free(struct excerpt *x);
DEFINE_CLEANUP(struct excerpt *, excerpt__free);

/*
 * Its profiles, with all that they use and the id that builder__set_source() gave, in a batch; the builder keeps
 * everything but the profiles. An error is the builder's first, as a seal has it, or -ENOMEM: after one, neither
 * is of any use.
 */
int excerpt__make(struct excerpt *x, struct dcm_batch **ret_batch, struct dcm_error *err);

/* Memory that it holds beside the builder's, in bytes. */
uint64_t excerpt__bytes(const struct excerpt *x);

#endif
