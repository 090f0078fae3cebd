/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plugins/broken.c - plugins that must be refused; compiled once for each fault
 *
 * -DBROKEN=BROKEN_NEWER and so on chooses the fault. The file's name says which:
 * input_broken_newer.so.
 */
#include <errno.h>
#include <stdlib.h>

#include <decima/plugin.h>

#define BROKEN_NEWER	1  /* built for a minor version that is not out yet */
#define BROKEN_MAJOR	2  /* for another major version */
#define BROKEN_MAGIC	3  /* not a description at all */
#define BROKEN_TABLE	4  /* an option outside its struct */
#define BROKEN_DEFAULT	5  /* a default beyond its bounds */
#define BROKEN_NO_ENTRY 6  /* no entry function */
#define BROKEN_NO_STOP	7  /* a lifecycle without stop */
#define BROKEN_KIND	8  /* the functions of another kind */
#define BROKEN_NULL	9  /* the entry returns NULL */
#define BROKEN_LINK	10 /* needs a symbol that nobody has */

struct config {
	int64_t number;
};

#if BROKEN == BROKEN_LINK
int a_function_that_nobody_has(void);
#endif

static const struct dcm_option rows[] = {
	{
		.name = "number",
		.type = DCM_OPT_INT,
		.offset = BROKEN == BROKEN_TABLE ? 4096 : offsetof(struct config, number),
		.def = BROKEN == BROKEN_DEFAULT ? "11" : "5",
		.min = "1",
		.max = "10",
		.unit = "",
		.doc = "A number.",
	},
};
static const struct dcm_table options = DCM_TABLE(struct config, rows);

static int open_it(const struct dcm_host *host, const void *config, void **ret_instance,
		   struct dcm_error *err)
{
	(void)host;
	(void)config;
	(void)err;
#if BROKEN == BROKEN_LINK
	if (a_function_that_nobody_has())
		return -EIO;
#endif
	*ret_instance = malloc(1);
	return *ret_instance ? 0 : -ENOMEM;
}

static int start_it(void *instance, struct dcm_error *err)
{
	(void)instance;
	(void)err;
	return 0;
}

#if BROKEN != BROKEN_NO_STOP
static void stop_it(void *instance)
{
	free(instance);
}
#endif

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = open_it,
	.start = start_it,
#if BROKEN != BROKEN_NO_STOP
	.stop = stop_it,
#endif
};

#if BROKEN == BROKEN_KIND
static const struct dcm_output_ops output = { .size = sizeof(output) };
#endif
static const struct dcm_input_ops input = { .size = sizeof(input) };

static const struct dcm_plugin plugin = {
	.size = sizeof(plugin),
	.magic = BROKEN == BROKEN_MAGIC ? 0x12345678 : DCM_ABI_MAGIC,
	.abi_major = BROKEN == BROKEN_MAJOR ? DCM_ABI_MAJOR + 1 : DCM_ABI_MAJOR,
	.abi_minor = BROKEN == BROKEN_NEWER ? DCM_ABI_MINOR + 1 : DCM_ABI_MINOR,
	.kind = DCM_INPUT,
	.name = "broken",
	.version = "1.0",
	.summary = "Must be refused: for tests.",
	.options = &options,
	.lifecycle = &lifecycle,
	.input = &input,
#if BROKEN == BROKEN_KIND
	.output = &output,
#endif
};

#if BROKEN != BROKEN_NO_ENTRY
const struct dcm_plugin *dcm_plugin_entry(void)
{
	return BROKEN == BROKEN_NULL ? NULL : &plugin;
}
#else
__attribute__((visibility("default"))) const struct dcm_plugin *another_function(void);
const struct dcm_plugin *another_function(void)
{
	return &plugin;
}
#endif
