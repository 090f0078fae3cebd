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

#include "core/base/dir.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/net/access.h"
#include "core/net/address.h"
#include "core/base/units.h"
#include "core/base/url.h"

enum { BACKLOG = 256 };

static bool is_unix(const char *address)
{
	return strncmp(address, "unix:", 5) == 0;
}

bool sockets__is_local(const char *address)
{
	return is_unix(address) || access__is_loopback(str__of(address));
}

/*
 * The host without its brackets, which one with a colon must have ("" for every address of the
 * machine), and where the port begins.
 */
static bool split(const char *address, char *host, size_t cap, const char **ret_port)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	bool brackets = n >= 2 && address[0] == '[' && address[n - 1] == ']';

	if (!colon || n >= cap || (!brackets && memchr(address, ':', n)))
		return false;
	memcpy(host, address + brackets, n - 2 * brackets);
	host[n - 2 * brackets] = '\0';
	*ret_port = colon + 1;
	return true;
}

/* An address, or what may be a name: getaddrinfo() has the last word. */
static bool is_host(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;
	char text[INET6_ADDRSTRLEN];
	size_t n = strcspn(host, "%"); /* fe80::1%eth0 */

	if (strchr(host, ':')) {
		if (n >= sizeof(text))
			return false;
		memcpy(text, host, n);
		text[n] = '\0';
		return inet_pton(AF_INET6, text, &v6) == 1;
	}
	if (host[0] && host[strspn(host, "0123456789.")] == '\0')
		return inet_aton(host, &v4) == 1;
	return host[url__name_length(host)] == '\0';
}

int sockets__check(const char *address, struct dcm_error *err)
{
	char host[256];
	const char *port_text;
	int64_t port;

	if (is_unix(address)) {
		if (strlen(address + 5) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
			return error__set(
				err, -EINVAL, "server.listen: %s: a socket's path has at most %zu bytes",
				address, sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
		if (address[5] == '/')
			return 0;
	} else if (split(address, host, sizeof(host), &port_text) && is_host(host)) {
		/* getaddrinfo() takes 99999 for 34463. */
		if (units__parse_int(str__of(port_text), "", &port) == 0 && port >= 0 && port <= 65535)
			return 0;
		return error__set(err, -EINVAL,
				  "server.listen: \"%s\" has no port between 0 and 65535 "
				  "behind its last colon; write HOST:PORT",
				  address);
	}
	return error__set(
		err, -EINVAL,
		"server.listen: \"%s\" is no address; write HOST:PORT, [IPV6]:PORT or unix:/PATH",
		address);
}

/* Why no socket can be made: mostly the directory that it is to lie in. */
static int say_unix(const char *address, const char *path, int code, struct dcm_error *err)
{
	const char *slash = strrchr(path, '/');
	struct dcm_error why = DCM_ERROR_INIT;
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)] = "/";

	if (slash && slash > path)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	if (code == -EADDRINUSE)
		return error__set(
			err, code,
			"server.listen: %s: there is something else than a socket; remove it, "
			"or choose another path",
			address);
	if (code == -ENOENT && access(dir, F_OK) < 0)
		return error__set(err, code,
				  "server.listen: %s: there is no directory %s; make it, or choose "
				  "another path",
				  address, dir);
	if (dir__look(dir, &why) < 0)
		return error__set(err, code, "server.listen: %s: %s", address, why.text);
	return error__set(err, code,
			  "server.listen: %s: no socket can be made there: %s; choose another path",
			  address, strerror(-code));
}

static int bind_unix(struct sockets *s, const char *address, const char *path, struct dcm_error *err)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct sockets_one *one = &s->v[s->n];
	struct stat st;
	int fd, r;

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
		return say_unix(address, path, r, err);
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

/* What was let be without tokens for its name has to be this machine's alone: /etc/hosts, or the DNS, may have it otherwise. */
static int check_is_local(const char *address, const struct addrinfo *ai, struct dcm_error *err)
{
	char text[ADDRESS_TEXT] = "";
	struct address a;

	if (!sockets__is_local(address) || !address__of(ai->ai_addr, &a) || address__is_loopback(&a))
		return 0;
	address__format(&a, text);
	return error__set(err, -EINVAL,
			  "server.listen: %s: that name is %s here, which other machines reach; "
			  "write 127.0.0.1, or mend /etc/hosts",
			  address, text);
}

/* "HOST:PORT", "[V6]:PORT", ":PORT" (every address of the machine). */
static int bind_name(struct sockets *s, const char *address, struct dcm_error *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	const char *port = NULL;
	char host[256];
	int r;

	if (!split(address, host, sizeof(host), &port))
		return -EINVAL;
	r = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
	if (r != 0)
		return error__set(err, -EINVAL, "server.listen: %s: %s", address, gai_strerror(r));
	r = 0;
	for (struct addrinfo *ai = list; ai && r == 0; ai = ai->ai_next) {
		if (s->n == SOCKETS_MAX)
			r = error__set(err, -E2BIG, "server.listen: more than %d addresses", SOCKETS_MAX);
		else
			r = check_is_local(address, ai, err);
		if (r == 0)
			r = bind_tcp(s, address, ai, err);
	}
	freeaddrinfo(list);
	return r;
}

int sockets__bind(struct sockets *s, const char *const *addresses, uint32_t n, struct dcm_error *err)
{
	uint32_t first = s->n; /* socket of the address at hand */

	for (uint32_t i = 0; i < n; i++) {
		const char *a = addresses[i];
		int r;

		if (s->n == SOCKETS_MAX)
			return error__set(err, -E2BIG, "server.listen: more than %d addresses",
					  SOCKETS_MAX);
		r = sockets__check(a, err);
		if (r == 0)
			r = is_unix(a) ? bind_unix(s, a, a + 5, err) : bind_name(s, a, err);
		if (r < 0)
			return r;
		for (; first < s->n; first++)
			s->v[first].address = i;
	}
	return 0;
}

uint16_t sockets__port(const struct sockets *s, uint32_t address)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	uint32_t i = 0;

	while (i < s->n && s->v[i].address != address)
		i++;
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
