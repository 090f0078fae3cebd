/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/labelled.h - a batch with labels that somebody else vouches for than who made it
 */
#ifndef DECIMA_PIPELINE_LABELLED_H
#define DECIMA_PIPELINE_LABELLED_H

#include <decima/plugin.h>

/*
 * *ret: a new reference to the batch, or to one like it whose series have these labels [n] in place of what they had by these
 * names, or none where one is empty; labels that begin with `__` are gone. A batch that changes has another id, made of its own and
 * of the labels: what two senders send alike is not taken for a retry when it came to be different. -E2BIG: a series would
 * have more than 256 labels, or more than 64 KiB of them; -ENOMEM. Any thread.
 */
int labelled__make(struct dcm_batch *batch, const struct dcm_label_text *labels, uint32_t n,
		   struct dcm_batch **ret, struct dcm_error *err);

#endif
