/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/channel.c - messages with descriptors between two of our processes
 *
 * A stream socket, because a datagram is bounded by the socket's buffer. Descriptors travel with
 * the head, which is small enough to be sent and received whole.
 */
#include "core/broker/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd.h"

#define MS INT64_C(1000000)

int channel__pair(int ret_ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_ends) < 0 ? -errno
												: 0;
}

void channel_message__fini(struct channel_message *m)
{
	for (uint32_t i = 0; i < m->head.n_fds && i < CHANNEL_FDS_MAX; i++)
		fd__close(m->fds[i]);
	m->head.n_fds = 0;
	buf__fini(&m->bytes);
}

/* Waits for `events`; a hangup counts as one, because the call that follows will say it. */
static int wait_for(int end, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd p = { .fd = end, .events = events };
		int timeout = -1, n;

		if (deadline != CHANNEL_FOREVER) {
			int64_t left = deadline - clock__mono(&clock__system);

			timeout = left <= 0	      ? 0
				  : left > 60000 * MS ? 60000
						      : (int)((left + MS - 1) / MS);
		}
		n = poll(&p, 1, timeout);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && clock__mono(&clock__system) >= deadline)
			return -ETIMEDOUT;
	}
}

int channel__wait(int end, int64_t deadline_mono_ns)
{
	return wait_for(end, POLLIN, deadline_mono_ns);
}

/* The code to go on or to end with, after a call on the socket failed. */
static int after_failure(int end, short events, int64_t deadline)
{
	if (errno == EINTR)
		return 0;
	if (errno == EAGAIN)
		return wait_for(end, events, deadline);
	return errno == ECONNRESET ? -EPIPE : -errno;
}

/* ------------------------------------------------------------------------------------------------
 * Sending
 */

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
};

/* The head, and as many of the bytes as go with it: their number, or a negative errno. */
static ssize_t send_head(int end, const struct channel_head *head, const void *bytes,
			 const int *fds, int64_t deadline)
{
	union control control = { 0 };
	struct iovec v[] = { { (void *)(uintptr_t)head, sizeof(*head) },
			     { (void *)(uintptr_t)bytes, head->n_bytes } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = head->n_bytes ? 2 : 1 };

	if (head->n_fds) {
		struct cmsghdr *c = &control.align;

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(head->n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, head->n_fds * sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(head->n_fds * sizeof(int));
	}
	for (;;) {
		ssize_t n = sendmsg(end, &m, MSG_NOSIGNAL);
		int r;

		if (n >= (ssize_t)sizeof(*head))
			return n - (ssize_t)sizeof(*head);
		/* Less than a page is never split. */
		if (n >= 0)
			return -EPROTO;
		r = after_failure(end, POLLOUT, deadline);
		if (r < 0)
			return r;
	}
}

int channel__send(int end, const struct channel_head *head, const void *bytes, const int *fds,
		  int64_t deadline_mono_ns)
{
	const uint8_t *p = bytes;
	size_t left = head->n_bytes;
	ssize_t first;
	int r = 0;

	if (head->n_fds > CHANNEL_FDS_MAX)
		return -EINVAL;
	first = send_head(end, head, bytes, fds, deadline_mono_ns);
	if (first < 0)
		return (int)first;
	if (first > 0)
		p += first;
	left -= (size_t)first;
	while (r == 0 && left > 0) {
		ssize_t n = send(end, p, left, MSG_NOSIGNAL);

		if (n < 0) {
			r = after_failure(end, POLLOUT, deadline_mono_ns);
			continue;
		}
		p += n;
		left -= (size_t)n;
	}
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Receiving
 */

/* The descriptors of one control message; what finds no room is closed. */
static void take_fds(const struct cmsghdr *c, struct channel_message *m, uint32_t *n_fds)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (*n_fds < CHANNEL_FDS_MAX)
			m->fds[(*n_fds)++] = fd;
		else
			fd__close(fd);
	}
}

static int receive_head(int end, struct channel_message *m, int64_t deadline)
{
	union control control;
	struct iovec v = { &m->head, sizeof(m->head) };
	uint32_t n_fds = 0, announced;
	struct msghdr h;
	ssize_t n;
	int r;

	for (;;) {
		h = (struct msghdr){ .msg_iov = &v,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control) };
		n = recvmsg(end, &h, MSG_CMSG_CLOEXEC);
		if (n >= 0)
			break;
		r = after_failure(end, POLLIN, deadline);
		if (r < 0)
			return r;
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_fds(c, m, &n_fds);
	announced = n == (ssize_t)sizeof(m->head) ? m->head.n_fds : UINT32_MAX;
	m->head.n_fds = n_fds;
	if (n == 0)
		return -EPIPE;
	/* The kernel leaves out what this process has no room for in its table of files. */
	if ((h.msg_flags & MSG_CTRUNC) && n_fds < CHANNEL_FDS_MAX)
		return -EMFILE;
	return (h.msg_flags & MSG_CTRUNC) || announced != n_fds ? -EPROTO : 0;
}

int channel__receive(int end, size_t max_bytes, int64_t deadline_mono_ns, struct channel_message *ret)
{
	struct channel_message m = { 0 };
	int r = receive_head(end, &m, deadline_mono_ns);

	if (r == 0 && m.head.n_bytes > max_bytes)
		r = -EFBIG;
	while (r == 0 && m.bytes.n < m.head.n_bytes) {
		size_t left = m.head.n_bytes - m.bytes.n;
		/* Grows with what is really there. */
		size_t step = left < 65536 ? left : 65536;
		uint8_t *at = buf__reserve(&m.bytes, step);
		ssize_t n = at ? recv(end, at, step, 0) : 0;

		if (n > 0)
			m.bytes.n += (size_t)n;
		else if (!at)
			r = -ENOMEM;
		else
			r = n == 0 ? -EPIPE : after_failure(end, POLLIN, deadline_mono_ns);
	}
	if (r < 0)
		channel_message__fini(&m);
	else
		*ret = m;
	return r;
}
