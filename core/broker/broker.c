/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/broker.c - asking the broker
 *
 * One question at a time, under the lock. A broker that hangs in a file system (FUSE, a dead
 * server) is not waited for twice: until it has answered the question that timed out, others get
 * -ETIMEDOUT at once.
 */
#include "core/broker/broker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/broker/broker_process.h"

#define ANSWER_NS INT64_C(1000000000)

struct broker {
	pthread_mutex_t lock;
	int end;
	pid_t pid;
	uint32_t id;
	bool waiting; /* it owes an answer to a question that timed out */
};

int broker__new(struct broker **ret, struct dcm_error *err)
{
	CLEANUP(broker__freep) struct broker *b = NEW(struct broker);
	pid_t self = getpid();
	int ends[2];
	int r;

	if (!b)
		return error__nomem(err);
	pthread_mutex_init(&b->lock, NULL);
	b->end = -1;
	r = channel__pair(ends);
	if (r < 0)
		return error__sys(err, r, "cannot make the socket of the broker");
	b->end = ends[0];
	fflush(NULL);
	b->pid = fork();
	if (b->pid == 0)
		broker_process__run(ends[1], self);
	r = b->pid < 0 ? -errno : 0;
	fd__close(ends[1]);
	if (r < 0)
		return error__sys(err, r, "cannot fork the broker");
	*ret = take_ptr(b);
	return 0;
}

void broker__free(struct broker *b)
{
	if (!b)
		return;
	fd__close(b->end);
	/* It ends when it sees that; one that hangs in a file system does so later, by itself. */
	if (b->pid > 0)
		waitpid(b->pid, NULL, b->waiting ? WNOHANG : 0);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

int broker__watch_fd(const struct broker *b)
{
	return b->end;
}

/* The answer to question b->id; what came too late for another is thrown away. */
static int receive(struct broker *b, int64_t deadline, struct channel_message *ret)
{
	for (;;) {
		int r = channel__receive(b->end, 0, deadline, ret);

		b->waiting = r == -ETIMEDOUT;
		if (r < 0 || ret->head.what == b->id)
			return r;
		channel_message__fini(ret);
	}
}

int broker__ask(struct broker *b, enum broker_op op, const struct broker_request *q, const int *fds,
		uint32_t n_fds)
{
	const struct channel_head head = { .what = op, .n_bytes = sizeof(*q), .n_fds = n_fds };
	struct broker_request request = *q;
	struct channel_message m = { 0 };
	int64_t deadline;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	/* Two answers cannot be owed: the late one comes first, and frees the way. */
	if (b->waiting)
		r = channel__wait(b->end, 0);
	if (r == 0) {
		deadline = clock__mono(&clock__system) + ANSWER_NS;
		request.id = ++b->id;
		r = channel__send(b->end, &head, &request, fds, deadline);
	}
	if (r == 0)
		r = receive(b, deadline, &m);
	if (r == 0 && m.head.n_fds > 1)
		r = -EPROTO;
	if (r == 0)
		r = m.head.n_fds ? take_fd(m.fds[0]) : m.head.status;
	pthread_mutex_unlock(&b->lock);
	channel_message__fini(&m);
	return r;
}
