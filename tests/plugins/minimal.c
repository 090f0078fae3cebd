/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plugins/minimal.c - a storage with what every storage must have and nothing more: it
 * forgets what it is given
 *
 *	storage:
 *	  minimal: { hang: true }
 *
 * With `hang` merge() never comes back, whatever its budget says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <decima/plugin.h>

struct minimal_config {
	bool hang;
};

static const struct dcm_option rows[] = {
	{
		.name = "hang",
		.type = DCM_OPT_BOOL,
		.offset = offsetof(struct minimal_config, hang),
		.def = "false",
		.doc = "Merges never come back.",
	},
};
static const struct dcm_table options = DCM_TABLE(struct minimal_config, rows);

struct minimal {
	const struct dcm_host *host;
	bool hang;
};

static int minimal_open(const struct dcm_host *host, const void *config, void **ret_instance,
			struct dcm_error *err)
{
	const struct minimal_config *c = config;
	struct minimal *m = malloc(sizeof(*m));

	(void)err;
	if (!m)
		return -ENOMEM;
	*m = (struct minimal){ .host = host, .hang = c->hang };
	*ret_instance = m;
	return 0;
}

static int minimal_start(void *instance, struct dcm_error *err)
{
	(void)instance;
	(void)err;
	return 0;
}

static void minimal_stop(void *instance)
{
	free(instance);
}

static int minimal_write(void *instance, struct dcm_batch *const *batches, uint32_t n,
			 dcm_done_fn done, void *ctx, struct dcm_error *err)
{
	(void)instance;
	(void)batches;
	(void)n;
	(void)err;
	if (done)
		done(ctx, 0);
	return 0;
}

static int minimal_types(void *instance, const struct dcm_select *sel, dcm_type_fn each, void *ctx,
			 struct dcm_error *err)
{
	(void)instance;
	(void)sel;
	(void)each;
	(void)ctx;
	(void)err;
	return 0;
}

static int minimal_labels(void *instance, const struct dcm_select *sel, dcm_name_fn each, void *ctx,
			  struct dcm_error *err)
{
	(void)instance;
	(void)sel;
	(void)each;
	(void)ctx;
	(void)err;
	return 0;
}

static int minimal_values(void *instance, const struct dcm_select *sel, struct dcm_str name,
			  dcm_name_fn each, void *ctx, struct dcm_error *err)
{
	(void)name;
	return minimal_labels(instance, sel, each, ctx, err);
}

static int minimal_series(void *instance, const struct dcm_select *sel, dcm_series_fn each,
			  void *ctx, struct dcm_error *err)
{
	(void)instance;
	(void)sel;
	(void)each;
	(void)ctx;
	(void)err;
	return 0;
}

static int minimal_time_series(void *instance, const struct dcm_select *sel, int64_t step_ms,
			       const struct dcm_group_by *by, dcm_points_fn each, void *ctx,
			       struct dcm_error *err)
{
	(void)instance;
	(void)sel;
	(void)step_ms;
	(void)by;
	(void)each;
	(void)ctx;
	(void)err;
	return 0;
}

static int minimal_merge(void *instance, const struct dcm_select *sel, uint32_t n_sel,
			 const struct dcm_group_by *by, const struct dcm_host *host,
			 struct dcm_builder *answer, struct dcm_error *err)
{
	const struct minimal *m = instance;

	(void)sel;
	(void)n_sel;
	(void)by;
	(void)host;
	(void)answer;
	(void)err;
	if (m->hang)
		m->host->log(m->host, DCM_LOG_WARNING, "merge hangs");
	while (m->hang)
		pause();
	return 0;
}

static void minimal_stat(void *instance, struct dcm_store_stat *ret)
{
	(void)instance;
	ret->n_profiles = 0;
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = minimal_open,
	.start = minimal_start,
	.stop = minimal_stop,
};
static const struct dcm_storage_ops storage = {
	.size = sizeof(storage),
	.write = minimal_write,
	.types = minimal_types,
	.labels = minimal_labels,
	.values = minimal_values,
	.series = minimal_series,
	.time_series = minimal_time_series,
	.merge = minimal_merge,
	.stat = minimal_stat,
};
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_STORAGE,
	.name = "minimal",
	.version = "1",
	.summary = "Forgets what it is given.",
	.options = &options,
	.lifecycle = &lifecycle,
	.storage = &storage,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
