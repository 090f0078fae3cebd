/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/check_life.c - does the plugin live, change and die as the contract says, also
 * without memory?
 *
 * Leaks are what grows from round to round: libraries keep things from their first use (a locale, a
 * thread's storage), and these are not the plugin's to free. So two rounds run before the first
 * count.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/config/options.h"
#include "core/plugin/check_alloc.h"
#include "core/plugin/check_cases.h"

enum {
	N_ROUNDS = 3,
	N_FAILURES_MAX = 1000, /* allocations that are made to fail, one child each */
	CHILD_SECONDS = 20,
};
#define SWEEP_NS ((int64_t)20 * 1000000000)

struct settings *check__settings(const struct check *c)
{
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct settings *s = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (settings__new(c->plugin, &env, c->plugin->info.name, c->config, NULL, 0, &s) < 0) {
		problems__first(&problems, &err);
		verdict__skip(c, "it needs options (%s): give them by --config", err.text);
	}
	problems__fini(&problems);
	return s;
}

struct instance *check__start(const struct check *c)
{
	struct instance *i = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct instance_view v;

	if (instance__new(c->plugin, c->plugin->info.name, check__settings(c), &c->services, &i, &err) < 0)
		verdict__fail(c, "%s", err.text);
	if (instance__open_and_start(i, &err) == 0)
		return i;
	instance__view(i, &v);
	/* The host makes such a sentence when the plugin gave none. */
	if (strncmp(v.state.sentence, "open failed: ", 13) == 0 ||
	    strncmp(v.state.sentence, "start failed: ", 14) == 0)
		verdict__fail(c, "it cannot start and does not say why (%s)", v.state.sentence);
	verdict__skip(c, "it cannot start here: %s", err.text);
}

void check__stop(struct instance *i)
{
	instance__drain(i, clock__mono(&clock__system) + 5 * (int64_t)1000000000);
	instance__stop(i);
	instance__free(i);
}

/* ---- what is in use ---- */

static int count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

struct usage {
	int64_t n_blocks;
	int n_fds, n_threads;
};

static struct usage usage(void)
{
	return (struct usage){ .n_fds = count_entries("/proc/self/fd"),
			       .n_threads = count_entries("/proc/self/task"),
			       .n_blocks = check_alloc__outstanding() };
}

/*
 * The kernel takes a thread that was joined out of /proc a moment later; there is nothing to wait
 * on.
 */
static int settled_threads(int expected)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int n = count_entries("/proc/self/task");

	for (unsigned i = 0; n > expected && i < 500; i++) {
		nanosleep(&ms, NULL);
		n = count_entries("/proc/self/task");
	}
	return n;
}

static void round_of_life(const struct check *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct instance *i = check__start(c);

	work__once(c, i, &err);
	check__stop(i);
}

static void check_usage(const struct check *c, const struct usage *before, unsigned n_rounds)
{
	struct usage after;
	int n_threads = settled_threads(before->n_threads);

	after = usage();
	if (n_threads > before->n_threads)
		verdict__fail(c, "%d threads were left behind by %u rounds",
			      n_threads - before->n_threads, n_rounds);
	if (after.n_fds > before->n_fds)
		verdict__fail(c, "%d descriptors were left open by %u rounds",
			      after.n_fds - before->n_fds, n_rounds);
	if (after.n_blocks >= before->n_blocks + (int64_t)n_rounds)
		verdict__fail(c, "%" PRId64 " blocks of memory were not freed by %u rounds",
			      after.n_blocks - before->n_blocks, n_rounds);
}

void case__lifecycle(const struct check *c)
{
	struct usage before;

	round_of_life(c);
	round_of_life(c);
	before = usage();
	for (unsigned k = 0; k < N_ROUNDS; k++)
		round_of_life(c);
	check_usage(c, &before, N_ROUNDS);
	if (!check_alloc__works())
		verdict__pass(c, "memory is the sanitizer's to count");
}

void case__stop_without_drain(const struct check *c)
{
	struct instance *i = check__start(c);

	instance__stop(i);
	/* And the same instance again. */
	if (instance__open_and_start(i, NULL) < 0)
		verdict__fail(c, "it started once, but not a second time after stop");
	instance__stop(i);
	instance__free(i);
}

static void change_once(const struct check *c, struct instance *i, bool commit)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct settings *s = check__settings(c);
	int r = instance__prepare(i, s, &err);

	if (r < 0)
		verdict__fail(c, "prepare refuses the configuration that it runs with: %s", err.text);
	if (commit)
		instance__commit(i);
	else
		instance__abort(i);
}

void case__change(const struct check *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct usage before;
	struct instance *i;

	if (!c->plugin->lifecycle.prepare)
		verdict__skip(c, "it has no prepare: the host restarts it instead");
	i = check__start(c);
	change_once(c, i, false);
	change_once(c, i, true);
	/* No work in between: what a plugin keeps of its work is not a leak. */
	before = usage();
	for (unsigned k = 0; k < N_ROUNDS; k++) {
		change_once(c, i, false);
		change_once(c, i, true);
	}
	check_usage(c, &before, N_ROUNDS);
	work__once(c, i, &err);
	check__stop(i);
}

void case__work(const struct check *c)
{
	struct instance *i = check__start(c);
	struct dcm_error err = DCM_ERROR_INIT;
	int r = work__once(c, i, &err);

	check__stop(i);
	if (r == -EAGAIN)
		verdict__skip(c, "it asks for later: %s", err.text);
	if (r < 0)
		verdict__fail(c, "%s", err.text);
	verdict__pass(c, "%s", err.text);
}

/* ---- no memory ---- */

/* How a life went in which the n-th allocation failed; a child's exit status. */
enum life {
	LIFE_THROUGH = 0,
	LIFE_FAILED_WELL = 1,
	LIFE_LEAKED = 2,
	LIFE_NO_START = 3,
	LIFE_GLIBC = 127, /* "cannot allocate memory for thread-local data" is not the plugin's to handle */
};

static enum life live_once(const struct check *c, uint64_t n, bool sticky)
{
	struct settings *s = check__settings(c);
	struct instance *i = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	bool has_failed;

	if (instance__new(c->plugin, c->plugin->info.name, s, &c->services, &i, &err) < 0)
		return LIFE_NO_START;
	check_alloc__fail_at(n, sticky);
	if (instance__open_and_start(i, &err) == 0)
		work__once(c, i, &err);
	instance__drain(i, clock__mono(&clock__system) + (int64_t)1000000000);
	has_failed = check_alloc__disarm();
	instance__stop(i);
	instance__free(i);
	return has_failed ? LIFE_FAILED_WELL : LIFE_THROUGH;
}

/*
 * The first two lives, one whole and one with the failure, make libraries take what they keep for
 * good, for instance to print an error. What the third one leaves is a leak.
 */
static enum life live_without(const struct check *c, uint64_t n, bool sticky)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct instance *i = check__start(c);
	int64_t before;
	enum life life;

	work__once(c, i, &err);
	check__stop(i);
	live_once(c, n, sticky);
	before = check_alloc__outstanding();
	life = live_once(c, n, sticky);
	return check_alloc__outstanding() > before ? LIFE_LEAKED : life;
}

/* The same in a child of its own: exit status, or minus the signal. */
static int live_apart(const struct check *c, uint64_t n, bool sticky)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		/* Libraries complain of the missing memory, as they should. */
		if (!c->services.log && null >= 0)
			dup2(null, STDERR_FILENO);
		alarm(CHILD_SECONDS);
		_exit(live_without(c, n, sticky));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		verdict__fail(c, "no process for the check");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void judge(const struct check *c, int life, uint64_t n)
{
	if (life == -SIGALRM)
		verdict__fail(c, "it hangs when allocation %" PRIu64 " fails", n);
	if (life < 0)
		verdict__fail(c, "it dies (%s) when allocation %" PRIu64 " fails", strsignal(-life), n);
	if (life > LIFE_NO_START && life != LIFE_GLIBC)
		verdict__fail(c, "it ends the process (%d) when allocation %" PRIu64 " fails", life, n);
	if (life == LIFE_LEAKED)
		verdict__fail(c, "memory is not freed when allocation %" PRIu64 " fails", n);
}

static bool has_failed(int life)
{
	return life == LIFE_FAILED_WELL || life == LIFE_GLIBC;
}

void case__no_memory(const struct check *c)
{
	int64_t end = clock__mono(&clock__system) + SWEEP_NS;
	unsigned n_tried = 0;
	uint64_t n = 1;
	int once = LIFE_FAILED_WELL, sticky = LIFE_FAILED_WELL;

	if (!check_alloc__works())
		verdict__skip(c, "built with a sanitizer, which has the allocator");
	/* Said here once, and not by each child. */
	check__stop(check__start(c));
	/* One by one first, then in steps that grow: the later ones are mostly the host's. */
	for (; n <= N_FAILURES_MAX && (has_failed(once) || has_failed(sticky));
	     n += 1 + n / 100, n_tried++) {
		if (clock__mono(&clock__system) > end)
			verdict__pass(c, "%u allocations were made to fail; time was up then", n_tried);
		once = live_apart(c, n, false);
		judge(c, once, n);
		sticky = live_apart(c, n, true);
		judge(c, sticky, n);
	}
	verdict__pass(c, "%u allocations were made to fail", n_tried);
}
