/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_instance.c - the order of an instance's life, what becomes of failures, and
 * changes of configuration
 *
 * The plugin is tests/plugins/testing.c, which misbehaves as its configuration says.
 */
#include "core/plugin/instance.h"

#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/config/options.h"
#include "core/config/tree.h"
#include "core/plugin/loader.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define SECOND ((int64_t)1000000000)

static struct plugin *plugin;
static struct clock clock;
static struct host_services services = { .clock = &clock };

static int load(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = loader__load_file(TEST_BUILDDIR "/tests/plugins/.libs/output_testing.so", false,
				  &plugin, &err);

	(void)state;
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	clock = clock__fake(1000 * SECOND, 2000 * SECOND);
	return r;
}

static int unload(void **state)
{
	(void)state;
	plugin__free(plugin);
	return 0;
}

/* The settings that a YAML map gives; NULL when it is refused or memory runs out. */
static struct settings *settings_of(const char *yaml)
{
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct settings *s = NULL;
	struct tree *tree = NULL;

	if (tree__load_text("test", str__of(yaml), &tree, NULL) == 0)
		settings__new(plugin, &env, "output testing", tree->root, NULL, 0, &s);
	tree__free(tree);
	problems__fini(&problems);
	return s;
}

static struct instance *make(const char *yaml)
{
	struct instance *i = NULL;
	struct settings *s = settings_of(yaml);

	assert_non_null(s);
	assert_int_equal(instance__new(plugin, "testing", s, &services, &i, NULL), 0);
	return i;
}

static struct instance_view view(const struct instance *i)
{
	struct instance_view v;

	instance__view(i, &v);
	return v;
}

static void settings_are_checked_without_touching_anything(void **state)
{
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct dcm_error err = DCM_ERROR_INIT;
	struct settings *s = NULL;
	struct tree *tree = NULL;

	(void)state;
	assert_int_equal(tree__load_text("c.yaml", STR("nubmer: 3\n"), &tree, NULL), 0);
	assert_int_equal(settings__new(plugin, &env, "output testing", tree->root, NULL, 0, &s), -EINVAL);
	assert_int_equal(problems__first(&problems, &err), -EINVAL);
	assert_non_null(strstr(err.text, "c.yaml:1:1: output testing: "));
	assert_non_null(strstr(err.text, "did you mean \"number\"?"));
	assert_null(s);
	tree__free(tree);
	problems__fini(&problems);
	s = settings_of("number: 11");
	assert_null(s);
}

static void a_good_life(void **state)
{
	struct instance *i = make("{}");

	(void)state;
	assert_int_equal(view(i).phase, INSTANCE_CREATED);
	assert_null(instance__handle(i));
	assert_int_equal(instance__open(i, NULL), 0);
	assert_int_equal(view(i).phase, INSTANCE_OPENED);
	assert_non_null(instance__handle(i));
	assert_int_equal(instance__start(i, NULL), 0);
	assert_int_equal(view(i).phase, INSTANCE_STARTED);
	assert_int_equal(view(i).state.state, DCM_STATE_OK);
	assert_int_equal(instance__retry_at(i), INT64_MAX);
	assert_int_equal(instance__drain(i, 0), 0);
	assert_int_equal(view(i).phase, INSTANCE_DRAINING);
	instance__stop(i);
	assert_int_equal(view(i).phase, INSTANCE_STOPPED);
	assert_int_equal(view(i).state.state, DCM_STATE_STOPPED);
	/* And once more. */
	assert_int_equal(instance__open_and_start(i, NULL), 0);
	instance__stop(i);
	instance__stop(i);
	instance__free(i);
}

static void a_failed_open_is_a_sentence_and_a_state(void **state)
{
	struct instance *i = make("mode: fail_open");
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(instance__open_and_start(i, &err), -EADDRINUSE);
	assert_string_equal(err.text, "output testing: port 7070 is in use; stop whoever has it");
	assert_int_equal(view(i).phase, INSTANCE_FAILED);
	assert_int_equal(view(i).state.state, DCM_STATE_FAILED);
	assert_string_equal(view(i).state.sentence, "port 7070 is in use; stop whoever has it");
	assert_null(instance__handle(i));
	instance__free(i);
	/* Also for a plugin that says nothing. */
	i = make("mode: fail_open_mute");
	assert_int_equal(instance__open_and_start(i, &err), -EADDRINUSE);
	assert_non_null(strstr(view(i).state.sentence, "open failed: Address already in use"));
	instance__free(i);
}

static void retries_come_slower_and_slower(void **state)
{
	static const int64_t waits[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };
	struct instance *i = make("mode: fail_start");

	(void)state;
	for (unsigned k = 0; k < sizeof(waits) / sizeof(waits[0]); k++) {
		assert_int_equal(instance__open_and_start(i, NULL), -EIO);
		assert_int_equal(view(i).n_failures, k + 1);
		assert_int_equal(instance__retry_at(i), clock.fake_mono_ns + waits[k] * SECOND);
		clock.fake_mono_ns = instance__retry_at(i);
	}
	instance__stop(i);
	assert_int_equal(instance__retry_at(i), INT64_MAX);
	instance__free(i);
}

static void what_heals_is_well_again(void **state)
{
	struct instance *i = make("mode: fail_twice");

	(void)state;
	assert_int_equal(instance__open_and_start(i, NULL), -EIO);
	assert_int_equal(instance__open_and_start(i, NULL), -EIO);
	assert_int_equal(instance__open_and_start(i, NULL), 0);
	assert_int_equal(view(i).n_failures, 0);
	assert_int_equal(view(i).state.state, DCM_STATE_OK);
	instance__stop(i);
	instance__free(i);
}

static void what_needs_a_person_waits_for_one(void **state)
{
	struct instance *i = make("mode: fail_for_good");

	(void)state;
	assert_int_equal(instance__open_and_start(i, NULL), -EPERM);
	assert_int_equal(instance__retry_at(i), INT64_MAX);
	/* A reload with other settings is such a person. */
	instance__set_settings(i, settings_of("mode: ok"));
	assert_int_equal(instance__open_and_start(i, NULL), 0);
	instance__stop(i);
	instance__free(i);
}

static void changes_are_prepared_then_made_or_not(void **state)
{
	struct instance *i = make("number: 2");
	struct settings *s;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(instance__open_and_start(i, NULL), 0);
	assert_int_equal(instance__prepare(i, settings_of("number: 3"), NULL), 0);
	instance__commit(i);
	assert_int_equal(instance__prepare(i, settings_of("number: 4"), NULL), 0);
	instance__abort(i);
	s = settings_of("mode: busy");
	assert_int_equal(instance__prepare(i, s, &err), -EBUSY);
	assert_non_null(strstr(err.text, "testing: mode needs a restart"));
	settings__free(s);
	s = settings_of("mode: refuse");
	assert_int_equal(instance__prepare(i, s, &err), -EINVAL);
	settings__free(s);
	/* Stopping in the middle of a change gives it up. */
	assert_int_equal(instance__prepare(i, settings_of("number: 5"), NULL), 0);
	instance__drain(i, 0);
	instance__stop(i);
	instance__free(i);
}

/* ---- an input among the symbol sources, and done callbacks, by a plugin made here ---- */

struct told {
	int n, status;
	bool is_stopped;
};
static struct told told;

static void tell(void *ctx, int status)
{
	struct told *t = ctx;

	assert_false(t->is_stopped);
	t->n++;
	t->status = status;
}

static int in_open(const struct dcm_host *host, const void *config, void **ret, struct dcm_error *err)
{
	(void)config;
	(void)err;
	*ret = (void *)(uintptr_t)host;
	return 0;
}
static int in_start(void *instance, struct dcm_error *err)
{
	const struct dcm_host *host = instance;

	(void)err;
	return host->emit(host, NULL, tell, &told);
}
static void in_stop(void *instance)
{
	(void)instance;
	told.is_stopped = true;
}
static void in_process(void *instance, enum dcm_process_event event, const struct dcm_process *process)
{
	(void)instance;
	(void)event;
	(void)process;
	told.n++;
}

static const struct dcm_lifecycle in_lifecycle = {
	.size = sizeof(in_lifecycle), .open = in_open, .start = in_start, .stop = in_stop
};
static const struct dcm_input_ops in_ops = { .size = sizeof(in_ops), .process = in_process };
static const struct dcm_plugin in_plugin = { DCM_PLUGIN_HEAD, .kind = DCM_INPUT,
					     .name = "in",    .version = "1",
					     .summary = "x",  .lifecycle = &in_lifecycle,
					     .input = &in_ops };

static dcm_done_fn late_done;
static void *late_ctx;

static int keep(void *ctx, const struct dcm_host *from, struct dcm_batch *batch, dcm_done_fn done,
		void *done_ctx)
{
	(void)ctx;
	(void)from;
	(void)batch;
	late_done = done;
	late_ctx = done_ctx;
	return 0;
}

static void nothing_reaches_a_plugin_that_stopped(void **state)
{
	struct sources *sources = sources__new();
	struct host_services s = { .sources = sources, .emit = keep };
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct settings *settings = NULL;
	struct plugin *p = NULL;
	struct instance *i = NULL;
	struct dcm_process process = { .pid = 1 };

	(void)state;
	assert_int_equal(plugin__check(&in_plugin, "/in.so", &p, NULL), 0);
	assert_int_equal(settings__new(p, &env, "input in", NULL, NULL, 0, &settings), 0);
	assert_int_equal(instance__new(p, "in", settings, &s, &i, NULL), 0);
	assert_int_equal(instance__open_and_start(i, NULL), 0);
	sources__process_event(sources, DCM_PROCESS_SEEN, &process);
	assert_int_equal(told.n, 1);
	instance__stop(i);
	/* Its batch was still under way: it was told so before stop(). */
	assert_int_equal(told.n, 2);
	assert_int_equal(told.status, -ECANCELED);
	sources__process_event(sources, DCM_PROCESS_SEEN, &process);
	instance__free(i);
	late_done(late_ctx, 0);
	assert_int_equal(told.n, 2);
	plugin__free(p);
	sources__free(sources);
	problems__fini(&problems);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (k) {
		struct settings *s = settings_of("number: 3");
		struct instance *i = NULL;
		int r = s ? instance__new(plugin, "testing", s, &services, &i, NULL) : -ENOMEM;

		if (r == 0)
			r = instance__open_and_start(i, NULL);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		if (i)
			instance__stop(i);
		instance__free(i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_checked_without_touching_anything),
		cmocka_unit_test(a_good_life),
		cmocka_unit_test(a_failed_open_is_a_sentence_and_a_state),
		cmocka_unit_test(retries_come_slower_and_slower),
		cmocka_unit_test(what_heals_is_well_again),
		cmocka_unit_test(what_needs_a_person_waits_for_one),
		cmocka_unit_test(changes_are_prepared_then_made_or_not),
		cmocka_unit_test(nothing_reaches_a_plugin_that_stopped),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("instance", tests, load, unload);
}
