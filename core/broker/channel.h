/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/channel.h - messages with descriptors between two of our processes
 *
 * A message is a head, bytes and descriptors. Neither side trusts the other: sizes meet a limit
 * before memory is asked for, and descriptors that nobody announced are closed. One thread at a
 * time for each end. Source: unix(7), SCM_RIGHTS.
 */
#ifndef DECIMA_BROKER_CHANNEL_H
#define DECIMA_BROKER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum { CHANNEL_FDS_MAX = 16 };
#define CHANNEL_FOREVER INT64_MAX

struct channel_head {
	uint32_t what;	/* of a request: which */
	int32_t status; /* of an answer: 0 or a negative errno */
	uint32_t n_bytes, n_fds;
};

struct channel_message {
	struct channel_head head;
	struct buf bytes;
	int fds[CHANNEL_FDS_MAX]; /* [head.n_fds]; -1 where one was taken out */
};
/* Closes the descriptors that are still in it. */
void channel_message__fini(struct channel_message *m);

/* Two connected ends, which are not inherited by exec and do not block. 0 or a negative errno. */
int channel__pair(int ret_ends[2]);

/*
 * Until the deadline (mono): -ETIMEDOUT. -EPIPE: the other end has gone. The descriptors stay the
 * caller's.
 */
int channel__send(int end, const struct channel_head *head, const void *bytes, const int *fds,
		  int64_t deadline_mono_ns);
/*
 * As channel__send(); -EFBIG: more than max_bytes; -EPROTO: no message of ours. After an error but
 * -ETIMEDOUT before the first byte, the channel is of no more use.
 */
int channel__receive(int end, size_t max_bytes, int64_t deadline_mono_ns, struct channel_message *ret);

/* Waits until there is something to read: 0, -ETIMEDOUT. The end of the file is something. */
int channel__wait(int end, int64_t deadline_mono_ns);

#endif
