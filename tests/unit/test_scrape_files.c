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
#include <sys/fsuid.h>
#include <time.h>
#include <unistd.h>

#include "core/base/str.h"
#include "tests/unit/folder.h"
#include "tests/unit/scrape_fixture.h"
#include "tests/unit/unit.h"

#define NOBODY 65534

DEFINE_FOLDER(dir, "scrape-files", 0700);

struct fixture {
	struct scrape_fixture of;
	pthread_t thread;
	bool is_nobody; /* whose files root's thread may not open */
};

static void *run(void *ctx)
{
	struct fixture *f = ctx;

	if (f->is_nobody)
		setfsuid(NOBODY);
	loop__run(f->of.loop);
	return NULL;
}

/* Patterns are of paths in the folder. */
static void open_fixture_as(struct fixture *f, bool is_nobody, const char *pattern, const char *another)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char yaml[1000];

	snprintf(yaml, sizeof(yaml),
		 "scrape_configs: [ { job_name: api, scrape_interval: 24h, file_sd_configs: [ { "
		 "files: [ '%s/%s', '%s/%s' ], refresh_interval: 24h } ] } ]",
		 dir, pattern, dir, another);
	f->is_nobody = is_nobody;
	scrape_fixture__open(&f->of, yaml, NULL);
	assert_int_equal(job__start(f->of.job, &err), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
}

static void open_fixture(struct fixture *f, const char *pattern, const char *another)
{
	open_fixture_as(f, false, pattern, another);
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

/* A link to nowhere, a pipe that nobody writes to, a folder: nobody waits for them. */
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
	close_fixture(&f);
}

static void what_is_closed_keeps_what_it_had(void **state)
{
	static const struct step steps[] = {
		{ "chmod 0 c/b.json; touch c/b.json", "c/b.json=b:1",
		  "/c/b.json: cannot be read: Permission denied" },
		{ "chmod 644 c/b.json; echo '- targets: [b:2]' >c/b.json.new; mv c/b.json.new "
		  "c/b.json",
		  "c/b.json=b:1", "/c/b.json: " },
		{ "echo '[{\"targets\":[\"b:3\"]}]' >c/b.json", "c/b.json=b:3", NULL },
	};
	struct fixture f;

	(void)state;
	assert_int_equal(shell("cd '%s' && chmod 755 . && mkdir c && "
			       "echo '[{\"targets\":[\"b:1\"]}]' >c/b.json && chmod 755 c && chmod "
			       "644 c/b.json",
			       dir),
			 0);
	open_fixture_as(&f, geteuid() == 0, "c/*.json", "c/none.yml");
	wait_for(&f, "c/b.json=b:1", NULL, "the start");
	TAKE_STEPS(&f, steps);
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

/* Lines "inotify wd:.." of this process. */
static int n_watches(void)
{
	FILE *lines = popen("cat /proc/$PPID/fdinfo/* 2>/dev/null | grep -c '^inotify wd:'", "r");
	int n = -1;

	assert_non_null(lines);
	assert_int_equal(fscanf(lines, "%d", &n), 1);
	pclose(lines);
	return n;
}

/* However often folders take each other's place, those that have moved away are watched no more. */
static void folders_that_moved_are_let_go(void **state)
{
	struct fixture f;
	char command[200], want[40];

	(void)state;
	assert_int_equal(shell("cd '%s' && mkdir w && echo '- targets: [a:0]' >w/a.yml", dir), 0);
	open_fixture(&f, "w/*.yml", "w/a.yml");
	wait_for(&f, "w/a.yml=a:0", NULL, "the start");
	for (int i = 1; i <= 10; i++) {
		snprintf(command,
			 sizeof(command), "mkdir w.new && echo '- targets: [a:%d]' >w.new/a.yml && mv w w.%d && mv w.new w",
			 i, i);
		snprintf(want, sizeof(want), "w/a.yml=a:%d", i);
		take_steps(&f, &(struct step){ command, want, NULL }, 1);
	}
	assert_int_equal(n_watches(), 1);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_come_change_and_go),
		cmocka_unit_test(what_cannot_be_read_keeps_what_it_had),
		cmocka_unit_test(what_is_closed_keeps_what_it_had),
		cmocka_unit_test(maps_of_kubernetes_are_replaced),
		cmocka_unit_test(folders_are_replaced),
		cmocka_unit_test(folders_that_moved_are_let_go),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
