/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/stream.c - recv and send, or GnuTLS over them
 */
#include "core/net/stream.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/base/fd.h"
#include "core/net/tls_server.h"

/* RFC 8446, 5.1; a larger write comes back in parts anyway. */
enum { RECORD_BYTES = STREAM_READ_BYTES };

/* Alerts of TLS 1.2 that end nothing: in a row, without a byte between. Who sends more sends nothing else. */
enum { WARNINGS_MAX = 5 };

static ssize_t errno_of(ssize_t r)
{
	if (r >= 0)
		return r;
	if (r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED)
		return -EAGAIN;
	/* The peer closed without a close_notify. */
	return r == GNUTLS_E_PREMATURE_TERMINATION ? 0 : -EPROTO;
}

void stream__close(struct stream *s)
{
	if (s->tls) {
		gnutls_bye(s->tls, GNUTLS_SHUT_WR);
		tls_server__end(s->tls);
	}
	fd__close(s->fd);
	*s = (struct stream){ .fd = -1 };
}

ssize_t stream__read(struct stream *s, void *to, size_t n)
{
	ssize_t r;

	if (!s->tls) {
		r = recv(s->fd, to, n, MSG_DONTWAIT);
		return r < 0 ? -(errno == EINTR ? EAGAIN : errno) : r;
	}
	do {
		r = gnutls_record_recv(s->tls, to, n);
		s->n_warnings = r == GNUTLS_E_WARNING_ALERT_RECEIVED ? s->n_warnings + 1 : 0;
	} while (s->n_warnings > 0 && s->n_warnings <= WARNINGS_MAX);
	return errno_of(r);
}

ssize_t stream__write(struct stream *s, const void *from, size_t n)
{
	ssize_t r;

	if (s->tls)
		return errno_of(gnutls_record_send(s->tls, from, n < RECORD_BYTES ? n : RECORD_BYTES));
	r = send(s->fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? -(errno == EINTR ? EAGAIN : errno) : r;
}

int stream__handshake(struct stream *s, uint32_t *ret_events)
{
	int r = gnutls_handshake(s->tls);

	if (r == 0)
		return 0;
	*ret_events = gnutls_record_get_direction(s->tls) ? EPOLLOUT : EPOLLIN;
	/* What is no fault of its end: warnings, and interruptions. */
	return gnutls_error_is_fatal(r) ? -EPROTO : -EAGAIN;
}

void stream__end_writing(struct stream *s)
{
	if (s->tls)
		gnutls_bye(s->tls, GNUTLS_SHUT_WR);
	shutdown(s->fd, SHUT_WR);
}
