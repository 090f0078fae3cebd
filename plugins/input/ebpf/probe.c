/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/probe.c - what this kernel and these rights allow, and the one remedy when
 * they do not
 *
 * Sources: capabilities(7); Documentation/admin-guide/perf-security.rst and sysctl/kernel.rst;
 * kernel_lockdown(7); namespaces(7).
 */
#include "plugins/input/ebpf/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"

/* linux/proc_ns.h: the inode of the first namespace, on every machine. */
#define FIRST_PID_NAMESPACE 0xeffffffcu
#define TEXT_BYTES_MAX	    (64u * 1024)
#define OLDEST_MAJOR	    5u
#define OLDEST_MINOR	    8u

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static bool has(const struct probe *p, unsigned capability)
{
	return p->capabilities >> capability & 1;
}

/* ------------------------------------------------------------------------------------------------
 * Looking
 */

/* A small file of /proc or /sys as text; "" when it cannot be read. */
static void read_text(const char *path, char *ret, size_t size)
{
	struct buf text = { 0 };

	ret[0] = 0;
	if (fd__read_path(AT_FDCWD, path, TEXT_BYTES_MAX, &text) == 0 && text.n)
		snprintf(ret, size, "%s", (const char *)text.data);
	buf__fini(&text);
}

static uint64_t effective_capabilities(void)
{
	char status[4096];
	const char *at;

	read_text("/proc/self/status", status, sizeof(status));
	at = strstr(status, "\nCapEff:");
	return at ? strtoull(at + strlen("\nCapEff:"), NULL, 16) : 0;
}

static bool maps_all_users(void)
{
	unsigned inside = 1, outside = 1, n = 0;
	char text[128];

	read_text("/proc/self/uid_map", text, sizeof(text));
	return sscanf(text, "%u %u %u", &inside, &outside, &n) == 3 && inside == 0 &&
	       outside == 0 && n == UINT32_MAX;
}

void probe__read(const char *btf_path, struct probe *ret)
{
	struct probe p = { .btf_named = btf_path != NULL, .paranoid = 2 };
	struct utsname u;
	struct stat st;
	char text[256];

	if (uname(&u) == 0) {
		snprintf(p.release, sizeof(p.release), "%s", u.release);
		if (sscanf(u.release, "%u.%u", &p.major, &p.minor) != 2)
			p.major = p.minor = 0;
	}
	p.btf = access(btf_path ? btf_path : "/sys/kernel/btf/vmlinux", R_OK) == 0;
	p.host_pids = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
	p.host_users = maps_all_users();
	p.capabilities = effective_capabilities();
	read_text("/sys/kernel/security/lockdown", text, sizeof(text));
	if (strstr(text, "[integrity]"))
		p.lockdown = PROBE_LOCKDOWN_INTEGRITY;
	else if (strstr(text, "[confidentiality]"))
		p.lockdown = PROBE_LOCKDOWN_CONFIDENTIALITY;
	read_text("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
	if (text[0])
		p.paranoid = (int)strtol(text, NULL, 10);
	*ret = p;
}

/* ------------------------------------------------------------------------------------------------
 * Deciding
 */

static int require_kernel(const struct probe *p, struct dcm_error *err)
{
	if (p->major < OLDEST_MAJOR || (p->major == OLDEST_MAJOR && p->minor < OLDEST_MINOR))
		return error__set(err, -EOPNOTSUPP,
				  "kernel %s is too old for the eBPF sampler: use 5.8 or newer",
				  p->release);
	if (!p->btf && p->btf_named)
		return error__set(
			err, -EOPNOTSUPP,
			"btf_path: the file cannot be read: name one that holds the BTF of "
			"kernel %s",
			p->release);
	if (!p->btf)
		return error__set(
			err, -EOPNOTSUPP,
			"kernel %s has no /sys/kernel/btf/vmlinux: use a kernel built with "
			"CONFIG_DEBUG_INFO_BTF, or name a file with its BTF in btf_path",
			p->release);
	if (p->lockdown == PROBE_LOCKDOWN_CONFIDENTIALITY)
		return error__set(
			err, -EPERM,
			"kernel lockdown is \"confidentiality\", which keeps BPF from reading "
			"the kernel: boot with lockdown=integrity");
	return 0;
}

int probe__require(const struct probe *p, struct dcm_error *err)
{
	int r = require_kernel(p, err);

	if (r < 0)
		return r;
	if (!has(p, CAP_SYS_ADMIN) && !(has(p, CAP_BPF) && has(p, CAP_PERFMON)))
		return error__set(err, -EPERM, "no right to sample the machine: run Decima as root, or give it %s",
				  has(p, CAP_BPF)	? "CAP_PERFMON"
				  : has(p, CAP_PERFMON) ? "CAP_BPF"
							: "CAP_BPF and CAP_PERFMON");
	if (!p->host_users)
		return error__set(
			err, -EPERM,
			"runs in a user namespace, whose capabilities do not hold for the "
			"kernel: run Decima in the host's (a container: without user "
			"namespace remapping)");
	if (!p->host_pids)
		return error__set(
			err, -EPERM,
			"runs in a pid namespace of its own and could not find the processes "
			"it samples: run it in the host's (docker: --pid=host, Kubernetes: "
			"hostPID: true)");
	return 0;
}

int probe__explain(const struct probe *p, const char *what, int code, const char *detail,
		   struct dcm_error *err)
{
	if (code == -EPERM || code == -EACCES) {
		if (p->lockdown == PROBE_LOCKDOWN_INTEGRITY)
			return error__set(err, code,
					  "cannot %s: kernel lockdown may forbid it: boot without "
					  "lockdown",
					  what);
		if (!has(p, CAP_SYS_ADMIN) && !has(p, CAP_SYS_RESOURCE) && p->major == 5 && p->minor < 11)
			return error__set(
				err, code,
				"cannot %s: before kernel 5.11, map memory counts as locked "
				"memory: raise LimitMEMLOCK (ulimit -l), or give Decima "
				"CAP_SYS_RESOURCE",
				what);
		return error__set(
			err, code,
			"cannot %s although the capabilities are there: a seccomp filter or "
			"security module forbids it: allow bpf(2) and perf_event_open(2)%s%s",
			what, detail && *detail ? "; the kernel says: " : "", detail ? detail : "");
	}
	if (detail && *detail)
		return error__set(err, code, "cannot %s on kernel %s: %s: %s", what, p->release,
				  strerror(-code), detail);
	return error__sys(err, code, "cannot %s on kernel %s", what, p->release);
}

const char *probe__shortcoming(const struct probe *p)
{
	bool all = has(p, CAP_SYS_ADMIN);

	if (!has(p, CAP_SYS_PTRACE))
		return "other users' processes have no names: give Decima CAP_SYS_PTRACE";
	if (!has(p, CAP_SYSLOG) && !all)
		return "kernel frames may have no names: give Decima CAP_SYSLOG";
	if (!has(p, CAP_CHECKPOINT_RESTORE) && !all)
		return "deleted files have no names: give Decima CAP_CHECKPOINT_RESTORE";
	return NULL;
}
