/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plugins/frontend.c - an output that gets no batches: it has no write()
 *
 *	outputs:
 *	  frontend: { number: 7 }
 *
 * What a real one would serve, it asks of others. This one only takes a new configuration while it
 * runs.
 */
#include <errno.h>
#include <stdlib.h>

#include <decima/plugin.h>

struct frontend_config {
	int64_t number;
};

static const struct dcm_option rows[] = {
	{
		.name = "number",
		.type = DCM_OPT_INT,
		.offset = offsetof(struct frontend_config, number),
		.def = "5",
		.doc = "A number; it does nothing.",
	},
};
static const struct dcm_table options = DCM_TABLE(struct frontend_config, rows);

struct frontend {
	const struct frontend_config *config;
};

static int frontend_open(const struct dcm_host *host, const void *config, void **ret_instance,
			 struct dcm_error *err)
{
	struct frontend *f = malloc(sizeof(*f));

	(void)host;
	(void)err;
	if (!f)
		return -ENOMEM;
	f->config = config;
	*ret_instance = f;
	return 0;
}

static int frontend_start(void *instance, struct dcm_error *err)
{
	(void)instance;
	(void)err;
	return 0;
}

static int frontend_prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	(void)instance;
	(void)err;
	*ret_change = (void *)(uintptr_t)config;
	return 0;
}

static void frontend_commit(void *instance, void *change)
{
	struct frontend *f = instance;

	f->config = change;
}

static void frontend_abort(void *instance, void *change)
{
	(void)instance;
	(void)change;
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = frontend_open,
	.start = frontend_start,
	.prepare = frontend_prepare,
	.commit = frontend_commit,
	.abort = frontend_abort,
	.stop = free,
};

static const struct dcm_output_ops output = {
	.size = sizeof(output),
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.name = "frontend",
	.version = "1",
	.summary = "Gets no batches: for tests.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
