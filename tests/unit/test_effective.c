/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_effective.c - what holds is written with what nobody said, and without secrets
 *
 * That it reads back to the same struct is shown by test_options.c and test_options_random.c.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/config/effective.h"
#include "core/config/options.h"
#include "tests/unit/config_sample.h"
#include "tests/unit/failmalloc.h"

static const char *variable(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "SECRET") == 0 ? "from-the-environment" : NULL;
}

static int no_selector(void *ctx, struct dcm_str text, struct dcm_error *err)
{
	(void)ctx;
	(void)text;
	(void)err;
	return 0;
}

static int read_secret(void *ctx, const char *path, struct buf *out)
{
	(void)ctx;
	(void)path;
	buf__text(out, "from-a-file");
	return 0;
}

/* The sample that the text fills, as what holds; freed by the caller. */
static char *effective(const char *text)
{
	struct arena arena = { 0 };
	struct problems problems = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf found = { 0 }, out = { 0 };
	struct tree *tree = NULL;
	const struct options_env env = { .arena = &arena,
					 .problems = &problems,
					 .get_variable = variable,
					 .check_selector = no_selector,
					 .read_secret = read_secret };

	if (tree__load_text("t.yaml", str__of(text), &tree, &err))
		fail_msg("%s", err.text);
	const struct sample *s = options__fill_one(&env, "sample", tree->root, &sample__table);
	problems__text(&problems, &found);
	if (!s)
		fail_msg("%s", (const char *)found.data);
	effective__yaml(&sample__table, s, tree->root, EFFECTIVE_HIDE, 0, &out);
	assert_int_equal(out.error, 0);
	buf__fini(&found);
	problems__fini(&problems);
	tree__free(tree);
	arena__fini(&arena);
	return (char *)buf__take(&out, &(size_t){ 0 });
}

static void has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at > text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line \"%s\" in\n%s", line, text);
}

static void has_no(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in\n%s", part, text);
}

static void what_nobody_said_is_marked(void **state)
{
	char *text = effective(
		"verbose: true\nlimits: {a: 1KiB}\nscrape_configs:\n"
		"  - job_name: x\n    scrape_interval: 20s\n    params: {m: [one, two]}\n");

	(void)state;
	has(text, "verbose: true");
	has(text, "tls:  # default");
	has(text, "limits:\n  a: 1KiB");
	has(text, "cpus:  # default\n  - 0  # default\n  - 1  # default");
	has(text, "scrape_configs:\n  -\n    job_name: x\n    scrape_interval: 20s");
	has(text, "    scheme: http  # default");
	has(text, "    params:\n      m:\n        - one\n        - two");
	/* A row of a table that lends its keys. */
	has(text, "    follow_redirects: true  # default");
	free(text);
}

static void secrets_are_hidden_wherever_they_are(void **state)
{
	char *text = effective(
		"token_file: somewhere\ntext: ftp://me:${SECRET}@host\nscrape_configs:\n"
		"  - {job_name: a, auth: {bearer: hush}}\n"
		"  - {job_name: b, auth: {basic: {user: me, password: hush}}}\n"
		"  - {job_name: c, proxy_url: 'http://me:hush@proxy:80/a@b:c'}\n");

	(void)state;
	has(text, "token: <hidden>");
	has(text, "text: \"ftp://<hidden>@host\"");
	has(text, "      bearer: <hidden>");
	has(text, "        user: me\n        password: <hidden>");
	has(text, "    proxy_url: \"http://<hidden>@proxy:80/a@b:c\"");
	has_no(text, "hush");
	has_no(text, "from-");
	free(text);
}

/* A token may be a user without a password, or asked with; a text may have many URLs. */
static void urls_hide_who_asks(void **state)
{
	static const struct {
		const char *said, *shown;
	} texts[] = {
		{ "http://hush@proxy/", "http://<hidden>@proxy/" },
		{ "http://host/x?token=hush", "http://host/x?<hidden>" },
		{ "http://host?hush#there", "http://host?<hidden>#there" },
		{ "http://a:hush@b/?c=hush://d@e", "http://<hidden>@b/?<hidden>" },
		{ "x http://hush@a http://b/c?hush y",
		  "x http://<hidden>@a http://b/c?<hidden> y" },
		{ "http://a,http://hush@b/", "http://a,http://<hidden>@b/" },
		{ "http://me:a\\\"hush@b/?c=d\\\"hush", "http://<hidden>@b/?<hidden>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char in[128];

		snprintf(in, sizeof(in), "text: \"%s\"", texts[i].said);
		char *text = effective(in);
		snprintf(in, sizeof(in), "text: \"%s\"", texts[i].shown);
		has(text, in);
		has_no(text, "hush");
		free(text);
	}
}

/* Neither a path, nor a query without anything, nor what is no URL. */
static void what_is_no_secret_stays(void **state)
{
	static const char *const texts[] = { "http://@proxy/?", "http://proxy:80/x:y@z", "a:b@c?d",
					     "http://[::1]:80/", "//a:b@c" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char in[128];

		snprintf(in, sizeof(in), "text: \"%s\"", texts[i]);
		char *text = effective(in);
		if (!strstr(text, texts[i]))
			fail_msg("no %s in\n%s", texts[i], text);
		has_no(text, EFFECTIVE_HIDDEN);
		free(text);
	}
}

/* A text in JSON ends at its quote, which one of the password's own is not. */
static void urls_in_json_hide_who_asks(void **state)
{
	static const struct dcm_option rows[] = {
		{ .name = "claims", .type = DCM_OPT_JSON, .doc = "Claims." },
	};
	struct claims {
		const char *json;
	};
	static const struct dcm_table table = DCM_TABLE(struct claims, rows);
	static const struct claims claims = {
		"{\"a\":\"http://me:a\\\"hush@b/?c=\\\\\\\"hush\",\"d\":\"http://"
		"hush@e\",\"f\":\"g@h\"}"
	};
	struct buf out = { 0 };

	(void)state;
	effective__yaml(&table, &claims, NULL, EFFECTIVE_HIDE, 0, &out);
	assert_string_equal(
		(const char *)out.data,
		"claims: {\"a\":\"http://<hidden>@b/?<hidden>\",\"d\":\"http://<hidden>@e\","
		"\"f\":\"g@h\"}  # default\n");
	buf__fini(&out);
}

/* A key alone would make it be there, and refused without what it needs. */
static void absent_ones_do_not_come_to_be(void **state)
{
	static const struct dcm_option needy_rows[] = {
		{ .name = "host", .type = DCM_OPT_STRING, .flags = DCM_OPT_REQUIRED, .doc = "Host." },
		{ .name = "port", .type = DCM_OPT_INT, .offset = sizeof(char *), .def = "80", .doc = "Port." },
	};
	struct needy {
		const char *host;
		int64_t port;
	};
	static const struct dcm_table needy = DCM_TABLE(struct needy, needy_rows);
	static const struct dcm_option rows[] = {
		{ .name = "to", .type = DCM_OPT_STRUCT, .table = &needy, .doc = "Where to." },
	};
	static const struct dcm_table table = DCM_TABLE(struct needy, rows);
	struct arena arena = { 0 };
	struct problems problems = { 0 };
	const struct options_env env = { .arena = &arena, .problems = &problems };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *tree = NULL;
	struct buf out = { 0 };

	(void)state;
	effective__yaml(&table, options__fill_one(&env, "it", NULL, &table), NULL, EFFECTIVE_HIDE,
			0, &out);
	assert_string_equal((const char *)out.data, "to:  # default\n");
	assert_int_equal(tree__load_text("again", buf__view(&out), &tree, &err), 0);
	assert_non_null(options__fill_one(&env, "it", tree->root, &table));
	assert_int_equal(problems.n, 0);
	tree__free(tree);
	buf__fini(&out);
	problems__fini(&problems);
	arena__fini(&arena);
}

static void without_memory(void **state)
{
	struct arena arena = { 0 };
	struct problems problems = { 0 };
	const struct options_env env = { .arena = &arena, .problems = &problems };
	struct sample *s = options__fill_one(&env, "sample", NULL, &sample__table);

	(void)state;
	assert_non_null(s);
	s->text = "http://me:hush@proxy/";
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };

		effective__yaml(&sample__table, s, NULL, EFFECTIVE_HIDE, 0, &out);
		failmalloc__disarm();
		assert_int_equal(out.error, failmalloc__failed() ? -ENOMEM : 0);
		buf__fini(&out);
	}
	problems__fini(&problems);
	arena__fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nobody_said_is_marked),
		cmocka_unit_test(secrets_are_hidden_wherever_they_are),
		cmocka_unit_test(urls_hide_who_asks),
		cmocka_unit_test(urls_in_json_hide_who_asks),
		cmocka_unit_test(what_is_no_secret_stays),
		cmocka_unit_test(absent_ones_do_not_come_to_be),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests_name("effective", tests, NULL, NULL);
}
