/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/conns.c - the open connections of HTTP/1: what each is at, its deadline, and whether its
 * client is still there
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

/* With the lock; frees. */
static void unlink_conn(struct conn *c)
{
	struct conns *s = c->all;

	if (c->prev)
		c->prev->next = c->next;
	else
		s->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->n--;
	share__give(c->peer.share, SHARE_CONNECTIONS, 1);
	pthread_cond_broadcast(&s->quiet);
	free(c);
}

void conns__fini(struct conns *s)
{
	while (s->first)
		unlink_conn(s->first);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->quiet);
}

/* With the lock: the last that was added and has not begun. */
static struct conn *handed(struct conns *s, int fd)
{
	struct conn *c = s->first;

	while (c && (c->fd != fd || c->phase != CONN_HANDED))
		c = c->next;
	return c;
}

struct conn *conns__add(struct conns *s, int fd, const struct access_peer *peer, int64_t deadline_ns)
{
	struct conn *c = NEW(struct conn), *lost;

	if (!c)
		return NULL;
	c->all = s;
	c->fd = fd;
	c->peer = *peer;
	share__take(c->peer.share, SHARE_CONNECTIONS, 1, 0, UINT64_MAX);
	c->phase = CONN_HANDED;
	c->deadline_ns = deadline_ns;
	pthread_mutex_lock(&s->lock);
	/* Its descriptor was closed, or this one would be another. */
	lost = handed(s, fd);
	if (lost)
		unlink_conn(lost);
	c->next = s->first;
	if (c->next)
		c->next->prev = c;
	s->first = c;
	s->n++;
	pthread_mutex_unlock(&s->lock);
	return c;
}

struct conn *conns__begin(struct conns *s, int fd, int64_t deadline_ns)
{
	struct conn *c;

	pthread_mutex_lock(&s->lock);
	c = handed(s, fd);
	if (c) {
		c->phase = CONN_HEAD;
		c->deadline_ns = deadline_ns;
	}
	pthread_mutex_unlock(&s->lock);
	return c;
}

void conns__remove(struct conn *c)
{
	struct conns *s = c->all;

	pthread_mutex_lock(&s->lock);
	unlink_conn(c);
	pthread_mutex_unlock(&s->lock);
}

uint32_t conns__n(struct conns *s)
{
	uint32_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void conns__enter(struct conn *c, enum conn_phase phase, int64_t deadline_ns, struct exchange *x)
{
	struct conns *s = c->all;

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

void conns__leave_work(struct conn *c)
{
	struct conns *s = c->all;

	pthread_mutex_lock(&s->lock);
	c->x = NULL;
	pthread_mutex_unlock(&s->lock);
}

enum conns_load conns__load(struct conns *s)
{
	enum conns_load load = CONNS_NONE;

	pthread_mutex_lock(&s->lock);
	for (const struct conn *c = s->first; c && load != CONNS_BUSY; c = c->next)
		load = c->phase <= CONN_HEAD ? CONNS_WAITING : CONNS_BUSY;
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

/* With the lock; true: it was late. */
static bool look_after(struct conn *c, int64_t now_ns)
{
	if (c->phase == CONN_WORK) {
		if (c->x && client_has_gone(c, now_ns))
			atomic_store(&c->x->budget.cancelled, 1);
		return false;
	}
	if (now_ns <= c->deadline_ns)
		return false;
	if (c->phase == CONN_HANDED) {
		unlink_conn(c);
		return false;
	}
	shutdown(c->fd, SHUT_RDWR);
	c->deadline_ns = INT64_MAX;
	return true;
}

uint32_t conns__tick(struct conns *s, int64_t now_ns)
{
	uint32_t n_late = 0;

	pthread_mutex_lock(&s->lock);
	for (struct conn *c = s->first, *next; c; c = next) {
		next = c->next;
		n_late += look_after(c, now_ns);
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
		if (c->phase != CONN_HANDED)
			shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}
