/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/flights.h - batches to servers that take one profile a request: several are on their way at once
 *
 * A host's window is a hundred profiles, and what is scraped is one a batch; a server far away answers in a tenth of a second. One after
 * the other they would take longer than the window. Each profile is judged by its own answer, as sender.h does it; where one is not taken,
 * those that were on their way with it, of its batch or the next ones, are, or not, by themselves, and none that was taken is sent
 * again when its batch comes again.
 *
 * The writer's thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_FLIGHTS_H
#define DECIMA_OUTPUT_DELIVERY_FLIGHTS_H

#include "core/base/buf.h"
#include "plugins/output/delivery/sender.h"

enum { FLIGHTS_MAX = 8, FLIGHT_HEADERS_MAX = 2 };

/* What the output knows of a profile of which a part was sent: zeroed at first, and kept while the profile may come again. */
struct flight_note {
	uint32_t v[3];
};

/* One profile on its way. */
struct flight {
	uint32_t profile;
	struct flight_note note, next; /* next: what it becomes when that is taken */
	struct delivery_request request;
	/* What the request may point to; the last three are freed with it: */
	struct dcm_http_header headers[FLIGHT_HEADERS_MAX];
	struct buf url, message;
	uint8_t *data;
	/* Privately: */
	struct delivery *delivery;
	uint32_t batch; /* among those that were given */
	uint64_t key;
	bool is_known; /* to have been taken before */
	bool is_up;
	int rc; /* of one that is not up */
	struct dcm_error err;
};

struct flights_ops {
	/* Fills in f->request, of the profile or of its next part, and f->next. 0; -EILSEQ: it cannot be encoded; -EAGAIN: no memory. */
	int (*make)(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err);
	/* That was taken. Does another part follow? NULL: none ever does. */
	bool (*has_more)(void *ctx, const struct flight *f, const struct dcm_batch *batch);
};

/* How it went with one behind another that was not taken, or with that one: it comes again. */
struct flight_memory {
	uint64_t key; /* of its batch and its place there; 0: none */
	bool is_taken;
	struct flight_note note;
};

struct flights {
	struct sender *sender;
	struct flight v[FLIGHTS_MAX];
	/* All are among the FLIGHTS_MAX that come next, while batches come in their order. Of batches without an id there are none. */
	struct flight_memory kept[2 * FLIGHTS_MAX];
	uint32_t n_kept;    /* ever */
	uint64_t n_settled; /* profiles, ever: the next one's place is by it */
	/* Of the last group of which some went: */
	int64_t not_before_ns;
	uint64_t alone; /* the batch that was refused, as a key; 0: none was */
	struct dcm_error sentence;
};

/* 0 or -ENOMEM; flights__close() in any case. The sender is open, and outlives it. */
int flights__open(struct flights *fs, struct sender *s, struct dcm_error *err);
void flights__close(struct flights *fs); /* a zeroed one, too */

/* write() and pass_over() of such an output. */
int flights__write(struct flights *fs, struct dcm_batch *batch, const struct flights_ops *ops,
		   void *ctx, int64_t deadline_mono_ns, struct dcm_error *err);
int flights__pass_over(struct flights *fs, const struct dcm_batch *batch, uint32_t *ret_profile);
/* write_group(). For a quarter of a second another batch is begun when there is a place, then those that have begun come to their end. */
int flights__write_group(struct flights *fs, struct dcm_batch *const *batches, uint32_t n,
			 const struct flights_ops *ops, void *ctx, uint32_t *ret_n_done,
			 int64_t deadline_mono_ns, struct dcm_error *err);

#endif
