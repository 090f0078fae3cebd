/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/interrupt.c - Ctrl-C ends what is under way here, and not the program
 */
#include "core/main/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"

struct interrupt {
	void (*fn)(void *ctx);
	void *ctx;
	sigset_t before, signals;
	int signal_fd, end_fd; /* readable: one came; it has ended */
	pthread_t thread;
};

static void *run(void *ctx)
{
	struct interrupt *i = ctx;
	struct pollfd p[] = { { .fd = i->end_fd, .events = POLLIN },
			      { .fd = i->signal_fd, .events = POLLIN } };
	struct signalfd_siginfo came;

	while (!p[0].revents) {
		if (poll(p, 2, -1) < 0 || !p[1].revents)
			continue;
		if (read(i->signal_fd, &came, sizeof(came)) != sizeof(came))
			continue;
		i->fn(i->ctx);
		p[1].fd = -1;
		pthread_sigmask(SIG_UNBLOCK, &i->signals, NULL);
	}
	return NULL;
}

static void free_interrupt(struct interrupt *i)
{
	fd__close(i->signal_fd);
	fd__close(i->end_fd);
	pthread_sigmask(SIG_SETMASK, &i->before, NULL);
	free(i);
}

struct interrupt *interrupt__begin(void (*fn)(void *ctx), void *ctx)
{
	struct interrupt *i = NEW(struct interrupt);

	if (!i)
		return NULL;
	*i = (struct interrupt){ .fn = fn, .ctx = ctx };
	sigemptyset(&i->signals);
	sigaddset(&i->signals, SIGINT);
	sigaddset(&i->signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &i->signals, &i->before);
	i->end_fd = eventfd(0, EFD_CLOEXEC);
	i->signal_fd = signalfd(-1, &i->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (i->end_fd < 0 || i->signal_fd < 0 || pthread_create(&i->thread, NULL, run, i)) {
		free_interrupt(i);
		return NULL;
	}
	return i;
}

void interrupt__end(struct interrupt *i)
{
	if (!i)
		return;
	eventfd_write(i->end_fd, 1);
	pthread_join(i->thread, NULL);
	free_interrupt(i);
}
