/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/life.c - does the plugin live, change and die as the contract says, also
 * without memory?
 *
 * Leaks are what grows from round to round: libraries keep things from their first use (a locale, a
 * thread's storage), and these are not the plugin's to free. So two rounds run before the first
 * count.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/config/options.h"
#include "core/plugin_check/alloc.h"
#include "core/plugin_check/cases.h"
#include "core/plugin_check/usage.h"

enum {
	N_ROUNDS = 3,
	N_FAILURES_MAX = 1000, /* allocations that are made to fail, one child each */
	CHILD_SECONDS = 20,
};

/*
 * Settings from the configuration given, or the defaults. Skips the case when these are not enough.
 */
static struct settings *settings_of(const struct check *c)
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

/*
 * An instance of these, opened and started. Skips the case when the plugin says (with a sentence)
 * that it cannot.
 */
static struct instance *start(const struct check *c)
{
	struct instance *i = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct instance_view v;

	if (instance__new(c->plugin, c->plugin->info.name, settings_of(c), &c->services, &i, &err) < 0)
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

/* Drains, stops and frees it. */
static void stop(struct instance *i)
{
	instance__drain(i, clock__mono(&clock__system) + 5 * (int64_t)1000000000);
	instance__stop(i);
	instance__free(i);
}

static void round_of_life(const struct check *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct instance *i = start(c);

	work__once(c, i, &err);
	stop(i);
}

/*
 * Whole lives are compared, also where a change is in question: an instance that works has threads
 * that open files and take memory at any moment, and these are in use and not lost.
 */
static void check_rounds(const struct check *c, void (*round)(const struct check *c))
{
	struct usage before;

	round(c);
	round(c);
	usage__take(&before);
	for (unsigned k = 0; k < N_ROUNDS; k++)
		round(c);
	usage__compare(c, &before, N_ROUNDS);
}

void case__lifecycle(const struct check *c)
{
	check_rounds(c, round_of_life);
	if (!alloc__works())
		verdict__pass(c, "memory is the sanitizer's to count");
}

void case__stop_without_drain(const struct check *c)
{
	struct instance *i = start(c);

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
	struct settings *s = settings_of(c);
	int r = instance__prepare(i, s, &err);

	if (r < 0)
		verdict__fail(c, "prepare refuses the configuration that it runs with: %s", err.text);
	if (commit)
		instance__commit(i);
	else
		instance__abort(i);
}

static void round_of_changes(const struct check *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct instance *i = start(c);

	change_once(c, i, false);
	change_once(c, i, true);
	change_once(c, i, true);
	work__once(c, i, &err);
	stop(i);
}

void case__change(const struct check *c)
{
	if (!c->plugin->lifecycle.prepare)
		verdict__skip(c, "it has no prepare: the host restarts it instead");
	check_rounds(c, round_of_changes);
}

void case__work(const struct check *c)
{
	struct instance *i = start(c);
	struct dcm_error err = DCM_ERROR_INIT;
	int r = work__once(c, i, &err);

	stop(i);
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
	struct settings *s = settings_of(c);
	struct instance *i = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	bool has_failed;

	if (instance__new(c->plugin, c->plugin->info.name, s, &c->services, &i, &err) < 0)
		return LIFE_NO_START;
	alloc__fail_at(n, sticky);
	if (instance__open_and_start(i, &err) == 0)
		work__once(c, i, &err);
	instance__drain(i, clock__mono(&clock__system) + (int64_t)1000000000);
	has_failed = alloc__disarm();
	instance__stop(i);
	instance__free(i);
	return has_failed ? LIFE_FAILED_WELL : LIFE_THROUGH;
}

/*
 * The first life, like the whole one that the parent had, makes libraries take what they keep for
 * good, for instance to print an error. What the second one leaves is a leak.
 */
static enum life live_without(const struct check *c, uint64_t n, bool sticky)
{
	int64_t before;
	enum life life;

	live_once(c, n, sticky);
	before = alloc__outstanding();
	life = live_once(c, n, sticky);
	return alloc__outstanding() > before ? LIFE_LEAKED : life;
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
	int64_t end = clock__mono(&clock__system) + c->sweep_seconds * (int64_t)1000000000;
	unsigned n_tried = 0;
	uint64_t n = 1;
	int once = LIFE_FAILED_WELL, sticky = LIFE_FAILED_WELL;

	if (!alloc__works())
		verdict__skip(c, "built with a sanitizer, which has the allocator");
	/* That it cannot start is said here once, and not by each child. */
	round_of_life(c);
	/* One by one first, then in steps that grow: the later ones are mostly the host's. */
	for (; n <= N_FAILURES_MAX && (has_failed(once) || has_failed(sticky));
	     n += 1 + n / 100, n_tried++) {
		if (clock__mono(&clock__system) > end)
			verdict__skip(c,
				      "time was up when %u allocations had been made to fail, the "
				      "last of them "
				      "number %" PRIu64 "; more take --seconds",
				      n_tried, n);
		once = live_apart(c, n, false);
		judge(c, once, n);
		sticky = live_apart(c, n, true);
		judge(c, sticky, n);
	}
	verdict__pass(c, "%u allocations were made to fail", n_tried);
}
