/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/resume.h - where an output goes on in a batch of which it has sent a part
 *
 * For outputs that send or write a batch piece by piece: what was taken is not sent again when the batch comes again.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_RESUME_H
#define DECIMA_OUTPUT_DELIVERY_RESUME_H

#include <string.h>

#include <decima/plugin.h>

/* Zeroed at first. */
struct resume {
	struct dcm_batch_id batch; /* of the last write() */
	uint32_t n_done;	   /* of its profiles */
	bool is_open;		   /* ... and the same batch is to come again */
};

/* The first profile that is to be sent now. A batch without a source may be any: better some of it twice than not at all. */
static inline uint32_t resume__begin(struct resume *r, const struct dcm_batch *batch)
{
	const struct dcm_hash none = { 0 };

	if (!r->is_open || memcmp(&batch->id.source, &none, sizeof(none)) == 0 ||
	    memcmp(&batch->id.source, &r->batch.source, sizeof(none)) != 0 ||
	    batch->id.sequence != r->batch.sequence)
		r->n_done = 0;
	r->batch = batch->id;
	r->is_open = true;
	return r->n_done;
}

/* All up to there are settled; with the last one the batch is. */
static inline void resume__note(struct resume *r, const struct dcm_batch *batch, uint32_t n_done)
{
	r->n_done = n_done;
	r->is_open = n_done < batch->n_profiles;
}

#endif
