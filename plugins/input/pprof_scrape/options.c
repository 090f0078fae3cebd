/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/options.c - scrape_configs as Prometheus and Parca write them
 */
#include "plugins/input/pprof_scrape/options.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/groups.h"

/* ---- profiles ---- */

static const char *const said_words[] = { "auto", "false", "true", NULL };

static const struct dcm_option sample_type_rows[] = {
	{ .name = "type",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct sample_type_options, type),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "A sample type, as inuse_space." },
	{ .name = "unit",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct sample_type_options, unit),
	  .doc = "Its unit, as bytes. Without it any will do." },
};
static const struct dcm_table sample_type_table = DCM_TABLE(struct sample_type_options, sample_type_rows);

static const struct dcm_option profile_rows[] = {
	{ .name = "enabled",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct profile_options, enabled),
	  .def = "auto",
	  .choices = said_words,
	  .doc = "Whether it is scraped. auto: memory, block, goroutine, mutex and process_cpu "
		 "are, "
		 "fgprof and names of your own are not." },
	{ .name = "path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct profile_options, path),
	  .doc = "Where targets serve it. Without it, where Go's net/http/pprof does." },
	{ .name = "delta",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct profile_options, delta),
	  .def = "auto",
	  .choices = said_words,
	  .doc = "Asks for `seconds` of it (?seconds=N), as a CPU profile is. auto: process_cpu "
		 "and "
		 "fgprof." },
	{ .name = "seconds",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct profile_options, seconds),
	  .def = "0",
	  .min = "0",
	  .max = "86400",
	  .unit = "s",
	  .doc = "How many seconds a profile with `delta` covers. 0: the scrape interval less "
		 "one." },
	{ .name = "compute_delta",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct profile_options, compute_delta),
	  .def = "auto",
	  .choices = said_words,
	  .doc = "Turns values that count up from a program's start into what was added since the "
		 "scrape before. auto: yes. Costs about 35 bytes a stack and target." },
	{ .name = "keep_sample_type",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRUCT,
	  .table = &sample_type_table,
	  .offset = offsetof(struct profile_options, keep_sample_type),
	  .doc = "Of a profile with several sample types, those that are kept. Without it, all." },
};
static const struct dcm_table profile_table = DCM_TABLE(struct profile_options, profile_rows);

static const struct dcm_option profiling_rows[] = {
	{ .name = "path_prefix",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct profiling_options, path_prefix),
	  .doc = "Stands before the path of each profile." },
	{ .name = "pprof_config",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRUCT,
	  .table = &profile_table,
	  .offset = offsetof(struct profiling_options, pprof_config),
	  .doc = "Profiles by name; the name is the first part of their types. memory "
		 "(/debug/pprof/allocs), block, goroutine, mutex, process_cpu "
		 "(/debug/pprof/profile) and "
		 "fgprof (/debug/fgprof) have defaults." },
};
static const struct dcm_table profiling_table = DCM_TABLE(struct profiling_options, profiling_rows);

static const struct usual {
	const char *name, *path;
	bool enabled, delta;
} usuals[] = {
	{ "memory", "/debug/pprof/allocs", true, false },
	{ "block", "/debug/pprof/block", true, false },
	{ "goroutine", "/debug/pprof/goroutine", true, false },
	{ "mutex", "/debug/pprof/mutex", true, false },
	{ "process_cpu", "/debug/pprof/profile", true, true },
	{ "fgprof", "/debug/fgprof", false, true },
};
enum { N_USUALS = sizeof(usuals) / sizeof(*usuals) };

static const struct usual *find_usual(const char *name)
{
	for (size_t i = 0; i < N_USUALS; i++)
		if (strcmp(usuals[i].name, name) == 0)
			return &usuals[i];
	return NULL;
}

/* "memory" for "memry"; NULL: none is near. */
static const char *near_usual(const char *name)
{
	for (size_t i = 0; i < N_USUALS; i++)
		if (str__distance(str__of(name), str__of(usuals[i].name), 2) <= 2)
			return usuals[i].name;
	return NULL;
}

bool job_options__is_silent(const struct job_options *job, uint32_t i, const char **ret_near)
{
	const struct dcm_map *said = &job->profiling.pprof_config;
	const struct profile_options *o = said->items;

	*ret_near = near_usual(said->keys[i]);
	return !find_usual(said->keys[i]) && o[i].enabled == SAID_AUTO;
}

static bool is_true(int32_t said, bool otherwise)
{
	return said == SAID_AUTO ? otherwise : said == SAID_TRUE;
}

static bool plan_profile(const char *name, const struct profile_options *o, struct profile_plan *ret)
{
	static const struct profile_options nothing;
	const struct usual *usual = find_usual(name);

	o = o ? o : &nothing;
	if (!is_true(o->enabled, usual && usual->enabled))
		return false;
	*ret = (struct profile_plan){
		.name = name,
		.path = o->path ? o->path : usual->path,
		.delta = is_true(o->delta, usual && usual->delta),
		.compute_delta = is_true(o->compute_delta, true),
		.is_usual = usual != NULL,
		.seconds = o->seconds,
		.keep = o->keep_sample_type.items,
		.n_keep = o->keep_sample_type.n,
	};
	return true;
}

uint32_t job_options__profiles(const struct job_options *job, struct profile_plan ret[static PROFILES_MAX])
{
	const struct dcm_map *said = &job->profiling.pprof_config;
	const struct profile_options *options = said->items;
	uint32_t n = 0;

	for (size_t u = 0; u < N_USUALS; u++) {
		const struct profile_options *o = NULL;

		for (uint32_t i = 0; i < said->n; i++)
			if (strcmp(said->keys[i], usuals[u].name) == 0)
				o = &options[i];
		n += plan_profile(usuals[u].name, o, &ret[n]);
	}
	for (uint32_t i = 0; i < said->n && n < PROFILES_MAX; i++)
		if (!find_usual(said->keys[i]))
			n += plan_profile(said->keys[i], &options[i], &ret[n]);
	return n;
}

int64_t job_options__interval_ns(const struct scrape_options *all, const struct job_options *job)
{
	return job->scrape_interval_ns ? job->scrape_interval_ns : all->scrape_interval_ns;
}

int64_t job_options__timeout_ns(const struct scrape_options *all, const struct job_options *job)
{
	int64_t interval = job_options__interval_ns(all, job);

	if (job->scrape_timeout_ns)
		return job->scrape_timeout_ns;
	return all->scrape_timeout_ns < interval ? all->scrape_timeout_ns : interval;
}

static void inherit(int64_t *of_job, int64_t of_all)
{
	if (*of_job == 0)
		*of_job = of_all;
}

void scrape_options__inherit(const struct scrape_options *all, struct job_options *job)
{
	const struct limit_options *from = &all->limits;
	struct limit_options *to = &job->limits;

	inherit(&to->body_size, from->body_size);
	inherit(&to->samples, from->samples);
	inherit(&to->targets, from->targets);
	inherit(&to->labels, from->labels);
	inherit(&to->label_name_bytes, from->label_name_bytes);
	inherit(&to->label_value_bytes, from->label_value_bytes);
}

uint64_t job_options__max_bytes(const struct job_options *job)
{
	return job->limits.body_size ? (uint64_t)job->limits.body_size : (uint64_t)1 << 30;
}

/* ---- jobs ---- */

static const struct dcm_option values_rows[] = {
	{ .name = "",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct values_options, v),
	  .doc = "Its values." },
};
static const struct dcm_table values_table = DCM_TABLE(struct values_options, values_rows);

#define LIMIT(key, member, most, unset, text)                                                       \
	{                                                                                           \
		.name = key, .type = DCM_OPT_INT, .offset = offsetof(struct limit_options, member), \
		.def = "0", .min = "0", .max = most, .doc = text " 0: " unset "."                   \
	}
#define BODY_LIMIT(usual, unset)                                                                   \
	{                                                                                          \
		.name = "body_size_limit", .type = DCM_OPT_SIZE, .flags = DCM_OPT_BINARY,          \
		.offset = offsetof(struct limit_options, body_size), .def = usual, .min = "0",     \
		.max = "1GiB",                                                                     \
		.doc = "Of an answer, unpacked; a larger one is refused. MB and "                  \
		       "the like are of 1024, as Prometheus has it. 0: " unset "."                 \
	}
#define LIMITS(unset)                                                                                         \
	LIMIT("sample_limit", samples, NULL, unset,                                                           \
	      "Samples that a profile may have; one with more is refused."),                                  \
		LIMIT("target_limit", targets, NULL, unset,                                                   \
		      "Addresses that a job may have; with more, none of them is asked."),                    \
		LIMIT("label_limit", labels, NULL,                                                            \
		      unset, "Labels that a target may have after relabelling; one with more is not asked."), \
		LIMIT("label_name_length_limit", label_name_bytes, NULL, unset,                               \
		      "Bytes of a label's name, likewise."),                                                  \
		LIMIT("label_value_length_limit", label_value_bytes, NULL, unset,                             \
		      "Bytes of a label's value, likewise.")

static const struct dcm_option job_limit_rows[] = { BODY_LIMIT("0", "what holds for all jobs"),
						    LIMITS("what holds for all jobs") };
static const struct dcm_table job_limits_table = DCM_TABLE(struct limit_options, job_limit_rows);
static const struct dcm_option limit_rows[] = { BODY_LIMIT("64MiB", "1 GiB"), LIMITS("no limit") };
static const struct dcm_table limits_table = DCM_TABLE(struct limit_options, limit_rows);

static const char *const schemes[] = { "http", "https", NULL };

#define AT(member) offsetof(struct job_options, member)
#define DISCOVERY_ROW(kind, key, text)                                                             \
	{ .name = (key),                                                                           \
	  .type = DCM_OPT_LIST,                                                                    \
	  .element = DCM_OPT_STRUCT,                                                               \
	  .table = &kind##__table,                                                                 \
	  .offset = AT(discoveries) + DISCOVERY_##kind * sizeof(struct dcm_list),                  \
	  .doc = (text) },

static const struct dcm_option job_rows[] = {
	{ .name = "job_name",
	  .type = DCM_OPT_STRING,
	  .offset = AT(job_name),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "The label job of what is scraped; each job has its own." },
	{ .name = "scrape_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = AT(scrape_interval_ns),
	  .min = INTERVAL_MIN,
	  .max = DURATION_MAX,
	  .doc = "How often each target is asked. Without it, the scrape_interval above." },
	{ .name = "scrape_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = AT(scrape_timeout_ns),
	  .min = TIMEOUT_MIN,
	  .max = DURATION_MAX,
	  .doc = "How long an answer may take. For a profile of N seconds it is counted from their "
		 "end." },
	{ .name = "scheme",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(scheme),
	  .def = "http",
	  .choices = schemes,
	  .doc = "How targets are asked, unless __scheme__ says otherwise." },
	{ .name = "params",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRUCT,
	  .table = &values_table,
	  .offset = AT(params),
	  .doc = "Parameters of each request; also the labels __param_NAME." },
	{ .name = "profiling_config",
	  .type = DCM_OPT_STRUCT,
	  .table = &profiling_table,
	  .offset = AT(profiling),
	  .doc = "Which profiles, and where." },
	{ .name = "relabel_configs",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_RELABEL_RULES,
	  .offset = AT(relabel_configs),
	  .doc = "Rules over the labels of each target and profile, before it is asked." },
	{ .name = "", .type = DCM_OPT_STRUCT, .table = &job_limits_table, .offset = AT(limits) },
	DISCOVERIES(DISCOVERY_ROW){
		.name = "", .type = DCM_OPT_SHARED, .shared = DCM_SHARED_HTTP_CLIENT, .offset = AT(http) },
};
#undef DISCOVERY_ROW
#undef AT

/* A target's address with a path in it is a mistake, unless rules may take it apart. */
static int check_static(const struct job_options *job, struct dcm_error *err)
{
	const struct static_options *groups = job->discoveries[DISCOVERY_static_sd].items;

	for (uint32_t g = 0; g < job->discoveries[DISCOVERY_static_sd].n; g++)
		if (groups[g].labels.n > GROUPS_MAX_LABELS)
			return error__set(err, -EINVAL,
					  "static_configs: a group has %u labels; %d are the most",
					  groups[g].labels.n, GROUPS_MAX_LABELS);
	for (uint32_t g = 0;
	     g < job->discoveries[DISCOVERY_static_sd].n && job->relabel_configs.n == 0; g++)
		for (uint32_t i = 0; i < groups[g].targets.n; i++) {
			const char *target = ((const char *const *)groups[g].targets.items)[i];

			if (strchr(target, '/'))
				return error__set(
					err, -EINVAL,
					"static_configs: \"%s\" is not HOST:PORT; scheme: and "
					"profiling_config: say the rest of a URL",
					target);
		}
	return 0;
}

static int check_profiles(const struct job_options *job, struct dcm_error *err)
{
	const struct dcm_map *said = &job->profiling.pprof_config;
	const struct profile_options *o = said->items;

	if (said->n + N_USUALS > PROFILES_MAX)
		return error__set(err, -EINVAL, "profiling_config: more than %d profiles; make another job of some",
				  PROFILES_MAX - N_USUALS);
	for (uint32_t i = 0; i < said->n; i++) {
		const char *name = said->keys[i], *near = near_usual(name);

		if (find_usual(name) || o[i].enabled != SAID_TRUE || o[i].path)
			continue;
		return error__set(err, -EINVAL, "profiling_config: pprof_config.%s needs a path, as \"/debug/pprof/%s\"%s%s%s",
				  name, name, near ? "; or did you mean \"" : "", near ? near : "",
				  near ? "\"?" : "");
	}
	return 0;
}

static int check_job(const void *config, struct dcm_error *err)
{
	const struct job_options *job = config;
	int r;

	if (!job->job_name || !job->job_name[0])
		return error__set(err, -EINVAL, "job_name: is empty");
	r = check_static(job, err);
	return r < 0 ? r : check_profiles(job, err);
}

/* What Prometheus scrapes metrics by. */
static const char *const ignored[] = {
	"metrics_path",
	"honor_labels",
	"honor_timestamps",
	"track_timestamps_staleness",
	"metric_relabel_configs",
	"enable_compression",
	"fallback_scrape_protocol",
	"scrape_protocols",
	"scrape_classic_histograms",
	"always_scrape_classic_histograms",
	"convert_classic_histograms_to_nhcb",
	"scrape_native_histograms",
	"native_histogram_bucket_limit",
	"native_histogram_min_bucket_factor",
	"keep_dropped_targets",
	"metric_name_validation_scheme",
	"metric_name_escaping_scheme",
	"scrape_failure_log_file",
	"extra_scrape_metrics",
	/* Parca's, which has no effect there either */
	"normalized_addresses",
	NULL,
};

/* What finds targets in Prometheus alone. */
static const char *const absent[] = {
	"aws_sd_configs",	  "azure_sd_configs",	  "digitalocean_sd_configs",
	"dockerswarm_sd_configs", "ec2_sd_configs",	  "eureka_sd_configs",
	"gce_sd_configs",	  "hetzner_sd_configs",	  "ionos_sd_configs",
	"kuma_sd_configs",	  "lightsail_sd_configs", "linode_sd_configs",
	"marathon_sd_configs",	  "nerve_sd_configs",	  "nomad_sd_configs",
	"oci_sd_configs",	  "openstack_sd_configs", "outscale_sd_configs",
	"ovhcloud_sd_configs",	  "puppetdb_sd_configs",  "scaleway_sd_configs",
	"serverset_sd_configs",	  "stackit_sd_configs",	  "triton_sd_configs",
	"uyuni_sd_configs",	  "vultr_sd_configs",	  NULL,
};

static const struct dcm_table job_table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct job_options),
	.n_options = sizeof(job_rows) / sizeof(*job_rows),
	.options = job_rows,
	.check = check_job,
	.ignored = ignored,
	.absent = absent,
	.absent_means = "the targets that it would find are not scraped; have them written to a "
			"file or served as JSON, and name that by file_sd_configs or "
			"http_sd_configs",
};

/* ---- the plugin's ---- */

static const struct dcm_option rows[] = {
	{ .name = "scrape_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct scrape_options, scrape_interval_ns),
	  .def = "10s",
	  .min = INTERVAL_MIN,
	  .max = DURATION_MAX,
	  .doc = "How often the targets of a job are asked that does not say its own. A profile of "
		 "60 kB "
		 "costs about 1 ms of CPU." },
	{ .name = "scrape_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct scrape_options, scrape_timeout_ns),
	  .def = "10s",
	  .min = TIMEOUT_MIN,
	  .max = DURATION_MAX,
	  .doc = "How long an answer may take, and at most the interval, in a job that does not "
		 "say." },
	{ .name = "",
	  .type = DCM_OPT_STRUCT,
	  .table = &limits_table,
	  .offset = offsetof(struct scrape_options, limits) },
	{ .name = "delta_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct scrape_options, delta_memory),
	  .def = "1GiB",
	  .min = "1MiB",
	  .max = "1TiB",
	  .doc = "Memory for the last values of what counts up, of all targets; one profile may "
		 "have a part in 64 of it. A profile "
		 "that does not fit fails with that reason." },
	{ .name = "scrape_configs",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRUCT,
	  .table = &job_table,
	  .offset = offsetof(struct scrape_options, scrape_configs),
	  .flags = DCM_OPT_NO_ENV,
	  .doc = "Jobs, as Prometheus and Parca have them." },
};

static int check_all(const void *config, struct dcm_error *err)
{
	const struct scrape_options *o = config;
	const struct job_options *jobs = o->scrape_configs.items;

	for (uint32_t i = 0; i < o->scrape_configs.n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(jobs[i].job_name, jobs[k].job_name) == 0)
				return error__set(
					err, -EINVAL,
					"scrape_configs: two jobs are called \"%s\"; rename one",
					jobs[i].job_name);
	return 0;
}

const struct dcm_table scrape_options__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct scrape_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check_all,
};
