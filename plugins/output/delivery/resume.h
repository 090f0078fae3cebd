/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/resume.h - where an output goes on in a batch of which it has sent a part
 *
 * For outputs that send or write a batch piece by piece: what was taken is not sent again when the batch comes again.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_RESUME_H
#define DECIMA_OUTPUT_DELIVERY_RESUME_H

#include <stdbool.h>
#include <string.h>

#include <decima/plugin.h>

/* Zeroed at first. */
struct resume {
	struct dcm_batch *batch; /* of the last write(), a reference; NULL: it is not to come again */
	uint32_t n_done;	 /* of its profiles */
};

/* Is it the one that is to come again? From a spool it may come as another copy; not all have a source. */
static inline bool resume__is_same(const struct resume *r, const struct dcm_batch *batch)
{
	const struct dcm_hash none = { 0 };

	if (!r->batch)
		return false;
	if (r->batch == batch)
		return true;
	return memcmp(&batch->id.source, &none, sizeof(none)) != 0 &&
	       memcmp(&batch->id.source, &r->batch->id.source, sizeof(none)) == 0 &&
	       batch->id.sequence == r->batch->id.sequence;
}

/* The batch is settled, or never comes again. */
static inline void resume__end(struct resume *r, const struct dcm_host *host)
{
	if (r->batch)
		host->batch_unref(r->batch);
	*r = (struct resume){ 0 };
}

/* The first profile that is to be sent now. */
static inline uint32_t resume__begin(struct resume *r, const struct dcm_host *host, struct dcm_batch *batch)
{
	if (!resume__is_same(r, batch)) {
		resume__end(r, host);
		r->batch = host->batch_ref(batch);
	}
	return r->n_done;
}

/* All up to there are settled. */
static inline void resume__note(struct resume *r, uint32_t n_done)
{
	r->n_done = n_done;
}

#endif
