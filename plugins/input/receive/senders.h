/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/senders.h - which hosts send profiles here, when they last did, and how their clocks stand
 *
 * A sender is the label `node` of what it sends, or without one its address, and the protocol. A server shows them as the targets of the input
 * receive: there is nobody to ask, but who has been silent for long shows as down. Bounded: beyond SENDERS_MAX, who was
 * silent for longest is forgotten, and counted.
 *
 * Any thread.
 */
#ifndef DECIMA_RECEIVE_SENDERS_H
#define DECIMA_RECEIVE_SENDERS_H

#include <decima/plugin.h>

enum { SENDERS_MAX = 4096 };

struct senders;

/* [silent_ns]: who has sent nothing for longer is down. NULL: no memory. */
struct senders *senders__new(const struct dcm_host *host, int64_t silent_ns);
void senders__free(struct senders *s); /* NULL works */

/* What a sender did: all of it borrowed. */
struct sending {
	struct dcm_str node;	 /* "": nobody knows who it was, and nothing is noted */
	const char *protocol;	 /* lives as long as the program */
	struct dcm_str version;	 /* of its program; "": it does not say */
	int64_t sent_real_ns;	 /* by its own clock; 0: it does not say */
	int64_t arrived_real_ns; /* by ours */
	uint64_t bytes, rows;
	const char *refusal; /* NULL: it was taken */
};
void senders__note(struct senders *s, const struct sending *sending);

/* Each of them, in no order, as a target. */
void senders__each(struct senders *s, dcm_target_fn each, void *ctx);

#endif
