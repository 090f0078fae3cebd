/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_settings.c - what no process could pass, and what no label could be, is refused
 */
#include "plugins/input/ebpf/settings.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static const struct settings fine = { .kernel_stacks = true, .user_stacks = true };

static void takes(const struct settings *s)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (settings__check(s, &err))
		fail_msg("%s", err.text);
}

/* The sentence begins with the option's path, by which the host finds its line. */
static void refuses(const struct settings *s, const char *begin)
{
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(settings__check(s, &err), -EINVAL);
	if (strncmp(err.text, begin, strlen(begin)) != 0)
		fail_msg("not \"%s\": %s", begin, err.text);
}

/* A list of the text after a good one. */
static struct dcm_list second(const char *const *items)
{
	return (struct dcm_list){ (void *)(uintptr_t)items, 2 };
}

static void test_comms(void **state)
{
	const char *items[2] = { "name", "fifteen bytes 1" };
	struct settings s = fine;

	(void)state;
	s.filter.comms = second(items);
	takes(&s);
	items[1] = NULL; /* a variable of another machine */
	takes(&s);
	items[1] = "averyveryverylongname";
	refuses(&s, "filter.comms[1]: \"averyveryverylongname\" has 21 bytes, and the kernel keeps "
		    "15 of "
		    "a name; write \"averyveryverylo\"");
	items[1] = "sixteen bytes 12";
	refuses(&s, "filter.comms[1]: ");
	items[1] = "";
	refuses(&s, "filter.comms[1]: is empty");
}

static void test_cgroups(void **state)
{
	const char *items[2] = { "/", "/system.slice/" };
	struct settings s = fine;

	(void)state;
	s.filter.cgroups = second(items);
	takes(&s);
	items[1] = NULL;
	takes(&s);
	items[1] = "rel";
	refuses(&s, "filter.cgroups[1]: \"rel\" is no path");
	items[1] = "";
	refuses(&s, "filter.cgroups[1]: \"\" is no path");
	items[1] = "/sys/fs/cgroup/system.slice";
	refuses(&s, "filter.cgroups[1]: \"/sys/fs/cgroup/system.slice\" begins with");
}

static void test_env(void **state)
{
	static const char *const bad[] = { "A=B", "a b", "", "a.b", "\xc3\xa4", "PATH" };
	const char *items[2] = { "PATH", "_a1" };
	char longest[202];
	struct settings s = fine;

	(void)state;
	s.labels.env = second(items);
	takes(&s);
	items[1] = NULL;
	takes(&s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		items[1] = bad[i];
		refuses(&s, "labels.env[1]: ");
	}
	memset(longest, 'a', 201);
	longest[201] = '\0';
	items[1] = longest;
	refuses(&s, "labels.env[1]: ");
	longest[200] = '\0';
	takes(&s);
}

static void test_meta(void **state)
{
	static const char *const good[] = { "__meta_process_pid", "__meta_process_*", "__meta_*",
					    "__*", "*" };
	static const char *const bad[] = { "",	    "nope",	    "__meta_", "__meta",
					   "nope*", "__meta_*_pid", "**" };
	const char *items[2] = { "__meta_x", NULL };
	struct settings s = fine;

	(void)state;
	s.labels.meta = second(items);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		items[1] = good[i];
		takes(&s);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		items[1] = bad[i];
		refuses(&s, "labels.meta[1]: ");
	}
}

static void test_the_rest(void **state)
{
	struct settings s = fine;

	(void)state;
	s.kubernetes.url = "";
	takes(&s);
	s.kubernetes.url = "https://10.0.0.1:10250";
	takes(&s);
	s.kubernetes.url = "nonsense";
	refuses(&s, "kubernetes.url: \"nonsense\" is no URL");
	s = fine;
	s.labels.meta.n = SETTINGS_META_MAX + 1;
	refuses(&s, "labels.meta: has 65 entries; give at most 64");
	s = fine;
	s.filter.pids.n = 1025;
	refuses(&s, "filter.pids: has 1025 entries; give at most 1024");
	s = fine;
	s.kernel_stacks = s.user_stacks = false;
	refuses(&s, "kernel_stacks and user_stacks are both off");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comms),	 cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_env),	 cmocka_unit_test(test_meta),
		cmocka_unit_test(test_the_rest),
	};
	return cmocka_run_group_tests_name("ebpf_settings", tests, NULL, NULL);
}
