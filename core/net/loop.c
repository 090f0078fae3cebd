/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/loop.c - epoll and an eventfd
 */
#include "core/net/loop.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "core/base/error.h"
#include "core/base/fd.h"

enum { EVENTS_A_TURN = 64 };

static void take_wake(struct loop_source *s, uint32_t events)
{
	eventfd_t n;

	(void)events;
	eventfd_read(s->fd, &n);
}

int loop__init(struct loop *l, struct dcm_error *err)
{
	int r;

	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->wake = (struct loop_source){ .fd = l->wake_fd, .events = EPOLLIN, .ready = take_wake };
	r = l->epoll_fd < 0 || l->wake_fd < 0 ? -errno : loop__add(l, &l->wake);
	if (r == 0)
		return 0;
	loop__fini(l);
	return error__sys(err, r, "server: no descriptor for its loop");
}

void loop__fini(struct loop *l)
{
	fd__close(l->epoll_fd);
	fd__close(l->wake_fd);
	l->epoll_fd = l->wake_fd = -1;
}

static int control(struct loop *l, int what, struct loop_source *s)
{
	struct epoll_event e = { .events = s->events, .data.ptr = s };

	return epoll_ctl(l->epoll_fd, what, s->fd, &e) < 0 ? -errno : 0;
}

int loop__add(struct loop *l, struct loop_source *s)
{
	int r = control(l, EPOLL_CTL_ADD, s);

	s->is_in = r == 0;
	return r;
}

int loop__await(struct loop *l, struct loop_source *s, uint32_t events)
{
	if (s->is_in && s->events == events)
		return 0;
	s->events = events;
	if (!events) {
		loop__remove(l, s);
		return 0;
	}
	return s->is_in ? control(l, EPOLL_CTL_MOD, s) : loop__add(l, s);
}

void loop__remove(struct loop *l, struct loop_source *s)
{
	if (s->is_in)
		control(l, EPOLL_CTL_DEL, s);
	s->is_in = false;
}

void loop__wake(struct loop *l)
{
	eventfd_write(l->wake_fd, 1);
}

void loop__turn(struct loop *l, int timeout_ms)
{
	struct epoll_event events[EVENTS_A_TURN];
	int n = epoll_wait(l->epoll_fd, events, EVENTS_A_TURN, timeout_ms);

	for (int i = 0; i < n; i++) {
		struct loop_source *s = events[i].data.ptr;

		/* One that came before may have removed it. */
		if (s->is_in)
			s->ready(s, events[i].events);
	}
}
