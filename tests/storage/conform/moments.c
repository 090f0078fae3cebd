/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/moments.c - questions while somebody writes
 *
 * The reference answers all questions after each batch, beforehand. Then the subject takes the same
 * batches in this thread while another one asks: its answer must be one of those that were right
 * between its question and its answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/storage/conform/conform.h"
#include "tests/unit/random_batch.h"

enum { N_BATCHES = 16, N_QUESTIONS = 10 };

struct moments {
	struct trial *t;
	struct question questions[N_QUESTIONS];
	struct buf expected[N_BATCHES + 1][N_QUESTIONS]; /* after so many batches */
	_Atomic unsigned begun, stored;			 /* batches */
	_Atomic bool end;
	pthread_mutex_t mutex;
	pthread_cond_t answered;
	unsigned n_answered;
	bool gone; /* the asking thread, with a report: the writer waits for it no more */
	/* of the asking thread, read after it has ended */
	struct buf why;
};

static bool one_of(struct moments *m, unsigned q, unsigned from, unsigned to, const struct buf *got)
{
	struct buf difference = { 0 };
	char text[1024];

	for (unsigned i = from; i <= to; i++) {
		buf__reset(&difference);
		if (!answers__differ(&m->expected[i][q], got, &difference)) {
			buf__fini(&difference);
			return true;
		}
	}
	question__describe(&m->questions[q].asked, text, sizeof(text));
	buf__printf(&m->why, "%s\n is answered as at no moment between batch %u and batch %u; at the last:\n%s",
		    text, from, to, (const char *)difference.data);
	buf__fini(&difference);
	return false;
}

static void *ask_all_the_time(void *arg)
{
	struct moments *m = arg;

	for (unsigned q = 0; m->why.n == 0 && !atomic_load(&m->end); q = (q + 1) % N_QUESTIONS) {
		struct buf got = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		unsigned from = atomic_load(&m->stored);
		int r = answers__ask(&m->t->subject, &m->questions[q].asked, &got, &err);
		unsigned to = atomic_load(&m->begun);

		if (r < 0)
			buf__printf(&m->why, "a question while writing: %d: %s", r, err.text);
		else
			one_of(m, q, from, to, &got);
		buf__fini(&got);
		pthread_mutex_lock(&m->mutex);
		m->n_answered++;
		pthread_cond_signal(&m->answered);
		pthread_mutex_unlock(&m->mutex);
	}
	pthread_mutex_lock(&m->mutex);
	m->gone = true;
	pthread_cond_signal(&m->answered);
	pthread_mutex_unlock(&m->mutex);
	return NULL;
}

/* Each batch, and then at least one answer, so that the questions are spread over all of them. */
static bool write_all(struct moments *m, struct dcm_batch **batches)
{
	for (unsigned i = 0; i < N_BATCHES; i++) {
		pthread_mutex_lock(&m->mutex);
		unsigned before = m->n_answered;
		pthread_mutex_unlock(&m->mutex);
		atomic_store(&m->begun, i + 1);
		if (!trial__write_subject(m->t, &batches[i], 1))
			return false;
		atomic_store(&m->stored, i + 1);
		pthread_mutex_lock(&m->mutex);
		while (m->n_answered == before && !m->gone)
			pthread_cond_wait(&m->answered, &m->mutex);
		pthread_mutex_unlock(&m->mutex);
	}
	return true;
}

/* One whose answer is something when all is written, as `full` has it. */
static void choose_question(struct question *q, struct storage *full, struct random *r)
{
	for (unsigned tries = 0;; tries++) {
		struct buf out = { 0 };

		question__random(q, r);
		answers__ask(full, &q->asked, &out, NULL);
		bool enough = out.n > 0 || tries == 100;
		buf__fini(&out);
		if (enough)
			return;
		question__fini(q);
	}
}

/* Chooses the questions, and has the reference answer them after each batch. */
static bool prepare(struct moments *m, struct dcm_batch **batches, uint64_t seed)
{
	struct random r = { seed };
	struct storage full = { 0 };
	bool good = storage__open(&full, m->t->o->reference, m->t->o->reference_yaml);

	for (unsigned i = 0; i < N_BATCHES; i++)
		batches[i] = storage_random__batch(&r, i, 0, RANDOM_BASE_NS);
	good = good && full.ops->write(full.instance, batches, N_BATCHES, NULL, NULL, NULL) == 0;
	for (unsigned q = 0; q < N_QUESTIONS; q++)
		choose_question(&m->questions[q], &full, &r);
	storage__close(&full);
	for (unsigned i = 0; good && i <= N_BATCHES; i++) {
		for (unsigned q = 0; q < N_QUESTIONS; q++)
			answers__ask(&m->t->reference, &m->questions[q].asked, &m->expected[i][q], NULL);
		good = i == N_BATCHES || trial__write_reference(m->t, &batches[i], 1);
	}
	return good || trial__fail(m->t, "the reference takes no batches");
}

static void moments__free(struct moments *m)
{
	for (unsigned q = 0; q < N_QUESTIONS; q++) {
		question__fini(&m->questions[q]);
		for (unsigned i = 0; i <= N_BATCHES; i++)
			buf__fini(&m->expected[i][q]);
	}
	pthread_cond_destroy(&m->answered);
	pthread_mutex_destroy(&m->mutex);
	buf__fini(&m->why);
	free(m);
}

bool conform__moments(const struct trial_options *o, uint64_t seed, struct buf *ret_why)
{
	struct moments *m = calloc(1, sizeof(*m));
	struct dcm_batch *batches[N_BATCHES];
	pthread_t asker;

	if (!m || !(m->t = trial__new(o)))
		abort();
	struct trial *t = m->t;
	pthread_mutex_init(&m->mutex, NULL);
	pthread_cond_init(&m->answered, NULL);
	if (prepare(m, batches, seed) && t->why.n == 0) {
		if (pthread_create(&asker, NULL, ask_all_the_time, m) != 0)
			abort();
		write_all(m, batches);
		atomic_store(&m->end, true);
		pthread_join(asker, NULL);
		if (m->why.n)
			trial__fail(t, "%s", (const char *)m->why.data);
		for (unsigned q = 0; q < N_QUESTIONS; q++)
			trial__ask(t, &t->subject, &m->questions[q].asked);
	}
	for (unsigned i = 0; i < N_BATCHES; i++)
		batch__unref(batches[i]);
	moments__free(m);
	return trial__end(t, ret_why);
}
