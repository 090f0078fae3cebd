/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_file_output.c - names that cannot leave their place, a folder that keeps its
 * limits, a full disk
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/codec.h"
#include "core/config/options.h"
#include "core/plugin/instance.h"
#include "plugins/output/file/folder.h"
#include "plugins/output/delivery/name.h"
#include "tests/unit/child.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/shell.h"
#include "tests/unit/unit.h"

#define SECOND ((int64_t)1000000000)

DEFINE_FOLDER(top, "file", 0700);

static const char *in_top(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", top, name);
	return p;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* Regular files below a directory that do not begin with a dot. */
static unsigned count_files(const char *dir)
{
	char command[PATH_MAX + 64];
	unsigned n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "find '%s' -type f ! -name '.*' | wc -l", dir);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

/* ---- names ---- */

static struct dcm_batch *labelled(const char *name, struct dcm_str value)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_pair pair = { builder__string(b, str__of(name)), builder__string(b, value) };
	struct dcm_type type = { .name = builder__string(b, STR("process_cpu")),
				 .sample_type = builder__string(b, STR("cpu")) };
	struct dcm_profile head = { .series = builder__series(b, &pair, 1),
				    .time_ns = 1763717765123456789 };
	struct dcm_batch *out = NULL;

	builder__profile(b, &head, &type, 1);
	assert_int_equal(builder__seal(b, &out, NULL), 0);
	builder__free(b);
	return out;
}

static void expect_name(const char *template, const char *value, const char *want)
{
	struct dcm_batch *b = labelled("service_name", str__of(value));
	struct buf out = { 0 };

	assert_int_equal(name__check("file_name", template, NULL), 0);
	assert_int_equal(name__expand(template, b, 0, &out), 0);
	assert_string_equal((const char *)out.data, want);
	buf__fini(&out);
	batch__unref(b);
}

static void templates_are_filled_in(void **state)
{
	(void)state;
	expect_name("{service_name}/{type}-{time}", "api", "api/process_cpu.cpu-20251121T093605.123Z");
	expect_name("dt={date}/hour={hour}/x", "", "dt=2025-11-21/hour=09/x");
	expect_name("{year}/{month}/{day}", "", "2025/11/21");
	expect_name("{service_name}", "../../etc/passwd", "_._.._etc_passwd");
	expect_name("{service_name}", "..", "_.");
	expect_name("{service_name}", "", "unknown");
	expect_name("{nothing}-x", "api", "unknown-x");
	expect_name("a/b/{service_name}", "x\ny z", "a/b/x_y_z");
}

static void id_of(struct dcm_batch *b, char ret[static 17])
{
	struct buf out = { 0 };

	assert_int_equal(name__expand("{id}", b, 0, &out), 0);
	assert_int_equal(out.n, 16);
	memcpy(ret, out.data, 16);
	ret[16] = '\0';
	buf__fini(&out);
}

static void an_id_is_the_same_for_a_retry_alone(void **state)
{
	struct dcm_batch *b = labelled("service_name", STR("api")),
			 *same = labelled("service_name", STR("api"));
	struct dcm_batch *other = labelled("service_name", STR("apj"));
	char first[17], again[17];

	(void)state;
	b->id.sequence = same->id.sequence = other->id.sequence = 7;
	id_of(b, first);
	id_of(same, again);
	assert_string_equal(first, again);
	id_of(other, again);
	assert_string_not_equal(first, again);
	same->id.sequence = 8;
	id_of(same, again);
	assert_string_not_equal(first, again);
	same->id = b->id;
	same->id.source.hi = 1;
	id_of(same, again);
	assert_string_not_equal(first, again);
	batch__unref(b);
	batch__unref(same);
	batch__unref(other);
}

static void a_templates_placeholders_are_known(void **state)
{
	(void)state;
	assert_true(name__has("a-{id}", "id"));
	assert_true(name__has("{x}{time}", "time"));
	assert_false(name__has("{idle}", "id"));
	assert_false(name__has("id", "id"));
}

static void bad_templates_are_refused(void **state)
{
	static const char *const bad[] = { "",	     "/abs",   "a//b",	 "a/",	   "../x",
					   "a/../b", ".x",     "{open",	 "close}", "{}",
					   "{a/b}",  "sp ace", "a{b{c}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		if (name__check("file_name", bad[i], &err) != -EINVAL)
			print_error("\"%s\" was accepted\n", bad[i]);
		assert_int_equal(name__check("file_name", bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "file_name"));
	}
	/* The fault and where, not what would be right alone. */
	struct dcm_error err = DCM_ERROR_INIT;

	name__check("file_name", "a/../b", &err);
	assert_non_null(
		strstr(err.text, "the part at byte 3 is empty or begins with a dot; write"));
}

static void no_label_leaves_its_place(void **state)
{
	static const char alphabet[] = "./\\\n\x01 ~a{}%\xc3\xa4-";
	struct random random = { 1 };

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		char value[300];
		size_t n = random__below(&random, sizeof(value));
		struct dcm_batch *b;
		struct buf out = { 0 };
		const char *text;

		random__text(&random, value, n, alphabet, sizeof(alphabet) - 1);
		for (size_t k = 0; k < n; k++) /* well-formed UTF-8 */
			if ((value[k] & 0x80) &&
			    !(value[k] == '\xc3' && k + 1 < n && value[k + 1] == '\xa4') &&
			    !(value[k] == '\xa4' && k > 0 && value[k - 1] == '\xc3'))
				value[k] = '.';
		b = labelled("l", (struct dcm_str){ value, (uint32_t)n });
		assert_int_equal(name__expand("x/{l}{l}{l}/{l}-y", b, 0, &out), 0);
		text = (const char *)out.data;
		assert_null(strstr(text, "/."));
		assert_null(strstr(text, "//"));
		assert_int_equal(strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					      "0123456789._=+@-/"),
				 strlen(text));
		for (const char *part = text; *part; part += strcspn(part, "/"), part += *part == '/')
			assert_true(strcspn(part, "/") <= NAME_COMPONENT_MAX);
		buf__fini(&out);
		batch__unref(b);
	}
}

static void long_names_stay_different(void **state)
{
	char a[400], b[400];
	struct dcm_batch *x, *y;
	struct buf one = { 0 }, two = { 0 };

	(void)state;
	memset(a, 'a', sizeof(a));
	memcpy(b, a, sizeof(b));
	b[95] = 'b';
	x = labelled("l", (struct dcm_str){ a, 400 });
	y = labelled("l", (struct dcm_str){ b, 400 });
	assert_int_equal(name__expand("{l}{l}{l}", x, 0, &one), 0);
	assert_int_equal(name__expand("{l}{l}{l}", y, 0, &two), 0);
	assert_int_equal(one.n, NAME_COMPONENT_MAX);
	assert_string_not_equal((const char *)one.data, (const char *)two.data);
	buf__fini(&one);
	buf__fini(&two);
	batch__unref(x);
	batch__unref(y);
}

/* ---- the folder ---- */

static struct folder *open_folder_at(const char *name, struct folder_now now)
{
	struct folder *f = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	int r = folder__open(in_top(name), "test", now, &f, &err);

	if (r < 0)
		print_error("%s\n", err.text);
	assert_int_equal(r, 0);
	return f;
}

static struct folder *open_folder(const char *name)
{
	return open_folder_at(name, (struct folder_now){ 0 });
}

static int put_at(struct folder *f, const char *name, size_t n, struct folder_now now)
{
	static const char zeros[4096];

	return folder__put(
		f,
		&(struct folder_file){
			.name = name, .extension = ".folded", .data = zeros, .n = n, .now = now },
		NULL);
}

static int put(struct folder *f, const char *name, size_t n, int64_t now_ns)
{
	return put_at(f, name, n, (struct folder_now){ now_ns, now_ns });
}

static struct folder_stat stat_of(struct folder *f)
{
	struct folder_stat s;

	folder__stat(f, &s);
	return s;
}

static void a_taken_name_gets_a_number(void **state)
{
	struct folder *f = open_folder("numbers");

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(put(f, "a/b", 10, 1), 0);
	assert_int_equal(access(in_top("numbers/a/b.folded"), F_OK), 0);
	assert_int_equal(access(in_top("numbers/a/b-2.folded"), F_OK), 0);
	assert_int_equal(access(in_top("numbers/a/b-4.folded"), F_OK), 0);
	assert_int_equal(count_files(in_top("numbers")), 4);
	folder__free(f);
}

/* As "{service_name}" makes them, with the retention of weeks. */
static void a_name_that_says_no_time_is_taken_for_ever(void **state)
{
	struct folder *f = open_folder("same");

	(void)state;
	for (int i = 0; i < 1100; i++)
		assert_int_equal(put(f, "service", 10, 1), 0);
	assert_int_equal(count_files(in_top("same")), 1100);
	assert_int_equal(access(in_top("same/service-9.folded"), F_OK), 0);
	folder__free(f);
}

static void somebody_elses_directory_is_refused(void **state)
{
	struct folder *f = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(mkdir(in_top("theirs"), 0755), 0);
	write_text(in_top("theirs/precious.folded"), "x");
	assert_int_equal(folder__open(in_top("theirs"), "test", (struct folder_now){ 0 }, &f, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "empty directory of its own"));
	assert_int_equal(count_files(in_top("theirs")), 1);
	/* An empty one is taken, and known again. */
	assert_int_equal(mkdir(in_top("empty"), 0755), 0);
	folder__free(open_folder("empty"));
	folder__free(open_folder("empty"));
}

/* A second output would take the first one's names, and remove its files. */
static void one_directory_has_one_folder(void **state)
{
	struct folder *f = open_folder("shared"), *second = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(folder__open(in_top("shared"), "other", (struct folder_now){ 0 }, &second, &err),
			 -EBUSY);
	assert_non_null(strstr(err.text, "used by output test; "));
	assert_int_equal(folder__look(in_top("shared"), &err), -EBUSY);
	/* It keeps the lock through a removal, and through an error that only looks like one. */
	assert_int_equal(shell("rm -rf '%s'", in_top("shared")), 0);
	assert_int_equal(put(f, "a/b", 10, 1), 0);
	assert_int_equal(folder__look(in_top("shared"), &err), -EBUSY);
	assert_int_equal(symlink("nowhere", in_top("shared/s")), 0);
	assert_true(put(f, "s/b", 10, 2) < 0);
	assert_int_equal(folder__look(in_top("shared"), &err), -EBUSY);
	folder__free(f);
	assert_int_equal(folder__look(in_top("shared"), &err), 0);
	folder__free(open_folder("shared"));
}

/* Looking makes nothing, and says what opening would. */
static void looking_changes_nothing(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(folder__look(in_top("looked/at"), &err), 0);
	assert_int_equal(access(in_top("looked"), F_OK), -1);
	assert_int_equal(mkdir(in_top("looked"), 0755), 0);
	assert_int_equal(folder__look(in_top("looked"), &err), 0);
	assert_int_equal(access(in_top("looked/.decima-profiles"), F_OK), -1);
	write_text(in_top("looked/precious"), "x");
	assert_int_equal(folder__look(in_top("looked"), &err), -EEXIST);
	assert_true(folder__look("/proc/nope", &err) < 0);
	assert_non_null(strstr(err.text, "/proc/nope cannot be made: "));
}

static void only_our_files_are_removed(void **state)
{
	struct folder *f = open_folder("mixed");
	const struct folder_limits nothing = { .max_age_ns = 1 };
	struct stat st;

	(void)state;
	assert_int_equal(put(f, "s/one", 10, 0), 0);
	folder__free(f);
	write_text(in_top("mixed/README.txt"), "keep");
	write_text(in_top("mixed/s/notes"), "keep");
	write_text(in_top("outside.folded"), "keep");
	write_text(in_top("mixed/.decima-tmp-1-1"), "left by a crash");
	assert_int_equal(symlink(in_top("outside.folded"), in_top("mixed/link.folded")), 0);
	assert_int_equal(symlink(top, in_top("mixed/linkdir")), 0);
	f = open_folder("mixed");
	assert_int_equal(stat_of(f).n_files, 1);
	assert_int_equal(folder__rotate(f, &nothing, INT64_MAX), 1);
	assert_int_equal(access(in_top("mixed/s/one.folded"), F_OK), -1);
	assert_int_equal(access(in_top("mixed/README.txt"), F_OK), 0);
	assert_int_equal(access(in_top("mixed/s/notes"), F_OK), 0);
	assert_int_equal(access(in_top("outside.folded"), F_OK), 0);
	assert_int_equal(lstat(in_top("mixed/link.folded"), &st), 0);
	assert_int_equal(access(in_top("mixed/.decima-tmp-1-1"), F_OK), -1);
	folder__free(f);
}

static void a_directory_that_became_a_link_is_not_followed(void **state)
{
	struct folder *f = open_folder("swapped");
	const struct folder_limits nothing = { .max_age_ns = 1 };

	(void)state;
	assert_int_equal(put(f, "s/one", 10, 0), 0);
	assert_int_equal(rename(in_top("swapped/s"), in_top("moved")), 0);
	assert_int_equal(symlink(in_top("moved"), in_top("swapped/s")), 0);
	assert_int_equal(folder__rotate(f, &nothing, INT64_MAX), 1);
	assert_int_equal(access(in_top("moved/one.folded"), F_OK), 0);
	assert_true(put(f, "s/two", 10, 0) < 0);
	assert_int_equal(access(in_top("moved/two.folded"), F_OK), -1);
	folder__free(f);
}

static void empty_directories_go_with_their_files(void **state)
{
	struct folder *f = open_folder("tidy");
	const struct folder_limits one = { .max_files = 1 };

	(void)state;
	assert_int_equal(put(f, "a/b/c/one", 10, 1), 0);
	assert_int_equal(put(f, "a/two", 10, 2), 0);
	assert_int_equal(folder__rotate(f, &one, 3), 1);
	assert_int_equal(access(in_top("tidy/a/b"), F_OK), -1);
	assert_int_equal(access(in_top("tidy/a/two.folded"), F_OK), 0);
	folder__free(f);
}

/* Two files, the second written after the clock had been set back by a quarter of an hour. */
static struct folder *two_around_a_step_back(const char *name)
{
	struct folder *f = open_folder(name);

	assert_int_equal(put_at(f, "a", 10, (struct folder_now){ 1000 * SECOND, 10 * SECOND }), 0);
	assert_int_equal(put_at(f, "b", 10, (struct folder_now){ 110 * SECOND, 20 * SECOND }), 0);
	return f;
}

static void a_clock_set_back_keeps_the_order(void **state)
{
	const struct folder_limits one = { .max_files = 1 };
	struct folder *f = two_around_a_step_back("back_order");

	(void)state;
	folder__free(f);
	f = open_folder_at("back_order", (struct folder_now){ 120 * SECOND, 30 * SECOND });
	assert_int_equal(folder__rotate(f, &one, 30 * SECOND), 1);
	assert_int_equal(access(in_top("back_order/a.folded"), F_OK), -1);
	assert_int_equal(access(in_top("back_order/b.folded"), F_OK), 0);
	folder__free(f);
}

static void a_clock_set_back_keeps_no_file(void **state)
{
	const struct folder_limits limits = { .max_age_ns = 15 * SECOND };
	struct folder *f = two_around_a_step_back("back_age");

	(void)state;
	assert_int_equal(folder__rotate(f, &limits, 30 * SECOND), 1);
	assert_int_equal(access(in_top("back_age/a.folded"), F_OK), -1);
	assert_int_equal(access(in_top("back_age/b.folded"), F_OK), 0);
	assert_int_equal(folder__rotate(f, &limits, 36 * SECOND), 1);
	folder__free(f);
	/* What comes from the future at a start is new. */
	f = two_around_a_step_back("back_start");
	folder__free(f);
	f = open_folder_at("back_start", (struct folder_now){ 120 * SECOND, 5 * SECOND });
	assert_int_equal(folder__rotate(f, &limits, 6 * SECOND), 0);
	assert_int_equal(folder__rotate(f, &limits, 21 * SECOND), 2);
	folder__free(f);
}

/* A machine without a clock of its own starts in 1970, and hears the time later. */
static void a_clock_set_forward_takes_no_file(void **state)
{
	const struct folder_limits limits = { .max_age_ns = 15 * SECOND };
	struct folder *f = open_folder("forward");

	(void)state;
	assert_int_equal(put_at(f, "a", 10, (struct folder_now){ 1, 1 }), 0);
	assert_int_equal(put_at(f, "b", 10, (struct folder_now){ 1000000 * SECOND, 2 }), 0);
	assert_int_equal(folder__rotate(f, &limits, 3), 0);
	folder__free(f);
	f = open_folder_at("forward", (struct folder_now){ 1000001 * SECOND, 4 });
	assert_int_equal(folder__rotate(f, &limits, 4), 1);
	assert_int_equal(access(in_top("forward/b.folded"), F_OK), 0);
	folder__free(f);
}

/* The limits against a plain list, with restarts in between. */
static void random_steps_equal_a_model(void **state)
{
	struct random random = { 9 };
	struct folder *f = open_folder("model");
	struct {
		int64_t at;
		size_t n;
	} held[2000];
	size_t first = 0, n = 0;
	struct timespec now;

	(void)state;
	for (unsigned i = 0; i < 600; i++) {
		struct folder_limits limits = { .max_files = 5 + random__below(&random, 20),
						.max_bytes = 5000 + random__below(&random, 20000) };
		uint64_t bytes = 0;
		char name[32];

		clock_gettime(CLOCK_REALTIME, &now);
		snprintf(name, sizeof(name), "d%u/f%u", (unsigned)random__below(&random, 4), i);
		held[n].at = (int64_t)now.tv_sec * SECOND + now.tv_nsec;
		held[n].n = random__below(&random, 4096);
		assert_int_equal(put(f, name, held[n].n, held[n].at), 0);
		n++;
		folder__rotate(f, &limits, held[n - 1].at);
		for (size_t k = first; k < n; k++)
			bytes += held[k].n;
		while (first < n && (n - first > limits.max_files || bytes > limits.max_bytes))
			bytes -= held[first++].n;
		assert_int_equal(stat_of(f).n_files, n - first);
		assert_int_equal(stat_of(f).bytes, bytes);
		if (i % 100 == 99) {
			folder__free(f);
			f = open_folder("model");
			assert_int_equal(stat_of(f).n_files, n - first);
			assert_int_equal(count_files(in_top("model")), n - first);
		}
	}
	folder__free(f);
}

static void a_removed_directory_is_made_again(void **state)
{
	struct folder *f = open_folder("gone");

	(void)state;
	assert_int_equal(shell("rm -rf '%s'", in_top("gone")), 0);
	assert_int_equal(put(f, "a/b", 10, 1), 0);
	assert_int_equal(access(in_top("gone/a/b.folded"), F_OK), 0);
	folder__free(f);
}

/* ---- the whole output, under a host ---- */

static int encode(void *ctx, const struct dcm_batch *batch, uint32_t profile, const char *format,
		  uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	struct buf out = { 0 };
	int r = codec__encode(batch, profile, format, &out, err);

	(void)ctx;
	if (r == 0 && out.error)
		r = out.error;
	if (r == 0)
		*ret_data = buf__take(&out, ret_n);
	buf__fini(&out);
	return r;
}

struct whole {
	struct host_services services;
	struct plugin *plugin;
	struct instance *instance;
};

static struct settings *settings_of(struct whole *w, const char *yaml)
{
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct dcm_error err = DCM_ERROR_INIT;
	struct settings *s = NULL;
	struct tree *tree = NULL;

	assert_int_equal(tree__load_text("test", str__of(yaml), &tree, NULL), 0);
	if (settings__new(w->plugin, &env, "output file", tree->root, NULL, 0, &s) < 0) {
		problems__first(&problems, &err);
		print_message("%s\n", err.text);
	}
	tree__free(tree);
	problems__fini(&problems);
	return s;
}

static void begin(struct whole *w, const char *yaml)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	*w = (struct whole){ .services = { .data_root = top, .encode = encode } };
	assert_int_equal(plugin__check(dcm_plugin_entry(), "/output_file.so", &w->plugin, NULL), 0);
	assert_int_equal(instance__new(w->plugin, "file", settings_of(w, yaml), &w->services,
				       &w->instance, NULL),
			 0);
	r = instance__open_and_start(w->instance, &err);
	if (r < 0)
		print_error("%s\n", err.text);
	assert_int_equal(r, 0);
}

static int write_batch(struct whole *w, struct dcm_batch *b, struct dcm_error *err)
{
	return w->plugin->output.write(instance__handle(w->instance), b, INT64_MAX, err);
}

static void end(struct whole *w)
{
	instance__stop(w->instance);
	instance__free(w->instance);
	plugin__free(w->plugin);
}

static struct dcm_batch *some_batch(uint32_t n_profiles)
{
	struct dcm_batch *b = NULL;

	for (uint64_t seed = 0; !b || b->n_profiles < n_profiles; seed++) {
		batch__unref(b);
		b = random_batch__new(seed, RANDOM_ALL_NAMED | RANDOM_POSITIVE);
	}
	return b;
}

static void each_profile_is_a_file_as_encoded(void **state)
{
	static const struct {
		const char *format, *extension;
	} formats[] = { { "pprof", ".pb.gz" },
			{ "folded", ".folded" },
			{ "speedscope", ".speedscope.json" } };
	struct dcm_batch *b = some_batch(3);

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		char yaml[256], name[64], path[PATH_MAX];
		struct whole w;

		snprintf(yaml, sizeof(yaml),
			 "{ directory: %s/as_%s, file_name: p, format: %s, sync: true }", top,
			 formats[k].format, formats[k].format);
		begin(&w, yaml);
		assert_int_equal(write_batch(&w, b, NULL), 0);
		for (uint32_t i = 0; i < b->n_profiles; i++) {
			struct buf want = { 0 }, have = { 0 };

			snprintf(name, sizeof(name), i ? "p-%u" : "p", i + 1);
			snprintf(path, sizeof(path), "%s/as_%s/%s%s", top, formats[k].format, name,
				 formats[k].extension);
			assert_int_equal(codec__encode(b, i, formats[k].format, &want, NULL), 0);
			assert_int_equal(fd__read_path(AT_FDCWD, path, 64 << 20, &have), 0);
			assert_int_equal(have.n, want.n);
			assert_memory_equal(have.data, want.data, want.n);
			buf__fini(&want);
			buf__fini(&have);
		}
		end(&w);
	}
	batch__unref(b);
}

static int write_late(struct whole *w, struct dcm_batch *b)
{
	return w->plugin->output.write(instance__handle(w->instance), b, 0, NULL);
}

/* As often as time is up, each time for the next file. */
static void write_late_and_later(struct whole *w, struct dcm_batch *b)
{
	const unsigned before = count_files(in_top("late"));
	unsigned n = 0;

	for (; write_late(w, b) == -EAGAIN; n++)
		assert_int_equal(count_files(in_top("late")), before + n + 1);
	assert_int_equal(n + 1, b->n_profiles);
	assert_int_equal(count_files(in_top("late")), before + b->n_profiles);
}

/* Out of time it goes on where it was; but only in the same batch: of two without an id each is another. */
static void what_was_not_written_in_time_is_written_later(void **state)
{
	struct dcm_batch *named = some_batch(3), *nameless = some_batch(3), *other = some_batch(3);
	const unsigned n = named->n_profiles;
	struct whole w;
	char yaml[256];

	(void)state;
	nameless->id = other->id = (struct dcm_batch_id){ 0 };
	snprintf(yaml, sizeof(yaml), "{ directory: %s/late, file_name: p, format: folded }", top);
	begin(&w, yaml);
	write_late_and_later(&w, named);
	write_late_and_later(&w, nameless);

	assert_int_equal(write_late(&w, nameless), -EAGAIN);
	assert_int_equal(write_late(&w, other), -EAGAIN);
	assert_int_equal(write_batch(&w, nameless, NULL), 0);
	assert_int_equal(count_files(in_top("late")), 2 * n + 1 + 1 + n);
	end(&w);
	batch__unref(named);
	batch__unref(nameless);
	batch__unref(other);
}

static void without_a_directory_it_uses_its_own(void **state)
{
	struct whole w;
	struct dcm_batch *b = some_batch(1);

	(void)state;
	begin(&w, "{}");
	assert_int_equal(write_batch(&w, b, NULL), 0);
	assert_int_equal(count_files(in_top("file/profiles")), b->n_profiles);
	end(&w);
	batch__unref(b);
}

static void it_changes_over_without_a_restart(void **state)
{
	struct whole w;
	struct dcm_batch *b = some_batch(1);
	char yaml[256];
	struct settings *s;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	snprintf(yaml, sizeof(yaml), "{ directory: %s/changing, file_name: a }", top);
	begin(&w, yaml);
	assert_int_equal(write_batch(&w, b, NULL), 0);
	snprintf(yaml, sizeof(yaml), "{ directory: %s/changing, file_name: b, format: folded }", top);
	assert_int_equal(instance__prepare(w.instance, settings_of(&w, yaml), NULL), 0);
	instance__commit(w.instance);
	assert_int_equal(write_batch(&w, b, NULL), 0);
	assert_int_equal(access(in_top("changing/a.pb.gz"), F_OK), 0);
	assert_int_equal(access(in_top("changing/b.folded"), F_OK), 0);
	snprintf(yaml, sizeof(yaml), "{ directory: %s/another }", top);
	s = settings_of(&w, yaml);
	assert_int_equal(instance__prepare(w.instance, s, &err), -EBUSY);
	assert_non_null(strstr(err.text, "directory"));
	settings__free(s);
	assert_null(settings_of(&w, "{ file_name: ../x }"));
	assert_null(settings_of(&w, "{ directory: relative }"));
	end(&w);
	batch__unref(b);
}

/* ---- a full disk ---- */

/* Fills what is free but for `left` bytes. */
static void fill(const char *path, size_t left)
{
	static const char zeros[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	off_t n;

	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	n = lseek(fd, 0, SEEK_END);
	if (ftruncate(fd, n > (off_t)left ? n - (off_t)left : 0) < 0)
		abort();
	close(fd);
}

/* In a child with a small file system of its own. 0: as it should be. */
static int fill_the_disk(void)
{
	struct dcm_batch *b = some_batch(3);
	struct instance_view v;
	struct dcm_error err = DCM_ERROR_INIT;
	struct whole w;
	char yaml[256];

	if (!child__disk(in_top("disk"), "256k"))
		return CHILD_NO_DISK;
	snprintf(yaml, sizeof(yaml), "{ directory: %s/disk/p, file_name: p, format: folded }", top);
	begin(&w, yaml);
	/* Room for one file and no more. */
	fill(in_top("disk/filler"), 4096);
	if (write_batch(&w, b, &err) != -EAGAIN)
		return 1;
	instance__view(w.instance, &v);
	if (v.state.state != DCM_STATE_DEGRADED ||
	    !strstr(v.state.sentence, "No space left on device"))
		return 2;
	if (!strstr(v.state.sentence, "make room"))
		return 3;
	unsigned n = count_files(in_top("disk/p"));
	if (n >= b->n_profiles)
		return 4;
	if (write_batch(&w, b, &err) != -EAGAIN || count_files(in_top("disk/p")) != n)
		return 5;
	/* Somebody makes room: it goes on, where it was, by itself. */
	unlink(in_top("disk/filler"));
	if (write_batch(&w, b, &err) != 0 || count_files(in_top("disk/p")) != b->n_profiles)
		return 6;
	instance__view(w.instance, &v);
	if (v.state.state != DCM_STATE_OK)
		return 7;
	end(&w);
	batch__unref(b);
	return 0;
}

static void a_full_disk_is_waited_out(void **state)
{
	int status = child__status(fill_the_disk);

	(void)state;
	if (status == CHILD_NO_DISK)
		skip_because(CHILD_NO_DISK_WHY);
	assert_int_equal(status, 0);
}

static void every_allocation_may_fail(void **state)
{
	struct dcm_batch *b = some_batch(1);
	struct whole w;
	char yaml[256];

	(void)state;
	snprintf(yaml, sizeof(yaml), "{ directory: %s/nomem, file_name: p, format: folded }", top);
	begin(&w, yaml);
	FAILMALLOC_SWEEP (i) {
		int r = write_batch(&w, b, NULL);

		failmalloc__disarm();
		assert_true(r == 0 || r == -EAGAIN);
	}
	FAILMALLOC_SWEEP (i) {
		struct folder *f = NULL;
		int r = folder__open(in_top("nomem-too"), "test", (struct folder_now){ 0 }, &f, NULL);

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		folder__free(f);
	}
	end(&w);
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(templates_are_filled_in),
		cmocka_unit_test(an_id_is_the_same_for_a_retry_alone),
		cmocka_unit_test(a_templates_placeholders_are_known),
		cmocka_unit_test(bad_templates_are_refused),
		cmocka_unit_test(no_label_leaves_its_place),
		cmocka_unit_test(long_names_stay_different),
		cmocka_unit_test(a_taken_name_gets_a_number),
		cmocka_unit_test(a_name_that_says_no_time_is_taken_for_ever),
		cmocka_unit_test(somebody_elses_directory_is_refused),
		cmocka_unit_test(one_directory_has_one_folder),
		cmocka_unit_test(looking_changes_nothing),
		cmocka_unit_test(only_our_files_are_removed),
		cmocka_unit_test(a_directory_that_became_a_link_is_not_followed),
		cmocka_unit_test(empty_directories_go_with_their_files),
		cmocka_unit_test(a_clock_set_back_keeps_the_order),
		cmocka_unit_test(a_clock_set_back_keeps_no_file),
		cmocka_unit_test(a_clock_set_forward_takes_no_file),
		cmocka_unit_test(random_steps_equal_a_model),
		cmocka_unit_test(a_removed_directory_is_made_again),
		cmocka_unit_test(each_profile_is_a_file_as_encoded),
		cmocka_unit_test(what_was_not_written_in_time_is_written_later),
		cmocka_unit_test(without_a_directory_it_uses_its_own),
		cmocka_unit_test(it_changes_over_without_a_restart),
		cmocka_unit_test(a_full_disk_is_waited_out),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("file_output", tests, make_top, remove_top);
}
