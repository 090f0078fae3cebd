/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_describe.c - what is shown of a table is what the table says
 *
 * Each form is read back by a reader of its own kind: the YAML by filling structs from it, the JSON
 * by jansson, the man page by its macros' nesting. Every option's name and doc must be in each of
 * them.
 */
#include "core/config/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/str.h"
#include "core/config/options.h"
#include "core/config/section.h"
#include "core/config/shared.h"
#include "core/config/table.h"
#include "tests/unit/config_sample.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static const struct dcm_table *const tables[] = { &section__common, &sample__table };
static const struct describe_subject subject = {
	.title = "input/sample",
	.summary = "A table with every type in it.",
	.tables = tables,
	.n_tables = 2,
};

/* The text's words with single blanks, so that wrapping does not matter. */
static void squeeze(const char *text, struct buf *out)
{
	buf__reset(out);
	buf__text(out, "");
	for (; *text; text++) {
		bool blank = *text == ' ' || *text == '\n' || *text == '#';
		if (!blank)
			buf__byte(out, (uint8_t)*text);
		else if (out->n && out->data[out->n - 1] != ' ')
			buf__byte(out, ' ');
	}
}

/* Asserts that a form has the name and doc of each row, also of the nested ones. */
static void has_all(const struct dcm_table *table, const char *squeezed, bool escaped)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (row.table && row.table != table)
			has_all(row.table, squeezed, escaped);
		if (!row.name[0])
			continue;
		if (!strstr(squeezed, row.name))
			fail_msg("%s is missing in\n%s", row.name, squeezed);
		if (!escaped && !strstr(squeezed, row.doc))
			fail_msg("the doc of %s is missing in\n%s", row.name, squeezed);
	}
}

static void assert_columns(const char *text, size_t max)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strcspn(line, "\n") > max)
			fail_msg("more than %zu columns: %.*s", max, (int)strcspn(line, "\n"), line);
}

static void every_form_has_every_option(void **state)
{
	static void (*const forms[])(const struct describe_subject *, struct buf *) = {
		describe__text,
		describe__markdown,
		describe__man,
		describe__json,
	};
	struct buf words = { 0 };

	(void)state;
	for (size_t i = 0; i <= 4; i++) {
		struct buf out = { 0 };

		if (i < 4)
			forms[i](&subject, &out);
		else
			describe__yaml(&subject, NULL, 0, &out);
		assert_int_equal(out.error, 0);
		squeeze((const char *)out.data, &words);
		/* roff and JSON write some characters otherwise. */
		has_all(&sample__table, (const char *)words.data, i == 2 || i == 3);
		if (i != 2 && i != 3)
			assert_columns((const char *)out.data, 100);
		buf__fini(&out);
	}
	buf__fini(&words);
}

static void text_says_the_facts(void **state)
{
	struct buf out = { 0 };

	(void)state;
	describe__text(&subject, &out);
	const char *text = (const char *)out.data;
	assert_non_null(strstr(
		text, "\n  frequency (integer in Hz, 1Hz to 1000Hz, default 19Hz, a change "
		      "restarts the instance)\n"
		      "      Samples a second of each CPU. Each costs about two microseconds.\n"));
	assert_non_null(strstr(text, "\n  mode (slow, fast or adaptive, default fast)\n"));
	assert_non_null(strstr(text, "\n      job_name (text, required)\n"));
	assert_non_null(strstr(text, "\n      params (map of lists)\n"));
	assert_non_null(strstr(
		text, "\n  token (secret, or token_file with the path of a file that holds it)\n"));
	assert_non_null(strstr(text, "\n          One of:\n"));
	buf__fini(&out);
}

static void man_is_balanced(void **state)
{
	struct buf out = { 0 };
	int depth = 0;

	(void)state;
	describe__man(&subject, &out);
	for (const char *line = (const char *)out.data; *line; line = strchr(line, '\n') + 1) {
		depth += !strncmp(line, ".RS", 3);
		depth -= !strncmp(line, ".RE", 3);
		assert_true(depth >= 0);
		if (line[0] == '.')
			assert_true(!strncmp(line, ".SS", 3) || !strncmp(line, ".TP", 3) ||
				    !strncmp(line, ".RS", 3) || !strncmp(line, ".RE", 3) ||
				    !strncmp(line, ".br", 3));
	}
	assert_int_equal(depth, 0);
	buf__fini(&out);
}

static void json_is_json(void **state)
{
	struct buf out = { 0 };
	json_error_t error;

	(void)state;
	describe__json(&subject, &out);
	json_t *root = json_loadb((const char *)out.data, out.n, 0, &error);
	if (!root)
		fail_msg("%s: %s", error.text, (const char *)out.data);
	json_t *options = json_object_get(root, "options");
	assert_int_equal(json_array_size(options), section__common.n_options + sample__table.n_options);
	json_t *mode = json_array_get(options, 3);
	assert_string_equal(json_string_value(json_object_get(mode, "name")), "mode");
	assert_int_equal(json_array_size(json_object_get(mode, "choices")), 3);
	json_t *jobs = json_array_get(options, json_array_size(options) - 1);
	/* The client's two keys stand among the job's ten. */
	assert_int_equal(json_array_size(json_object_get(jobs, "options")), 11);
	json_decref(root);
	buf__fini(&out);
}

/* ------------------------------------------------------------------------------------------------
 * YAML
 */

static const struct sample *fill(struct arena *arena, const char *text)
{
	struct problems problems = { 0 };
	struct options_env env = { .arena = arena, .problems = &problems };
	struct options_part parts[] = { { &section__common, NULL }, { &sample__table, NULL } };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *tree = NULL;

	if (tree__load_text("described.yaml", str__of(text), &tree, &err))
		fail_msg("%s\n%s", err.text, text);
	options__fill(&env, "", tree->root, parts, 2);
	if (problems__first(&problems, &err))
		fail_msg("%s\n%s", err.text, text);
	tree__free(tree);
	problems__fini(&problems);
	return parts[1].value;
}

/* Switches every option on: takes away each '#' that a key follows. */
static void switch_on(const char *yaml, struct buf *out)
{
	bool line_begins = true;

	for (; *yaml; yaml++) {
		if (!(line_begins && *yaml == '#' && yaml[1] != ' '))
			buf__byte(out, (uint8_t)*yaml);
		line_begins = *yaml == '\n' || (line_begins && *yaml == ' ');
	}
}

static void commented_yaml_means_the_defaults(void **state)
{
	struct buf yaml = { 0 }, on = { 0 };
	struct arena arena = { 0 };
	char key[256];

	(void)state;
	describe__yaml(&subject, NULL, 0, &yaml);
	switch_on((const char *)yaml.data, &on);
	const struct sample *a = fill(&arena, ""), *b = fill(&arena, (const char *)yaml.data);
	assert_int_equal(options__compare(&sample__table, a, b, key), OPTIONS_SAME);
	b = fill(&arena, (const char *)on.data);
	if (options__compare(&sample__table, a, b, key) != OPTIONS_SAME)
		fail_msg("%s differs in\n%s", key, (const char *)on.data);
	/* All of them were switched on: each name begins a line. */
	for (uint32_t i = 0; i < sample__table.n_options; i++) {
		char line[100];
		snprintf(line, sizeof(line), "\n%s:", sample__table.options[i].name);
		assert_non_null(strstr((const char *)on.data, line));
	}
	buf__fini(&yaml);
	buf__fini(&on);
	arena__fini(&arena);
}

static void what_is_set_stands_uncommented(void **state)
{
	static const char set[] =
		"frequency: 99\ntls: { cert: c, key_file: /dev/zero }\nlimits: { a: 1KiB }\n"
		"cpus: []\ntext:\nscrape_configs: [{ job_name: j }]\n";
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf yaml = { 0 };
	struct tree *tree = NULL;

	(void)state;
	assert_int_equal(tree__load_text("t.yaml", str__of(set), &tree, &err), 0);
	describe__yaml(&subject, tree->root, 2, &yaml);
	const char *text = (const char *)yaml.data;
	assert_non_null(strstr(text, "\n  frequency: 99\n"));
	assert_non_null(strstr(text, "\n  #ratio: 0.5\n"));
	assert_non_null(
		strstr(text, "\n  tls:\n    # Path of the certificate. (text)\n    cert: c\n"));
	assert_non_null(strstr(text, "\n    #key:\n    key_file: /dev/zero\n"));
	assert_non_null(strstr(text, "\n  limits:\n    a: 1KiB\n"));
	assert_non_null(strstr(text, "\n  cpus: []\n"));
	assert_non_null(strstr(text, "\n  text: null\n"));
	assert_non_null(strstr(text, "\n  scrape_configs:\n    - job_name: j\n"));
	tree__free(tree);
	buf__fini(&yaml);
}

static void a_table_inside_itself_ends(void **state)
{
	static struct dcm_table loop;
	static const struct dcm_option rows[] = { {
		.name = "children",
		.type = DCM_OPT_LIST,
		.element = DCM_OPT_STRUCT,
		.table = &loop,
		.doc = "More of the same.",
	} };
	struct dcm_error err = DCM_ERROR_INIT;
	const struct dcm_table *one[] = { &loop };
	struct describe_subject s = { "loop", "", one, 1, false };
	struct arena arena = { 0 };
	struct problems problems = { 0 };
	struct options_env env = { .arena = &arena, .problems = &problems };
	struct tree *tree = NULL;
	struct buf out = { 0 };

	(void)state;
	loop = (struct dcm_table)DCM_TABLE(struct dcm_list, rows);
	assert_int_equal(table__check(&loop, &err), 0);
	describe__text(&s, &out);
	describe__yaml(&s, NULL, 0, &out);
	describe__json(&s, &out);
	assert_int_equal(
		tree__load_text("t", STR("children: [{ children: [{}, {}] }, {}]"), &tree, &err), 0);
	const struct dcm_list *l = options__fill_one(&env, "", tree->root, &loop);
	assert_non_null(l);
	assert_int_equal(((const struct dcm_list *)l->items)[0].n, 2);
	tree__free(tree);
	buf__fini(&out);
	problems__fini(&problems);
	arena__fini(&arena);
}

static void describe_all(struct buf *out)
{
	describe__text(&subject, out);
	describe__markdown(&subject, out);
	describe__man(&subject, out);
	describe__json(&subject, out);
	describe__yaml(&subject, NULL, 0, out);
}

/* What is cut short says so. */
static void memory_may_run_out(void **state)
{
	struct buf whole = { 0 };

	(void)state;
	describe_all(&whole);
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };

		describe_all(&out);
		failmalloc__disarm();
		if (!out.error)
			assert_true(str__eq(buf__view(&out), buf__view(&whole)));
		buf__fini(&out);
	}
	buf__fini(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_has_every_option),
		cmocka_unit_test(text_says_the_facts),
		cmocka_unit_test(man_is_balanced),
		cmocka_unit_test(json_is_json),
		cmocka_unit_test(commented_yaml_means_the_defaults),
		cmocka_unit_test(what_is_set_stands_uncommented),
		cmocka_unit_test(a_table_inside_itself_ends),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
