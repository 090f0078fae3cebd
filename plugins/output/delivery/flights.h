/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/flights.h - a batch to servers that take one profile a request: several are on their way at once
 *
 * A host's window is a hundred profiles, and a server far away answers in a tenth of a second. One after the other they
 * would take longer than the window. Each profile is judged by its own answer, as sender.h does it; where one is not taken,
 * those that were on their way with it are, or not, by themselves, and none that was taken is sent again when the batch comes
 * again.
 *
 * The writer's thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_FLIGHTS_H
#define DECIMA_OUTPUT_DELIVERY_FLIGHTS_H

#include "core/base/buf.h"
#include "plugins/output/delivery/sender.h"

enum { FLIGHTS_MAX = 8 };

/* One profile on its way. */
struct flight {
	uint32_t profile;
	uint32_t place; /* among the flights */
	bool is_again; /* its profile was tried before, here, or a part of it was just taken: it goes on */
	struct delivery_request request;
	/* What the request points to, freed with it: */
	struct buf url, message;
	uint8_t *data;
	/* Privately: */
	struct delivery *delivery;
	bool is_up;
	int rc; /* of one that is not up */
	struct dcm_error err;
};

struct flights_ops {
	/* Fills in f->request, of the profile or of its next part. 0; -EILSEQ: it cannot be encoded; -EAGAIN: no memory. */
	int (*make)(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err);
	/* That was taken. True: another part follows. NULL: none ever does. */
	bool (*took)(void *ctx, struct flight *f, const struct dcm_batch *batch);
};

struct flights {
	struct sender *sender;
	struct flight v[FLIGHTS_MAX];
	uint32_t taken[FLIGHTS_MAX]; /* profile p, at p % FLIGHTS_MAX, ahead of one that was not; DCM_NONE: none */
	uint32_t tried[FLIGHTS_MAX]; /* likewise: it was sent, and not taken */
};

/* 0 or -ENOMEM; flights__close() in any case. The sender is open, and outlives it. */
int flights__open(struct flights *fs, struct sender *s, struct dcm_error *err);
void flights__close(struct flights *fs); /* a zeroed one, too */

/* write() of such an output; pass_over() is sender__pass_over(). */
int flights__write(struct flights *fs, struct dcm_batch *batch, const struct flights_ops *ops,
		   void *ctx, int64_t deadline_mono_ns, struct dcm_error *err);

#endif
