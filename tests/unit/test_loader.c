/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_loader.c - finding, refusing and keeping plugins: real shared objects from
 * tests/plugins
 */
#include "core/plugin/loader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define PLUGINS TEST_BUILDDIR "/tests/plugins/.libs"

DEFINE_FOLDER(top, "loader", 0755);

static const char *in_top(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void copy_plugin(const char *from, const char *to)
{
	struct buf content = { 0 };
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), PLUGINS "/%s", from);
	assert_int_equal(fd__read_path(AT_FDCWD, path, 64 << 20, &content), 0);
	/* A new file, not new content: the old one may be running. */
	unlink(in_top(to));
	fd = open(in_top(to), O_WRONLY | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, content.data, content.n), 0);
	close(fd);
	buf__fini(&content);
}

static struct loader *over(const char *path)
{
	struct loader *l = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(loader__new(path, false, &l, &err), 0);
	return l;
}

static unsigned count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void a_good_one_loads_once(void **state)
{
	struct loader *l = over(PLUGINS);
	const struct plugin *a = NULL, *b = NULL;
	unsigned fds;

	(void)state;
	assert_int_equal(loader__get(l, DCM_OUTPUT, "testing", &a, NULL), 0);
	assert_string_equal(a->info.name, "testing");
	assert_int_equal(a->info.size, sizeof(a->info));
	assert_ptr_equal(a->info.output, &a->output);
	assert_non_null(a->output.write);
	assert_null(a->info.input);
	assert_null(a->lifecycle.drain);
	fds = count_fds();
	assert_int_equal(loader__get(l, DCM_OUTPUT, "testing", &b, NULL), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(count_fds(), fds);
	loader__free(l);
}

#define TEXT_(number) #number
#define TEXT(number)  TEXT_(number)
#define OURS	      TEXT(DCM_ABI_MAJOR) "." TEXT(DCM_ABI_MINOR)

static void each_fault_has_its_sentence(void **state)
{
	static const struct {
		const char *name;
		int code;
		const char *says, *says_too;
	} faults[] = {
		{ "newer", -EPROTO, "of the plugin interface, and this decima has " OURS, "newer decima" },
		{ "major",
		  -EPROTO, "version 4." TEXT(DCM_ABI_MINOR) " of the plugin interface, and this decima has " OURS,
		  "newer decima" },
		{ "magic", -ENOEXEC, "magic", "rebuild" },
		{ "table", -ENOEXEC, "table of options", "number" },
		{ "default", -ENOEXEC, "table of options", "number" },
		{ "no_entry", -ENOEXEC, "is no plugin", "dcm_plugin_entry(); have it do so" },
		{ "no_stop", -ENOEXEC, "lacks", "stop" },
		{ "kind", -ENOEXEC, "a kind that it is not", "rebuild" },
		{ "null", -ENOEXEC, "returned NULL", "; have it return the plugin" },
		{ "link", -ENOEXEC, "cannot be loaded", "a_function_that_nobody_has" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct plugin *p = NULL;
		char file[PATH_MAX];
		int r;

		snprintf(file, sizeof(file), PLUGINS "/input_broken_%s.so", faults[i].name);
		r = loader__load_file(file, false, &p, &err);
		if (r != faults[i].code || !strstr(err.text, faults[i].says) ||
		    !strstr(err.text, faults[i].says_too))
			print_error("%s: %d: %s\n", faults[i].name, r, err.text);
		assert_int_equal(r, faults[i].code);
		assert_null(p);
		/* The file's own name, not the number that the linker was given. */
		assert_int_equal(strncmp(err.text, file, strlen(file)), 0);
		assert_null(strstr(err.text, "/proc/"));
		assert_non_null(strstr(err.text, faults[i].says));
		assert_non_null(strstr(err.text, faults[i].says_too));
	}
}

static void looking_again_costs_no_descriptor(void **state)
{
	unsigned fds = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct plugin *p = NULL;

		assert_int_equal(loader__load_file(PLUGINS "/input_broken_newer.so", false, &p, NULL),
				 -EPROTO);
		assert_int_equal(loader__load_file(PLUGINS "/input_broken_link.so", false, &p, NULL),
				 -ENOEXEC);
		if (i == 0)
			fds = count_fds();
	}
	assert_int_equal(count_fds(), fds);
}

static void a_missing_one_names_the_nearest(void **state)
{
	struct loader *l = over(PLUGINS);
	struct dcm_error err = DCM_ERROR_INIT;
	const struct plugin *p = NULL;

	(void)state;
	assert_int_equal(loader__get(l, DCM_OUTPUT, "tetsing", &p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "output_tetsing.so"));
	assert_non_null(strstr(err.text, PLUGINS));
	assert_non_null(strstr(err.text, "did you mean \"testing\"?"));
	assert_int_equal(loader__get(l, DCM_OUTPUT, "../testing", &p, &err), -ENOENT);
	assert_int_equal(loader__get(l, DCM_INPUT, "testing", &p, &err), -ENOENT);
	loader__free(l);
}

/* Only a configuration has plugin_path; who asks for another remedy says so. */
static void a_missing_one_has_a_remedy(void **state)
{
	struct loader *l = over(top);
	const struct plugin *p = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	char nearest[33];

	(void)state;
	assert_int_equal(loader__get(l, DCM_INPUT, "nope", &p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "; say where it is with --plugin-path"));
	assert_null(strstr(err.text, "plugin_path"));
	assert_false(loader__nearest(l, DCM_INPUT, "nope", nearest));
	loader__free(l);
}

static void the_file_is_called_what_it_is(void **state)
{
	struct loader *l = over(top);
	struct dcm_error err = DCM_ERROR_INIT;
	const struct plugin *p = NULL;
	struct plugin *file = NULL;

	(void)state;
	copy_plugin("output_testing.so", "output_other.so");
	assert_int_equal(loader__get(l, DCM_OUTPUT, "other", &p, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "calls itself output testing"));
	assert_int_equal(loader__load_file(in_top("output_other.so"), false, &file, NULL), -ENOEXEC);
	unlink(in_top("output_other.so"));
	loader__free(l);
}

/* However much of a file is missing, nobody is ended by what is: it says so, or loads. */
static void one_that_is_cut_short_is_refused(void **state)
{
	struct dcm_error err;
	struct plugin *p;
	struct stat st;
	unsigned n_cut = 0;

	(void)state;
	copy_plugin("output_testing.so", "output_testing.so");
	assert_int_equal(stat(in_top("output_testing.so"), &st), 0);
	for (off_t size = st.st_size - 1; size >= 0; size -= size > 4096 ? 509 : 61) {
		copy_plugin("output_testing.so", "output_testing.so");
		assert_int_equal(truncate(in_top("output_testing.so"), size), 0);
		p = NULL;
		err = (struct dcm_error)DCM_ERROR_INIT;
		int r = loader__load_file(in_top("output_testing.so"), false, &p, &err);

		if (r < 0 && r != -ENOEXEC)
			fail_msg("%lld bytes: %d: %s", (long long)size, r, err.text);
		if (r < 0 && strstr(err.text, "is cut short: "))
			n_cut++;
		plugin__free(p);
	}
	assert_true(n_cut > 10);
	unlink(in_top("output_testing.so"));
}

static void the_first_directory_decides(void **state)
{
	char path[PATH_MAX];
	struct loader *l;
	struct dcm_error err = DCM_ERROR_INIT;
	const struct plugin *p = NULL;

	(void)state;
	snprintf(path, sizeof(path), "%s:/nonexistent:" PLUGINS, top);
	l = over(path);
	/* A broken one in front is not passed over in silence. */
	copy_plugin("input_broken_magic.so", "output_testing.so");
	assert_int_equal(loader__get(l, DCM_OUTPUT, "testing", &p, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, top));
	/* Repaired, it loads without a new loader. */
	copy_plugin("output_testing.so", "output_testing.so");
	assert_int_equal(loader__get(l, DCM_OUTPUT, "testing", &p, &err), 0);
	assert_int_equal(strncmp(p->path, top, strlen(top)), 0);
	unlink(in_top("output_testing.so"));
	loader__free(l);
}

static void the_path_is_checked(void **state)
{
	struct loader *l = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(loader__new("/usr/lib:relative/dir", false, &l, &err), -EINVAL);
	assert_non_null(strstr(err.text, "relative/dir"));
	assert_int_equal(loader__new("::", false, &l, &err), -EINVAL);
	assert_null(l);
}

static void an_untrusted_file_is_refused(void **state)
{
	struct loader *l = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	const struct plugin *p = NULL;

	(void)state;
	copy_plugin("output_testing.so", "output_testing.so");
	assert_int_equal(chmod(in_top("output_testing.so"), 0666), 0);
	assert_int_equal(loader__new(top, true, &l, NULL), 0);
	assert_int_equal(loader__get(l, DCM_OUTPUT, "testing", &p, &err), -EPERM);
	assert_non_null(strstr(err.text, top));
	unlink(in_top("output_testing.so"));
	loader__free(l);
}

/* ---- the list ---- */

struct listed {
	unsigned n, n_good, n_newer;
	char last[64];
};

static int each(void *ctx, enum dcm_kind kind, const char *name, const char *file,
		const struct plugin *plugin, const char *why)
{
	struct listed *l = ctx;
	char now[64], newer[64];

	snprintf(newer, sizeof(newer), "version %d.%d of", DCM_ABI_MAJOR, DCM_ABI_MINOR + 1);
	snprintf(now, sizeof(now), "%d %s", (int)kind, name);
	assert_true(strcmp(l->last, now) < 0);
	memcpy(l->last, now, sizeof(now));
	assert_true((plugin == NULL) == (why[0] != '\0'));
	assert_non_null(strstr(file, name));
	l->n++;
	l->n_good += plugin != NULL;
	l->n_newer += strstr(why, newer) != NULL;
	return l->n == 1000;
}

static void the_list_has_the_refused_ones_too(void **state)
{
	struct loader *l = over(PLUGINS ":/nonexistent");
	struct listed list = { 0 };

	(void)state;
	assert_int_equal(loader__each(l, each, &list, NULL), 0);
	assert_int_equal(list.n, 15);
	assert_int_equal(list.n_good, 4);
	assert_int_equal(list.n_newer, 1);
	loader__free(l);
}

struct shadows {
	unsigned n;
	char file[PATH_MAX], before[PATH_MAX];
};

static int note_shadowed(void *ctx, enum dcm_kind kind, const char *name, const char *file,
			 const char *before)
{
	struct shadows *s = ctx;

	assert_int_equal(kind, DCM_OUTPUT);
	assert_string_equal(name, "testing");
	s->n++;
	snprintf(s->file, sizeof(s->file), "%s", file);
	snprintf(s->before, sizeof(s->before), "%s", before);
	return 0;
}

/* Who has put a plugin into the second directory wonders why it is not the one that runs. */
static void the_second_of_a_name_is_told(void **state)
{
	struct shadows s = { 0 };
	struct listed list = { 0 };
	char path[2 * PATH_MAX];
	struct loader *l;

	(void)state;
	copy_plugin("output_testing.so", "output_testing.so");
	snprintf(path, sizeof(path), "%s:" PLUGINS, top);
	l = over(path);
	assert_int_equal(loader__each_shadowed(l, note_shadowed, &s, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.file, PLUGINS "/output_testing.so");
	assert_string_equal(s.before, in_top("output_testing.so"));
	assert_int_equal(loader__each(l, each, &list, NULL), 0);
	assert_int_equal(list.n, 15);
	loader__free(l);

	/* The same directory again, and by another name, has no second plugin. */
	s.n = 0;
	assert_int_equal(symlink(top, in_top("again")), 0);
	snprintf(path, sizeof(path), "%s:%s:%s/again", top, top, top);
	l = over(path);
	assert_int_equal(loader__each_shadowed(l, note_shadowed, &s, NULL), 0);
	assert_int_equal(s.n, 0);
	loader__free(l);
	unlink(in_top("again"));
	unlink(in_top("output_testing.so"));
}

/* ---- descriptions made by hand ---- */

static int nop_open(const struct dcm_host *host, const void *config, void **ret, struct dcm_error *err)
{
	(void)host;
	(void)config;
	(void)err;
	*ret = NULL;
	return 0;
}
static int nop_start(void *instance, struct dcm_error *err)
{
	(void)instance;
	(void)err;
	return 0;
}
static void nop_stop(void *instance)
{
	(void)instance;
}

static void nop_commit(void *instance, void *change)
{
	(void)instance;
	(void)change;
}

static const struct dcm_lifecycle nop_lifecycle = {
	.size = sizeof(nop_lifecycle), .open = nop_open, .start = nop_start, .stop = nop_stop
};
static const struct dcm_input_ops nop_input = { .size = sizeof(nop_input) };

static struct dcm_plugin good_plugin(void)
{
	return (struct dcm_plugin){ DCM_PLUGIN_HEAD,	.kind = DCM_INPUT,
				    .name = "good",	.version = "1",
				    .summary = "x",	.lifecycle = &nop_lifecycle,
				    .input = &nop_input };
}

static int check(const struct dcm_plugin *theirs, const char *says)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct plugin *p = NULL;
	int r = plugin__check(theirs, "/x.so", &p, &err);

	if (says && !strstr(err.text, says))
		print_error("%d: %s\n", r, err.text);
	if (says)
		assert_non_null(strstr(err.text, says));
	plugin__free(p);
	return r;
}

static void descriptions_are_read_carefully(void **state)
{
	struct dcm_plugin p = good_plugin();
	struct dcm_input_ops ops = nop_input;
	struct dcm_lifecycle life = nop_lifecycle;

	(void)state;
	assert_int_equal(check(&p, NULL), 0);
	p.size = 8;
	assert_int_equal(check(&p, "shorter than any version"), -ENOEXEC);
	p = good_plugin();
	p.abi_major = 0;
	assert_int_equal(check(&p, "rebuild the plugin"), -EPROTO);
	p = good_plugin();
	p.kind = 7;
	assert_int_equal(check(&p, "kind 7"), -ENOEXEC);
	for (unsigned i = 0; i < 5; i++) {
		static const char *const names[] = { NULL, "", "Big", "a-b",
						     "a123456789012345678901234567890123" };

		p = good_plugin();
		p.name = names[i];
		assert_int_equal(check(&p, "name"), -ENOEXEC);
	}
	p = good_plugin();
	p.summary = NULL;
	assert_int_equal(check(&p, "summary"), -ENOEXEC);
	p = good_plugin();
	p.lifecycle = NULL;
	assert_int_equal(check(&p, "no lifecycle"), -ENOEXEC);
	p = good_plugin();
	p.input = &ops;
	ops.size = 4;
	assert_int_equal(check(&p, "set .size"), -ENOEXEC);
	ops.size = UINT32_MAX;
	assert_int_equal(check(&p, "set .size"), -ENOEXEC);
	p = good_plugin();
	p.lifecycle = &life;
	life.commit = nop_commit;
	assert_int_equal(check(&p, "prepare, commit and abort"), -ENOEXEC);
	p = good_plugin();
	p.kind = DCM_STORAGE;
	assert_int_equal(check(&p, "kind that it is not"), -ENOEXEC);
	p.input = NULL;
	assert_int_equal(check(&p, "no storage operations"), -ENOEXEC);
}

/*
 * One that knows fewer members than we do: the rest reads as NULL. One that knows more: they are
 * left alone.
 */
static void other_sizes_are_copied(void **state)
{
	struct {
		struct dcm_input_ops ops;
		void *more[4];
	} longer = { .ops = { .size = sizeof(longer) }, .more = { (void *)1, (void *)2 } };
	struct dcm_plugin theirs = good_plugin();
	struct plugin *p = NULL;

	(void)state;
	theirs.input = &longer.ops;
	assert_int_equal(plugin__check(&theirs, "/x.so", &p, NULL), 0);
	assert_int_equal(p->input.size, sizeof(p->input));
	assert_null(p->input.resolve);
	plugin__free(p);
}

static void every_allocation_may_fail(void **state)
{
	struct dcm_plugin theirs = good_plugin();

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct loader *l = NULL;
		struct plugin *p = NULL;
		const struct plugin *got = NULL;
		int r = loader__new(PLUGINS ":/usr/lib", false, &l, NULL);

		if (r == 0)
			r = plugin__check(&theirs, "/x.so", &p, NULL);
		if (r == 0)
			r = loader__get(l, DCM_OUTPUT, "testing", &got, NULL);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		plugin__free(p);
		loader__free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_one_loads_once),
		cmocka_unit_test(each_fault_has_its_sentence),
		cmocka_unit_test(looking_again_costs_no_descriptor),
		cmocka_unit_test(a_missing_one_names_the_nearest),
		cmocka_unit_test(a_missing_one_has_a_remedy),
		cmocka_unit_test(the_file_is_called_what_it_is),
		cmocka_unit_test(one_that_is_cut_short_is_refused),
		cmocka_unit_test(the_first_directory_decides),
		cmocka_unit_test(the_path_is_checked),
		cmocka_unit_test(an_untrusted_file_is_refused),
		cmocka_unit_test(the_list_has_the_refused_ones_too),
		cmocka_unit_test(the_second_of_a_name_is_told),
		cmocka_unit_test(descriptions_are_read_carefully),
		cmocka_unit_test(other_sizes_are_copied),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("loader", tests, make_top, remove_top);
}
