/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_turn.c - the client thread: what it waits for, and what it does in a turn
 *
 * curl says which sockets it waits for, and until when; epoll waits, so that a turn costs what
 * happens in it and not what is open. Times of calls lie in a heap. A turn: the inbox, what came on
 * sockets, requests that are over, calls whose time has come.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/net/http_pool_inside.h"

enum { EVENTS = 256, INBOX_A_TURN = 4096 };

/* ------------------------------------------------------------------------------------------------
 * Times: a heap
 */

static void put(struct http_pool *p, size_t i, struct call *c)
{
	p->timers.v[i] = c;
	c->at = i;
}

static void up(struct http_pool *p, size_t i, struct call *c)
{
	while (i > 0 && p->timers.v[(i - 1) / 2]->wake_ns > c->wake_ns) {
		put(p, i, p->timers.v[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(p, i, c);
}

static void down(struct http_pool *p, size_t i, struct call *c)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < p->timers.n && p->timers.v[child + 1]->wake_ns < p->timers.v[child]->wake_ns)
			child++;
		if (child >= p->timers.n || p->timers.v[child]->wake_ns >= c->wake_ns)
			break;
		put(p, i, p->timers.v[child]);
		i = child;
	}
	put(p, i, c);
}

bool pool__set_timer(struct call *c)
{
	struct http_pool *p = c->client->pool;

	if (c->at == SIZE_MAX) {
		if (!vec__push(&p->timers, c))
			return false;
		c->at = p->timers.n - 1;
	}
	up(p, c->at, c);
	down(p, c->at, c);
	return true;
}

void pool__clear_timer(struct call *c)
{
	struct http_pool *p = c->client->pool;
	size_t i = c->at;
	struct call *last;

	if (i == SIZE_MAX)
		return;
	c->at = SIZE_MAX;
	last = p->timers.v[--p->timers.n];
	if (last == c)
		return;
	put(p, i, last);
	up(p, i, last);
	down(p, last->at, last);
}

/* ------------------------------------------------------------------------------------------------
 * What curl waits for
 */

/* curl may have closed a descriptor whose number has come again, and the other way round. */
static int put_watch(struct http_pool *p, int fd, bool is_new, struct epoll_event *e)
{
	if (epoll_ctl(p->epoll_fd, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, e) == 0)
		return 0;
	if (errno != (is_new ? EEXIST : ENOENT))
		return -errno;
	return epoll_ctl(p->epoll_fd, is_new ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, e) < 0 ? -errno : 0;
}

/*
 * A call that nobody wakes would end by its time alone: it had better fail, at the end of this turn. Alone:
 * curl, told of a failure here, would end all calls of all clients.
 */
static void end_unwatched(CURL *curl, int error)
{
	char *private = NULL;
	struct call *c;

	curl_easy_getinfo(curl, CURLINFO_PRIVATE, &private);
	c = (struct call *)(void *)private;
	if (!c || c->at == SIZE_MAX)
		return;
	c->unwatched = error;
	c->wake_ns = 0;
	pool__set_timer(c);
}

/* An event says whose socket it is. */
static uint64_t event_of(const struct part *part, int fd)
{
	return (uint64_t)(part - part->pool->parts) << 32 | (uint32_t)fd;
}

static int watch(CURL *curl, curl_socket_t fd, int what, void *ctx, void *seen)
{
	struct part *part = ctx;
	struct http_pool *p = part->pool;
	struct epoll_event e = { .data.u64 = event_of(part, fd) };
	int r;

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		e.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		e.events |= EPOLLOUT;
	r = put_watch(p, fd, !seen, &e);
	if (r == 0)
		curl_multi_assign(part->multi, fd, part);
	else
		end_unwatched(curl, r);
	return 0;
}

static int set_alarm(CURLM *multi, long ms, void *ctx)
{
	struct part *part = ctx;

	(void)multi;
	part->wake_ns = ms < 0 ? INT64_MAX : pool__now() + ms * INT64_C(1000000);
	return 0;
}

static const char *encodings(void)
{
	const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);

	return v->features & CURL_VERSION_ZSTD ? "gzip, deflate, zstd" : "gzip, deflate";
}

/* To one server, or to one proxy that all targets are asked through: where there are many, others have some left when it hangs. */
static long host_connections_max(long all)
{
	return all / 4 * 3 > 1024 ? all / 4 * 3 : all < 1024 ? all : 1024;
}

static void share_connections(struct http_pool *p)
{
	const long half = p->n_connections_max / 2, n = half / PART_CONNECTIONS_MIN;

	p->n_parts = 1 + (n < PARTS_MAX ? (uint32_t)n : PARTS_MAX - 1);
	for (uint32_t i = 0; i < p->n_parts; i++) {
		const long n_max = p->n_parts == 1 ? p->n_connections_max
				   : i == 0	   ? half
						   : half / (p->n_parts - 1);

		p->parts[i] = (struct part){ .pool = p,
					     .n_max = n_max,
					     .n_host_max = host_connections_max(n_max),
					     .wake_ns = INT64_MAX };
	}
}

static int part_open(struct part *part)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		return -ENOMEM;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, part);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_alarm);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, part);
	curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, part->n_max);
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, part->n_host_max);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, part->n_max);
	part->multi = multi;
	atomic_fetch_add(&part->pool->n_open_parts, 1);
	return 0;
}

int pool__open(struct http_pool *p)
{
	struct epoll_event e = { .events = EPOLLIN };
	int r = curl_global_init(CURL_GLOBAL_DEFAULT) ? -ENOMEM : 0;

	if (r < 0)
		return r;
	share_connections(p);
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->wake_fd = p->epoll_fd < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e.data.u64 = (uint32_t)p->wake_fd;
	if (p->wake_fd < 0 || epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->wake_fd, &e) < 0)
		r = -errno;
	if (r == 0)
		r = part_open(&p->parts[0]);
	if (r < 0) {
		pool__close(p);
		return r;
	}
	p->encodings = encodings();
	return 0;
}

struct part *pool__part(struct http_pool *p, const struct http_place *place, bool may_have_proxy)
{
	const uint64_t h = hash__bytes(place->authority, strlen(place->authority), 0);
	struct part *part = &p->parts[0];

	if (!place->tls && !may_have_proxy && p->n_parts > 1)
		part += 1 + (h >> 32) % (p->n_parts - 1);
	return part->multi || part_open(part) == 0 ? part : NULL;
}

void pool__close(struct http_pool *p)
{
	while (p->n_spare > 0)
		curl_easy_cleanup(p->spare[--p->n_spare]);
	for (uint32_t i = 0; i < p->n_parts; i++) {
		curl_multi_cleanup(p->parts[i].multi);
		p->parts[i].multi = NULL;
	}
	atomic_store(&p->n_open_parts, 0);
	fd__close(p->wake_fd);
	fd__close(p->epoll_fd);
	p->wake_fd = p->epoll_fd = -1;
	vec__fini(&p->timers);
	curl_global_cleanup();
}

void pool__wake(struct http_pool *p)
{
	const uint64_t one = 1;

	/* Full means that it will wake. */
	while (write(p->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* ------------------------------------------------------------------------------------------------
 * A turn
 */

/* The next of the inbox; NULL: it is empty. What is begun comes first: who is cancelled has begun. */
static struct call *next(struct http_pool *p, bool *ret_is_start)
{
	struct call *c;

	pthread_mutex_lock(&p->mutex);
	c = p->starts ? p->starts : p->cancels;
	*ret_is_start = p->starts;
	if (p->starts) {
		p->starts = c->next_start;
		if (!p->starts)
			p->last_start = &p->starts;
	} else if (c) {
		c->in_cancels = false;
		p->cancels = c->next_cancel;
		if (p->cancels)
			p->cancels->prev_cancel = NULL;
	}
	pthread_mutex_unlock(&p->mutex);
	return c;
}

/* Not without end: callbacks may put in as much as is taken out. */
static void read_inbox(struct http_pool *p)
{
	uint64_t ignored;
	bool is_start;
	struct call *c;

	/* First: what is put in from now on wakes again. */
	while (read(p->wake_fd, &ignored, sizeof(ignored)) < 0 && errno == EINTR)
		;
	for (unsigned i = 0; i < INBOX_A_TURN; i++) {
		c = next(p, &is_start);
		if (!c)
			return;
		if (is_start)
			call__begin(c);
		else
			call__finish(c, -ECANCELED, "cancelled");
	}
	pool__wake(p);
}

static void end_requests(const struct part *part)
{
	CURLMsg *m;
	int n_left;

	while ((m = curl_multi_info_read(part->multi, &n_left))) {
		char *private = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		CURLcode code = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
		call__ended((struct call *)(void *)private, code);
	}
}

static int wait_ms(struct http_pool *p)
{
	int64_t until = INT64_MAX, left;

	for (uint32_t i = 0; i < p->n_parts; i++)
		until = p->parts[i].wake_ns < until ? p->parts[i].wake_ns : until;

	if (p->timers.n && p->timers.v[0]->wake_ns < until)
		until = p->timers.v[0]->wake_ns;
	if (until == INT64_MAX)
		return -1;
	left = until - pool__now();
	/* Rounded up: a turn too early would be one in vain. */
	return left <= 0		       ? 0
	       : left > INT64_C(3600000000000) ? 3600000
					       : (int)((left + 999999) / 1000000);
}

static void on_events(struct http_pool *p, const struct epoll_event *events, int n)
{
	int running;
	int64_t now;

	for (int i = 0; i < n; i++) {
		int fd = (int)(uint32_t)events[i].data.u64, what = 0;

		if (fd == p->wake_fd)
			continue;
		if (events[i].events & EPOLLIN)
			what |= CURL_CSELECT_IN;
		if (events[i].events & EPOLLOUT)
			what |= CURL_CSELECT_OUT;
		if (events[i].events & (EPOLLERR | EPOLLHUP))
			what |= CURL_CSELECT_ERR;
		curl_multi_socket_action(p->parts[events[i].data.u64 >> 32].multi, fd, what, &running);
	}
	now = pool__now();
	for (uint32_t i = 0; i < p->n_parts; i++) {
		struct part *part = &p->parts[i];

		if (part->wake_ns > now)
			continue;
		part->wake_ns = INT64_MAX;
		curl_multi_socket_action(part->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

static bool has_ended(struct http_pool *p)
{
	pthread_mutex_lock(&p->mutex);
	bool ends = p->ends;
	pthread_mutex_unlock(&p->mutex);
	return ends;
}

void *pool__run(void *ctx)
{
	struct http_pool *p = ctx;
	struct epoll_event events[EVENTS];

	pthread_setname_np(pthread_self(), "http-client");
	while (!has_ended(p)) {
		int n = epoll_wait(p->epoll_fd, events, EVENTS, wait_ms(p));
		int64_t now;

		read_inbox(p);
		on_events(p, events, n < 0 ? 0 : n);
		for (uint32_t i = 0; i < p->n_parts; i++)
			if (p->parts[i].multi)
				end_requests(&p->parts[i]);
		now = pool__now();
		while (p->timers.n && p->timers.v[0]->wake_ns <= now)
			call__timer(p->timers.v[0]);
	}
	return NULL;
}
