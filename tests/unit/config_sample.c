/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/config_sample.c - an option table with every type in it, shaped like a scraper's
 */
#include "tests/unit/config_sample.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

static int refuse(struct dcm_error *err, const char *text)
{
	if (err)
		snprintf(err->text, sizeof(err->text), "%s", text);
	return -EINVAL;
}

#define ROW(struct_type, member_name, ...)                                                         \
	.name = #member_name, .offset = offsetof(struct struct_type, member_name), __VA_ARGS__

static const struct dcm_option tls_rows[] = {
	{ ROW(sample_tls, cert, .type = DCM_OPT_STRING, .doc = "Path of the certificate.") },
	{ ROW(sample_tls, key, .type = DCM_OPT_SECRET, .doc = "The certificate's key.") },
};

static int check_tls(const void *config, struct dcm_error *err)
{
	const struct sample_tls *tls = config;

	return tls->cert && !tls->key ? refuse(err, "cert needs a key; add \"key_file: ...\"") : 0;
}

static const struct dcm_table tls_table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct sample_tls),
	.n_options = sizeof(tls_rows) / sizeof(tls_rows[0]),
	.options = tls_rows,
	.check = check_tls,
};

static const struct dcm_option client_rows[] = {
	{ ROW(sample_client, follow_redirects, .type = DCM_OPT_BOOL, .def = "true",
	      .doc = "Whether 3xx answers are followed.") },
	{ ROW(sample_client, proxy_url, .type = DCM_OPT_STRING, .doc = "Proxy for every request.") },
};
static const struct dcm_table client_table = DCM_TABLE(struct sample_client, client_rows);

static const struct dcm_option basic_rows[] = {
	{ ROW(sample_basic, user, .type = DCM_OPT_STRING, .flags = DCM_OPT_REQUIRED,
	      .doc = "Name of the user.") },
	{ ROW(sample_basic, password, .type = DCM_OPT_SECRET, .flags = DCM_OPT_REQUIRED,
	      .doc = "The user's password.") },
};
static const struct dcm_table basic_table = DCM_TABLE(struct sample_basic, basic_rows);

/* Of a union the offsets and the struct have no meaning. */
static const struct dcm_option auth_rows[] = {
	{ .name = "bearer", .type = DCM_OPT_SECRET, .doc = "A token." },
	{ .name = "basic", .type = DCM_OPT_STRUCT, .table = &basic_table, .doc = "User and password." },
};
static const struct dcm_table auth_table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.n_options = sizeof(auth_rows) / sizeof(auth_rows[0]),
	.options = auth_rows,
};

static const struct dcm_option strings_rows[] = {
	{ .name = "",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct sample_strings, values) },
};
static const struct dcm_table strings_table = DCM_TABLE(struct sample_strings, strings_rows);

static const char *const enabled_choices[] = { "default", "true", "false", NULL };
static const struct dcm_option profile_rows[] = {
	{ ROW(sample_profile, enabled, .type = DCM_OPT_CHOICE, .choices = enabled_choices,
	      .def = "default", .doc = "Whether it is asked for.") },
	{ ROW(sample_profile, path, .type = DCM_OPT_STRING, .doc = "Path of the URL.") },
	{ ROW(sample_profile, seconds, .type = DCM_OPT_INT, .min = "0", .max = "3600",
	      .doc = "Length of a profile.") },
};
static const struct dcm_table profile_table = DCM_TABLE(struct sample_profile, profile_rows);

static const struct dcm_option static_rows[] = {
	{ ROW(sample_static, targets, .type = DCM_OPT_LIST, .element = DCM_OPT_STRING,
	      .doc = "HOST:PORT of each.") },
	{ ROW(sample_static, labels, .type = DCM_OPT_MAP, .element = DCM_OPT_STRING,
	      .doc = "Labels of all of them.") },
};
static const struct dcm_table static_table = DCM_TABLE(struct sample_static, static_rows);

static const char *const schemes[] = { "http", "https", NULL };
static const struct dcm_option job_rows[] = {
	{ ROW(sample_job, job_name, .type = DCM_OPT_STRING, .flags = DCM_OPT_REQUIRED,
	      .doc = "The job's name, and the label job.") },
	{ .name = "scrape_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct sample_job, scrape_interval_ns),
	  .def = "10s",
	  .min = "1s",
	  .doc = "Time between two scrapes." },
	{ .name = "scrape_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct sample_job, scrape_timeout_ns),
	  .def = "0s",
	  .doc = "When a scrape is given up; 0s: three seconds above the interval." },
	{ ROW(sample_job, scheme, .type = DCM_OPT_CHOICE, .choices = schemes, .def = "http",
	      .doc = "How targets are asked.") },
	{ ROW(sample_job, params, .type = DCM_OPT_MAP, .element = DCM_OPT_STRUCT,
	      .table = &strings_table, .doc = "Parameters of the query.") },
	{ ROW(sample_job, pprof_config, .type = DCM_OPT_MAP, .element = DCM_OPT_STRUCT,
	      .table = &profile_table, .doc = "What is asked for, by name.") },
	{ ROW(sample_job, static_configs, .type = DCM_OPT_LIST, .element = DCM_OPT_STRUCT,
	      .table = &static_table, .doc = "Targets that are written down here.") },
	{ ROW(sample_job, relabel_configs, .type = DCM_OPT_SHARED,
	      .shared = DCM_SHARED_RELABEL_RULES, .doc = "What is done to targets' labels.") },
	{ ROW(sample_job, auth, .type = DCM_OPT_UNION, .table = &auth_table, .doc = "Who we say we are.") },
	{ .name = "", .type = DCM_OPT_STRUCT, .offset = offsetof(struct sample_job, client), .table = &client_table },
};

static int check_job(const void *config, struct dcm_error *err)
{
	const struct sample_job *job = config;

	return job->scrape_timeout_ns && job->scrape_timeout_ns <= job->scrape_interval_ns
		       ? refuse(err, "scrape_timeout must be above scrape_interval; raise it")
		       : 0;
}

static const struct dcm_table job_table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct sample_job),
	.n_options = sizeof(job_rows) / sizeof(job_rows[0]),
	.options = job_rows,
	.check = check_job,
};

static const char *const modes[] = { "slow", "fast", "adaptive", NULL };
static const struct dcm_option rows[] = {
	{ ROW(sample, verbose, .type = DCM_OPT_BOOL, .doc = "Says more.") },
	{ ROW(sample, mode, .type = DCM_OPT_CHOICE, .choices = modes, .def = "fast",
	      .doc = "How the work is done.") },
	{ ROW(sample, frequency, .type = DCM_OPT_INT, .def = "19Hz", .min = "1Hz", .max = "1000Hz",
	      .unit = "Hz", .flags = DCM_OPT_RESTART,
	      .doc = "Samples a second of each CPU. Each costs about two microseconds.") },
	{ ROW(sample, ratio, .type = DCM_OPT_FLOAT, .def = "0.5", .min = "0", .max = "1",
	      .doc = "Share of what is kept.") },
	{ .name = "every",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct sample, every_ns),
	  .def = "10s",
	  .min = "1s",
	  .max = "1h",
	  .doc = "Length of a window." },
	{ .name = "room",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct sample, room_bytes),
	  .def = "64MiB",
	  .min = "4KiB",
	  .doc = "Memory that may be used." },
	{ ROW(sample, text, .type = DCM_OPT_STRING, .def = "a: b", .doc = "Any text.") },
	{ ROW(sample, token, .type = DCM_OPT_SECRET, .doc = "A secret.") },
	{ ROW(sample, hide, .type = DCM_OPT_REGEX, .flags = DCM_OPT_NO_ENV, .doc = "What is hidden.") },
	{ ROW(sample, only, .type = DCM_OPT_SELECTOR, .doc = "What is taken.") },
	{ ROW(sample, home, .type = DCM_OPT_STRING, .def = "${SAMPLE_HOME:-/var}/x", .doc = "A directory.") },
	{ ROW(sample, cpus, .type = DCM_OPT_LIST, .element = DCM_OPT_INT, .def = "[0, 1]",
	      .min = "0", .max = "4095", .doc = "Numbers of CPUs.") },
	{ ROW(sample, limits, .type = DCM_OPT_MAP, .element = DCM_OPT_SIZE, .min = "1KiB",
	      .doc = "Bytes for each.") },
	{ ROW(sample, tls, .type = DCM_OPT_STRUCT, .table = &tls_table, .doc = "Encryption.") },
	{ ROW(sample, scrape_configs, .type = DCM_OPT_LIST, .element = DCM_OPT_STRUCT,
	      .table = &job_table, .flags = DCM_OPT_NO_ENV, .doc = "What is scraped.") },
};

const struct dcm_table sample__table = DCM_TABLE(struct sample, rows);
