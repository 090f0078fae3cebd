/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_tree.c - YAML to nodes with places, what is refused, overrides
 *
 * What files say when they are wrong is checked file by file in test_options (tests/data/config).
 */
#include "core/config/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/config/dump.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static struct tree *load(const char *text)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = NULL;

	if (tree__load_text("t.yaml", str__of(text), &t, &err))
		fail_msg("%s", err.text);
	return t;
}

static void refused(const char *text, int code, const char *sentence)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = NULL;

	assert_int_equal(tree__load_text("t.yaml", str__of(text), &t, &err), code);
	assert_null(t);
	assert_string_equal(err.text, sentence);
}

/* The tree as text; what dump.h writes is tested by reading it back. */
static void assert_dumps(const struct tree *t, const char *text)
{
	struct buf b = { 0 };

	dump__node(t->root, 0, &b);
	assert_string_equal((const char *)b.data, text);
	buf__fini(&b);
}

static void nodes_know_their_places(void **state)
{
	struct tree *t = load("inputs:\n  ebpf: { frequency: 19 }\nlist:\n  - a\n  - 'b c'\n");

	(void)state;
	const struct member *m = tree__member(tree__get(t->root, "inputs"), STR("ebpf"));
	assert_string_equal(m->at.file, "t.yaml");
	assert_int_equal(m->at.line, 2);
	assert_int_equal(m->at.column, 3);
	const struct node *n = tree__get(m->value, "frequency");
	assert_int_equal(n->at.line, 2);
	assert_int_equal(n->at.column, 22);
	assert_true(str__eq(n->text, STR("19")));
	assert_true(n->plain);
	const struct node *list = tree__get(t->root, "list");
	assert_int_equal(list->n, 2);
	assert_int_equal(list->items[1]->at.line, 5);
	assert_false(list->items[1]->plain);
	assert_null(tree__get(list, "x"));
	assert_null(tree__get(NULL, "x"));
	tree__free(t);
}

static void columns_count_characters(void **state)
{
	struct tree *t = load("\"\xc3\xa4\xe2\x82\xac\": x\n");

	(void)state;
	assert_int_equal(t->root->members[0].value->at.column, 7);
	tree__free(t);
}

static void empty_texts_are_empty_maps(void **state)
{
	static const char *const texts[] = { "", "# only a comment\n", "---\n", "~\n", "null" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tree *t = load(texts[i]);
		assert_int_equal(t->root->kind, NODE_MAP);
		assert_int_equal(t->root->n, 0);
		tree__free(t);
	}
}

static void null_is_written_four_ways(void **state)
{
	struct tree *t = load(
		"-\n- ~\n- null\n- NULL\n- ''\n- '~'\n- \"null\"\n- !!str null\n- nil\n");

	(void)state;
	static const bool null[] = { true, true, true, true, false, false, false, false, false };
	assert_int_equal(t->root->n, 9);
	for (uint32_t i = 0; i < t->root->n; i++)
		assert_int_equal(node__is_null(t->root->items[i]), null[i]);
	tree__free(t);
}

static void aliases_are_copies(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = load("a: &x {k: 1}\nb: *x\n");

	(void)state;
	assert_int_equal(tree__set(t, "b.k=2", &err), 0);
	assert_dumps(t, "a:\n  k: 1\nb:\n  k: 2\n");
	tree__free(t);
}

static void merges_obey_who_speaks_first(void **state)
{
	struct tree *t = load("d: &d {a: 1, b: 1, c: 1}\ne: &e {b: 2, c: 2, z: 2}\n"
			      "m:\n  <<: [*e, *d]\n  c: 3\n\"<<\": kept\n");

	(void)state;
	assert_dumps(t, "d:\n  a: 1\n  b: 1\n  c: 1\ne:\n  b: 2\n  c: 2\n  z: 2\n"
			"m:\n  c: 3\n  b: 2\n  z: 2\n  a: 1\n\"<<\": kept\n");
	tree__free(t);
}

static void hostile_texts_are_bounded(void **state)
{
	struct buf b = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = NULL;

	(void)state;
	/* Nine levels of nine: 9^9 scalars. */
	buf__text(&b, "a0: &a0 [x]\n");
	for (int i = 1; i < 10; i++) {
		buf__printf(&b, "a%d: &a%d [", i, i);
		for (int k = 0; k < 9; k++)
			buf__printf(&b, "%s*a%d", k ? ", " : "", i - 1);
		buf__text(&b, "]\n");
	}
	assert_int_equal(tree__load_text("t.yaml", buf__view(&b), &t, &err), -EINVAL);
	assert_non_null(strstr(err.text, "more than 1048576 values"));
	buf__reset(&b);
	for (int i = 0; i < 65; i++)
		buf__byte(&b, '[');
	assert_int_equal(tree__load_text("t.yaml", buf__view(&b), &t, &err), -EINVAL);
	assert_string_equal(err.text, "t.yaml:1:65: nested deeper than 64 levels");
	/* Depth by aliases: 40 levels that stand 40 levels deep. */
	buf__reset(&b);
	buf__text(&b, "a: &a ");
	for (int i = 0; i < 80; i++)
		buf__byte(&b, i < 40 ? '[' : ']');
	buf__text(&b, "\nb: ");
	for (int i = 0; i < 40; i++)
		buf__byte(&b, '[');
	buf__text(&b, "*a");
	for (int i = 0; i < 40; i++)
		buf__byte(&b, ']');
	assert_int_equal(tree__load_text("t.yaml", buf__view(&b), &t, &err), -EINVAL);
	assert_non_null(strstr(err.text, "nested deeper than 64 levels"));
	struct dcm_str large = { (const char *)b.data, TREE_MAX_BYTES + 1 };
	assert_int_equal(tree__load_text("t.yaml", large, &t, &err), -EFBIG);
	buf__reset(&b);
	for (int i = 0; i <= TREE_MAX_KEY_BYTES; i++)
		buf__byte(&b, 'k');
	buf__text(&b, ": x\n");
	assert_int_equal(tree__load_text("t.yaml", buf__view(&b), &t, &err), -EINVAL);
	assert_string_equal(err.text, "t.yaml:1:1: a key of more than 200 bytes; shorten it");
	buf__reset(&b);
	for (int i = 0; i <= 1024; i++)
		buf__printf(&b, "- &a%d x\n", i);
	assert_int_equal(tree__load_text("t.yaml", buf__view(&b), &t, &err), -EINVAL);
	assert_string_equal(err.text,
			    "t.yaml:1025:3: more than 1024 anchors; write the values out");
	assert_null(t);
	buf__fini(&b);
}

static void files_that_are_not_there(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = NULL;

	(void)state;
	assert_int_equal(tree__load_file("/nonexistent/x.yaml", &t, &err), -ENOENT);
	assert_string_equal(err.text,
			    "/nonexistent/x.yaml: there is no such file; name one that is there");
	assert_int_equal(tree__load_file("/", &t, &err), -EISDIR);
	assert_null(t);
}

static void maps_of_many_keys_cost_no_square(void **state)
{
	struct buf b = { 0 };
	enum { N = 50000 };

	(void)state;
	for (int i = 0; i < N; i++)
		buf__printf(&b, "key%d: %d\n", i, i);
	struct tree *t = load((const char *)b.data);
	assert_int_equal(t->root->n, N);
	tree__free(t);
	buf__text(&b, "key777: again\n");
	refused((const char *)b.data, -EINVAL,
		"t.yaml:50001:1: \"key777\" stands here twice, first on line 778; keep one");
	buf__fini(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Overrides
 */

static const char instances[] = "outputs:\n"
				"  web: {}\n"
				"  file:\n"
				"    - path: /a\n"
				"    - name: archive\n"
				"      path: /b\n";

static void overrides_find_their_place(void **state)
{
	static const struct {
		const char *set, *result;
	} cases[] = {
		{ "outputs.web.enabled=false", "web:\n    enabled: false\n" },
		{ "outputs.file.0.path=/c", "- path: /c\n" },
		{ "outputs.file.file.path=/c", "- path: /c\n" },
		{ "outputs.file.archive.path=/c", "- name: archive\n      path: /c\n" },
		{ "outputs.file.1.path=/c", "- name: archive\n      path: /c\n" },
		{ "outputs.file.2.path=/c", "path: /b\n    - path: /c\n" },
		{ "outputs.file.1.cpus=[1, 2]",
		  "path: /b\n      cpus:\n        - 1\n        - 2\n" },
		{ "outputs.grpc.tls.cert=x", "grpc:\n    tls:\n      cert: x\n" },
		{ "a\\.b.c\\=d=e=f", "a.b:\n  \"c=d\": \"e=f\"\n" },
		{ "outputs=", "outputs: null\n" },
		{ "x={}", "x: {}\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct tree *t = load(instances);
		struct buf b = { 0 };

		if (tree__set(t, cases[i].set, &err))
			fail_msg("%s", err.text);
		dump__node(t->root, 0, &b);
		if (!strstr((const char *)b.data, cases[i].result))
			fail_msg("--set %s gave\n%s", cases[i].set, (const char *)b.data);
		buf__fini(&b);
		tree__free(t);
	}
}

static void overrides_that_fail_change_nothing(void **state)
{
	static const struct {
		const char *set, *sentence;
	} cases[] = {
		{ "outputs", "--set outputs: write KEY.KEY=VALUE" },
		{ "=x", "--set : write KEY.KEY=VALUE" },
		{ "a..b=x",
		  "--set a..b: a part of the path is empty or too long; write KEY.KEY=VALUE" },
		{ "a.=x", "--set a.: the path ends in a dot; write KEY.KEY=VALUE" },
		{ "outputs.file.0.path.x=1", "--set outputs.file.0.path.x: \"path\" is a single "
					     "value here (t.yaml:4:13), so nothing can "
					     "be set inside" },
		{ "outputs.file.nosuch.path=1", "--set outputs.file.nosuch.path: \"file\" is a "
						"list of 2 here (t.yaml:4:5) and has no element "
						"\"nosuch\"; use an index from 0, or its name" },
		{ "outputs.file.3.path=1", "--set outputs.file.3.path: \"file\" is a list of 2 "
					   "here (t.yaml:4:5) and has no element "
					   "\"3\"; use an index from 0, or its name" },
		/* The second has a name: the default name is not its. */
		{ "outputs.file.file#2.path=1", "--set outputs.file.file#2.path: \"file\" is a "
						"list of 2 here (t.yaml:4:5) and has no element "
						"\"file#2\"; use an index from 0, or its name" },
		{ "secret=[hunter2", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct tree *t = load(instances), *same = load(instances);
		struct buf before = { 0 }, after = { 0 };

		dump__node(same->root, 0, &before);
		assert_int_equal(tree__set(t, cases[i].set, &err), -EINVAL);
		if (cases[i].sentence)
			assert_string_equal(err.text, cases[i].sentence);
		assert_null(strstr(err.text, "hunter2"));
		dump__node(t->root, 0, &after);
		assert_string_equal((const char *)before.data, (const char *)after.data);
		buf__fini(&before);
		buf__fini(&after);
		tree__free(t);
		tree__free(same);
	}
}

static void override_places_are_the_command_line(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = load("a: 1\n");
	char at[300];

	(void)state;
	assert_int_equal(tree__set(t, "b.c=[1, {d: 2}]", &err), 0);
	const struct node *list = tree__get(tree__get(t->root, "b"), "c");
	assert_string_equal(place__text(&tree__get(list->items[1], "d")->at, at), "--set b.c");
	tree__free(t);
}

static void texts_are_set_as_they_are(void **state)
{
	static const char odd[] = "a: [b} # \"c\\";
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = load("server: { listen: x }\n");

	(void)state;
	assert_int_equal(tree__set_text(t, "--data", "server.data", STR("a: [b} # \"c\\"), &err), 0);
	const struct node *n = tree__get(tree__get(t->root, "server"), "data");
	assert_string_equal(n->text.p, odd);
	assert_string_equal(n->at.file, "--data");
	assert_int_equal(tree__set_text(t, "--data", "data", STR(""), &err), 0);
	assert_false(node__is_null(tree__get(t->root, "data")));
	assert_int_equal(tree__set_text(t, "--data", "data", STR("\xff"), &err), -EINVAL);
	assert_string_equal(err.text, "--data: the value is too long, or not text in UTF-8");
	tree__free(t);
}

/* ------------------------------------------------------------------------------------------------
 * Dumping
 */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Bytes that need care in YAML, characters of each length, and plain letters. */
static void random_text(uint32_t *seed, struct buf *out)
{
	static const char *const parts[] = {
		"a",
		"Z",
		"0",
		"-",
		": ",
		" #",
		"'",
		"\"",
		"\\",
		"\n",
		"\t",
		" ",
		",",
		"[",
		"]",
		"{",
		"}",
		"&",
		"*",
		"!",
		"|",
		">",
		"%",
		"@",
		"`",
		"null",
		"true",
		"~",
		"<<",
		"=",
		"\r",
		"\x01",
		"\x7f",
		"\xc2\x85",
		"\xc2\xa0",
		"\xe2\x80\xa8",
		"\xef\xbb\xbf",
		"\xf0\x9f\x98\x80",
	};
	uint32_t n = next(seed) % 6;

	while (n-- > 0)
		buf__text(out, parts[next(seed) % (sizeof(parts) / sizeof(parts[0]))]);
}

static void any_text_survives_dump_and_load(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct buf key = { 0 }, value = { 0 }, text = { 0 };

		random_text(&seed, &key);
		random_text(&seed, &value);
		dump__scalar(buf__view(&key), &text);
		buf__text(&text, ": [");
		dump__scalar(buf__view(&value), &text);
		buf__text(&text, "]\n");
		struct tree *t = load((const char *)text.data);
		assert_true(str__eq(t->root->members[0].key, buf__view(&key)));
		const struct node *n = t->root->members[0].value->items[0];
		assert_true(str__eq(n->text, buf__view(&value)));
		assert_false(node__is_null(n));
		tree__free(t);
		buf__fini(&key);
		buf__fini(&value);
		buf__fini(&text);
	}
}

static void memory_may_run_out(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct tree *t = NULL;
		int r = tree__load_text("t.yaml", STR("a: &x {k: [1, 2]}\nb: {<<: *x, c: 2}\n"), &t,
					&err);

		if (!r)
			r = tree__set(t, "b.k.2.new=[3]", &err);
		failmalloc__disarm();
		tree__free(t);
		if (r)
			assert_int_equal(r, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_know_their_places),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(empty_texts_are_empty_maps),
		cmocka_unit_test(null_is_written_four_ways),
		cmocka_unit_test(aliases_are_copies),
		cmocka_unit_test(merges_obey_who_speaks_first),
		cmocka_unit_test(hostile_texts_are_bounded),
		cmocka_unit_test(files_that_are_not_there),
		cmocka_unit_test(maps_of_many_keys_cost_no_square),
		cmocka_unit_test(overrides_find_their_place),
		cmocka_unit_test(overrides_that_fail_change_nothing),
		cmocka_unit_test(override_places_are_the_command_line),
		cmocka_unit_test(texts_are_set_as_they_are),
		cmocka_unit_test(any_text_survives_dump_and_load),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
