/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_job.c - from what discoveries say to the targets of a job, one sync after the other
 *
 * Sources are filled by hand, and syncs run by hand: nothing is asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/sync.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/scrape_fixture.h"
#include "tests/unit/unit.h"

#define ONE_PROFILE                                                                                \
	"  profiling_config: { pprof_config: { memory: { enabled: false }, block: { enabled: "     \
	"false }, mutex: { enabled: false }, process_cpu: { enabled: false } } }\n"
#define JOB "scrape_configs:\n- job_name: api\n" ONE_PROFILE

static void open_fixture(struct scrape_fixture *f, const char *yaml)
{
	scrape_fixture__open(f, yaml, NULL);
	job__go_live(f->job, NULL);
	loop__cancel(f->loop, &f->job->sync);
}

/* "a:1 b:2/x": targets, with a label `kind` behind the slash. As job__found(). */
static int find(struct scrape_fixture *f, struct source *s, const char *said)
{
	struct groups g = { 0 };
	char text[200], *rest = text;

	snprintf(text, sizeof(text), "%s", said);
	for (char *one; (one = strsep(&rest, " "));) {
		char *kind = strchr(one, '/');
		struct dcm_label_text label = { STR("kind"), str__of(kind ? kind + 1 : "") };

		if (kind)
			*kind = '\0';
		if (one[0] && groups__add(&g, str__of(one), &label, 1) < 0) {
			groups__fini(&g);
			return -ENOMEM;
		}
	}
	return job__found(f->job, s, &g);
}

/* Addresses of the job's targets in their order, then in brackets those that rules dropped, or with why they cannot be. */
static const char *targets(const struct scrape_fixture *f)
{
	static char text[400];
	const struct job *j = f->job;
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < j->targets.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
				      j->targets.v[i]->found->values[0]->p);
	for (size_t i = 0; i < j->dropped.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s[%s%s%s]", n ? " " : "",
				      j->dropped.v[i].found->values[0]->p,
				      j->dropped.v[i].why ? ": " : "",
				      j->dropped.v[i].why ? j->dropped.v[i].why->p : "");
	return text;
}

static void lose(struct scrape_fixture *f, struct source *s)
{
	job__lost(f->job, s);
	assert_null(s->next);
}

#define RULES "  relabel_configs: [ { source_labels: [kind], regex: \"no.*\", action: drop } ]\n"

#define NO_ADDRESS(a)                                                                              \
	"job api: __address__ is \"" a "\", which is not HOST:PORT; let a rule write it"

/* Each step: what a source says now, and what the job has then. */
static void targets_are_what_all_sources_say(void **state)
{
	static const struct {
		unsigned source;
		const char *said, *targets; /* said NULL: lost */
	} steps[] = {
		{ 0, "a:1 b:1", "a:1 b:1" },
		{ 1, "c:1/no d:1", "a:1 b:1 d:1 [c:1]" },
		{ 0, "b:1 e:1", "b:1 e:1 d:1 [c:1]" },
		{ 1, "c:1/yes b:1 b:1", "b:1 e:1 c:1" }, /* one that two found is one */
		{ 0, "", "c:1 b:1" },
		{ 1, "c:1/no c:1/not c:1", "c:1 [c:1] [c:1]" },
		{ 1, NULL, "" },
		{ 1, NULL, "" },
		/* what cannot be is told, and keeps nobody out; again, when it is known already */
		{ 0, "a:1 x@y:1", "a:1 [x@y:1: " NO_ADDRESS("x@y:1") "]" },
		{ 0, "b:1 x@y:1", "b:1 [x@y:1: " NO_ADDRESS("x@y:1") "]" },
	};
	struct source sources[2] = { 0 };
	struct scrape_fixture f;

	(void)state;
	open_fixture(&f, JOB RULES);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (steps[i].said)
			assert_int_equal(find(&f, &sources[steps[i].source], steps[i].said), 0);
		else
			lose(&f, &sources[steps[i].source]);
		assert_int_equal(sync__run(f.job), 0);
		assert_string_equal(targets(&f), steps[i].targets);
	}
	lose(&f, &sources[0]);
	scrape_fixture__close(&f);
}

/* What counts up, and the place in the interval, go on: with the same memory when the labels are the same. */
static void targets_that_stay_go_on(void **state)
{
	struct source source = { 0 };
	const struct target *a, *b;
	struct labels *found;
	int64_t at;
	struct scrape_fixture f;

	(void)state;
	open_fixture(&f, JOB);
	assert_int_equal(find(&f, &source, "a:1 b:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	a = f.job->targets.v[0];
	b = f.job->targets.v[1];
	found = source.found.v[0];
	loop__cancel(f.loop, &f.job->sync);
	assert_int_equal(find(&f, &source, "a:1 b:1"), 0);
	assert_int_equal(f.job->sync.place, 0); /* nothing has changed: no sync */
	assert_ptr_equal(source.found.v[0], found);
	assert_int_equal(find(&f, &source, "a:1 c:1"), 0);
	assert_true(f.job->sync.place > 0);
	assert_int_equal(sync__run(f.job), 0);
	assert_ptr_equal(f.job->targets.v[0], a);
	assert_ptr_not_equal(f.job->targets.v[1], b);

	/* Found at another place, it is made anew, and takes over. */
	f.job->targets.v[0]->state.n_asked = 7;
	f.job->targets.v[0]->state.delta_real_ns = 8;
	at = f.job->targets.v[0]->timer.at_mono_ns;
	assert_int_equal(find(&f, &source, "c:1 a:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	assert_string_equal(targets(&f), "c:1 a:1");
	assert_int_equal(f.job->targets.v[1]->state.n_asked, 7);
	assert_int_equal(f.job->targets.v[1]->state.delta_real_ns, 8);
	assert_int_equal(f.job->targets.v[1]->timer.at_mono_ns, at);
	lose(&f, &source);
	scrape_fixture__close(&f);
}

static bool has_state(const struct discovery *d)
{
	return d->state != NULL;
}

/* One that asks once, and one that asks in steps: it is there when it has a state. */
static const struct discovery_kind slow_kind = { .name = "slow_sd" };
static const struct discovery_kind steps_kind = { .name = "steps_sd", .is_whole = has_state };

static bool is_looking(const struct scrape_fixture *f)
{
	struct job_counts counts = { 0 };

	job__count(f->job, &counts);
	return counts.is_looking;
}

/* Until all discoveries have looked, and targets show what was found, nobody says that there is nothing. */
static void a_job_looks_until_its_targets_show_all(void **state)
{
	struct discovery slow = { .kind = &slow_kind };
	struct source source = { 0 };
	struct scrape_fixture f;

	(void)state;
	open_fixture(&f, JOB);
	assert_false(is_looking(&f));
	slow.job = f.job;
	assert_true(vec__push(&f.job->discoveries, &slow));
	assert_true(is_looking(&f));
	assert_int_equal(find(&f, &source, "a:1"), 0);
	loop__cancel(f.loop, &f.job->sync);
	assert_true(is_looking(&f));
	discovery__well(&slow);
	assert_false(is_looking(&f));
	assert_int_equal(find(&f, &source, "a:1 b:1"), 0);
	assert_true(is_looking(&f));
	f.job->discoveries.n = 0;
	lose(&f, &source);
	scrape_fixture__close(&f);
}

/* A job in another's place has its targets until it has found its own, and then those that are the same. */
static void another_jobs_targets_go_on(void **state)
{
	struct source old_source = { 0 }, source = { 0 };
	struct scrape_fixture f;
	struct discovery slow = { .kind = &slow_kind };
	struct job *old, *new = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	int64_t at;

	(void)state;
	open_fixture(&f, JOB);
	old = f.job;
	assert_int_equal(find(&f, &old_source, "a:1 b:1"), 0);
	assert_int_equal(sync__run(old), 0);
	old->targets.v[1]->state.n_asked = 7;
	old->targets.v[1]->state.delta_real_ns = 8;
	old->targets.v[1]->state.names_itself = true;
	old->targets.v[1]->state.unasked_names = 9;
	at = old->targets.v[1]->timer.at_mono_ns;
	assert_int_equal(job__new(&f.config, &new, &err), 0);
	f.job = slow.job = new;
	/* Before it is live, what is found waits. */
	assert_int_equal(find(&f, &source, "b:1 c:1"), 0);
	assert_int_equal(new->sync.place, 0);
	assert_true(vec__push(&new->discoveries, &slow));
	job__go_live(new, old);
	lose(&(struct scrape_fixture){ .job = old }, &old_source);
	job__retire(old);
	assert_int_equal(old->targets.n, 0);
	assert_string_equal(targets(&f), "a:1 b:1");
	assert_int_equal(new->targets.v[1]->timer.at_mono_ns, at);
	assert_ptr_equal(new->targets.v[1]->job, new);
	assert_ptr_equal(new->targets.v[1]->plan, &new->plans[0]);
	job__free(old);
	/* One that has not looked yet may still find it. */
	assert_int_equal(sync__run(new), 0);
	assert_string_equal(targets(&f), "b:1 c:1 a:1");
	assert_int_equal(sync__run(new), 0);
	assert_string_equal(targets(&f), "b:1 c:1 a:1");
	loop__cancel(f.loop, &new->sync);
	discovery__failed(&slow, "no answer");
	assert_int_equal(new->sync.place, 0);
	discovery__well(&slow);
	assert_true(new->sync.place > 0);
	assert_int_equal(sync__run(new), 0);
	new->discoveries.n = 0;
	assert_string_equal(targets(&f), "b:1 c:1");
	assert_true(new->targets.v[0]->state.names_itself);
	assert_int_equal(new->targets.v[0]->state.unasked_names, 9);
	assert_int_equal(new->targets.v[0]->state.n_asked, 7);
	assert_int_equal(new->targets.v[0]->state.delta_real_ns, 8);
	assert_int_equal(new->targets.v[0]->timer.at_mono_ns, at);
	lose(&f, &source);
	scrape_fixture__close(&f);
}

/* A reload with other rules: they run over what the job before had found, while a discovery has not looked. */
static void another_jobs_findings_meet_the_rules(void **state)
{
	struct source old_source = { 0 };
	struct scrape_fixture f;
	struct discovery slow = { .kind = &slow_kind };
	struct job *old, *new = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	open_fixture(&f, JOB);
	old = f.job;
	assert_int_equal(find(&f, &old_source, "a:1/no b:1/yes c:1"), 0);
	assert_int_equal(sync__run(old), 0);
	old->targets.v[1]->state.n_asked = 7;
	scrape_fixture__read(
		&f, JOB
		"  relabel_configs: [ { source_labels: [kind], regex: 'no.*', "
		"action: drop },\n"
		"    { source_labels: [kind], regex: 'yes', target_label: x, replacement: y } ]\n");
	assert_int_equal(job__new(&f.config, &new, &err), 0);
	f.job = slow.job = new;
	assert_true(vec__push(&new->discoveries, &slow));
	job__go_live(new, old);
	lose(&(struct scrape_fixture){ .job = old }, &old_source);
	job__retire(old);
	job__free(old);
	assert_true(new->sync.place > 0);
	assert_int_equal(sync__run(new), 0);
	/* What has another label is another target. */
	assert_string_equal(targets(&f), "b:1 c:1 [a:1]");
	assert_int_equal(new->targets.v[0]->labels->n, 5);
	assert_int_equal(new->targets.v[0]->state.n_asked, 0);
	/* It is not waited for without end. */
	assert_true(new->forget.place > 0);
	assert_true(new->forget.at_mono_ns - f.host->mono_ns(f.host) <= 120000000000);
	new->forget.fn(new->forget.ctx);
	assert_int_equal(sync__run(new), 0);
	assert_string_equal(targets(&f), "");
	new->discoveries.n = 0;
	scrape_fixture__close(&f);
}

/* A job in the place of f->job, which ends; `slow` has not looked. */
static void reload(struct scrape_fixture *f, struct discovery *slow)
{
	struct job *old = f->job, *new = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(job__new(&f->config, &new, &err), 0);
	f->job = slow->job = new;
	assert_true(vec__push(&new->discoveries, slow));
	job__go_live(new, old);
	old->discoveries.n = 0;
	job__retire(old);
	job__free(old);
}

/* That one of several questions was answered is not yet what there is. */
static void one_that_asks_in_steps(void **state)
{
	struct source source = { 0 };
	struct scrape_fixture f;
	struct discovery steps = { .kind = &steps_kind };

	(void)state;
	open_fixture(&f, JOB);
	assert_int_equal(find(&f, &source, "a:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	lose(&f, &source);
	/* Before it is live, and then. */
	steps.looked_real_ns = 1;
	reload(&f, &steps);
	assert_int_equal(f.job->adopted.found.n, 1);
	discovery__well(&steps);
	assert_int_equal(sync__run(f.job), 0);
	assert_string_equal(targets(&f), "a:1");
	steps.state = &steps;
	job__looked(f.job);
	assert_int_equal(sync__run(f.job), 0);
	assert_string_equal(targets(&f), "");
	f.job->discoveries.n = 0;
	scrape_fixture__close(&f);
}

/* However often it is reloaded, what was found is known once, and for two minutes from the first time on. */
static void reloads_that_follow_each_other(void **state)
{
	struct source source = { 0 };
	struct scrape_fixture f;
	struct discovery slow = { .kind = &slow_kind };
	int64_t at = 0;

	(void)state;
	open_fixture(&f, JOB);
	assert_int_equal(find(&f, &source, "a:1 b:1/old"), 0);
	assert_int_equal(sync__run(f.job), 0);
	for (int i = 0; i < 3; i++) {
		lose(&f, &source);
		reload(&f, &slow);
		assert_int_equal(f.job->adopted.found.n, 2);
		assert_true(i == 0 || f.job->forget.at_mono_ns == at);
		at = f.job->forget.at_mono_ns;
		/* An address that is found by now is what it is now, and counts once. */
		assert_int_equal(find(&f, &source, "b:1/new"), 0);
		assert_int_equal(sync__run(f.job), 0);
		assert_string_equal(targets(&f), "b:1 a:1");
		assert_int_equal(f.job->n_found, 1);
	}
	f.job->discoveries.n = 0;
	lose(&f, &source);
	scrape_fixture__close(&f);
}

static void beyond_the_limit_none_is_asked(void **state)
{
	struct source source = { 0 };
	struct scrape_fixture f;

	(void)state;
	open_fixture(&f, JOB "  target_limit: 2\n");
	assert_int_equal(find(&f, &source, "a:1 b:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	assert_int_equal(find(&f, &source, "a:1 b:1 c:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	assert_true(f.job->is_over_limit);
	f.job->targets.v[1]->state.n_asked = 7;
	f.job->targets.v[1]->timer.fn(f.job->targets.v[1]); /* its turn */
	assert_int_equal(f.job->n_calls, 0);
	assert_int_equal(f.job->targets.v[1]->state.health, DCM_HEALTH_DOWN);
	assert_int_equal(f.job->targets.v[1]->state.n_failures, 0);
	assert_string_equal(target__error(f.job->targets.v[1]), f.job->trouble);
	assert_non_null(strstr(f.job->trouble, "3 targets, more than target_limit (2)"));
	assert_int_equal(find(&f, &source, "b:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	assert_string_equal(targets(&f), "b:1");
	assert_false(f.job->is_over_limit);
	assert_int_equal(f.job->targets.v[0]->state.n_asked, 7);
	assert_string_equal(f.job->trouble, "");
	lose(&f, &source);
	scrape_fixture__close(&f);
}

static int count(void *ctx, const struct dcm_target *t)
{
	unsigned *n = ctx;

	for (uint32_t i = 0; i < t->n_discovered; i++)
		if (str__eq(t->discovered[i].name, STR("job")))
			n[t->health == DCM_HEALTH_DROPPED] += str__eq(t->discovered[i].value, STR("api"));
	for (uint32_t i = 0; i < t->n_labels; i++)
		n[2] += str__eq(t->labels[i].name, STR("instance"));
	return 0;
}

static void all_are_told(void **state)
{
	struct source source = { 0 };
	unsigned n[3] = { 0 };
	struct scrape_fixture f;

	(void)state;
	open_fixture(&f, JOB RULES);
	assert_int_equal(find(&f, &source, "a:1 b:1/no c:1"), 0);
	assert_int_equal(sync__run(f.job), 0);
	job__targets(f.job, count, n);
	assert_int_equal(n[0], 2);
	assert_int_equal(n[1], 1);
	assert_int_equal(n[2], 2);
	lose(&f, &source);
	scrape_fixture__close(&f);
}

/* Whatever fails for want of memory leaves all as it was. */
static void failing_memory_is_survived(void **state)
{
	struct source source = { 0 };
	struct scrape_fixture f;

	(void)state;
	open_fixture(&f, JOB RULES);
	FAILMALLOC_SWEEP (i) {
		int found, synced;

		failmalloc__disarm();
		assert_int_equal(find(&f, &source, "a:1 b:1/no"), 0);
		assert_int_equal(sync__run(f.job), 0);
		failmalloc__arm(i);
		found = find(&f, &source, "a:1 b:1/not c:1");
		synced = found == 0 ? sync__run(f.job) : -ENOMEM;
		failmalloc__disarm();
		assert_true(synced == 0 || synced == -ENOMEM);
		assert_string_equal(targets(&f), synced == 0 ? "a:1 c:1 [b:1]" : "a:1 [b:1]");
		assert_int_equal(source.found.n, found == 0 ? 3 : 2);
	}
	lose(&f, &source);
	scrape_fixture__close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_what_all_sources_say),
		cmocka_unit_test(targets_that_stay_go_on),
		cmocka_unit_test(a_job_looks_until_its_targets_show_all),
		cmocka_unit_test(another_jobs_targets_go_on),
		cmocka_unit_test(another_jobs_findings_meet_the_rules),
		cmocka_unit_test(one_that_asks_in_steps),
		cmocka_unit_test(reloads_that_follow_each_other),
		cmocka_unit_test(beyond_the_limit_none_is_asked),
		cmocka_unit_test(all_are_told),
		cmocka_unit_test(failing_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
