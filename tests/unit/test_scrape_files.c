/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_files.c - targets that stand in files: real ones, in a folder, while they change
 *
 * A job runs as it does in the daemon, its loop on a thread of its own. It looks again by itself once a day, so that
 * whatever is found later was told by the kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/str.h"
#include "tests/unit/folder.h"
#include "tests/unit/scrape_fixture.h"
#include "tests/unit/unit.h"

DEFINE_FOLDER(dir, "scrape-files", 0700);

struct fixture {
	struct scrape_fixture of;
	pthread_t thread;
};

static void *run(void *loop)
{
	loop__run(loop);
	return NULL;
}

/* Patterns are of paths in the folder. */
static void open_fixture(struct fixture *f, const char *pattern, const char *another)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char yaml[1000];

	snprintf(yaml, sizeof(yaml),
		 "scrape_configs: [ { job_name: api, scrape_interval: 24h, file_sd_configs: [ { "
		 "files: [ '%s/%s', '%s/%s' ], refresh_interval: 24h } ] } ]",
		 dir, pattern, dir, another);
	scrape_fixture__open(&f->of, yaml, NULL);
	assert_int_equal(job__start(f->of.job, &err), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f->of.loop), 0);
}

static void close_fixture(struct fixture *f)
{
	loop__end(f->of.loop);
	pthread_join(f->thread, NULL);
	scrape_fixture__close(&f->of);
}

/* ---- what the job knows, asked of the loop's thread ---- */

struct state {
	struct loop_item item;
	struct job *job;
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool is_told;
	char text[1000]; /* FILE=ADDRESS of each target, sorted; behind a '!' why the last look failed */
};

static const char *label_of(const struct labels *l, const char *name)
{
	struct dcm_label_text v[16];
	uint32_t n = labels__view(l, NULL, v);

	while (n > 0 && !str__eq(v[n - 1].name, str__of(name)))
		n--;
	return n ? v[n - 1].value.p : "";
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void tell(struct loop_item *item)
{
	struct state *s = (struct state *)item; /* its first member */
	const char *error = s->job->discoveries.v[0]->error;
	char all[16][100];
	size_t n = 0, at = 0;

	for (const struct source *from = s->job->sources.next; from != &s->job->sources; from = from->next)
		for (size_t i = 0; i < from->found.n && n < 16; i++)
			snprintf(all[n++], sizeof(all[0]), "%s=%s",
				 label_of(from->found.v[i], "__meta_filepath") + sizeof(dir),
				 label_of(from->found.v[i], "__address__"));
	qsort(all, n, sizeof(all[0]), by_text);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(s->text + at, sizeof(s->text) - at, "%s%s", i ? " " : "", all[i]);
	if (error[0])
		snprintf(s->text + at, sizeof(s->text) - at, "!%s", error);
	s->is_told = true;
	pthread_cond_signal(&s->told);
	pthread_mutex_unlock(&s->lock);
}

/* Into a text of the caller's. */
static void ask(struct fixture *f, char ret[static 1000])
{
	struct state s = { .item.fn = tell, .job = f->of.job };

	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.told, NULL);
	loop__post(f->of.loop, &s.item);
	pthread_mutex_lock(&s.lock);
	while (!s.is_told)
		pthread_cond_wait(&s.told, &s.lock);
	pthread_mutex_unlock(&s.lock);
	memcpy(ret, s.text, sizeof(s.text));
	pthread_cond_destroy(&s.told);
	pthread_mutex_destroy(&s.lock);
}

/* Targets as wanted, and a fault with that in its sentence, or none. */
static bool is_so(const char *text, const char *targets, const char *fault)
{
	size_t n = strcspn(text, "!");

	return n == strlen(targets) && strncmp(text, targets, n) == 0 &&
	       (fault ? text[n] == '!' && strstr(text + n, fault) : text[n] == '\0');
}

/* Within ten seconds. */
static void wait_for(struct fixture *f, const char *targets, const char *fault, const char *after)
{
	char text[1000];

	for (unsigned i = 0; i < 1000; i++) {
		ask(f, text);
		if (is_so(text, targets, fault))
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	fail_msg("after %s: %s, not %s!%s", after, text, targets, fault ? fault : "");
}

struct step {
	const char *command; /* in the folder */
	const char *targets;
	const char *fault; /* NULL: the look goes well */
};

static void take_steps(struct fixture *f, const struct step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (shell("cd '%s' && { %s; }", dir, steps[i].command) != 0)
			fail_msg("%s", steps[i].command);
		wait_for(f, steps[i].targets, steps[i].fault, steps[i].command);
	}
}
#define TAKE_STEPS(f, steps) take_steps(f, steps, sizeof(steps) / sizeof(*(steps)))

/* ---- the tests ---- */

/* Each fault names the file that keeps what it had; the others go on. */
static void files_come_change_and_go(void **state)
{
	static const struct step steps[] = {
		{ "echo '[{\"targets\":[\"a:1\"]}]' >f/a.json", "f/a.json=a:1", NULL },
		{ "echo '- targets: [b:1, b:2]' >f/b.yaml", "f/a.json=a:1 f/b.yaml=b:1 f/b.yaml=b:2", NULL },
		{ "echo '[{\"targets\":[\"a:2\"]}]' >f/a.json",
		  "f/a.json=a:2 f/b.yaml=b:1 f/b.yaml=b:2", NULL },
		/* Another file in its place; what no pattern names is nothing. */
		{ "echo '- targets: [b:3]' >f/c.yaml; cp f/c.yaml new; mv new f/b.yaml",
		  "f/a.json=a:2 f/b.yaml=b:3", NULL },
		/* Half of it is there. */
		{ "printf '[{\"targets\":[\"a:3' >f/a.json", "f/a.json=a:2 f/b.yaml=b:3",
		  "/f/a.json: line 1: is not JSON" },
		{ "echo '\"]}]' >>f/a.json", "f/a.json=a:3 f/b.yaml=b:3", NULL },
		{ "echo '- targets: [\"b:4' >f/b.yaml", "f/a.json=a:3 f/b.yaml=b:3", "/f/b.yaml: " },
		{ "echo '[{\"targets\":[\"a:4\"]}]' >f/a.json", "f/a.json=a:4 f/b.yaml=b:3", "/f/b.yaml: " },
		/* Groups that cannot be, and what stands beside them. */
		{ "echo '- targets: {b: 5}' >f/b.yaml", "f/a.json=a:4 f/b.yaml=b:3",
		  "/f/b.yaml: group 1: targets is not a list" },
		{ "printf '%s\\n' '- targets: [b:6]' '- target: [b:7]' >f/b.yaml",
		  "f/a.json=a:4 f/b.yaml=b:3", "/f/b.yaml: group 2: has another key" },
		{ "echo '- targets: [b:8]' >f/b.yaml", "f/a.json=a:4 f/b.yaml=b:8", NULL },
		{ ":>f/b.yaml", "f/a.json=a:4", NULL }, /* of nothing, no targets */
		{ "rm f/b.yaml", "f/a.json=a:4", NULL },
		{ "echo '[]' >f/a.json", "", NULL },
	};
	struct fixture f;

	(void)state;
	assert_int_equal(shell("mkdir '%s/f'", dir), 0);
	open_fixture(&f, "f/*.json", "f/b.yaml");
	wait_for(&f, "", NULL, "the start");
	TAKE_STEPS(&f, steps);
	close_fixture(&f);
}

/* A link to nowhere, a pipe that nobody writes to, a folder, no permission (root has it): nobody waits for them. */
static void what_cannot_be_read_keeps_what_it_had(void **state)
{
	static const struct step steps[] = {
		{ "ln -s nowhere u/l; mv -T u/l u/a.json", "u/a.json=a:1 u/b.json=b:1",
		  "/u/a.json: cannot be read" },
		{ "mkfifo u/p; mv u/p u/a.json", "u/a.json=a:1 u/b.json=b:1", "/u/a.json: cannot be read" },
		{ "echo '[{\"targets\":[\"b:2\"]}]' >u/b.json", "u/a.json=a:1 u/b.json=b:2",
		  "/u/a.json: cannot be read" },
		{ "mkdir u/c.json; rm u/a.json", "u/b.json=b:2", "/u/c.json: cannot be read" },
		{ "rmdir u/c.json", "u/b.json=b:2", NULL },
	};
	static const struct step closed[] = {
		{ "chmod 0 u/b.json; touch u/b.json", "u/b.json=b:2",
		  "/u/b.json: cannot be read: Permission denied" },
		{ "chmod 600 u/b.json; echo '[]' >u/b.json", "", NULL },
	};
	struct fixture f;

	(void)state;
	assert_int_equal(
		shell("cd '%s' && mkdir u && echo '[{\"targets\":[\"a:1\"]}]' >u/a.json && "
		      "echo '[{\"targets\":[\"b:1\"]}]' >u/b.json",
		      dir),
		0);
	open_fixture(&f, "u/*.json", "u/none.yml");
	wait_for(&f, "u/a.json=a:1 u/b.json=b:1", NULL, "the start");
	TAKE_STEPS(&f, steps);
	if (geteuid() != 0)
		TAKE_STEPS(&f, closed);
	close_fixture(&f);
}

/* As a kubelet writes a ConfigMap: its files are links through ..data, which is replaced as a whole. */
static void maps_of_kubernetes_are_replaced(void **state)
{
	static const struct step steps[] = {
		{ "mkdir m/..2 && echo '- targets: [a:2]' >m/..2/a.yml && echo '- targets: [b:2]' "
		  ">m/..2/b.yml && "
		  "ln -s ..2 m/..data_tmp && mv -T m/..data_tmp m/..data && ln -s ..data/b.yml "
		  "m/b.yml && rm -r m/..1",
		  "m/a.yml=a:2 m/b.yml=b:2", NULL },
		{ "mkdir m/..3 && echo '- targets: [a:3]' >m/..3/a.yml && ln -s ..3 m/..data_tmp "
		  "&& "
		  "mv -T m/..data_tmp m/..data && rm m/b.yml && rm -r m/..2",
		  "m/a.yml=a:3", NULL },
	};
	struct fixture f;

	(void)state;
	assert_int_equal(
		shell("cd '%s' && mkdir -p m/..1 && echo '- targets: [a:1]' >m/..1/a.yml && "
		      "ln -s ..1 m/..data && ln -s ..data/a.yml m/a.yml",
		      dir),
		0);
	open_fixture(&f, "m/*.yml", "m/a.yml");
	wait_for(&f, "m/a.yml=a:1", NULL, "the start");
	TAKE_STEPS(&f, steps);
	close_fixture(&f);
}

/* Another folder in the place of one, or one that comes late, is watched from then on. */
static void folders_are_replaced(void **state)
{
	static const struct step steps[] = {
		{ "mv r r.old; mv r.new r", "r/a.json=a:2", NULL },
		{ "echo '[{\"targets\":[\"a:3\"]}]' >r/a.json", "r/a.json=a:3", NULL },
		{ "mkdir late.new; echo '- targets: [b:1]' >late.new/b.yml; mv late.new late",
		  "late/b.yml=b:1 r/a.json=a:3", NULL },
		{ "echo '- targets: [b:2]' >late/b.yml", "late/b.yml=b:2 r/a.json=a:3", NULL },
		/* Of one that is not there nobody knows what is in it. */
		{ "mv r r.away", "late/b.yml=b:2 r/a.json=a:3", "/r/*.json: its directory cannot be read" },
		{ "echo '- targets: [b:3]' >late/b.yml", "late/b.yml=b:3 r/a.json=a:3",
		  "/r/*.json: its directory cannot be read" },
		{ "mv r.away r", "late/b.yml=b:3 r/a.json=a:3", NULL },
		{ "rm r/a.json", "late/b.yml=b:3", NULL },
		{ "rmdir r", "late/b.yml=b:3", "/r/*.json: its directory cannot be read" },
	};
	struct fixture f;

	(void)state;
	assert_int_equal(
		shell("cd '%s' && mkdir r r.new && echo '[{\"targets\":[\"a:1\"]}]' >r/a.json && "
		      "echo '[{\"targets\":[\"a:2\"]}]' >r.new/a.json",
		      dir),
		0);
	open_fixture(&f, "r/*.json", "late/b.yml");
	wait_for(&f, "r/a.json=a:1", NULL, "the start");
	TAKE_STEPS(&f, steps);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_come_change_and_go),
		cmocka_unit_test(what_cannot_be_read_keeps_what_it_had),
		cmocka_unit_test(maps_of_kubernetes_are_replaced),
		cmocka_unit_test(folders_are_replaced),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
