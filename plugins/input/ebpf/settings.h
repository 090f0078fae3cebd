/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/settings.h - the options of the sampler as the host fills them in
 *
 * The rows that describe them are in ebpf.c.
 */
#ifndef DECIMA_EBPF_SETTINGS_H
#define DECIMA_EBPF_SETTINGS_H

#include <decima/plugin.h>

#define SETTINGS_PLUGIN_VERSION "0.1.0"

struct settings_filter {
	struct dcm_list pids;	 /* of int64_t; empty: every process */
	struct dcm_list comms;	 /* of const char *; empty: every process */
	struct dcm_list cgroups; /* of const char *; empty: every process */
	bool children;		 /* pids bring along what they fork since we began */
	bool exclude_self;
};

enum { SETTINGS_ENV_MAX = 32, SETTINGS_META_MAX = 64 };

/* Which labels a sample carries; comm and service_name are always there. */
struct settings_labels {
	bool exe, cgroup, systemd, container;  /* of the series */
	bool container_names;		       /* with container: these too */
	bool program, kernel;		       /* of the series */
	struct dcm_list env, meta;	       /* of the series: of const char * */
	bool cmdline;			       /* of the sample */
	bool pid, thread_id, thread_name, cpu; /* of the sample */
};

enum settings_kubernetes_source {
	SETTINGS_KUBERNETES_NONE,
	SETTINGS_KUBERNETES_KUBELET,
	SETTINGS_KUBERNETES_API,
};

/* Where it is asked which pod a container belongs to. */
struct settings_kubernetes {
	int32_t source;		/* enum settings_kubernetes_source */
	const char *url;	/* NULL or "": the usual one of the source */
	const char *node;	/* of the API server's answer; NULL or "": the host's name */
	const char *token_file; /* NULL or "": no token */
	const char *ca_file;	/* NULL or "": the system's authorities */
	bool insecure;
	bool node_labels; /* the API server is asked for the node too */
	int64_t interval_ns;
};

/* Choices of the option `unwind`. */
enum settings_unwind {
	SETTINGS_UNWIND_AUTO,
	SETTINGS_UNWIND_TABLES,
	SETTINGS_UNWIND_FRAME_POINTERS,
};

struct settings {
	int64_t frequency;	     /* samples per second and busy CPU */
	int64_t cpu_budget;	     /* percent of the host's CPU time; 0: none */
	int64_t memory_budget_bytes; /* of this process; 0: none */
	int64_t window_ns;
	int64_t max_depth; /* user frames */
	bool kernel_stacks, user_stacks;
	bool unsafe_kernel;	     /* user stacks even on a kernel that may hang by them */
	int32_t unwind;		     /* enum settings_unwind */
	int64_t tables_memory_bytes; /* of unwind tables, in the kernel */
	int64_t tables_cache_bytes;  /* of them on disk; 0: none */
	int64_t ring_size_bytes;     /* 0: by CPUs and frequency */
	const char *btf_path;	     /* NULL: /sys/kernel/btf/vmlinux */
	struct settings_filter filter;
	struct settings_labels labels;
	struct settings_kubernetes kubernetes;
};

/* What single rows cannot say; the `check` of their table. */
int settings__check(const void *config, struct dcm_error *err);

/* CPU time that one sample stands for. */
static inline uint64_t settings__period_ns(const struct settings *s)
{
	return 1000000000u / (uint64_t)s->frequency;
}

#endif
