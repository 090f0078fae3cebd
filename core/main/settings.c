/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/settings.c - the table behind the top of decima.yaml
 */
#include "core/main/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "core/config/shared.h"

static const char *const levels[] = { "error", "warning", "info", "debug", NULL };
static const char *const formats[] = { "auto", "text", "json", "journal", NULL };

static const struct dcm_option log_rows[] = {
	{ .name = "level",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct log_settings, level),
	  .def = "info",
	  .choices = levels,
	  .flags = DCM_OPT_RESTART,
	  .doc = "The least important lines that are written." },
	{ .name = "format",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct log_settings, format),
	  .def = "auto",
	  .choices = formats,
	  .flags = DCM_OPT_RESTART,
	  .doc = "auto: text on a terminal, journald's prefixes under systemd, text otherwise." },
	{ .name = "areas",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_CHOICE,
	  .choices = levels,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct log_settings, areas),
	  .doc = "Other levels for single areas: an instance's name, \"server\", \"config\", ..." },
};
static const struct dcm_table log_table = DCM_TABLE(struct log_settings, log_rows);

static const struct dcm_option pipeline_rows[] = {
	{ .name = "intake",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct pipeline_settings, intake_bytes),
	  .def = "32MiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory for what inputs have handed in and nobody has routed yet." },
	{ .name = "shared",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct pipeline_settings, shared_bytes),
	  .def = "128MiB",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory that the destinations' queues share beyond their own reserves, when one "
		 "is slow." },
	{ .name = "drain_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct pipeline_settings, drain_timeout_ns),
	  .def = "10s",
	  .min = "0",
	  .max = "10m",
	  .doc = "How long a stop waits for what is queued; the rest is counted as lost." },
};
static const struct dcm_table pipeline_table = DCM_TABLE(struct pipeline_settings, pipeline_rows);

static const struct dcm_option symbols_rows[] = {
	{ .name = "tables",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, table_bytes),
	  .def = "64MiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory for symbol tables; the least used go first." },
	{ .name = "names",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, learned_bytes),
	  .def = "32MiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory for names of addresses that were sampled, which outlive their tables." },
	{ .name = "files",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct symbols_settings, files),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Read the symbols of the programs and libraries that are sampled. Without, their "
		 "frames keep build id and address, to be named by whoever receives them, and "
		 "decima takes less memory." },
	{ .name = "lines",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct symbols_settings, lines),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Look up source lines, in Go's own tables and in DWARF, for the addresses that "
		 "were sampled. Costs some 10 to 100 microseconds of CPU for each address, once." },
	{ .name = "inlines",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct symbols_settings, inlines),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Show functions that the compiler inlined as frames of their own. Needs lines." },
	{ .name = "lines_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct symbols_settings, lines_timeout_ns),
	  .def = "5s",
	  .min = "100ms",
	  .max = "5m",
	  .flags = DCM_OPT_RESTART,
	  .doc = "How long one file may take for one question (of up to 256 addresses). A file "
		 "that takes longer is asked no more for lines; its symbols still count." },
	{ .name = "lines_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, lines_bytes),
	  .def = "1GiB",
	  .min = "16MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Debug sections that one file may have, once decompressed; of larger ones no "
		 "lines are "
		 "read." },
	{ .name = "open_files",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct symbols_settings, open_files),
	  .def = "128",
	  .min = "1",
	  .max = "65536",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Files with debug information that stay open, so that lines can be asked of them; "
		 "the least used is closed first." },
	{ .name = "debuginfo",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct symbols_settings, debuginfo),
	  .def = "[\"/usr/lib/debug\"]",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Directories with separate debug information, as .build-id/ab/cdef.debug or by "
		 "debug link; a file counts only if its build id, or else its checksum, is the "
		 "right one." },
	{ .name = "debuginfod",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct symbols_settings, debuginfod),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Servers that are asked for debug information that is not here, in this order: "
		 "[https://debuginfod.debian.net]. They learn the build ids of what runs here, so "
		 "nobody is asked unless you say so. What comes is kept in the data directory, in "
		 "debuginfo/." },
	{ .name = "debuginfod_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct symbols_settings, debuginfod_timeout_ns),
	  .def = "90s",
	  .min = "1s",
	  .max = "1h",
	  .flags = DCM_OPT_RESTART,
	  .doc = "How long one answer of a debuginfod server may take. Nobody waits for it." },
	{ .name = "debuginfod_size",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, debuginfod_bytes),
	  .def = "2GiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Room on disk for what debuginfod servers sent; the oldest files go first. Also "
		 "the most that one file may have." },
	{ .name = "max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, max_bytes),
	  .def = "1GiB",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Room on disk, in the data directory in symbols/, for what names addresses: the "
		 "programs and libraries that were sampled, reduced to their symbols and lines, so "
		 "that profiles of programs that are gone keep their names. What was not used for "
		 "the longest time goes first; 0 keeps nothing there. Also the most that one file "
		 "may have that is sent (`decima debuginfo upload`)." },
	{ .name = "retention",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct symbols_settings, retention_ns),
	  .def = "720h",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "What of symbols/ was not used for so long is removed; 0 keeps it as long as "
		 "max_bytes lasts. Longer than the profiles are kept, or their names go first." },
};
static const struct dcm_table symbols_table = DCM_TABLE(struct symbols_settings, symbols_rows);

static const struct dcm_option rows[] = {
	{ .name = "server",
	  .type = DCM_OPT_STRUCT,
	  .table = &server_settings__table,
	  .offset = offsetof(struct main_settings, server),
	  .doc = "The one port: pages, questions, metrics, administration." },
	{ .name = "labels",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, labels),
	  .doc = "Labels for every series that has none of that name: env: production. Names of "
		 "letters, digits and _; 64 at most, 16 KiB with their values." },
	{ .name = "relabel_configs",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_RELABEL_RULES,
	  .flags = DCM_OPT_NO_ENV,
	  .offset = offsetof(struct main_settings, relabel_configs),
	  .doc = "Prometheus' relabelling for everything, before it is routed. Sample labels are "
		 "__sample_NAME." },
	{ .name = "node",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, node),
	  .flags = DCM_OPT_RESTART,
	  .doc = "This machine's name in the label node. Default: the host name." },
	{ .name = "data",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, data),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Directory for what outlives the process. Default: /var/lib/decima as root, else "
		 "the XDG state directory." },
	{ .name = "plugin_path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, plugin_path),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Directories with plugins, between colons. Default: where they were installed." },
	{ .name = "user",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, user),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Started as root, the daemon becomes this user, to whom the data directory is "
		 "given. Without it, it stays root without capabilities, who can still write "
		 "root's files." },
	{ .name = "pipeline",
	  .type = DCM_OPT_STRUCT,
	  .table = &pipeline_table,
	  .offset = offsetof(struct main_settings, pipeline),
	  .doc = "Queues between inputs and destinations." },
	{ .name = "symbols",
	  .type = DCM_OPT_STRUCT,
	  .table = &symbols_table,
	  .offset = offsetof(struct main_settings, symbols),
	  .doc = "The symbol store." },
	{ .name = "log",
	  .type = DCM_OPT_STRUCT,
	  .table = &log_table,
	  .offset = offsetof(struct main_settings, log),
	  .doc = "What is written on standard error." },
};

/* Every series has these beside its own, of 256 and 64 KiB in all (core/pipeline/outcome.c). */
enum { LABELS_MAX_N = 64, LABELS_MAX_BYTES = 16384, NODE_MAX_BYTES = 255 };

int settings__check_labels(const struct dcm_map *labels, const char *place, struct dcm_error *err)
{
	const char *const *values = labels->items;
	size_t bytes = 0;

	if (labels->n > LABELS_MAX_N)
		return error__set(err, -EINVAL, "%s: are %u; give at most %d", place, labels->n,
				  LABELS_MAX_N);
	for (uint32_t i = 0; i < labels->n; i++) {
		const char *name = labels->keys[i];

		/* The environment of another machine has it. */
		if (!values[i])
			continue;
		bytes += strlen(name) + strlen(values[i]);
		if (bytes > LABELS_MAX_BYTES)
			return error__set(err, -EINVAL,
					  "%s: \"%.64s\" makes them longer than %d bytes together; "
					  "shorten its value",
					  place, name, LABELS_MAX_BYTES);
		if (!shared__is_label_name(name))
			return error__set(
				err, -EINVAL,
				"%s: \"%.64s\" is not a label's name, which is UTF-8 and not empty",
				place, name);
		if (str__starts(str__of(name), STR("__")))
			return error__set(
				err, -EINVAL,
				"%s: \"%.64s\" would be gone after relabelling, as all that "
				"begin with __; choose another name",
				place, name);
	}
	return 0;
}

static int check_node(const char *node, struct dcm_error *err)
{
	if (!node || strlen(node) <= NODE_MAX_BYTES)
		return 0;
	return error__set(err, -EINVAL, "node: has %zu bytes; give a name of at most %d",
			  strlen(node), NODE_MAX_BYTES);
}

static int check_symbols(const struct symbols_settings *s, struct dcm_error *err)
{
	const char *const *dirs = s->debuginfo.items, *const *urls = s->debuginfod.items;

	for (uint32_t i = 0; i < s->debuginfo.n; i++)
		if (dirs[i] && dirs[i][0] != '/')
			return error__set(err, -EINVAL,
					  "symbols.debuginfo[%u]: \"%.200s\" is not absolute; "
					  "begin it with /",
					  i, dirs[i]);
	for (uint32_t i = 0; i < s->debuginfod.n; i++)
		if (urls[i] && !url__is_askable(urls[i]))
			return error__set(err, -EINVAL,
					  "symbols.debuginfod[%u]: \"%.200s\" is no URL; write "
					  "https://HOST or http://HOST:PORT",
					  i, urls[i]);
	return 0;
}

static int check(const void *config, struct dcm_error *err)
{
	const struct main_settings *m = config;
	int r = check_node(m->node, err);

	if (r == 0)
		r = settings__check_labels(&m->labels, "labels", err);
	if (r == 0)
		r = server_settings__check(&m->server, err);
	return r ? r : check_symbols(&m->symbols, err);
}

const struct dcm_table settings__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct main_settings),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check,
};
