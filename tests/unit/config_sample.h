/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/config_sample.h - an option table with every type in it, shaped like a scraper's
 *
 * The tests of core/config and its fuzz targets fill it; it also shows that Prometheus'
 * scrape_configs can be written as rows.
 */
#ifndef DECIMA_TESTS_UNIT_CONFIG_SAMPLE_H
#define DECIMA_TESTS_UNIT_CONFIG_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

struct sample_tls {
	const char *cert;
	const char *key;
};

struct sample_client {
	bool follow_redirects;
	const char *proxy_url;
};

struct sample_basic {
	const char *user, *password;
};

struct sample_strings {
	struct dcm_list values; /* of const char * */
};

struct sample_profile {
	int32_t enabled; /* 0: as the default says, 1: true, 2: false */
	const char *path;
	int64_t seconds;
};

struct sample_static {
	struct dcm_list targets;
	struct dcm_map labels;
};

struct sample_job {
	const char *job_name;
	int64_t scrape_interval_ns, scrape_timeout_ns;
	int32_t scheme;
	struct dcm_map params;		/* of struct sample_strings */
	struct dcm_map pprof_config;	/* of struct sample_profile */
	struct dcm_list static_configs; /* of struct sample_static */
	struct dcm_list relabel_configs;
	struct dcm_union auth;
	struct sample_client client;
};

struct sample {
	bool verbose;
	int32_t mode;
	int64_t frequency;
	double ratio;
	int64_t every_ns, room_bytes;
	const char *text, *token, *hide, *only, *home;
	struct dcm_list cpus;  /* of int64_t */
	struct dcm_map limits; /* of int64_t bytes */
	struct sample_tls tls;
	struct dcm_list scrape_configs;
};

extern const struct dcm_table sample__table;

enum { SAMPLE_AUTH_BEARER, SAMPLE_AUTH_BASIC };

#endif
