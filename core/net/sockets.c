/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/sockets.c - addresses become bound sockets
 */
#include "core/net/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/base/units.h"

enum { BACKLOG = 256 };

static int bind_unix(struct sockets *s, const char *address, const char *path, struct dcm_error *err)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct sockets_one *one = &s->v[s->n];
	struct stat st;
	int fd, r;

	if (strlen(path) >= sizeof(sun.sun_path))
		return error__set(err, -EINVAL, "server.listen: %s: a socket's path has at most %zu bytes",
				  address, sizeof(sun.sun_path) - 1);
	memcpy(sun.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error__sys(err, -errno, "server.listen: %s", address);
	/* A socket that nobody answers on was left by a process that died. */
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0 || errno != ECONNREFUSED) {
			fd__close(fd);
			return error__set(
				err, -EADDRINUSE,
				"server.listen: %s: another process listens there; stop it, or "
				"choose another path",
				address);
		}
		unlink(path);
		fd__close(fd);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return error__sys(err, -errno, "server.listen: %s", address);
	}
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		r = -errno;
		fd__close(fd);
		return error__sys(err, r, "server.listen: %s", address);
	}
	one->fd = fd;
	memcpy(one->path, sun.sun_path, sizeof(one->path));
	s->n++;
	return 0;
}

static int bind_tcp(struct sockets *s, const char *address, const struct addrinfo *ai,
		    struct dcm_error *err)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r;

	if (fd < 0)
		return error__sys(err, -errno, "server.listen: %s", address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
		s->v[s->n++].fd = fd;
		return 0;
	}
	r = -errno;
	fd__close(fd);
	if (r == -EADDRINUSE)
		return error__set(err, r,
				  "server.listen: %s: the port is in use by another program; stop "
				  "it, or choose another with --listen",
				  address);
	if (r == -EACCES)
		return error__set(err, r,
				  "server.listen: %s: ports below 1024 need CAP_NET_BIND_SERVICE; "
				  "choose a higher one",
				  address);
	return error__sys(err, r, "server.listen: %s", address);
}

/* "HOST:PORT", "[V6]:PORT", ":PORT" (every address of the machine). */
static int bind_name(struct sockets *s, const char *address, struct dcm_error *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	const char *colon = strrchr(address, ':');
	struct addrinfo *list = NULL;
	char host[256];
	int64_t port;
	size_t n;
	int r;

	n = colon ? (size_t)(colon - address) : 0;
	/* getaddrinfo() takes 99999 for 34463. */
	if (!colon || n >= sizeof(host) || units__parse_int(str__of(colon + 1), "", &port) < 0 ||
	    port < 0 || port > 65535)
		return error__set(err, -EINVAL,
				  "server.listen: \"%s\" is no address; write HOST:PORT, "
				  "[IPV6]:PORT or unix:/PATH",
				  address);
	memcpy(host, address, n);
	host[n] = '\0';
	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	}
	r = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &list);
	if (r != 0)
		return error__set(err, -EINVAL, "server.listen: %s: %s", address, gai_strerror(r));
	r = 0;
	for (struct addrinfo *ai = list; ai && r == 0; ai = ai->ai_next) {
		if (s->n == SOCKETS_MAX)
			r = error__set(err, -E2BIG, "server.listen: more than %d addresses", SOCKETS_MAX);
		else
			r = bind_tcp(s, address, ai, err);
	}
	freeaddrinfo(list);
	return r;
}

int sockets__bind(struct sockets *s, const char *const *addresses, uint32_t n, struct dcm_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *a = addresses[i];
		int r;

		if (s->n == SOCKETS_MAX)
			return error__set(err, -E2BIG, "server.listen: more than %d addresses",
					  SOCKETS_MAX);
		r = strncmp(a, "unix:", 5) == 0 ? bind_unix(s, a, a + 5, err) : bind_name(s, a, err);
		if (r < 0)
			return r;
	}
	return 0;
}

uint16_t sockets__port(const struct sockets *s, uint32_t i)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);

	if (i >= s->n || getsockname(s->v[i].fd, (struct sockaddr *)&ss, &n) < 0)
		return 0;
	if (ss.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&ss)->sin_port);
	if (ss.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&ss)->sin6_port);
	return 0;
}

void sockets__close(struct sockets *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		fd__close(s->v[i].fd);
		if (s->v[i].path[0])
			unlink(s->v[i].path);
	}
	s->n = 0;
}
