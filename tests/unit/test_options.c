/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_options.c - tables fill structs, and say what is wrong
 *
 * Files: every tests/data/config/valid/NAME.yaml loads without a word and survives being dumped and
 * read again; every invalid/NAME.yaml gives exactly the sentences of NAME.expected. Random tables:
 * test_options_random.c.
 */
#include "core/config/effective.h"
#include "core/config/options.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/config/section.h"
#include "core/config/table.h"
#include "tests/unit/config_sample.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define DATA TEST_SRCDIR "/tests/data/config"

static const char *variable(void *ctx, const char *name)
{
	static const char *const set[][2] = {
		{ "SAMPLE_SET", "value" },
		{ "SAMPLE_EMPTY", "" },
		{ "SAMPLE_HZ", "25Hz" },
		{ "SAMPLE_LATIN1", "\xe4" },
		{ "SAMPLE_DOLLAR", "${SAMPLE_SET}" },
	};

	(void)ctx;
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
		if (strcmp(set[i][0], name) == 0)
			return set[i][1];
	return NULL;
}

static int check_selector(void *ctx, struct dcm_str text, struct dcm_error *err)
{
	(void)ctx;
	if (!memchr(text.p, '{', text.n))
		return 0;
	snprintf(err->text, sizeof(err->text), "\"%s\" is no selector", text.p);
	return -EINVAL;
}

struct fixture {
	struct arena arena;
	struct problems problems;
	struct options_env env;
	struct tree *tree;
};

static void init(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->env = (struct options_env){ .arena = &f->arena,
				       .problems = &f->problems,
				       .get_variable = variable,
				       .check_selector = check_selector };
}

static void fini(struct fixture *f)
{
	tree__free(f->tree);
	problems__fini(&f->problems);
	arena__fini(&f->arena);
}

static const struct node *parse(struct fixture *f, const char *text)
{
	struct dcm_error err = DCM_ERROR_INIT;

	tree__free(f->tree);
	f->tree = NULL;
	if (tree__load_text("t.yaml", str__of(text), &f->tree, &err))
		fail_msg("%s\n%s", err.text, text);
	return f->tree->root;
}

static void *fill(struct fixture *f, const struct dcm_table *table, const char *text)
{
	return options__fill_one(&f->env, "input sample", parse(f, text), table);
}

static struct sample *fill_sample(struct fixture *f, const char *text)
{
	struct sample *s = fill(f, &sample__table, text);
	struct buf b = { 0 };

	if (!s) {
		problems__text(&f->problems, &b);
		fail_msg("%s", (const char *)b.data);
	}
	assert_int_equal(f->problems.n, 0);
	return s;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

/* Everything that is said about one file, a line for each. */
static void say(const char *name, struct buf *out)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct fixture f;

	init(&f);
	buf__text(out, "");
	if (tree__load_file(name, &f.tree, &err)) {
		buf__printf(out, "%s\n", err.text);
	} else {
		options__fill_one(&f.env, "input sample", f.tree->root, &sample__table);
		problems__text(&f.problems, out);
	}
	fini(&f);
}

static int is_yaml(const struct dirent *e)
{
	return str__ends(str__of(e->d_name), STR(".yaml"));
}

static void compare_sentences(const char *name)
{
	struct buf ours = { 0 }, expected = { 0 };
	char path[300];

	snprintf(path, sizeof(path), "%.*s.expected", (int)strlen(name) - 5, name);
	assert_int_equal(fd__read_path(-100, path, 1 << 16, &expected), 0);
	say(name, &ours);
	if (!str__eq(buf__view(&ours), buf__view(&expected)))
		fail_msg("%s: said\n%sand not\n%s", name, (const char *)ours.data,
			 (const char *)expected.data);
	buf__fini(&ours);
	buf__fini(&expected);
}

/* Runs each file of a folder, from inside it, so that sentences begin with the bare name. */
static unsigned for_each_file(const char *dir, void (*each)(const char *name))
{
	struct dirent **names = NULL;
	char before[4096];
	assert_non_null(getcwd(before, sizeof(before)));
	int n = scandir(dir, &names, is_yaml, alphasort);

	assert_true(n > 0);
	assert_int_equal(chdir(dir), 0);
	for (int i = 0; i < n; i++) {
		each(names[i]->d_name);
		free(names[i]);
	}
	free(names);
	assert_int_equal(chdir(before), 0);
	return (unsigned)n;
}

static void invalid_files_get_their_sentence(void **state)
{
	(void)state;
	assert_true(for_each_file(DATA "/invalid", compare_sentences) >= 60);
}

static void reload_dump(const char *name)
{
	struct buf said = { 0 }, yaml = { 0 };
	struct fixture f, again;
	struct dcm_error err = DCM_ERROR_INIT;
	char key[256];

	say(name, &said);
	if (said.n)
		fail_msg("%s", (const char *)said.data);
	init(&f);
	init(&again);
	/* What was filled in needs no variable any more. */
	again.env.get_variable = NULL;
	assert_int_equal(tree__load_file(name, &f.tree, &err), 0);
	const void *a = options__fill_one(&f.env, "", f.tree->root, &sample__table);
	effective__yaml(&sample__table, a, NULL, EFFECTIVE_SHOW, 0, &yaml);
	const void *b = fill(&again, &sample__table, (const char *)yaml.data);
	assert_non_null(b);
	if (options__compare(&sample__table, a, b, key) != OPTIONS_SAME)
		fail_msg("%s: %s differs in\n%s", name, key, (const char *)yaml.data);
	fini(&f);
	fini(&again);
	buf__fini(&said);
	buf__fini(&yaml);
}

static void valid_files_load_and_survive_a_dump(void **state)
{
	(void)state;
	assert_true(for_each_file(DATA "/valid", reload_dump) >= 5);
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static void nothing_means_defaults(void **state)
{
	static const char *const texts[] = { "", "{}", "frequency:\ntls: ~\ncpus: null\n" };
	struct fixture f;

	(void)state;
	init(&f);
	for (size_t i = 0; i < 3; i++) {
		struct sample *s = fill_sample(&f, texts[i]);
		assert_int_equal(s->frequency, 19);
		assert_int_equal(s->every_ns, 10000000000);
		assert_int_equal(s->room_bytes, 64 << 20);
		assert_true(s->ratio > 0.49 && s->ratio < 0.51);
		assert_int_equal(s->mode, 1);
		assert_string_equal(s->text, "a: b");
		assert_string_equal(s->home, "/var/x");
		assert_null(s->token);
		assert_int_equal(s->cpus.n, 2);
		assert_int_equal(((int64_t *)s->cpus.items)[1], 1);
		assert_null(s->scrape_configs.items);
	}
	struct sample *s = options__fill_one(&f.env, "input sample", NULL, &sample__table);
	assert_int_equal(s->frequency, 19);
	fini(&f);
}

static void every_type_is_read(void **state)
{
	struct fixture f;

	(void)state;
	init(&f);
	struct sample *s = fill_sample(
		&f,
		"verbose: true\nmode: Adaptive\nfrequency: 99Hz\nratio: 2.5e-1\nevery: 1m30s\n"
		"room: 1MB\ntext: 'null'\ntoken: t\nhide: 'a${X}|b$'\nonly: cpu\ncpus: [3]\n"
		"limits: { b: 1KiB, a: 2KiB }\ntls: { cert: c, key: k }\n"
		"scrape_configs:\n- job_name: j\n  params: { p: [x, y], q: [] }\n  proxy_url: u\n"
		"  pprof_config: { cpu: { enabled: true }, heap: }\n"
		"  auth: { basic: { user: u, password: p } }\n"
		"  relabel_configs: [{ source_labels: [a], target_label: '${1}_x' }]\n");
	assert_true(s->verbose);
	assert_int_equal(s->mode, 2);
	assert_int_equal(s->frequency, 99);
	assert_true(s->ratio == 0.25);
	assert_int_equal(s->every_ns, 90000000000);
	assert_int_equal(s->room_bytes, 1000000);
	assert_string_equal(s->text, "null");
	assert_string_equal(s->token, "t");
	assert_string_equal(s->hide, "a${X}|b$");
	assert_string_equal(s->only, "cpu");
	assert_int_equal(*(int64_t *)s->cpus.items, 3);
	assert_string_equal(s->limits.keys[0], "b");
	assert_int_equal(((int64_t *)s->limits.items)[1], 2048);
	assert_string_equal(s->tls.key, "k");
	const struct sample_job *job = s->scrape_configs.items;
	assert_int_equal(job->scrape_interval_ns, 10000000000);
	assert_true(job->client.follow_redirects);
	assert_string_equal(job->client.proxy_url, "u");
	const struct sample_strings *params = job->params.items;
	assert_int_equal(params[0].values.n, 2);
	assert_string_equal(((const char **)params[0].values.items)[1], "y");
	assert_int_equal(params[1].values.n, 0);
	const struct sample_profile *profiles = job->pprof_config.items;
	assert_int_equal(profiles[0].enabled, 1);
	assert_int_equal(profiles[1].enabled, 0);
	assert_int_equal(job->auth.which, SAMPLE_AUTH_BASIC);
	assert_string_equal(((const struct sample_basic *)job->auth.value)->password, "p");
	const struct dcm_relabel_rule *rule = job->relabel_configs.items;
	assert_int_equal(rule->action, DCM_RELABEL_REPLACE);
	assert_string_equal(rule->target_label, "${1}_x");
	assert_string_equal(rule->regex, "(.*)");
	fini(&f);
}

static void texts_outlive_their_tree(void **state)
{
	struct fixture f;

	(void)state;
	init(&f);
	struct sample *s = fill_sample(&f, "text: kept\nlimits: { key: 1KiB }\n");
	tree__free(f.tree);
	f.tree = NULL;
	assert_string_equal(s->text, "kept");
	assert_string_equal(s->limits.keys[0], "key");
	fini(&f);
}

static void variables_are_put_in(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "${SAMPLE_SET}", "value" },
		{ "a${SAMPLE_SET}b${SAMPLE_SET}", "avaluebvalue" },
		{ "'${SAMPLE_SET}'", "value" },
		{ "${SAMPLE_EMPTY}", "" },
		{ "${SAMPLE_EMPTY:-or}", "or" },
		{ "${NOSUCH:-or}", "or" },
		{ "${NOSUCH:-}", "" },
		{ "${SAMPLE_SET:-or}", "value" },
		{ "$${SAMPLE_SET}", "${SAMPLE_SET}" },
		{ "$$${SAMPLE_SET}", "$${SAMPLE_SET}" },
		{ "$SAMPLE_SET $1 $$ a$", "$SAMPLE_SET $1 $$ a$" },
		{ "${SAMPLE_DOLLAR}", "${SAMPLE_SET}" },
	};
	struct fixture f;

	(void)state;
	init(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char yaml[200];
		snprintf(yaml, sizeof(yaml), "text: %s\n", cases[i].text);
		assert_string_equal(fill_sample(&f, yaml)->text, cases[i].value);
	}
	assert_int_equal(fill_sample(&f, "frequency: ${SAMPLE_HZ}\n")->frequency, 25);
	/* Inside scrape_configs ${1} has its own meaning. */
	const struct sample *s = fill_sample(&f, "scrape_configs: [{ job_name: '${1}' }]\n");
	assert_string_equal(((const struct sample_job *)s->scrape_configs.items)->job_name, "${1}");
	fini(&f);
}

static void secrets_come_from_files(void **state)
{
	struct fixture f;
	char path[] = "/tmp/decima-test-XXXXXX", yaml[200], at[100];

	(void)state;
	init(&f);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, "s3cret \n", 8), 0);
	snprintf(yaml, sizeof(yaml), "token_file: %s\n", path);
	assert_string_equal(fill_sample(&f, yaml)->token, "s3cret ");
	snprintf(yaml, sizeof(yaml),
		 "scrape_configs: [{ job_name: j, auth: { bearer_file: %s } }]\n", path);
	const struct sample *s = fill_sample(&f, yaml);
	const struct sample_job *job = s->scrape_configs.items;
	assert_int_equal(job->auth.which, SAMPLE_AUTH_BEARER);
	assert_string_equal(*(const char *const *)job->auth.value, "s3cret ");

	/* A relative path begins where the file with the option is. */
	struct dcm_error err = DCM_ERROR_INIT;
	snprintf(yaml, sizeof(yaml), "token_file: %s\n", strrchr(path, '/') + 1);
	tree__free(f.tree);
	f.tree = NULL;
	snprintf(at, sizeof(at), "/tmp/decima-test-config.yaml");
	assert_int_equal(tree__load_text(at, str__of(yaml), &f.tree, &err), 0);
	s = options__fill_one(&f.env, "input sample", f.tree->root, &sample__table);
	assert_non_null(s);
	assert_string_equal(s->token, "s3cret ");
	fini(&f);
	close(fd);
	unlink(path);
}

static void elsewhere_only_warns(void **state)
{
	struct fixture f;
	struct buf b = { 0 };

	(void)state;
	init(&f);
	f.env.elsewhere = true;
	const struct sample *s = fill(
		&f, &sample__table, "text: ${NOSUCH}\nfrequency: ${NOSUCH}\ntoken_file: /nonexistent\n");
	assert_non_null(s);
	assert_int_equal(s->frequency, 19);
	assert_string_equal(s->text, "a: b");
	assert_int_equal(f.problems.n_warnings, 3);
	problems__text(&f.problems, &b);
	assert_non_null(strstr(
		(const char *)b.data,
		"t.yaml:1:7: warning: input sample: text: the environment has no NOSUCH; set it, "
		"or write ${NOSUCH:-default}\n"));
	buf__fini(&b);
	fini(&f);
}

static void parts_share_a_map(void **state)
{
	struct options_part parts[] = { { .table = &section__common }, { .table = &sample__table } };
	struct fixture f;
	struct buf b = { 0 };

	(void)state;
	init(&f);
	const struct node *n = parse(&f, "name: x\nfrequency: 5\n");
	assert_int_equal(options__fill(&f.env, "input sample", n, parts, 2), 0);
	assert_string_equal(((const struct section_common *)parts[0].value)->name, "x");
	assert_int_equal(((const struct sample *)parts[1].value)->frequency, 5);
	parts[0].value = parts[1].value = NULL;
	n = parse(&f, "enabeld: x\nfrequncy: 5\n");
	assert_int_equal(options__fill(&f.env, "input sample", n, parts, 2), -EINVAL);
	assert_null(parts[0].value);
	problems__text(&f.problems, &b);
	assert_string_equal(
		(const char *)b.data,
		"t.yaml:1:1: input sample: unknown option \"enabeld\"; did you mean \"enabled\"?\n"
		"t.yaml:2:1: input sample: unknown option \"frequncy\"; did you mean "
		"\"frequency\"?\n");
	struct dcm_error err = DCM_ERROR_INIT;
	assert_int_equal(problems__first(&f.problems, &err), -EINVAL);
	assert_string_equal(err.text,
			    "t.yaml:1:1: input sample: unknown option \"enabeld\"; did you mean "
			    "\"enabled\"? (and 1 more)");
	buf__reset(&b);
	problems__json(&f.problems, &b);
	assert_non_null(strstr((const char *)b.data,
			       "{\"severity\":\"error\",\"file\":\"t.yaml\",\"line\":1,"
			       "\"column\":1,\"message\":\"input sample: unknown"));
	buf__fini(&b);
	fini(&f);
}

/* ------------------------------------------------------------------------------------------------
 * Older tables
 */

/* A row as a plugin knew it that was built before `flags` and later members came last. */
static void older_rows_are_shorter(void **state)
{
	enum { SHORT = offsetof(struct dcm_option, doc) + sizeof(char *) };
	static const struct dcm_option now[] = {
		{ .name = "a", .type = DCM_OPT_INT, .offset = 0, .def = "7", .doc = "A." },
		{ .name = "b", .type = DCM_OPT_STRING, .offset = 8, .def = "x", .doc = "B." },
	};
	struct {
		int64_t a;
		const char *b;
	} const *v;
	char rows[2 * (SHORT + 16)];
	struct fixture f;

	(void)state;
	/* Longer rows than ours: what we do not know is skipped. */
	memset(rows, 0x5a, sizeof(rows));
	memcpy(rows, &now[0], SHORT);
	memcpy(rows + SHORT + 16, &now[1], SHORT);
	struct dcm_table table = { .size = offsetof(struct dcm_table, check),
				   .option_size = SHORT + 16,
				   .struct_size = 16,
				   .n_options = 2,
				   .options = (const struct dcm_option *)rows,
				   .check = (void *)0x5a5a };
	init(&f);
	v = fill(&f, &table, "b: y\n");
	assert_non_null(v);
	assert_int_equal(v->a, 7);
	assert_string_equal(v->b, "y");
	fini(&f);
}

/* ------------------------------------------------------------------------------------------------
 * Comparing, masking, sections
 */

static void comparing_names_the_row(void **state)
{
	static const struct {
		const char *a, *b, *key;
		enum options_change change;
	} cases[] = {
		{ "", "frequency: 19\n", "", OPTIONS_SAME },
		{ "", "every: 20s\n", "every", OPTIONS_CHANGED },
		{ "", "verbose: true\nfrequency: 20\n", "frequency", OPTIONS_RESTART },
		{ "cpus: [1]", "cpus: [2]", "cpus[0]", OPTIONS_CHANGED },
		{ "cpus: [1]", "cpus: [1, 2]", "cpus", OPTIONS_CHANGED },
		{ "limits: { a: 1KiB }", "limits: { a: 2KiB }", "limits.a", OPTIONS_CHANGED },
		{ "limits: { a: 1KiB }", "limits: { b: 1KiB }", "limits", OPTIONS_CHANGED },
		{ "scrape_configs: [{ job_name: a, auth: { bearer: x } }]",
		  "scrape_configs: [{ job_name: a, auth: { bearer: y } }]",
		  "scrape_configs[0].auth.bearer", OPTIONS_CHANGED },
		{ "scrape_configs: [{ job_name: a, auth: { bearer: x } }]",
		  "scrape_configs: [{ job_name: a }]", "scrape_configs[0].auth", OPTIONS_CHANGED },
		{ "token: x", "", "token", OPTIONS_CHANGED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		char key[256];

		init(&f);
		const struct sample *a = fill_sample(&f, cases[i].a), *b = fill_sample(&f, cases[i].b);
		assert_int_equal(options__compare(&sample__table, a, b, key), cases[i].change);
		assert_string_equal(key, cases[i].key);
		fini(&f);
	}
}

static void sections_name_their_instances(void **state)
{
	struct section_instance *v = NULL;
	struct fixture f;
	struct buf b = { 0 };
	uint32_t n = 0;

	(void)state;
	init(&f);
	const struct node *root = parse(
		&f, "web:\nfile:\n- path: a\n- path: b\n- name: archive\n  enabled: false\n"
		    "grpc: { enabled: false, address: x }\n");
	assert_int_equal(section__list(&f.env, &section__all[DCM_OUTPUT], root, &v, &n), 0);
	assert_int_equal(n, 5);
	static const char *const expected[][3] = {
		{ "web", "web", "output web" },	       { "file", "file", "output file" },
		{ "file", "file#2", "output file#2" }, { "file", "archive", "output file archive" },
		{ "grpc", "grpc", "output grpc" },
	};
	for (uint32_t i = 0; i < n; i++) {
		assert_string_equal(v[i].plugin, expected[i][0]);
		assert_string_equal(v[i].name, expected[i][1]);
		assert_string_equal(v[i].object, expected[i][2]);
		assert_int_equal(v[i].enabled, i < 3);
	}
	assert_null(v[0].node);
	assert_int_equal(v[3].at.line, 5);
	root = parse(
		&f, "a: { name: b }\nb: {}\nc: 3\nd: { name: a/b }\ne: { enabled: maybe }\nf: [x]\n"
		    "g: { name: symbols }\n");
	assert_int_equal(section__list(&f.env, &section__all[DCM_OUTPUT], root, &v, &n), -EINVAL);
	assert_int_equal(n, 1);
	problems__text(&f.problems, &b);
	assert_string_equal(
		(const char *)b.data,
		"t.yaml:2:1: output b: a second output is called \"b\", after the one "
		"at t.yaml:1:1; give it a name "
		"of its own\n"
		"t.yaml:3:4: output c: must be a map, not a single value\n"
		"t.yaml:4:12: output d: name \"a/b\" must begin with a letter or digit, "
		"go on with those or _ - . #, "
		"and have 64 of them at most\n"
		"t.yaml:5:15: output e: enabled: \"maybe\" is neither true nor false\n"
		"t.yaml:6:5: output f: must be a map, not a single value\n"
		"t.yaml:7:12: output g: name \"symbols\" is decima's own; choose another\n");
	buf__fini(&b);
	fini(&f);
}

/* What is wrong with the section begins with its key, as the file has it. */
static void a_section_is_a_map(void **state)
{
	struct section_instance *v = NULL;
	struct fixture f;
	struct buf b = { 0 };
	uint32_t n = 0;

	(void)state;
	init(&f);
	assert_int_equal(section__list(&f.env, &section__all[DCM_OUTPUT], parse(&f, "file"), &v, &n),
			 -EINVAL);
	assert_int_equal(n, 0);
	problems__text(&f.problems, &b);
	assert_string_equal(
		(const char *)b.data,
		"t.yaml:1:1: outputs: must be a map with a plugin's name on each line\n");
	buf__fini(&b);
	fini(&f);
}

static void tables_of_the_house_are_sound(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	if (table__check(&sample__table, &err) || table__check(&section__common, &err))
		fail_msg("%s", err.text);
}

static void bad_tables_are_found(void **state)
{
	static const char *const choices[] = { "x", NULL };
	static const struct {
		struct dcm_option row;
		const char *sentence;
	} cases[] = {
		{ { .name = "A", .type = DCM_OPT_INT, .doc = "d" },
		  "option \"A\": a name begins with a lower-case letter and has 64 bytes at most" },
		{ { .name = "a-b", .type = DCM_OPT_INT, .doc = "d" },
		  "option \"a-b\": a name has lower-case letters, digits and _ only" },
		{ { .name = "a", .type = DCM_OPT_INT }, "option \"a\": there is no doc" },
		{ { .name = "a", .type = 99, .doc = "d" }, "option \"a\": its type is not known" },
		{ { .name = "a", .type = DCM_OPT_INT, .offset = 16, .doc = "d" },
		  "option \"a\": the value goes beyond the struct" },
		{ { .name = "a", .type = DCM_OPT_INT, .offset = 4, .doc = "d" },
		  "option \"a\": the offset is not aligned" },
		{ { .name = "a", .type = DCM_OPT_INT, .def = "x", .doc = "d" },
		  "a: \"x\" is not an integer" },
		{ { .name = "a", .type = DCM_OPT_INT, .def = "1", .min = "2", .doc = "d" },
		  "a: 1 is below the minimum of 2" },
		{ { .name = "a", .type = DCM_OPT_INT, .min = "2", .max = "1", .doc = "d" },
		  "option \"a\": the minimum is above the maximum" },
		{ { .name = "a", .type = DCM_OPT_INT, .max = "x", .doc = "d" },
		  "option \"a\": the maximum \"x\" cannot be read" },
		{ { .name = "a", .type = DCM_OPT_STRING, .min = "1", .doc = "d" },
		  "option \"a\": bounds have no meaning for its type" },
		{ { .name = "a", .type = DCM_OPT_STRING, .unit = "Hz", .doc = "d" },
		  "option \"a\": a unit has no meaning for its type" },
		{ { .name = "a", .type = DCM_OPT_CHOICE, .doc = "d" },
		  "option \"a\": there are no choices" },
		{ { .name = "a", .type = DCM_OPT_CHOICE, .choices = choices, .def = "y", .doc = "d" },
		  "a: \"y\" is not a choice; write x" },
		{ { .name = "a", .type = DCM_OPT_STRUCT, .doc = "d" }, "option \"a\": there is no table" },
		{ { .name = "a", .type = DCM_OPT_LIST, .element = DCM_OPT_MAP, .doc = "d" },
		  "option \"a\": a list or map holds no lists, maps or shared tables; use a struct "
		  "with one row "
		  "named \"\"" },
		{ { .name = "a", .type = DCM_OPT_STRING, .flags = DCM_OPT_ONE_IS_LIST, .doc = "d" },
		  "option \"a\": only a list of single values can be written as one" },
		{ { .name = "a", .type = DCM_OPT_INT, .flags = DCM_OPT_UNIQUE, .doc = "d" },
		  "option \"a\": only a string can be one of each instance" },
		{ { .name = "a", .type = DCM_OPT_SHARED, .shared = 77, .doc = "d" },
		  "option \"a\": there is no shared table 77" },
		{ { .name = "a", .type = DCM_OPT_LIST, .element = DCM_OPT_INT, .def = "[1", .doc = "d" },
		  "a: default:2:1: not YAML: while parsing a flow sequence that began on line 1, "
		  "did not find "
		  "expected ',' or ']'; close the list with ]" },
		{ { .name = "a", .type = DCM_OPT_REGEX, .def = "(", .doc = "d" },
		  "a: regular expression \"(\": a ( has no ) (offset 0)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_table t = { .size = sizeof(t),
				       .option_size = sizeof(struct dcm_option),
				       .struct_size = 16,
				       .n_options = 1,
				       .options = &cases[i].row };

		assert_int_equal(table__check(&t, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].sentence);
	}
	static const struct dcm_option twins[] = {
		{ .name = "a", .type = DCM_OPT_INT, .doc = "d" },
		{ .name = "b", .type = DCM_OPT_BOOL, .offset = 7, .doc = "d" },
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_table t = { sizeof(t), sizeof(twins[0]), 16, 2, twins, NULL, NULL, NULL, NULL };
	assert_int_equal(table__check(&t, &err), -EINVAL);
	assert_string_equal(err.text, "option \"b\": the value lies over that of \"a\"");
}

static void one_of_each_instance_stands_in_no_nested_table(void **state)
{
	static const struct dcm_option inner[] = {
		{ .name = "path", .type = DCM_OPT_STRING, .flags = DCM_OPT_UNIQUE, .doc = "d" }
	};
	static const struct dcm_table nested = { .size = sizeof(nested),
						 .option_size = sizeof(inner[0]),
						 .struct_size = 8,
						 .n_options = 1,
						 .options = inner };
	const struct dcm_option outer[] = {
		{ .name = "a", .type = DCM_OPT_STRUCT, .table = &nested, .doc = "d" },
		{ .name = "", .type = DCM_OPT_STRUCT, .table = &nested },
		{ .name = "a", .type = DCM_OPT_LIST, .element = DCM_OPT_STRUCT, .table = &nested, .doc = "d" },
		{ .name = "a", .type = DCM_OPT_MAP, .element = DCM_OPT_STRUCT, .table = &nested, .doc = "d" },
		{ .name = "a", .type = DCM_OPT_UNION, .table = &nested, .doc = "d" },
	};

	(void)state;
	assert_int_equal(table__check(&nested, NULL), 0);
	for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
		const struct dcm_table t = { .size = sizeof(t),
					     .option_size = sizeof(outer[0]),
					     .struct_size = 32,
					     .n_options = 1,
					     .options = &outer[i] };
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(table__check(&t, &err), -EINVAL);
		assert_string_equal(
			err.text,
			"option \"path\": only in the plugin's own table can a string be "
			"one of each instance; move it there, or leave DCM_OPT_UNIQUE out");
	}
}

static void one_may_stand_for_a_list(void **state)
{
	static const struct dcm_option rows[] = { { .name = "a",
						    .type = DCM_OPT_LIST,
						    .element = DCM_OPT_INT,
						    .flags = DCM_OPT_ONE_IS_LIST,
						    .max = "9",
						    .def = "5",
						    .doc = "d" } };
	static const struct dcm_table table = { .size = sizeof(table),
						.option_size = sizeof(rows[0]),
						.struct_size = sizeof(struct dcm_list),
						.n_options = 1,
						.options = rows };
	static const struct {
		const char *text;
		uint32_t n;
		int64_t first;
	} good[] = { { "{}", 1, 5 }, { "a: 7", 1, 7 }, { "a: [7, 8]", 2, 7 }, { "a: []", 0, 0 } };
	struct dcm_error err = DCM_ERROR_INIT;
	struct fixture f;

	(void)state;
	assert_int_equal(table__check(&table, &err), 0);
	init(&f);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct dcm_list *l = fill(&f, &table, good[i].text);

		assert_non_null(l);
		assert_int_equal(l->n, good[i].n);
		if (l->n > 0)
			assert_int_equal(((const int64_t *)l->items)[0], good[i].first);
	}
	assert_int_equal(f.problems.n, 0);
	assert_null(fill(&f, &table, "a: 10"));
	assert_int_equal(problems__first(&f.problems, &err), -EINVAL);
	assert_string_equal(err.text,
			    "t.yaml:1:4: input sample: a[0]: 10 is above the maximum of 9");
	fini(&f);
}

struct told {
	const char *told; /* what the table's check says */
	struct dcm_list list;
	struct dcm_map map;
	struct sample_tls inner;
};

static int say_what_is_told(const void *config, struct dcm_error *err)
{
	const struct told *t = config;

	snprintf(err->text, sizeof(err->text), "%s", t->told);
	return -EINVAL;
}

static const struct dcm_option told_inner_rows[] = {
	{ .name = "cert", .type = DCM_OPT_STRING, .offset = offsetof(struct sample_tls, cert), .doc = "X." },
};
static const struct dcm_table told_inner = DCM_TABLE(struct sample_tls, told_inner_rows);
static const struct dcm_option told_rows[] = {
	{ .name = "told", .type = DCM_OPT_STRING, .offset = offsetof(struct told, told), .doc = "X." },
	{ .name = "list",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct told, list),
	  .flags = DCM_OPT_ONE_IS_LIST,
	  .doc = "X." },
	{ .name = "map",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct told, map),
	  .doc = "X." },
	{ .name = "inner",
	  .type = DCM_OPT_STRUCT,
	  .table = &told_inner,
	  .offset = offsetof(struct told, inner),
	  .doc = "X." },
};
static const struct dcm_table told_table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct told),
	.n_options = sizeof(told_rows) / sizeof(told_rows[0]),
	.options = told_rows,
	.check = say_what_is_told,
};

/* A person looks for the line of the option at fault, not for that of the instance. */
static void what_a_check_says_stands_at_its_option(void **state)
{
	static const struct {
		const char *says;
		unsigned line, column;
	} cases[] = {
		{ "told is wrong", 1, 7 },
		{ "told: is wrong", 1, 7 },
		{ "told, list: one of them", 1, 7 },
		{ "list: too many", 2, 7 },
		{ "list[1]: is wrong", 2, 11 },
		{ "list[1] \"b\" is wrong", 2, 11 },
		{ "list: \"b\" is wrong", 2, 11 },
		{ "list: \"c\" is not there", 2, 7 },
		{ "list: \"open", 2, 7 },
		{ "list[2]: there are two", 2, 7 },
		{ "list[: half", 2, 7 },
		{ "list[x]: no number", 2, 7 },
		{ "map: too many", 4, 3 },
		{ "map: \"k\" is no name", 4, 3 },
		{ "map: \"l\" is no name", 5, 3 },
		{ "map.l: is wrong", 5, 6 },
		{ "inner.cert: is wrong", 7, 9 },
		{ "inner.nope: is wrong", 7, 3 },
		{ "inner.", 7, 3 },
		{ "inner", 7, 3 },
		{ "instance: of nothing", 1, 1 },
		{ "toldest is no key", 1, 1 },
		{ "\"told\" is quoted", 1, 1 },
		{ "[0]: of what?", 1, 1 },
		{ "x", 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char yaml[256];
		struct fixture f;

		snprintf(yaml, sizeof(yaml),
			 "told: '%s'\nlist: [a, b]\nmap:\n  k: x\n  l: y\ninner:\n  cert: z\n",
			 cases[i].says);
		init(&f);
		assert_null(fill(&f, &told_table, yaml));
		assert_int_equal(f.problems.n, 1);
		if (f.problems.v[0].at.line != cases[i].line ||
		    f.problems.v[0].at.column != cases[i].column)
			fail_msg("%s: at %u:%u", cases[i].says, f.problems.v[0].at.line,
				 f.problems.v[0].at.column);
		fini(&f);
	}
	struct fixture f;
	init(&f);
	assert_null(fill(&f, &told_table, "told: 'list[0]: is wrong'\nlist: a\n"));
	assert_int_equal(f.problems.v[0].at.line, 2);
	fini(&f);
}

/* However many warnings stand before them, errors are told: the last warnings make way. */
static void errors_come_before_warnings(void **state)
{
	struct problems p = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct place at = { .file = "f", .column = 1 };

	(void)state;
	for (uint32_t i = 0; i < PROBLEMS_MAX + 5; i++) {
		at.line = i + 1;
		problems__add(&p, PROBLEM_WARNING, &at, "warning %u", i + 1);
	}
	at.line = 100;
	assert_int_equal(problems__add(&p, PROBLEM_ERROR, &at, "late"), -EINVAL);
	at.line = 2;
	problems__add(&p, PROBLEM_ERROR, &at, "early");
	assert_int_equal(p.n, PROBLEMS_MAX);
	assert_int_equal(p.n_warnings, PROBLEMS_MAX + 5);
	assert_int_equal(problems__first(&p, &err), -EINVAL);
	assert_string_equal(err.text, "f:2:1: early (and 1 more)");
	assert_string_equal(p.v[p.n - 1].text, "late");
	assert_string_equal(p.v[p.n - 2].text, "warning 18");
	for (uint32_t i = 0; i < PROBLEMS_MAX; i++)
		problems__add(&p, PROBLEM_ERROR, &at, "error %u", i);
	assert_int_equal(p.n, PROBLEMS_MAX);
	for (uint32_t i = 0; i < PROBLEMS_MAX; i++)
		assert_int_equal(p.v[i].severity, PROBLEM_ERROR);
	assert_int_equal(p.n_errors, PROBLEMS_MAX + 2);
	problems__fini(&p);
}

static void memory_may_run_out(void **state)
{
	static const char text[] =
		"text: ${SAMPLE_SET}\nhide: a+\nlimits: { a: 1KiB }\ntoken_file: /dev/null\n"
		"scrape_configs: [{ job_name: j, params: { p: [x] }, auth: { bearer: x },"
		" relabel_configs: [{ action: drop }] }]\n";

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct buf yaml = { 0 };
		struct fixture f;

		init(&f);
		int r = tree__load_text("t.yaml", str__of(text), &f.tree, &err);
		struct options_part part = { &sample__table, NULL };
		if (!r)
			r = options__fill(&f.env, "input sample", f.tree->root, &part, 1);
		if (part.value)
			effective__yaml(&sample__table, part.value, NULL, EFFECTIVE_SHOW, 0, &yaml);
		failmalloc__disarm();
		/* /dev/null holds no secret, so even the last turn ends in a fault. */
		if (!failmalloc__failed())
			assert_int_equal(r, -EINVAL);
		else
			assert_int_equal(r, -ENOMEM);
		buf__fini(&yaml);
		fini(&f);
	}
	FAILMALLOC_SWEEP (i) {
		struct section_instance *v = NULL;
		uint32_t n = 0;
		struct fixture f;

		init(&f);
		struct dcm_error err = DCM_ERROR_INIT;
		int r = tree__load_text("t.yaml", STR("a:\n- {}\n- { name: x }\n"), &f.tree, &err);
		if (!r)
			r = section__list(&f.env, &section__all[DCM_OUTPUT], f.tree->root, &v, &n);
		failmalloc__disarm();
		if (r)
			assert_int_equal(r, -ENOMEM);
		fini(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_files_get_their_sentence),
		cmocka_unit_test(valid_files_load_and_survive_a_dump),
		cmocka_unit_test(nothing_means_defaults),
		cmocka_unit_test(every_type_is_read),
		cmocka_unit_test(texts_outlive_their_tree),
		cmocka_unit_test(variables_are_put_in),
		cmocka_unit_test(secrets_come_from_files),
		cmocka_unit_test(elsewhere_only_warns),
		cmocka_unit_test(parts_share_a_map),
		cmocka_unit_test(older_rows_are_shorter),
		cmocka_unit_test(comparing_names_the_row),
		cmocka_unit_test(sections_name_their_instances),
		cmocka_unit_test(a_section_is_a_map),
		cmocka_unit_test(tables_of_the_house_are_sound),
		cmocka_unit_test(bad_tables_are_found),
		cmocka_unit_test(one_of_each_instance_stands_in_no_nested_table),
		cmocka_unit_test(one_may_stand_for_a_list),
		cmocka_unit_test(what_a_check_says_stands_at_its_option),
		cmocka_unit_test(errors_come_before_warnings),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
