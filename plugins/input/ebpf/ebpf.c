/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/ebpf.c - the input `ebpf`: profiles every process of the machine by sampling
 * it
 *
 * A timer event on each CPU runs a BPF program (bpf/sampler.bpf.c), which puts who runs, the kernel
 * stack and the user stack into a ring buffer. From there:
 *
 *	rings -> reader.c: process.c (who, its mappings), aggregate.c (adds up) -- by pace.h
 *	      -> window.c: flush.c, locate.c (addresses to locations) -> batch -> emit -- every window
 *
 * open() takes all that needs rights: programs, maps, events. start() begins to sample, with two
 * threads. Frequency, window, labels and exclude_self change while it runs; the rest needs a
 * restart of the instance.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/attach.h"
#include "plugins/input/ebpf/cpus.h"
#include "plugins/input/ebpf/kubernetes.h"
#include "plugins/input/ebpf/probe.h"
#include "plugins/input/ebpf/reader.h"
#include "plugins/input/ebpf/sampler.h"
#include "plugins/input/ebpf/settings.h"
#include "plugins/input/ebpf/window.h"

/* ------------------------------------------------------------------------------------------------
 * Options
 */

static const struct dcm_option filter_options[] = {
	{ .name = "pids",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_INT,
	  .min = "1",
	  .max = "4194304",
	  .offset = offsetof(struct settings_filter, pids),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Only these processes (thread group ids as the host counts), at most 1024. "
		 "Empty: all. Others cost nothing beyond the timer." },
	{ .name = "children",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_filter, children),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Processes named in pids bring along what they fork from when decima was "
		 "started." },
	{ .name = "comms",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct settings_filter, comms),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Only processes whose main thread has one of these names (exactly; the "
		 "kernel keeps 15 bytes of one), at most 1024. Empty: all." },
	{ .name = "cgroups",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct settings_filter, cgroups),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Only processes in these control groups and below (/system.slice), at most 1024. "
		 "Empty: all. Others are sampled and then left out, so they cost as much." },
	{ .name = "exclude_self",
	  .type = DCM_OPT_BOOL,
	  .def = "false",
	  .offset = offsetof(struct settings_filter, exclude_self),
	  .doc = "Leave out Decima's own processes: the daemon, its broker and its workers. Off, "
		 "so that what Decima costs is there to see." },
};
static const struct dcm_table filter_table = DCM_TABLE(struct settings_filter, filter_options);

static const struct dcm_option label_options[] = {
	{ .name = "exe",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, exe),
	  .doc = "Series label exe: path of the program." },
	{ .name = "cgroup",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, cgroup),
	  .doc = "Series label cgroup: path of the control group." },
	{ .name = "systemd",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, systemd),
	  .doc = "Series labels systemd_unit and systemd_slice." },
	{ .name = "container",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, container),
	  .doc = "Series labels container_id and container_runtime (docker, containerd, cri-o, "
		 "podman, lxc, buildkit)." },
	{ .name = "container_names",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, container_names),
	  .doc = "Series label container, which is the service then: a container's name, from the "
		 "file that docker, podman, containerd or cri-o keeps of it (below /var/lib and "
		 "/run), read once. With Kubernetes' runtimes pod and namespace too." },
	{ .name = "program",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, program),
	  .doc = "Series labels of the program's file: build_id, compiler, runtime, static, "
		 "stripped. The file is read once." },
	{ .name = "kernel",
	  .type = DCM_OPT_BOOL,
	  .def = "false",
	  .offset = offsetof(struct settings_labels, kernel),
	  .doc = "Series labels kernel_release and arch." },
	{ .name = "env",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct settings_labels, env),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Environment variables that become series labels env_NAME, as the process had "
		 "them when it began. At most 32; values may hold secrets, and each different "
		 "value makes a series." },
	{ .name = "meta",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct settings_labels, meta),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Labels for relabel_configs, gone after it: names of the Parca agent such as "
		 "__meta_process_cgroup, or a beginning and '*', at most 64. Those of a process "
		 "(pid, ppid, cmdline) cost a series each until then." },
	{ .name = "cmdline",
	  .type = DCM_OPT_BOOL,
	  .def = "false",
	  .offset = offsetof(struct settings_labels, cmdline),
	  .doc = "Sample label cmdline: the arguments, which may hold secrets." },
	{ .name = "pid",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, pid),
	  .doc = "Sample label pid. Each sample label costs storage where samples differ in it." },
	{ .name = "thread_id",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, thread_id),
	  .doc = "Sample label tid." },
	{ .name = "thread_name",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, thread_name),
	  .doc = "Sample label thread_name." },
	{ .name = "cpu",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings_labels, cpu),
	  .doc = "Sample label cpu: the CPU that the sample was taken on." },
};
static const struct dcm_table label_table = DCM_TABLE(struct settings_labels, label_options);

static const char *const kubernetes_sources[] = { "none", "kubelet", "api", NULL };

static const struct dcm_option kubernetes_options[] = {
	{ .name = "source",
	  .type = DCM_OPT_CHOICE,
	  .choices = kubernetes_sources,
	  .def = "none",
	  .offset = offsetof(struct settings_kubernetes, source),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Who is asked for the pods of this node: its kubelet (/pods; the right "
		 "nodes/proxy) or the API server (pods, of this node only)." },
	{ .name = "url",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct settings_kubernetes, url),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Without a path. Default: https://127.0.0.1:10250 or "
		 "https://kubernetes.default.svc." },
	{ .name = "node",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct settings_kubernetes, node),
	  .flags = DCM_OPT_RESTART,
	  .doc = "This node's name for the API server. Default: the host's name." },
	{ .name = "token_file",
	  .type = DCM_OPT_STRING,
	  .def = "/var/run/secrets/kubernetes.io/serviceaccount/token",
	  .offset = offsetof(struct settings_kubernetes, token_file),
	  .flags = DCM_OPT_RESTART,
	  .doc = "File with the bearer token, read anew each time. \"\": none." },
	{ .name = "ca_file",
	  .type = DCM_OPT_STRING,
	  .def = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
	  .offset = offsetof(struct settings_kubernetes, ca_file),
	  .flags = DCM_OPT_RESTART,
	  .doc = "PEM file of the authorities that may have signed the server's certificate. \"\": "
		 "the system's." },
	{ .name = "insecure",
	  .type = DCM_OPT_BOOL,
	  .def = "false",
	  .offset = offsetof(struct settings_kubernetes, insecure),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Do not check the server's certificate: a kubelet's is often signed by itself. "
		 "The token goes to whoever answers." },
	{ .name = "node_labels",
	  .type = DCM_OPT_BOOL,
	  .def = "false",
	  .offset = offsetof(struct settings_kubernetes, node_labels),
	  .flags = DCM_OPT_RESTART,
	  .doc = "With source api: ask for this node too (the right get on nodes), whose labels "
		 "and annotations become __meta_kubernetes_node_* for relabel_configs. A kubelet "
		 "does not tell them." },
	{ .name = "interval",
	  .type = DCM_OPT_DURATION,
	  .def = "30s",
	  .min = "5s",
	  .max = "1h",
	  .offset = offsetof(struct settings_kubernetes, interval_ns),
	  .flags = DCM_OPT_RESTART,
	  .doc = "How often. A container that is not known yet is asked for within 2 s." },
};
static const struct dcm_table kubernetes_table = DCM_TABLE(struct settings_kubernetes, kubernetes_options);
static const char *const unwind_choices[] = { "auto", "tables", "frame_pointers", NULL };

static const struct dcm_option options[] = {
	{ .name = "frequency",
	  .type = DCM_OPT_INT,
	  .def = "19Hz",
	  .min = "1Hz",
	  .max = "10000Hz",
	  .unit = "Hz",
	  .offset = offsetof(struct settings, frequency),
	  .doc = "Samples per second on each busy CPU. A sample costs about 10 us of CPU time; a "
		 "prime number does not fall into step with periodic work." },
	{ .name = "cpu_budget",
	  .type = DCM_OPT_INT,
	  .def = "5%",
	  .min = "0%",
	  .max = "100%",
	  .unit = "%",
	  .offset = offsetof(struct settings, cpu_budget),
	  .doc = "Share of the host's CPU time that sampling may take, in the kernel (measured, "
		 "and 2 us for each interrupt) and here. Above it for 15 s, the frequency is "
		 "halved, six times at most; with room for 30 s, it is doubled again. 0: no "
		 "budget." },
	{ .name = "memory_budget",
	  .type = DCM_OPT_SIZE,
	  .def = "1GiB",
	  .min = "0",
	  .max = "1TiB",
	  .offset = offsetof(struct settings, memory_budget_bytes),
	  .doc = "Resident memory that Decima's process may have, with storages and symbols, "
		 "without files and kernel memory that it maps (those have tables_memory and "
		 "ring_size). Above it, what is free goes back to the kernel, and 10 s later the "
		 "frequency is halved, as for cpu_budget. 0: no budget." },
	{ .name = "window",
	  .type = DCM_OPT_DURATION,
	  .def = "10s",
	  .min = "1s",
	  .max = "10m",
	  .offset = offsetof(struct settings, window_ns),
	  .doc = "Length of a profile. The first ones after a start are 1, 2 and 5 s." },
	{ .name = "max_depth",
	  .type = DCM_OPT_INT,
	  .def = "1000",
	  .min = "1",
	  .max = "1000",
	  .unit = "",
	  .offset = offsetof(struct settings, max_depth),
	  .flags = DCM_OPT_RESTART,
	  .doc = "User frames of one stack; a deeper one is cut at its root and says so." },
	{ .name = "kernel_stacks",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings, kernel_stacks),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take the kernel's part of a stack." },
	{ .name = "user_stacks",
	  .type = DCM_OPT_BOOL,
	  .def = "true",
	  .offset = offsetof(struct settings, user_stacks),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take the user's part of a stack." },
	{ .name = "unwind",
	  .type = DCM_OPT_CHOICE,
	  .choices = unwind_choices,
	  .def = "auto",
	  .offset = offsetof(struct settings, unwind),
	  .flags = DCM_OPT_RESTART,
	  .doc = "How a user frame's caller is found. tables: by the unwind tables of each file, "
		 "and by frame pointers where code has none; frame_pointers: by these alone, which "
		 "is wrong in most distributions' libraries. auto: tables where this processor's "
		 "are known (x86-64)." },
	{ .name = "tables_memory",
	  .type = DCM_OPT_SIZE,
	  .def = "64MiB",
	  .min = "1MiB",
	  .max = "256MiB",
	  .offset = offsetof(struct settings, tables_memory_bytes),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Kernel memory for unwind tables, taken as needed, 1 MiB at a time; 30 large "
		 "programs and libraries take about 12 MiB. What was not used for longest makes "
		 "room." },
	{ .name = "tables_cache",
	  .type = DCM_OPT_SIZE,
	  .def = "128MiB",
	  .min = "0",
	  .max = "4GiB",
	  .offset = offsetof(struct settings, tables_cache_bytes),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Room on disk, below the data directory, for unwind tables, so that a start does "
		 "not make them again; a large program takes 1 to 10 MiB. What was not used for "
		 "longest goes first. 0: none are kept." },
	{ .name = "ring_size",
	  .type = DCM_OPT_SIZE,
	  .def = "0",
	  .min = "0",
	  .max = "256MiB",
	  .offset = offsetof(struct settings, ring_size_bytes),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory between kernel and reader, rounded up to a power of two. 0: 2 s of "
		 "samples, 1 to 16 MiB." },
	{ .name = "btf_path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct settings, btf_path),
	  .flags = DCM_OPT_RESTART,
	  .doc = "File with the kernel's type information, for kernels without "
		 "/sys/kernel/btf/vmlinux." },
	{ .name = "unsafe_kernel",
	  .type = DCM_OPT_BOOL,
	  .def = "false",
	  .offset = offsetof(struct settings, unsafe_kernel),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take user stacks also on kernels of 5.19 to 6.3 that lack the repair of 6.1.36 "
		 "and 6.3.10: on these it can hang the machine." },
	{ .name = "filter",
	  .type = DCM_OPT_STRUCT,
	  .table = &filter_table,
	  .offset = offsetof(struct settings, filter),
	  .doc = "Which processes are sampled." },
	{ .name = "labels",
	  .type = DCM_OPT_STRUCT,
	  .table = &label_table,
	  .offset = offsetof(struct settings, labels),
	  .doc = "Which labels samples carry beside comm and service_name." },
	{ .name = "kubernetes",
	  .type = DCM_OPT_STRUCT,
	  .table = &kubernetes_table,
	  .offset = offsetof(struct settings, kubernetes),
	  .doc = "Where series labels namespace, pod and container come from." },
};

static const struct dcm_table table = {
	.size = sizeof(table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct settings),
	.n_options = sizeof(options) / sizeof(*options),
	.options = options,
	.check = settings__check,
};

/* ------------------------------------------------------------------------------------------------
 * State
 */

struct ebpf {
	const struct dcm_host *host;
	const struct settings *settings; /* the host's */
	struct probe probe;
	struct sampler *sampler;
	struct attach *attach;
	struct sideband *sideband; /* NULL: not to be had */
	struct kubernetes *kubernetes;
	struct files *files;
	struct ksymbols *symbols;
	struct unwind_cache cache; /* the tables' */
	struct tables *tables;	   /* NULL: frame pointers alone */
	struct windows *windows;
	struct reader *reader;
};

static void ebpf_stop(void *instance)
{
	struct ebpf *e = instance;

	if (!e)
		return;
	if (e->attach)
		attach__stop(e->attach);
	reader__free(e->reader);
	windows__free(e->windows);
	kubernetes__free(e->kubernetes);
	attach__free(e->attach);
	sideband__free(e->sideband);
	tables__free(e->tables);
	unwind_cache__close(&e->cache);
	sampler__free(e->sampler);
	files__free(e->files);
	ksymbols__free(e->symbols);
	free(e);
}

static inline void ebpf_stopp(struct ebpf **e)
{
	ebpf_stop(*e);
}

/* ------------------------------------------------------------------------------------------------
 * Lifecycle
 */

static int open_cache(struct ebpf *e, struct dcm_error *err)
{
	char path[4096];
	int r = e->host->data_dir_make(e->host, err);

	if (r == 0) {
		snprintf(path, sizeof(path), "%s/unwind", e->host->data_dir);
		r = fd__mkdirs(path, 0700);
		if (r < 0)
			error__sys(err, r, "%s: cannot be made", path);
	}
	if (r == 0)
		r = unwind_cache__open(&e->cache, path, (uint64_t)e->settings->tables_cache_bytes, err);
	return r;
}

/* A host without a place for data keeps none; one whose place fails does without, and says so. */
static void keep_tables(struct ebpf *e)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (!e->host->data_dir || e->settings->tables_cache_bytes == 0)
		return;
	if (open_cache(e, &err) == 0)
		tables__keep_in(e->tables, &e->cache);
	else
		e->host->log(e->host, DCM_LOG_WARNING,
			     "unwind tables are made anew with each start: %s (tables_cache: 0 "
			     "wants none kept)",
			     err.text);
}

/* Memory for the tables comes from the sampler. */
static int open_tables(struct ebpf *e, struct dcm_error *err)
{
	struct tables_memory memory;

	if (!sampler__tables(e->sampler, e->host, &memory))
		return 0;
	e->tables = tables__new(&memory, (uint64_t)e->settings->tables_memory_bytes);
	if (!e->tables)
		return error__nomem(err);
	keep_tables(e);
	return 0;
}

static int open_parts(struct ebpf *e, struct dcm_error *err)
{
	struct reader_parts parts = { .host = e->host };
	struct dcm_error deaf = DCM_ERROR_INIT;
	struct cpus possible;
	const char *what;
	int r = cpus__read("possible", &possible);

	if (r < 0)
		return probe__explain(&e->probe, "read which CPUs are possible", r, NULL, err);
	r = sampler__open(e->settings, &e->probe, cpus__highest(&possible) + 1, &e->sampler, err);
	if (r < 0)
		return r;
	r = open_tables(e, err);
	if (r < 0)
		return r;
	r = attach__open(e->host, sampler__program(e->sampler), settings__period_ns(e->settings),
			 &e->attach, &what);
	if (r < 0)
		return probe__explain(&e->probe, what, r, NULL, err);
	/* Without it, /proc must do: processes that end early have no names then. */
	r = sideband__open(e->host, &e->sideband);
	if (r < 0) {
		probe__explain(&e->probe, "open perf events for them", r, NULL, &deaf);
		e->host->log(e->host, DCM_LOG_WARNING,
			     "the kernel tells nothing of new processes and mappings: %s", deaf.text);
	}
	e->files = files__new(e->host);
	e->symbols = ksymbols__new();
	e->kubernetes = kubernetes__new(e->host, &e->settings->kubernetes);
	if (!e->kubernetes || !e->symbols)
		return error__nomem(err);
	e->windows = e->files ? windows__new(e->host, e->files, e->settings) : NULL;
	if (!e->windows)
		return error__nomem(err);
	windows__use_symbols(e->windows, e->symbols);
	parts.probe = &e->probe;
	parts.sampler = e->sampler;
	parts.attach = e->attach;
	parts.files = e->files;
	parts.windows = e->windows;
	parts.sideband = e->sideband;
	parts.kubernetes = e->kubernetes;
	parts.symbols = e->symbols;
	parts.tables = e->tables;
	r = reader__new(&parts, e->settings, &e->reader);
	if (r < 0)
		return probe__explain(&e->probe, "make the reader of the ring buffers", r, NULL, err);
	return 0;
}

static int ebpf_open(const struct dcm_host *host, const void *config, void **ret_instance,
		     struct dcm_error *err)
{
	CLEANUP(ebpf_stopp) struct ebpf *e = NEW(struct ebpf);
	int r;

	if (!e)
		return error__nomem(err);
	e->host = host;
	e->settings = config;
	e->cache.dir = -1;
	probe__read(e->settings->btf_path, &e->probe);
	r = probe__require(&e->probe, e->settings, err);
	if (r == 0)
		r = open_parts(e, err);
	if (r < 0)
		return r;
	*ret_instance = take_ptr(e);
	return 0;
}

static int ebpf_start(void *instance, struct dcm_error *err)
{
	struct ebpf *e = instance;
	int r = windows__start(e->windows);

	if (r == 0 && e->tables)
		r = tables__start(e->tables);
	if (r == 0)
		r = kubernetes__start(e->kubernetes);
	if (r == 0)
		r = reader__start(e->reader);
	if (r < 0)
		return error__sys(err, r, "cannot start a thread");
	probe__tell_state(&e->probe, e->host, e->settings->frequency, NULL);
	return 0;
}

static bool lists_equal(const struct dcm_list *a, const struct dcm_list *b, size_t size)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * size) == 0);
}

static bool texts_equal(const struct dcm_list *a, const struct dcm_list *b)
{
	const char *const *at = a->items, *const *bt = b->items;

	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (strcmp(at[i], bt[i]) != 0)
			return false;
	return true;
}

static bool text_equal(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool kubernetes_equal(const struct settings_kubernetes *a, const struct settings_kubernetes *b)
{
	return a->source == b->source && a->insecure == b->insecure &&
	       a->node_labels == b->node_labels && a->interval_ns == b->interval_ns &&
	       text_equal(a->url, b->url) && text_equal(a->node, b->node) &&
	       text_equal(a->token_file, b->token_file) && text_equal(a->ca_file, b->ca_file);
}

/* The key that differs and cannot change while we run; NULL: none. */
static const char *fixed_key(const struct settings *a, const struct settings *b)
{
	if (a->max_depth != b->max_depth)
		return "max_depth";
	if (a->kernel_stacks != b->kernel_stacks)
		return "kernel_stacks";
	if (a->user_stacks != b->user_stacks)
		return "user_stacks";
	if (a->unwind != b->unwind)
		return "unwind";
	if (a->tables_memory_bytes != b->tables_memory_bytes)
		return "tables_memory";
	if (a->tables_cache_bytes != b->tables_cache_bytes)
		return "tables_cache";
	if (a->ring_size_bytes != b->ring_size_bytes)
		return "ring_size";
	if (!text_equal(a->btf_path, b->btf_path))
		return "btf_path";
	if (!lists_equal(&a->filter.pids, &b->filter.pids, sizeof(int64_t)))
		return "filter.pids";
	if (!texts_equal(&a->filter.comms, &b->filter.comms))
		return "filter.comms";
	if (!texts_equal(&a->filter.cgroups, &b->filter.cgroups))
		return "filter.cgroups";
	if (!kubernetes_equal(&a->kubernetes, &b->kubernetes))
		return "kubernetes";
	if (!texts_equal(&a->labels.env, &b->labels.env))
		return "labels.env";
	if (!texts_equal(&a->labels.meta, &b->labels.meta))
		return "labels.meta";
	if (a->filter.children != b->filter.children)
		return "filter.children";
	return NULL;
}

/* The change is the new configuration itself: nothing needs to be made ready. */
static int ebpf_prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	struct ebpf *e = instance;
	const char *key = fixed_key(e->settings, config);

	if (key)
		return error__set(err, -EBUSY, "%s: a change of it needs a restart", key);
	*ret_change = (void *)(uintptr_t)config;
	return 0;
}

static void ebpf_commit(void *instance, void *change)
{
	struct ebpf *e = instance;

	e->settings = change;
	sampler__set_exclude_self(e->sampler, e->settings->filter.exclude_self);
	windows__configure(e->windows, e->settings);
	/* Before the reader wakes, which may have worse to say. */
	probe__tell_state(&e->probe, e->host, e->settings->frequency, NULL);
	reader__configure(e->reader, e->settings);
}

static void ebpf_abort(void *instance, void *change)
{
	(void)instance;
	(void)change;
}

static int ebpf_drain(void *instance, int64_t deadline_mono_ns)
{
	struct ebpf *e = instance;

	attach__stop(e->attach);
	reader__finish(e->reader);
	return windows__drain(e->windows, deadline_mono_ns);
}

/* ------------------------------------------------------------------------------------------------
 * The plugin
 */

/* What open() would find out, without taking anything. */
static void ebpf_preflight(const struct dcm_host *host, const void *config, dcm_report_fn report,
			   void *ctx)
{
	const struct settings *s = config;
	struct dcm_error err = DCM_ERROR_INIT;
	const char *missing[PROBE_SHORTCOMINGS_MAX];
	struct probe p;
	size_t n;

	(void)host;
	probe__read(s->btf_path, &p);
	if (probe__require(&p, s, &err) < 0) {
		report(ctx, DCM_LOG_ERROR, err.text);
		return;
	}
	n = probe__shortcomings(&p, missing);
	for (size_t i = 0; i < n; i++)
		report(ctx, DCM_LOG_WARNING, missing[i]);
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = ebpf_open,
	.start = ebpf_start,
	.prepare = ebpf_prepare,
	.commit = ebpf_commit,
	.abort = ebpf_abort,
	.drain = ebpf_drain,
	.stop = ebpf_stop,
	.preflight = ebpf_preflight,
};

/* It has a thread of its own and answers no questions. */
static const struct dcm_input_ops input = {
	.size = sizeof(input),
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_INPUT,
	.caps = DCM_CAP_RIGHTS,
	.name = "ebpf",
	.version = SETTINGS_PLUGIN_VERSION,
	.summary = "Profiles every process and the kernel of this machine by sampling stacks with "
		   "eBPF.",
	.options = &table,
	.lifecycle = &lifecycle,
	.input = &input,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
