/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/sockets.h - the addresses of server.listen, bound
 *
 * Control thread; the accepter reads the descriptors while it runs.
 */
#ifndef DECIMA_NET_SOCKETS_H
#define DECIMA_NET_SOCKETS_H

#include <decima/plugin.h>

enum { SOCKETS_MAX = 16 };

struct sockets_one {
	int fd;
	uint32_t address; /* which of those that were asked for; a name may have several */
	char path[108];	  /* of a unix socket, removed by sockets__close(); "" for the others */
};

struct sockets {
	struct sockets_one v[SOCKETS_MAX]; /* [n] */
	uint32_t n;
};

/* Does no other machine reach it: a unix socket, or an address of loopback? */
bool sockets__is_local(const char *address);

/*
 * Whether an address can be one, by its text alone: HOST:PORT, [IPV6]:PORT, :PORT, unix:/PATH. No
 * name is looked up. 0 or -EINVAL, with what is wrong. Any thread.
 */
int sockets__check(const char *address, struct dcm_error *err);

/*
 * Binds "127.0.0.1:7070", "[::1]:7070", ":7070", "unix:/PATH"; a name may stand for several
 * addresses. Errors name the address, what holds it and what to do; what was bound before one stays
 * for sockets__close().
 */
int sockets__bind(struct sockets *s, const char *const *addresses, uint32_t n, struct dcm_error *err);

/* Port of the address as bound (for ":0"), the first of several; 0 for a unix socket. */
uint16_t sockets__port(const struct sockets *s, uint32_t address);

/* Twice is fine. */
void sockets__close(struct sockets *s);

#endif
