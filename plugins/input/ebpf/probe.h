/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/probe.h - what this kernel and these rights allow, and the one remedy when
 * they do not
 *
 * probe__read() looks; everything else decides from what was seen, so that tests can describe a
 * machine.
 */
#ifndef DECIMA_EBPF_PROBE_H
#define DECIMA_EBPF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "plugins/input/ebpf/settings.h"

enum probe_lockdown {
	PROBE_LOCKDOWN_NONE,
	PROBE_LOCKDOWN_INTEGRITY,
	PROBE_LOCKDOWN_CONFIDENTIALITY
};

enum { PROBE_SHORTCOMINGS_MAX = 5 };

struct probe {
	unsigned major, minor, patch; /* of the kernel; 0.0.0: not to be told */
	char release[65];
	bool btf;	       /* the kernel's own, or the file the user named */
	bool btf_damaged;      /* what is there holds none */
	bool btf_named;	       /* btf_path was given */
	bool host_pids;	       /* /proc counts pids as the kernel does */
	bool host_users;       /* capabilities hold for the machine, not for a user namespace */
	uint64_t capabilities; /* effective: 1 << CAP_... */
	enum probe_lockdown lockdown;
	int paranoid;	   /* kernel.perf_event_paranoid */
	bool perf_denied;  /* by that: no event at all may be opened */
	int kptr_restrict; /* kernel.kptr_restrict */
	int max_hz;	   /* kernel.perf_event_max_sample_rate; 0: not to be told */
	int max_stack; /* kernel.perf_event_max_stack; while a program takes stacks it cannot change; 0: not to be told */
};

void probe__read(const char *btf_path, struct probe *ret);

/* 0, or why sampling as in `s` cannot work here: -EOPNOTSUPP (kernel), -EPERM (rights). */
int probe__require(const struct probe *p, const struct settings *s, struct dcm_error *err);

/* Why `what` failed with `code` although probe__require() had no objection. Returns `code`. */
int probe__explain(const struct probe *p, const char *what, int code, const char *detail,
		   struct dcm_error *err);

/*
 * What will be missing from profiles, a sentence for each right and setting, the most important
 * first. Returns how many.
 */
size_t probe__shortcomings(const struct probe *p, const char *ret[PROBE_SHORTCOMINGS_MAX]);

/*
 * Tells the host that sampling at `hz` goes on, and all that is missing: samples, by `reduced` (why
 * they are fewer than configured; NULL: they are not), rights, and samples beyond what the kernel
 * takes. Any thread.
 */
void probe__tell_state(const struct probe *p, const struct dcm_host *host, int64_t hz,
		       const char *reduced);

/* Why a CPU that came online later cannot be sampled (`code`); the rest is. Any thread. */
void probe__tell_cpu(const struct probe *p, const struct dcm_host *host, int code);

#endif
