/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/options.h - scrape_configs as Prometheus and Parca write them
 *
 * The keys are those of Prometheus' scrape_config and of Parca's, with what they have in common; keys
 * that say something of metrics only are taken and warned of. Source: prometheus.io, configuration;
 * parca.dev, scrape configuration.
 */
#ifndef DECIMA_PPROF_SCRAPE_OPTIONS_H
#define DECIMA_PPROF_SCRAPE_OPTIONS_H

#include <decima/plugin.h>

#include "plugins/input/pprof_scrape/discoveries.h"

/* Whether a default holds: what the file does not say is told by the profile's name. */
enum said { SAID_AUTO, SAID_FALSE, SAID_TRUE };

struct sample_type_options {
	const char *type, *unit;
};

struct profile_options {
	int32_t enabled;       /* enum said */
	const char *path;      /* NULL: the name's */
	int32_t delta;	       /* enum said: it is asked for `seconds` of */
	int64_t seconds;       /* 0: the interval less one */
	int32_t compute_delta; /* enum said: values that count up become what was added */
	struct dcm_list keep_sample_type; /* of struct sample_type_options; none: all */
};

struct profiling_options {
	const char *path_prefix;
	struct dcm_map pprof_config; /* of struct profile_options */
};

struct static_options {
	struct dcm_list targets; /* of const char * */
	struct dcm_map labels;	 /* of const char * */
};

struct values_options {
	struct dcm_list v; /* of const char * */
};

/* 0: of a job, what holds for all; of all, no limit (of a body: 1 GiB). */
struct limit_options {
	int64_t body_size, samples, targets, labels, label_name_bytes, label_value_bytes;
};

struct job_options {
	const char *job_name;
	struct dcm_map params;			       /* of struct values_options */
	int64_t scrape_interval_ns, scrape_timeout_ns; /* 0: the global ones */
	int32_t scheme;				       /* enum scheme */
	struct profiling_options profiling;
	struct limit_options limits;
	struct dcm_list relabel_configs; /* of struct dcm_relabel_rule */
	struct dcm_http_options http;
	struct dcm_list discoveries[N_DISCOVERIES]; /* each of what its kind's table fills */
};
enum scheme { SCHEME_HTTP, SCHEME_HTTPS };

struct scrape_options {
	int64_t scrape_interval_ns, scrape_timeout_ns; /* of jobs that do not say theirs */
	struct limit_options limits;		       /* likewise */
	int64_t delta_memory;			       /* bytes */
	struct dcm_list scrape_configs;		       /* of struct job_options */
};

extern const struct dcm_table scrape_options__table;

/* What a job does with one profile, after the defaults. */
struct profile_plan {
	const char *name, *path;
	bool delta, compute_delta;
	bool is_usual;	 /* one that Go programs have: a target without it is no fault */
	int64_t seconds; /* that a profile with delta covers; 0: the target's interval less one */
	const struct sample_type_options *keep; /* [n_keep] */
	uint32_t n_keep;
};

enum { PROFILES_MAX = 64 };

/* Those that are enabled, the usual ones first; at most PROFILES_MAX. Texts are the options'. */
uint32_t job_options__profiles(const struct job_options *job,
			       struct profile_plan ret[static PROFILES_MAX]);
/*
 * Is the i-th of pprof_config one of no usual name that does not say whether it is enabled? Parca takes it, and nobody asks
 * for it. *ret_near: the usual name that is near, or NULL.
 */
bool job_options__is_silent(const struct job_options *job, uint32_t i, const char **ret_near);

/* The interval and timeout that hold for a job. */
int64_t job_options__interval_ns(const struct scrape_options *all, const struct job_options *job);
int64_t job_options__timeout_ns(const struct scrape_options *all, const struct job_options *job);
/* A job's limits that it does not say are those of all. */
void scrape_options__inherit(const struct scrape_options *all, struct job_options *job);
/* Of an answer, unpacked. */
uint64_t job_options__max_bytes(const struct job_options *job);

/* What an interval and a timeout may be, wherever they are said. */
#define INTERVAL_MIN "100ms"
#define TIMEOUT_MIN  "1ms"
#define DURATION_MAX "3650d"

#endif
