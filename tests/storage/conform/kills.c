/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/kills.c - SIGKILL while a process writes
 *
 * A child opens the store, writes batch after batch, and says through a pipe which ones were
 * acknowledged. It is killed at some moment; then this process opens the store: everything
 * acknowledged is there, and of the one that was under way all or nothing. The next child goes on
 * with the first batch that nobody acknowledged, which the store may have already: a retry.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/storage/conform/conform.h"
#include "tests/unit/random_batch.h"

enum { N_QUESTIONS = 12 };

struct kills {
	struct trial *t;
	struct random r;
	uint64_t seed;
	uint32_t n_stored; /* batches that the subject was found to have */
};

/* The same at every call, in each process. */
static struct dcm_batch *batch_of(const struct kills *k, uint32_t i)
{
	struct random r = { k->seed + i };
	int64_t late_ns = i % 5 == 4 ? (int64_t)random__below(&r, 30) * 3600 * 1000000000 : 0;

	return storage_random__batch(&r, i, 0, RANDOM_BASE_NS + (int64_t)i * 7000000000 - late_ns);
}

/* The child's life. Never returns. */
static void write_until_killed(struct kills *k, int pipe_fd)
{
	struct trial *t = k->t;

	if (!trial__open(t)) {
		fprintf(stderr, "%s\n", (const char *)t->why.data);
		_exit(1);
	}
	for (uint32_t i = k->n_stored;; i++) {
		struct dcm_batch *batch = batch_of(k, i);

		if (!trial__write_subject(t, &batch, 1)) {
			fprintf(stderr, "%s\n", (const char *)t->why.data);
			_exit(1);
		}
		batch__unref(batch);
		if (fd__write_all(pipe_fd, "+", 1) < 0)
			_exit(1);
		if (i % 3 == 2 && t->subject.ops->maintain)
			t->subject.ops->maintain(t->subject.instance, 1000000000, NULL);
	}
}

/* Runs a child until some acknowledgements have come. Returns how many there were, or -1. */
static int one_life(struct kills *k)
{
	int fds[2], status, n = 0, enough = (int)random__below(&k->r, 8);
	struct timespec moment = { .tv_nsec = (long)random__below(&k->r, 5000000) };
	char c;

	if (pipe(fds) < 0)
		abort();
	pid_t child = fork();
	if (child < 0)
		abort(); /* and kill nobody: -1 is everybody */
	if (child == 0) {
		close(fds[0]);
		write_until_killed(k, fds[1]);
	}
	close(fds[1]);
	while (n < enough && read(fds[0], &c, 1) == 1)
		n++;
	nanosleep(&moment, NULL); /* somewhere within the next write: it matters not where */
	kill(child, SIGKILL);
	while (read(fds[0], &c, 1) == 1)
		n++;
	close(fds[0]);
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? n : -1;
}

/* Whether some questions are answered alike; the report is the caller's to want. */
static bool alike(struct kills *k, uint64_t seed)
{
	struct random r = { seed };

	if (!trial__compare_stat(k->t, &k->t->subject))
		return false;
	for (unsigned i = 0; i < N_QUESTIONS; i++)
		if (!trial__ask_random(k->t, &k->t->subject, &r))
			return false;
	return true;
}

static bool tell_reference(struct kills *k)
{
	struct dcm_batch *batch = batch_of(k, k->n_stored++);
	bool good = trial__write_reference(k->t, &batch, 1);

	batch__unref(batch);
	return good;
}

static bool kill_once(struct kills *k)
{
	int n = one_life(k);
	uint64_t seed = random__next(&k->r);

	if (n < 0)
		return trial__fail(k->t, "the store ended by itself; it says why above");
	for (; n > 0; n--)
		if (!tell_reference(k))
			return false;
	if (!trial__open(k->t))
		return false;
	/* The write under way is there as a whole, or not at all. */
	bool good = alike(k, seed);
	if (!good) {
		buf__reset(&k->t->why);
		good = tell_reference(k) && alike(k, seed);
	}
	good = good && trial__check(k->t, &k->t->subject);
	trial__stop(k->t);
	return good || trial__fail(k->t, "after a kill");
}

bool conform__kills(const struct trial_options *o, uint64_t seed, uint32_t n_kills, struct buf *ret_why)
{
	struct kills k = { .t = trial__new(o), .r = { seed }, .seed = seed };

	if (!k.t)
		abort();
	trial__stop(k.t);
	for (uint32_t i = 0; k.t->why.n == 0 && i < n_kills; i++)
		kill_once(&k);
	return trial__end(k.t, ret_why);
}
