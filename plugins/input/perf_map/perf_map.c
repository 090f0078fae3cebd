/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/perf_map.c - names of JIT code from the maps and dumps that runtimes write
 * for perf
 *
 * Node (--perf-basic-prof), Java (a perf map agent, jcmd Compiler.perfmap), Python (-X perf), .NET
 * (DOTNET_PerfMapEnabled) and others append a line to /tmp/perf-PID.map whenever they have made
 * code. Node (--perf-prof), Java (perf's agent libperf-jvmti.so), Wasmtime, .NET and others write
 * records, which know source lines and moved code, to a jit-PID.dump that they map. This input
 * emits nothing of its own: it hears of processes, and names addresses when a sampler asks.
 *
 * Threads: process() and resolve() come from any thread, several at once; processes.c locks. A file
 * is read when a name in it is asked for, by a thread that may hang (errands.h). Limits: the
 * options; see source.h and map.h.
 */
#include <decima/plugin.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/perf_map/processes.h"

#define PATIENCE_NS                                                                                \
	1000000000 /* with a file system: as the host has it with one that it opens at */

/* --- options --- */

struct perf_map_options {
	struct dcm_list directories; /* of const char * */
	int64_t max_file_size, max_map_memory, max_memory;
	int64_t reread_interval, keep_after_exit;
};

static const struct dcm_option rows[] = {
	{ .name = "directories",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct perf_map_options, directories),
	  .def = "[\"/tmp\"]",
	  .doc = "Where runtimes write perf-PID.map, as the process sees its files (a jitdump is "
		 "found by itself). Each costs one failed open a look and process with JIT code." },
	{ .name = "max_file_size",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct perf_map_options, max_file_size),
	  .def = "256MiB",
	  .min = "64KiB",
	  .max = "16GiB",
	  .doc = "Of a larger map only the end is read, which is said; bytes before it are counted "
		 "as "
		 "dropped (perf_map_bytes). About 10 ms of CPU for each MiB, once." },
	{ .name = "max_map_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct perf_map_options, max_map_memory),
	  .def = "32MiB",
	  .min = "64KiB",
	  .max = "4GiB",
	  .doc = "Memory for the names of one process, and as much again for the lines of a "
		 "jitdump. Beyond it the oldest are forgotten and counted as dropped." },
	{ .name = "max_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct perf_map_options, max_memory),
	  .def = "128MiB",
	  .min = "64KiB",
	  .max = "16GiB",
	  .doc = "Memory for the names of all processes. Beyond it the map that was not asked for "
		 "the longest time is forgotten, and read anew when it is asked for." },
	{ .name = "reread_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct perf_map_options, reread_interval),
	  .def = "1s",
	  .min = "0s",
	  .max = "1h",
	  .doc = "How long what was read of a file, or that there is none, is taken as it is "
		 "before the next look. A look "
		 "costs some 50 us." },
	{ .name = "keep_after_exit",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct perf_map_options, keep_after_exit),
	  .def = "1m",
	  .min = "0s",
	  .max = "1h",
	  .doc = "How long the map of a process that has ended is kept: its last samples may still "
		 "be on their way. Meanwhile a container's root directory stays open." },
};

static int check_options(const void *config, struct dcm_error *err)
{
	const struct perf_map_options *o = config;

	for (uint32_t i = 0; i < o->directories.n; i++) {
		const char *dir = ((const char *const *)o->directories.items)[i];

		if (!dir || dir[0] != '/')
			return error__set(err, -EINVAL, "directories: \"%s\" is not an absolute path",
					  dir ? dir : "");
	}
	return 0;
}

static const struct dcm_table options = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct perf_map_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check_options,
};

/* --- state --- */

struct perf_map {
	const struct dcm_host *host;
	struct clock clock; /* the host's */
	struct processes *processes;
	struct dcm_metric *lines, *skipped, *rewrites, *memory, *known, *hung, *stuck;
	_Atomic uint64_t told_lines, told_skipped, told_rewrites, told_forgotten, told_cut,
		told_unread, told_hung;
};

static const struct perf_map *of_clock(const struct clock *c)
{
	return (const struct perf_map *)((const char *)c - offsetof(struct perf_map, clock));
}

static int64_t host_mono(const struct clock *c)
{
	const struct dcm_host *host = of_clock(c)->host;

	return host->mono_ns(host);
}

static int64_t host_real(const struct clock *c)
{
	const struct dcm_host *host = of_clock(c)->host;

	return host->real_ns(host);
}

/*
 * What has been counted since somebody last told it. Several threads may tell at once: each tells
 * its part.
 */
static uint64_t since(_Atomic uint64_t *told, uint64_t now)
{
	uint64_t before = atomic_load(told);

	while (before < now && !atomic_compare_exchange_weak(told, &before, now))
		;
	return before < now ? now - before : 0;
}

static void tell(struct perf_map *p)
{
	const struct dcm_host *host = p->host;
	struct processes_stat stat;
	char note[PROCESSES_NOTE_BYTES];
	uint64_t forgotten, cut, unread;

	processes__stat(p->processes, &stat);
	host->metric_add(p->lines, since(&p->told_lines, stat.n_lines));
	host->metric_add(p->skipped, since(&p->told_skipped, stat.n_skipped));
	host->metric_add(p->rewrites, since(&p->told_rewrites, stat.n_rewrites));
	host->metric_set(p->memory, (double)stat.bytes);
	host->metric_set(p->known, stat.n_processes);
	host->metric_add(p->hung, since(&p->told_hung, stat.n_hung));
	host->metric_set(p->stuck, stat.n_stuck);
	forgotten = since(&p->told_forgotten, stat.n_forgotten);
	if (forgotten)
		host->drop(host, "perf_map_lines", forgotten);
	cut = since(&p->told_cut, stat.n_cut);
	if (cut)
		host->drop(host, "jitdump_work", cut);
	unread = since(&p->told_unread, stat.n_unread);
	if (unread)
		host->drop(host, "perf_map_bytes", unread);
	while (processes__take_note(p->processes, note))
		host->log(host, DCM_LOG_WARNING, "%s", note);
}

/* --- lifecycle --- */

static void stop(void *instance)
{
	struct perf_map *p = instance;

	processes__free(p->processes);
	free(p);
}

static int open_plugin(const struct dcm_host *host, const void *config, void **ret_instance,
		       struct dcm_error *err)
{
	const struct perf_map_options *o = config;
	struct perf_map *p = NEW(struct perf_map);
	struct processes_config c;
	int rc;

	if (!p)
		return error__nomem(err);
	p->host = host;
	p->clock = (struct clock){ .mono_ns = host_mono, .real_ns = host_real };
	c = (struct processes_config){
		.host = host,
		.proc = "/proc",
		.root = "/",
		.dirs = o->directories.items,
		.n_dirs = o->directories.n,
		.max_file_bytes = (uint64_t)o->max_file_size,
		.max_map_bytes = (uint64_t)o->max_map_memory,
		.max_bytes = (uint64_t)o->max_memory,
		.reread_ns = o->reread_interval,
		.keep_ns = o->keep_after_exit,
		.patience_ns = PATIENCE_NS,
		.clock = &p->clock,
	};
	rc = processes__new(&c, &p->processes, err);
	if (rc) {
		free(p);
		return rc;
	}
	p->lines = host->metric(host, DCM_COUNTER, "perf_map_lines_total",
				"Lines of perf maps and records of jitdumps that were read");
	p->skipped = host->metric(host, DCM_COUNTER, "perf_map_lines_skipped_total",
				  "Lines of perf maps that are not START SIZE NAME, and records of "
				  "jitdumps that are not understood");
	p->rewrites = host->metric(
		host, DCM_COUNTER, "perf_map_rewrites_total",
		"Perf maps and jitdumps that were found rewritten and read anew");
	p->memory = host->metric(host, DCM_GAUGE_METRIC, "perf_map_memory_bytes",
				 "Memory that names of JIT code take");
	p->known = host->metric(host, DCM_GAUGE_METRIC, "perf_map_processes",
				"Processes whose perf map or jitdump is looked for");
	p->hung = host->metric(host, DCM_COUNTER, "perf_map_timeouts_total",
			       "Reads of perf maps and jitdumps whose file system did not answer");
	p->stuck = host->metric(host, DCM_GAUGE_METRIC, "perf_map_hanging",
				"Of these, those that hang yet");
	*ret_instance = p;
	return 0;
}

static int start(void *instance, struct dcm_error *err)
{
	struct perf_map *p = instance;

	(void)err;
	p->host->set_state(p->host, DCM_STATE_OK, "names JIT code when a sampler asks");
	return 0;
}

/* --- work --- */

static void process(void *instance, enum dcm_process_event event, const struct dcm_process *id)
{
	struct perf_map *p = instance;

	processes__event(p->processes, event, id);
	if (event == DCM_PROCESS_EXIT)
		tell(p);
}

static enum dcm_unnamed why_of(int rc)
{
	switch (rc) {
	case 1:
		return DCM_UNNAMED_JIT_MAP_CUT;
	case 0:
	case -ENOMEM:
	case -ETIMEDOUT:
		return DCM_UNNAMED_JIT_NOT_IN_MAP;
	case -EACCES:
		return DCM_UNNAMED_NO_PERMISSION;
	default:
		return DCM_UNNAMED_JIT_NO_MAP;
	}
}

static int resolve(void *instance, const struct dcm_process *id, const uint64_t *addresses,
		   uint32_t n, dcm_symbol_fn each, void *ctx, enum dcm_unnamed *ret_why)
{
	struct perf_map *p = instance;
	struct arena arena = { 0 };
	struct processes_answer *answers = mem__zalloc(n, sizeof(*answers));
	int rc = answers ? processes__resolve(p->processes, id, addresses, n, &arena, answers) : -ENOMEM;

	for (uint32_t i = 0; rc >= 0 && i < n; i++) {
		struct dcm_symbol symbol = { .name = answers[i].name,
					     .file = answers[i].file,
					     .line = answers[i].line,
					     .start = answers[i].start };

		if (symbol.name.n)
			each(ctx, i, &symbol);
	}
	if (ret_why)
		*ret_why = why_of(rc);
	arena__fini(&arena);
	free(answers);
	tell(p);
	/*
	 * A map that may not or cannot be read is knowledge of the process, too: the reason is ours
	 * to give.
	 */
	return rc == -EACCES || rc == -ETIMEDOUT || rc > 0 ? 0 : rc;
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(struct dcm_lifecycle),
	.open = open_plugin,
	.start = start,
	.stop = stop,
};

static const struct dcm_input_ops ops = {
	.size = sizeof(struct dcm_input_ops),
	.process = process,
	.resolve = resolve,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_INPUT,
	.name = "perf_map",
	.version = "1.0",
	.summary =
		"Names JIT code (Node, Java, Python, .NET) from the maps and dumps that runtimes "
		"write: /tmp/perf-PID.map, jit-PID.dump",
	.options = &options,
	.lifecycle = &lifecycle,
	.input = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
