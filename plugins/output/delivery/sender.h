/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/sender.h - a batch to the other side, profile by profile
 *
 * For outputs whose requests have some of a batch's profiles. What was taken is not sent again when the batch comes
 * again; of a request that is refused each profile is sent alone, so that the one that is at fault is known, and goes
 * without the others (pass_over() of <decima/plugin.h>). One that cannot be encoded is lost as "not_encoded", once.
 *
 * Threads: as struct dcm_output_ops says; open and close on the control thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_SENDER_H
#define DECIMA_OUTPUT_DELIVERY_SENDER_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/resume.h"
#include "plugins/output/delivery/uploads.h"

struct sender {
	const struct dcm_host *host;
	struct dcm_http_client *client;
	struct delivery *delivery;
	char *url;		    /* URL/PATH of sender_config */
	char place[DELIVERY_PLACE]; /* as sentences have it */
	struct uploads *uploads;    /* the output's, whose note the state has; NULL: none */
	struct dcm_metric *sent;    /* of profiles */
	bool is_again; /* for sender_fn: the batch has come before, and was not settled */
	/* Privately, write()'s: */
	struct resume resume;
	uint32_t alone_until; /* profiles before it are sent one at a time */
	uint32_t refused;     /* the last, alone; DCM_NONE: none was, or it is passed over */
	struct dcm_error why; /* of the last one of the batch that was passed over, or a warning; "" without one */
};

struct sender_config {
	const struct dcm_http_options *http;
	const char *url, *path; /* as delivery__url() */
	const char *metric;	/* counts profiles that the other side took */
};

/* 0 or a negative errno with a sentence; sender__close() in any case. */
int sender__open(struct sender *s, const struct dcm_host *host, const struct sender_config *config,
		 struct dcm_error *err);
void sender__close(struct sender *s); /* a zeroed one, too */
/* All is well, as far as anybody knows. */
void sender__start(struct sender *s);

/* For the writer thread, within sender_fn: what the state shall say until a batch went through without. */
void sender__warn(struct sender *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Sends profiles of the batch in one request, from `first` on, at least one and [max] at most; *ret_end, which is set
 * unless it says -EAGAIN, is behind the last. 0; -EAGAIN: later; -EILSEQ: the first cannot be encoded, and nothing was
 * sent; -ENOTSUP: they are refused, and none of the batch may be sent alone; another (-EBADMSG): they, or one of them, are
 * refused.
 */
typedef int (*sender_fn)(void *ctx, const struct dcm_batch *batch, uint32_t first, uint32_t max,
			 uint32_t *ret_end, int64_t deadline_mono_ns, struct dcm_error *err);
/* write() and pass_over() of such an output. */
int sender__write(struct sender *s, struct dcm_batch *batch, sender_fn send, void *ctx,
		  int64_t deadline_mono_ns, struct dcm_error *err);
/* Of one's own write(): where in the batch it goes on; and its end, with its result, which it returns. */
uint32_t sender__begin(struct sender *s, struct dcm_batch *batch);
int sender__settle(struct sender *s, int r, const struct dcm_error *err);
/*
 * Sends whole batches in one request, from the first on, as many as it may have; *ret_n, of 0: how many. 0 of them: the first has to
 * go by itself, and nothing was sent. -EAGAIN: later; another: they, or one of them, are refused.
 */
typedef int (*sender_group_fn)(void *ctx, struct dcm_batch *const *batches, uint32_t n,
			       uint32_t *ret_n, int64_t deadline_mono_ns, struct dcm_error *err);
/* write_group() of such an output; where *ret_n_done is 0, the first one is for its write(): it is too large, or has begun there. */
int sender__write_group(struct sender *s, struct dcm_batch *const *batches, uint32_t n,
			sender_group_fn send, void *ctx, uint32_t *ret_n_done,
			int64_t deadline_mono_ns, struct dcm_error *err);
/*
 * Of one's own write_group(). A batch that has begun before can only go on by itself: -ENOTSUP where there is one. And the end:
 * so many profiles were taken, or it may go well later (-EAGAIN, and err says why); of a refusal nothing is told until each has gone alone.
 */
int sender__begin_group(struct sender *s, struct dcm_batch *const *batches, uint32_t n,
			struct dcm_error *err);
int sender__settle_group(struct sender *s, uint32_t n_profiles, int r, const struct dcm_error *err);
int sender__pass_over(struct sender *s, const struct dcm_batch *batch, uint32_t *ret_profile);

#endif
