/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/stream.h - the bytes of a connection that was accepted: as they are, or inside TLS
 *
 * Nothing here blocks. GnuTLS 3.7 terminates TLS (tls_server.h). One thread.
 */
#ifndef DECIMA_NET_STREAM_H
#define DECIMA_NET_STREAM_H

#include <gnutls/gnutls.h>
#include <sys/types.h>

#include <decima/plugin.h>

enum { STREAM_READ_BYTES = 16384 };

struct stream {
	int fd;		      /* owned */
	gnutls_session_t tls; /* NULL: none */
	unsigned n_warnings;  /* alerts, since the last byte */
};

/* Ends it: TLS says so when it can at once. */
void stream__close(struct stream *s);

/*
 * Up to n bytes; 0 at the end; -EAGAIN, or another negative errno: it has ended. With room for a
 * record (STREAM_READ_BYTES) nothing stays inside that epoll does not know of.
 */
ssize_t stream__read(struct stream *s, void *to, size_t n);
/* -EAGAIN: call again with the same bytes first. Else as above. */
ssize_t stream__write(struct stream *s, const void *from, size_t n);

/* 0: both sides agree. -EAGAIN: call again, when the socket is ready for *ret_events. Else it has failed. */
int stream__handshake(struct stream *s, uint32_t *ret_events);

/* Nothing more is written; reading goes on. */
void stream__end_writing(struct stream *s);

#endif
