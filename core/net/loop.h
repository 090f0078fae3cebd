/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/loop.h - descriptors that become ready, on one thread, and a way to wake it
 *
 * epoll, level-triggered unless EPOLLET is asked for. One thread, but for loop__wake().
 */
#ifndef DECIMA_NET_LOOP_H
#define DECIMA_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include <decima/plugin.h>

/* Lies in its owner, and stays until the turn is over in which it was removed. */
struct loop_source {
	int fd;
	uint32_t events; /* that are waited for: EPOLLIN, EPOLLOUT, ... */
	bool is_in;	 /* epoll has it */
	void (*ready)(struct loop_source *s, uint32_t events);
};

struct loop {
	int epoll_fd, wake_fd;
	struct loop_source wake;
};

int loop__init(struct loop *l, struct dcm_error *err);
void loop__fini(struct loop *l);

/* Waits for s->events of s->fd from here on. 0 or a negative errno. */
int loop__add(struct loop *l, struct loop_source *s);
/* For others. 0: for none, nor for its end, which epoll tells else without being asked. */
int loop__await(struct loop *l, struct loop_source *s, uint32_t events);
void loop__remove(struct loop *l, struct loop_source *s);

/* Ends the turn that waits, or the next one, at once. Any thread. */
void loop__wake(struct loop *l);
/* Waits so long (-1: for ever) until something is ready, and calls whoever it is for, once. */
void loop__turn(struct loop *l, int timeout_ms);

#endif
