/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_interrupt.c - the first signal calls the function, the second ends the program
 */
#include "tests/unit/unit.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/main/interrupt.h"

static void note(void *ctx)
{
	sem_post(ctx);
}

static void the_first_one_calls(void **state)
{
	const int signals[] = { SIGINT, SIGTERM };
	(void)state;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct interrupt *in;
		sigset_t before, after;
		sem_t came;

		assert_int_equal(sem_init(&came, 0, 0), 0);
		assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
		in = interrupt__begin(note, &came);
		assert_non_null(in);
		assert_int_equal(kill(getpid(), signals[i]), 0);
		assert_int_equal(sem_wait(&came), 0);
		interrupt__end(in);
		assert_int_equal(sem_trywait(&came), -1);
		assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
		assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
		sem_destroy(&came);
	}
}

static void nothing_comes(void **state)
{
	sem_t came;
	(void)state;

	assert_int_equal(sem_init(&came, 0, 0), 0);
	interrupt__end(interrupt__begin(note, &came));
	assert_int_equal(sem_trywait(&came), -1);
	sem_destroy(&came);
	interrupt__end(NULL);
}

static void the_second_one_ends_the_program(void **state)
{
	const pid_t child = fork();
	int status;
	(void)state;

	assert_true(child >= 0);
	if (child == 0) {
		sem_t came;

		if (sem_init(&came, 0, 0) || !interrupt__begin(note, &came) ||
		    kill(getpid(), SIGINT) || sem_wait(&came) || kill(getpid(), SIGINT))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_one_calls),
		cmocka_unit_test(nothing_comes),
		cmocka_unit_test(the_second_one_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
