/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_crew.c - helpers are as many as there may be, whoever asks
 */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>

#include "plugins/storage/answer/crew.h"

enum { ASKERS = 3, ROUNDS = 200 };

struct job {
	struct crew *crew;
	uint32_t n;
	_Atomic uint32_t seen[CREW_MAX];    /* calls by number */
	_Atomic uint32_t *n_at_work, *most; /* helpers of everybody */
	pthread_t asker;
};

static void work(void *ctx, uint32_t i)
{
	struct job *j = ctx;

	atomic_fetch_add(&j->seen[i], 1);
	if (i == 0) {
		assert_true(pthread_equal(pthread_self(), j->asker));
		return;
	}
	const uint32_t n = atomic_fetch_add(j->n_at_work, 1) + 1;
	uint32_t most = atomic_load(j->most);
	while (n > most && !atomic_compare_exchange_weak(j->most, &most, n))
		;
	sched_yield();
	atomic_fetch_sub(j->n_at_work, 1);
}

static uint32_t do_job(struct job *j)
{
	uint32_t n_called = 0;

	j->asker = pthread_self();
	for (unsigned i = 0; i < CREW_MAX; i++)
		atomic_store(&j->seen[i], 0);
	const uint32_t n = crew__work(j->crew, j->n, work, j);
	for (uint32_t i = 0; i < CREW_MAX; i++) {
		assert_int_equal(j->seen[i], i < n);
		n_called += j->seen[i];
	}
	assert_int_equal(n_called, n);
	return n;
}

static void *ask(void *job)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		assert_in_range(do_job(job), 1, 5);
	return NULL;
}

static void test_helpers_are_shared(void **state)
{
	static struct job jobs[ASKERS];
	_Atomic uint32_t n_at_work = 0, most = 0;
	struct crew crew;
	pthread_t threads[ASKERS];
	(void)state;

	crew__init(&crew, 5, 1);
	for (unsigned i = 0; i < ASKERS; i++) {
		jobs[i] = (struct job){ .crew = &crew, .n = 9, .n_at_work = &n_at_work, .most = &most };
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &jobs[i]), 0);
	}
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	assert_in_range(most, 1, 4);
	assert_int_equal(crew.n_free, 4);
}

static void test_as_many_as_it_is_worth(void **state)
{
	_Atomic uint32_t n_at_work = 0, most = 0;
	struct crew crew;
	struct job job = { .crew = &crew, .n_at_work = &n_at_work, .most = &most };
	(void)state;

	crew__init(&crew, 4, 1000);
	assert_int_equal(crew__worth(&crew, 0), 1);
	assert_int_equal(crew__worth(&crew, 1999), 1);
	assert_int_equal(crew__worth(&crew, 2000), 2);
	assert_int_equal(crew__worth(&crew, UINT64_MAX), 4);
	assert_int_equal(crew__worth(NULL, UINT64_MAX), 1);
	for (uint32_t n = 1; n < 20; n++) {
		job.n = n;
		assert_int_equal(do_job(&job), n < 4 ? n : 4);
	}
	crew__resize(&crew, 1);
	assert_int_equal(do_job(&job), 1);
	crew__resize(&crew, CREW_MAX);
	job.n = 100;
	assert_int_equal(do_job(&job), CREW_MAX);
	job.crew = NULL;
	assert_int_equal(do_job(&job), 1);
}

static void shrink(void *ctx, uint32_t i)
{
	if (i == 0)
		crew__resize(ctx, 2);
}

/* What was made smaller while it was at work has nobody free until enough have come back. */
static void test_resized_at_work(void **state)
{
	struct crew crew;
	(void)state;

	crew__init(&crew, 6, 1);
	assert_int_equal(crew__work(&crew, 6, shrink, &crew), 6);
	assert_int_equal(crew.n_free, 1);
	assert_int_equal(crew__work(&crew, 6, shrink, &crew), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helpers_are_shared),
		cmocka_unit_test(test_as_many_as_it_is_worth),
		cmocka_unit_test(test_resized_at_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
