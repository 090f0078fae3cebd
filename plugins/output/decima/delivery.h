/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/decima/delivery.h - one request to the other side, waited for, and what its answer means
 *
 * One at a time, by one thread; the answer comes on the host's client thread.
 */
#ifndef DECIMA_OUTPUT_DECIMA_DELIVERY_H
#define DECIMA_OUTPUT_DECIMA_DELIVERY_H

#include <decima/plugin.h>

struct delivery;

/* The client and the URL are borrowed. NULL: no memory. */
struct delivery *delivery__new(const struct dcm_host *host, struct dcm_http_client *client,
			       const char *url);
void delivery__free(struct delivery *d);

/*
 * Sends [n] bytes, which are in gzip, and waits for the answer until the deadline. 0: it was taken. -EAGAIN: it
 * may go well later. -EBADMSG: the same will be refused again. err says what the other side said, or
 * why it was not heard.
 */
int delivery__send(struct delivery *d, const void *data, size_t n, int64_t deadline_mono_ns,
		   struct dcm_error *err);

#endif
