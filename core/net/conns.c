/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/conns.c - the open connections: what each is at, its deadline, and whether its client is
 * still there
 */
#include "core/net/conns.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/mem.h"

#define SECOND INT64_C(1000000000)

void conns__init(struct conns *s)
{
	*s = (struct conns){ .first = NULL };
	pthread_mutex_init(&s->lock, NULL);
	cond__init(&s->quiet);
}

void conns__fini(struct conns *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->quiet);
}

static void read_peer(struct conn *c)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);
	int domain = 0;
	socklen_t domain_n = sizeof(domain);

	getsockopt(c->fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_n);
	c->peer.is_unix = domain == AF_UNIX;
	c->peer.uid = UINT32_MAX;
	if (c->peer.is_unix && getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0)
		c->peer.uid = cred.uid;
}

struct conn *conns__add(struct conns *s, int fd, int64_t deadline_ns)
{
	struct conn *c = NEW(struct conn);

	if (!c)
		return NULL;
	c->fd = fd;
	c->deadline_ns = deadline_ns;
	read_peer(c);
	pthread_mutex_lock(&s->lock);
	c->next = s->first;
	if (c->next)
		c->next->prev = c;
	s->first = c;
	pthread_mutex_unlock(&s->lock);
	return c;
}

void conns__remove(struct conns *s, struct conn *c)
{
	pthread_mutex_lock(&s->lock);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	pthread_cond_broadcast(&s->quiet);
	pthread_mutex_unlock(&s->lock);
	free(c);
}

void conns__enter(struct conns *s, struct conn *c, enum conn_phase phase, int64_t deadline_ns,
		  struct exchange *x)
{
	pthread_mutex_lock(&s->lock);
	c->phase = phase;
	c->deadline_ns = deadline_ns;
	c->x = x;
	c->probe_at_ns = 0;
	c->probe_wait_ns = SECOND;
	if (phase == CONN_HEAD)
		pthread_cond_broadcast(&s->quiet);
	pthread_mutex_unlock(&s->lock);
}

void conns__leave_work(struct conns *s, struct conn *c)
{
	pthread_mutex_lock(&s->lock);
	c->x = NULL;
	pthread_mutex_unlock(&s->lock);
}

enum conns_load conns__load(struct conns *s)
{
	enum conns_load load = CONNS_NONE;

	pthread_mutex_lock(&s->lock);
	for (const struct conn *c = s->first; c && load != CONNS_BUSY; c = c->next)
		load = c->phase == CONN_HEAD ? CONNS_WAITING : CONNS_BUSY;
	pthread_mutex_unlock(&s->lock);
	return load;
}

/*
 * The connection is suspended and the answer before this one has left, so nobody else writes. A
 * client that takes nothing cannot be asked; half a line would spoil the answer, so it ends it.
 */
static void probe(struct conn *c, int64_t now_ns)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	ssize_t n;

	if (!c->x->is_http_1_1 || now_ns < c->probe_at_ns)
		return;
	/* Who goes later, without another word, is found out by a later one. */
	c->probe_at_ns = now_ns + c->probe_wait_ns;
	c->probe_wait_ns *= 2;
	n = send(c->fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0 && n < (ssize_t)sizeof(line) - 1)
		shutdown(c->fd, SHUT_RDWR);
}

static bool client_has_gone(struct conn *c, int64_t now_ns)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	if (poll(&p, 1, 0) <= 0)
		return false;
	if (p.revents & (POLLHUP | POLLERR))
		return true;
	if (!c->peer.is_unix)
		probe(c, now_ns);
	return false;
}

uint32_t conns__tick(struct conns *s, int64_t now_ns)
{
	uint32_t n_late = 0;

	pthread_mutex_lock(&s->lock);
	for (struct conn *c = s->first; c; c = c->next) {
		if (c->phase == CONN_WORK) {
			if (c->x && client_has_gone(c, now_ns))
				atomic_store(&c->x->budget.cancelled, 1);
		} else if (now_ns > c->deadline_ns) {
			shutdown(c->fd, SHUT_RDWR);
			c->deadline_ns = INT64_MAX;
			n_late++;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return n_late;
}

static bool answers_leave(const struct conns *s)
{
	for (const struct conn *c = s->first; c; c = c->next)
		if (c->phase == CONN_WORK || c->phase == CONN_ANSWER)
			return true;
	return false;
}

void conns__flush(struct conns *s, int64_t until_mono_ns)
{
	struct timespec ts = { until_mono_ns / SECOND, until_mono_ns % SECOND };

	pthread_mutex_lock(&s->lock);
	while (answers_leave(s) && pthread_cond_timedwait(&s->quiet, &s->lock, &ts) == 0)
		;
	pthread_mutex_unlock(&s->lock);
}

void conns__shut(struct conns *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct conn *c = s->first; c; c = c->next)
		shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}
