/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_targets.c - from a scrape configuration and an address to what is asked
 *
 * Configurations are YAML through the plugin's own table; rules run in the host that instances get.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/config/options.h"
#include "core/main/services.h"
#include "plugins/input/pprof_scrape/groups.h"
#include "plugins/input/pprof_scrape/options.h"
#include "plugins/input/pprof_scrape/target.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

struct fixture {
	struct services services;
	struct dcm_host *host;
	struct arena arena;
	struct problems problems;
	struct tree *tree;
	const struct scrape_options *options;
	const struct job_options *job; /* the first */
	struct dcm_rules *rules;
	struct profile_plan plans[PROFILES_MAX];
	uint32_t n_plans;
	struct texts texts;
};

/* The whole of what is wrong with the file: "" when nothing is. */
static const char *load(struct fixture *f, const char *yaml)
{
	static char text[2000];
	struct options_env env = { .arena = &f->arena, .problems = &f->problems };
	struct dcm_error err = DCM_ERROR_INIT;

	if (tree__load_text("s.yaml", str__of(yaml), &f->tree, &err) < 0)
		fail_msg("%s", err.text);
	f->options = options__fill_one(&env, "input pprof_scrape", f->tree->root, &scrape_options__table);
	text[0] = '\0';
	for (size_t i = 0; i < f->problems.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			 text[0] ? "\n" : "", f->problems.v[i].text);
	if (!f->options || f->options->scrape_configs.n == 0)
		return text;
	f->job = f->options->scrape_configs.items;
	f->n_plans = job_options__profiles(f->job, f->plans);
	if (f->job->relabel_configs.n &&
	    f->host->rules_new(f->host, f->job->relabel_configs.items, f->job->relabel_configs.n,
			       &f->rules, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

static void open_fixture(struct fixture *f)
{
	struct dcm_error err = DCM_ERROR_INIT;

	memset(f, 0, sizeof(*f));
	f->services.host.node = "here";
	services__init(&f->services);
	assert_int_equal(host__new("scrape", &f->services.host, &f->host, &err), 0);
}

static void close_fixture(struct fixture *f)
{
	assert_int_equal(f->texts.n, 0); /* all of them were given back */
	texts__fini(&f->texts);
	if (f->rules)
		f->host->rules_free(f->rules);
	tree__free(f->tree);
	problems__fini(&f->problems);
	arena__fini(&f->arena);
	host__free(f->host);
	services__fini(&f->services);
}

/* As target__new(). */
static int make(struct fixture *f, const char *profile, const struct dcm_label_text *labels,
		uint32_t n, struct target **ret, struct dcm_error *err)
{
	struct target_source from = { .host = f->host,
				      .texts = &f->texts,
				      .options = f->job,
				      .rules = f->rules,
				      .interval_ns = job_options__interval_ns(f->options, f->job),
				      .timeout_ns = job_options__timeout_ns(f->options, f->job) };
	struct labels *found;
	int r = -ENOMEM;

	for (uint32_t i = 0; i < f->n_plans; i++)
		if (strcmp(f->plans[i].name, profile) == 0)
			from.plan = &f->plans[i];
	assert_non_null(from.plan);
	from.defaults = target__defaults(&from);
	found = labels__new(&f->texts, labels, n);
	if (from.defaults && found)
		r = target__new(&from, found, ret, err);
	labels__release(from.defaults);
	labels__release(found);
	return r;
}

static const char *labels_text(const struct dcm_label_text *v, uint32_t n)
{
	static char text[2000];

	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.*s=%.*s",
			 i ? " " : "", STR_ARG(v[i].name), STR_ARG(v[i].value));
	return text;
}

static const char *target_text(const struct target *t)
{
	struct dcm_label_text v[16];

	assert_true(t->labels->n <= 16);
	return labels_text(v, labels__view(t->labels, NULL, v));
}

/* ---- addresses and labels ---- */

#define JOB "scrape_configs:\n- job_name: api\n"

static const struct target_case {
	const char *yaml, *profile, *address, *url, *labels; /* url NULL: dropped */
} cases[] = {
	{ JOB, "memory", "a:1", "http://a:1/debug/pprof/allocs", "instance=a:1 job=api service_name=api" },
	{ JOB, "process_cpu", "a:1", "http://a:1/debug/pprof/profile?seconds=9",
	  "instance=a:1 job=api service_name=api" },
	{ JOB "  scrape_interval: 60s\n", "process_cpu", "a:1",
	  "http://a:1/debug/pprof/profile?seconds=59", "instance=a:1 job=api service_name=api" },
	{ JOB "  scheme: https\n", "goroutine", "a", "https://a:443/debug/pprof/goroutine",
	  "instance=a:443 job=api service_name=api" },
	{ JOB, "goroutine", "[::1]", "http://[::1]:80/debug/pprof/goroutine",
	  "instance=[::1]:80 job=api service_name=api" },
	{ JOB, "goroutine", "fe80::1", "http://[fe80::1]:80/debug/pprof/goroutine",
	  "instance=[fe80::1]:80 job=api service_name=api" },
	{ JOB "  profiling_config: { path_prefix: x/ }\n", "mutex", "a:1",
	  "http://a:1/x/debug/pprof/mutex", "instance=a:1 job=api service_name=api" },
	{ JOB "  profiling_config: { pprof_config: { heap: { enabled: true, path: h } } }\n",
	  "heap", "a:1", "http://a:1/h", "instance=a:1 job=api service_name=api" },
	{ JOB "  profiling_config: { pprof_config: { process_cpu: { path: /x, seconds: 3 } } }\n",
	  "process_cpu", "a:1", "http://a:1/x?seconds=3", "instance=a:1 job=api service_name=api" },
	{ JOB "  params: { debug: ['0', 'x y'], t: [v&] }\n", "block", "a:1",
	  "http://a:1/debug/pprof/block?debug=0&debug=x%20y&t=v%26",
	  "instance=a:1 job=api service_name=api" },
	{ JOB "  params: { debug: [''], t: [v] }\n", "block", "a:1",
	  "http://a:1/debug/pprof/block?debug=&t=v", "instance=a:1 job=api service_name=api" },
	{ JOB "  params: { debug: ['0', '1'], t: [v] }\n  relabel_configs:\n"
	      "  - { regex: __param_.*, action: labeldrop }\n"
	      "  - { target_label: __param_t, replacement: w }\n  - { target_label: __param_u, "
	      "replacement: x }\n",
	  "block", "a:1", "http://a:1/debug/pprof/block?debug=0&debug=1&t=w&u=x",
	  "instance=a:1 job=api service_name=api" },
	{ JOB "  params: { seconds: ['5'] }\n  relabel_configs: [ { regex: __param_.*, action: "
	      "labeldrop } ]\n",
	  "process_cpu", "a:1", "http://a:1/debug/pprof/profile?seconds=5",
	  "instance=a:1 job=api service_name=api" },
	{ JOB "  relabel_configs:\n  - { source_labels: [__address__], target_label: instance, "
	      "regex: '(.*):.*' }\n",
	  "block", "a:1", "http://a:1/debug/pprof/block", "instance=a job=api service_name=api" },
	{ JOB
	  "  relabel_configs:\n  - { source_labels: [__name__], regex: memory, action: keep }\n",
	  "block", "a:1", NULL, NULL },
	{ JOB "  relabel_configs:\n  - { target_label: __address__, replacement: 'b:2' }\n"
	      "  - { target_label: __scheme__, replacement: https }\n"
	      "  - { target_label: __profile_path__, replacement: /p }\n"
	      "  - { target_label: __param_seconds, replacement: '4' }\n",
	  "process_cpu", "a:1", "https://b:2/p?seconds=4", "instance=b:2 job=api service_name=api" },
	{ JOB "  relabel_configs:\n  - { regex: __meta_(.*), action: labelmap }\n", "block", "a:1",
	  "http://a:1/debug/pprof/block", "instance=a:1 job=api pod=p service_name=api" },
	{ JOB "  relabel_configs:\n  - { target_label: __scrape_interval__, replacement: 31s }\n",
	  "process_cpu", "a:1", "http://a:1/debug/pprof/profile?seconds=30",
	  "instance=a:1 job=api service_name=api" },
	{ JOB "  params: { seconds: ['5'] }\n", "process_cpu", "a:1",
	  "http://a:1/debug/pprof/profile?seconds=5", "instance=a:1 job=api service_name=api" },
	{ JOB "  relabel_configs:\n  - { regex: job, action: labeldrop }\n", "block", "a:1",
	  "http://a:1/debug/pprof/block", "instance=a:1 service_name=api" },
};

static void targets_are_asked_where_they_say(void **state)
{
	const struct dcm_label_text found[] = { { STR("__address__"), STR("") },
						{ STR("__meta_pod"), STR("p") },
						{ STR("empty"), STR("") } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct target_case *c = &cases[i];
		struct target *t = NULL;
		struct dcm_label_text labels[3];
		struct dcm_error err = DCM_ERROR_INIT;
		struct fixture f;

		open_fixture(&f);
		memcpy(labels, found, sizeof(labels));
		labels[0].value = str__of(c->address);
		assert_string_equal(load(&f, c->yaml), "");
		if (make(&f, c->profile, labels, 3, &t, &err) < 0)
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(!t, !c->url);
		if (c->url) {
			assert_string_equal(t->url->p, c->url);
			assert_string_equal(target_text(t), c->labels);
		}
		target__free(t);
		close_fixture(&f);
	}
}

static void bad_targets_are_refused(void **state)
{
	static const struct {
		const char *yaml, *address, *why;
	} bad[] = {
		{ JOB, "", "__address__ is \"\"" },
		{ JOB, "a/b", "__address__ is \"a/b\"" },
		{ JOB, "user@a:1", "__address__ is \"user@a:1\"" },
		{ JOB "  relabel_configs: [ { target_label: __scheme__, replacement: ftp } ]\n",
		  "a:1", "__scheme__ is \"ftp\"; it can be http or https" },
		{ JOB "  relabel_configs: [ { target_label: __scrape_interval__, replacement: 290y "
		      "} ]\n",
		  "a:1", "__scrape_interval__ is \"290y\"; write a duration from 100ms to 3650d" },
		{ JOB "  relabel_configs: [ { target_label: __scrape_interval__, replacement: 1ns "
		      "} ]\n",
		  "a:1", "__scrape_interval__ is \"1ns\"" },
		{ JOB "  relabel_configs: [ { target_label: __scrape_timeout__, replacement: soon "
		      "} ]\n",
		  "a:1", "__scrape_timeout__ is \"soon\"" },
		{ JOB "  label_limit: 1\n", "a:1", "3 labels, more than label_limit (1)" },
		{ JOB "  label_name_length_limit: 11\n", "a:1",
		  "label service_name is longer than label_name_length_limit" },
		{ JOB "  label_value_length_limit: 2\n", "a:1",
		  "label instance is longer than label_value_length_limit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct dcm_label_text address = { STR("__address__"), str__of(bad[i].address) };
		struct dcm_error err = DCM_ERROR_INIT;
		struct target *t = NULL;
		struct fixture f;

		open_fixture(&f);
		assert_string_equal(load(&f, bad[i].yaml), "");
		assert_int_equal(make(&f, "block", &address, 1, &t, &err), -EINVAL);
		if (!strstr(err.text, bad[i].why) || !strstr(err.text, "job api: "))
			fail_msg("%zu: %s", i, err.text);
		close_fixture(&f);
	}
}

/* Restarts do not synchronise: the place in the interval follows from what the target is. */
static void turns_are_spread_and_stay(void **state)
{
	enum { N = 1000, INTERVAL_S = 10 };
	unsigned in_second[INTERVAL_S] = { 0 };
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_string_equal(load(&f, JOB), "");
	for (unsigned i = 0; i < N; i++) {
		char address[32];
		struct dcm_label_text label = { STR("__address__"), { address, 0 } };
		CLEANUP(target__freep) struct target *t = NULL;
		int64_t now = INT64_C(1700000003123456789), next, again;

		label.value.n = (uint32_t)snprintf(address, sizeof(address), "10.0.%u.%u:6060",
						   i / 256, i % 256);
		assert_int_equal(make(&f, "block", &label, 1, &t, NULL), 1);
		next = target__next_ns(t, now);
		again = target__next_ns(t, next);
		assert_true(next > now && next - now <= t->interval_ns);
		assert_int_equal(again - next, t->interval_ns);
		assert_int_equal(target__next_ns(t, next - 1), next);
		in_second[next / 1000000000 % INTERVAL_S]++;
	}
	for (unsigned s = 0; s < INTERVAL_S; s++)
		assert_true(in_second[s] > N / INTERVAL_S / 2 && in_second[s] < N / INTERVAL_S * 2);
	close_fixture(&f);
}

static void failing_memory_is_survived(void **state)
{
	struct dcm_label_text address = { STR("__address__"), STR("a:1") };
	struct fixture f;

	(void)state;
	open_fixture(&f);
	load(&f, JOB
	     "  params: { a: [b] }\n  relabel_configs: [ { target_label: x, replacement: y } ]\n");
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct target *t = NULL;
		int r = make(&f, "block", &address, 1, &t, &err);

		failmalloc__disarm();
		assert_true(r == 1 ? t != NULL : (r == -ENOMEM && !t));
		target__free(t);
	}
	close_fixture(&f);
}

/* ---- configurations ---- */

/* What a job does not say is what holds for all of them. */
static void limits_are_inherited(void **state)
{
	struct job_options own;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_string_equal(load(&f, "sample_limit: 5\nlabel_limit: 6\n" JOB
				     "  label_limit: 7\n  target_limit: 8\n"),
			    "");
	own = *f.job;
	scrape_options__inherit(f.options, &own);
	assert_int_equal(own.limits.samples, 5);
	assert_int_equal(own.limits.labels, 7);
	assert_int_equal(own.limits.targets, 8);
	assert_int_equal(own.limits.label_name_bytes, 0);
	assert_int_equal(job_options__max_bytes(&own), 64 << 20);
	close_fixture(&f);
}

/* The order of labels in a file makes no other target; another interval does. */
static void identity_is_of_what_matters(void **state)
{
	const struct dcm_label_text one[] = { { STR("__address__"), STR("a:1") },
					      { STR("x"), STR("1") },
					      { STR("y"), STR("2") },
					      { STR("__meta_z"), STR("3") } },
				    other[] = { { STR("y"), STR("2") },
						{ STR("x"), STR("1") },
						{ STR("__address__"), STR("a:1") } },
				    slower[] = { { STR("__address__"), STR("a:1") },
						 { STR("x"), STR("1") },
						 { STR("y"), STR("2") },
						 { STR("__scrape_interval__"), STR("20s") } };
	struct target *a = NULL, *b = NULL, *c = NULL;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	load(&f, JOB);
	assert_int_equal(make(&f, "block", one, 4, &a, NULL), 1);
	assert_int_equal(make(&f, "block", other, 3, &b, NULL), 1);
	assert_int_equal(make(&f, "block", slower, 4, &c, NULL), 1);
	assert_memory_equal(&a->identity, &b->identity, sizeof(a->identity));
	assert_memory_not_equal(&a->identity, &c->identity, sizeof(a->identity));
	target__free(a);
	target__free(b);
	target__free(c);
	close_fixture(&f);
}

static const struct {
	const char *yaml, *said;
} said[] = {
	{ "scrape_configs: []\n", "" },
	{ "scrape_configs:\n- {}\n", "input pprof_scrape: scrape_configs[0]: job_name is "
				     "missing; add \"job_name: ...\"" },
	{ JOB "- job_name: api\n",
	  "input pprof_scrape: scrape_configs: two jobs are called \"api\"; rename one" },
	{ JOB "  metrics_path: /m\n  honor_labels: true\n  metric_relabel_configs: [ { a: "
	      "b } ]\n",
	  "input pprof_scrape: scrape_configs[0]: \"metrics_path\" has no meaning here, "
	  "and is ignored\n"
	  "input pprof_scrape: scrape_configs[0]: \"honor_labels\" has no meaning here, "
	  "and is ignored\n"
	  "input pprof_scrape: scrape_configs[0]: \"metric_relabel_configs\" has no "
	  "meaning here, and is ignored" },
	/* What would find targets says that they are missing. */
	{ JOB "  ec2_sd_configs: [ { region: eu-west-1 } ]\n",
	  "input pprof_scrape: scrape_configs[0]: \"ec2_sd_configs\" is not supported, and is "
	  "ignored: the targets that it would find are not scraped; have them written to a file "
	  "or served as JSON, and name that by file_sd_configs or http_sd_configs" },
	{ JOB "  scrape_intervall: 1s\n", "input pprof_scrape: scrape_configs[0]: unknown "
					  "option \"scrape_intervall\"; did you mean "
					  "\"scrape_interval\"?" },
	/* The nearest may be one that is taken without a meaning. */
	{ JOB "  honour_labels: true\n", "input pprof_scrape: scrape_configs[0]: unknown "
					 "option \"honour_labels\"; did you mean "
					 "\"honor_labels\"?" },
	{ JOB "  gce_sd_config: [ {} ]\n", "input pprof_scrape: scrape_configs[0]: unknown "
					   "option \"gce_sd_config\"; did you mean "
					   "\"gce_sd_configs\"?" },
	{ JOB "  static_configs: [ { targets: ['http://a:1/x'] } ]\n",
	  "input pprof_scrape: scrape_configs[0]: static_configs: \"http://a:1/x\" is not "
	  "HOST:PORT; scheme: and "
	  "profiling_config: say the rest of a URL" },
	{ JOB "  static_configs: [ { targets: ['http://a:1/x'] } ]\n  relabel_configs: [ { "
	      "target_label: x } ]\n",
	  "" },
	{ JOB "  file_sd_configs: [ { files: [ /a/*/b.json ] } ]\n",
	  "input pprof_scrape: scrape_configs[0].file_sd_configs[0]: files: "
	  "\"/a/*/b.json\" has a * elsewhere than "
	  "once in its last part" },
	{ JOB "  file_sd_configs: [ { files: [ /a/b ] } ]\n",
	  "input pprof_scrape: scrape_configs[0].file_sd_configs[0]: files: \"/a/b\" does "
	  "not end in .json, .yml or "
	  ".yaml" },
	{ JOB "  consul_sd_configs: [ {} ]\n  docker_sd_configs: [ { host: "
	      "unix:///var/run/docker.sock } ]\n",
	  "" },
	{ JOB "  consul_sd_configs: [ { server: 'https://c/x', token: t, bearer_token: b, "
	      "services: [ s ], tags: [ t ], node_meta: { k: v }, filter: f, health_filter: f, "
	      "namespace: n, partition: p, datacenter: d, allow_stale: false, tag_separator: "
	      ";, "
	      "path_prefix: /p, scheme: https, refresh_interval: 2s } ]\n",
	  "" },
	{ JOB "  consul_sd_configs: [ { sevices: [ s ] } ]\n",
	  "input pprof_scrape: scrape_configs[0].consul_sd_configs[0]: unknown option "
	  "\"sevices\"; did you mean \"services\"?" },
	{ JOB "  consul_sd_configs: [ { server: 'ftp://c' } ]\n",
	  "input pprof_scrape: scrape_configs[0].consul_sd_configs[0]: server: \"ftp://c\" "
	  "is none "
	  "of HOST:PORT, http(s)://HOST:PORT/PATH and unix:///PATH" },
	{ JOB "  consul_sd_configs: [ { server: ' ' } ]\n",
	  "input pprof_scrape: scrape_configs[0].consul_sd_configs[0]: server: \" \" is "
	  "none of "
	  "HOST:PORT, http(s)://HOST:PORT/PATH and unix:///PATH" },
	{ JOB "  consul_sd_configs: [ { token: t, authorization: { credentials: c } } ]\n",
	  "input pprof_scrape: scrape_configs[0].consul_sd_configs[0]: token: authorization says "
	  "as "
	  "whom to ask, too; keep one of them" },
	{ JOB "  consul_sd_configs: [ { username: u, basic_auth: { username: u } } ]\n",
	  "input pprof_scrape: scrape_configs[0].consul_sd_configs[0]: username: "
	  "basic_auth, "
	  "authorization, bearer_token and oauth2 say as whom to ask, too; keep one of "
	  "them" },
	{ JOB "  docker_sd_configs: [ {} ]\n",
	  "input pprof_scrape: scrape_configs[0].docker_sd_configs[0]: host is missing; "
	  "add \"host: "
	  "...\"" },
	{ JOB "  docker_sd_configs: [ { host: 'npipe:////./pipe/docker' } ]\n",
	  "input pprof_scrape: scrape_configs[0].docker_sd_configs[0]: host: "
	  "\"npipe:////./pipe/docker\" is none of unix:///PATH, tcp://HOST:PORT, http:// "
	  "and https:// "
	  "with a host" },
	{ JOB "  docker_sd_configs: [ { host: 'tcp://d:2375', port: 65536 } ]\n",
	  "input pprof_scrape: scrape_configs[0].docker_sd_configs[0].port: 65536 is above "
	  "the maximum "
	  "of 65535" },
	{ JOB "  docker_sd_configs: [ { host: 'https://d:2376/', filters: [ { nam: label } "
	      "] } ]\n",
	  "input pprof_scrape: scrape_configs[0].docker_sd_configs[0].filters[0]: name is "
	  "missing; add "
	  "\"name: ...\"\ninput pprof_scrape: "
	  "scrape_configs[0].docker_sd_configs[0].filters[0]: "
	  "unknown option \"nam\"; did you mean \"name\"?" },
	{ JOB "  profiling_config: { pprof_config: { mine: { enabled: true } } }\n",
	  "input pprof_scrape: scrape_configs[0]: profiling_config: pprof_config.mine "
	  "needs a path, as "
	  "\"/debug/pprof/mine\"" },
	{ JOB "  profiling_config: { pprof_config: { memroy: { enabled: true } } }\n",
	  "input pprof_scrape: scrape_configs[0]: profiling_config: pprof_config.memroy needs a "
	  "path, as "
	  "\"/debug/pprof/memroy\"; or did you mean \"memory\"?" },
};

/* Parca takes such names, too, and asks for none: at least that is told (tests/e2e/scrape.sh). */
static void names_that_nobody_asks_for(void **state)
{
	static const struct {
		const char *name, *of, *near;
		bool is_silent;
	} names[] = {
		{ "heap", "path: /debug/pprof/heap", NULL, true },
		{ "mutx", "delta: true", "mutex", true },
		{ "heap", "path: /x, enabled: true", NULL, false },
		{ "heap", "path: /x, enabled: false", NULL, false },
		{ "mutex", "delta: true", "mutex", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct fixture f;
		const char *near;
		char yaml[200];

		open_fixture(&f);
		snprintf(yaml, sizeof(yaml), JOB "  profiling_config: { pprof_config: { %s: { %s } } }\n",
			 names[i].name, names[i].of);
		assert_string_equal(load(&f, yaml), "");
		assert_int_equal(job_options__is_silent(f.job, 0, &near), names[i].is_silent);
		if (names[i].near)
			assert_string_equal(near, names[i].near);
		else
			assert_null(near);
		close_fixture(&f);
	}
}

static void configurations_are_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		struct fixture f;

		open_fixture(&f);
		assert_string_equal(load(&f, said[i].yaml), said[i].said);
		close_fixture(&f);
	}
}

static void defaults_of_profiles_are_parcas(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	load(&f, JOB "  profiling_config:\n    pprof_config:\n      memory: { enabled: false }\n"
		     "      fgprof: { enabled: true }\n      own: { path: /o }\n"
		     "      more: { enabled: true, path: /m, compute_delta: false, "
		     "keep_sample_type: [ { type: a } ] }\n");
	static const char *const names[] = { "block",	    "goroutine", "mutex",
					     "process_cpu", "fgprof",	 "more" };
	assert_int_equal(f.n_plans, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_string_equal(f.plans[i].name, names[i]);
		assert_int_equal(f.plans[i].delta, i == 3 || i == 4);
		assert_int_equal(f.plans[i].seconds, 0);
		assert_int_equal(f.plans[i].is_usual, i < 5);
		assert_int_equal(f.plans[i].compute_delta, i < 5);
	}
	assert_int_equal(f.plans[5].n_keep, 1);
	close_fixture(&f);
}

/* ---- groups ---- */

typedef int (*read_fn)(struct groups *g, const char *text, size_t n, struct dcm_error *err);

static const struct {
	read_fn read;
	const char *text, *said; /* what was found, or the fault */
} groups[] = {
	{ groups__read_json, "[]", "" },
	{ groups__read_json,
	  "[{\"targets\":[\"a:1\",\"b:2\"],\"labels\":{\"env\":\"x\"}},{\"targets\":[\"c:3\"]}]",
	  "__address__=a:1 env=x;__address__=b:2 env=x;__address__=c:3;" },
	{ groups__read_yaml, "- targets: [a:1, 'b:2']\n  labels: { env: x, n: 3 }\n- targets:\n",
	  "__address__=a:1 env=x n=3;__address__=b:2 env=x n=3;" },
	{ groups__read_yaml, "", "" },
	{ groups__read_yaml, "# nothing\n", "" },
	{ groups__read_json, "", "is not JSON" },
	{ groups__read_json, "{}", "is not a list of target groups" },
	{ groups__read_json, "[3]", "group 1: is not a map" },
	{ groups__read_json, "[{\"targets\":[]},{\"target\":[]}]",
	  "group 2: has another key than targets and labels" },
	{ groups__read_json, "[{\"targets\":[1]}]", "group 1: a target is not a text" },
	/* What Go writes of lists of none. */
	{ groups__read_json, "null", "" },
	{ groups__read_json, "[{\"targets\":null,\"labels\":null},{\"targets\":[\"a:1\"]}]",
	  "__address__=a:1;" },
	/* It is told where it is asked, and the others are found. */
	{ groups__read_json, "[{\"targets\":[\"\",\"a:1\"]}]", "__address__=;__address__=a:1;" },
	{ groups__read_json, "\"a:1\"", "is not a list of target groups" },
	{ groups__read_json, "[{\"labels\":{\"a\":1}}]", "group 1: a label's value is not a text" },
	{ groups__read_yaml, "targets: []\n", "is not a list of target groups" },
	{ groups__read_yaml, "- targets: a\n", "group 1: targets is not a list" },
	{ groups__read_yaml, "- labels: [a]\n", "group 1: labels is not a map" },
	{ groups__read_yaml, "- [a\n", "is not YAML" },
};

static void groups_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct groups g = { 0 };
		char text[1000] = "";
		int r = groups[i].read(&g, groups[i].text, strlen(groups[i].text), &err);

		for (size_t k = 0; r == 0 && k < g.v.n; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s;",
				 labels_text(g.v.v[k].v, g.v.v[k].n));
		if (r == 0)
			assert_string_equal(text, groups[i].said);
		else if (!strstr(err.text, groups[i].said))
			fail_msg("%zu: %s", i, err.text);
		groups__fini(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_asked_where_they_say),
		cmocka_unit_test(bad_targets_are_refused),
		cmocka_unit_test(turns_are_spread_and_stay),
		cmocka_unit_test(failing_memory_is_survived),
		cmocka_unit_test(configurations_are_judged),
		cmocka_unit_test(names_that_nobody_asks_for),
		cmocka_unit_test(defaults_of_profiles_are_parcas),
		cmocka_unit_test(groups_are_read),
		cmocka_unit_test(limits_are_inherited),
		cmocka_unit_test(identity_is_of_what_matters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
