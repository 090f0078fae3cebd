/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/probe.c - what this kernel and these rights allow, and the one remedy when
 * they do not
 *
 * Sources: capabilities(7); Documentation/admin-guide/perf-security.rst and sysctl/kernel.rst;
 * kernel_lockdown(7); namespaces(7). Debian and Ubuntu add levels to kernel.perf_event_paranoid:
 * from 3 on, CAP_PERFMON opens nothing (seen on Debian's 5.10, 6.1 and 6.12, whose default 3 is).
 */
#include "plugins/input/ebpf/probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/sampler.h"
#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"

/* linux/proc_ns.h: the inode of the first namespace, on every machine. */
#define FIRST_PID_NAMESPACE 0xeffffffcu
#define TEXT_BYTES_MAX	    (64u * 1024)
#define OLDEST_MAJOR	    5u
#define OLDEST_MINOR	    8u
#define KERNEL_BTF	    "/sys/kernel/btf/vmlinux"
#define FILES_ENOUGH	    1024u /* descriptors; a CPU takes three, tables one a MiB */

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

/*
 * Distributions that name no patch level in the release (6.1.0-50-amd64) do so in the version (#1
 * SMP ... Debian 6.1.176-1).
 */
static void read_version(const struct utsname *u, struct probe *ret)
{
	const char *debian = strstr(u->version, "Debian ");
	unsigned major, minor, patch;

	snprintf(ret->release, sizeof(ret->release), "%s", u->release);
	if (sscanf(u->release, "%u.%u.%u", &ret->major, &ret->minor, &ret->patch) < 2)
		ret->major = ret->minor = ret->patch = 0;
	if (debian && sscanf(debian, "Debian %u.%u.%u", &major, &minor, &patch) == 3 &&
	    major == ret->major && minor == ret->minor)
		ret->patch = patch;
}

static int read_number(const char *path, int missing)
{
	char text[32];

	read_text(path, text, sizeof(text));
	return text[0] ? (int)strtol(text, NULL, 10) : missing;
}

/* Whether not even an event of our own user code can be had. */
static bool perf_denied(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == EACCES;
	fd__close(fd);
	return false;
}

/* Raw, as the kernel shows it, and whole; or ELF, in which libbpf looks for it. */
static bool holds_btf(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct btf_header h = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || read(fd, &h, sizeof(h)) != sizeof(h))
		return false;
	if (memcmp(&h, ELFMAG, SELFMAG) == 0)
		return true;
	return h.magic == BTF_MAGIC && h.hdr_len >= sizeof(h) &&
	       (uint64_t)h.hdr_len + h.type_off + h.type_len <= (uint64_t)st.st_size &&
	       (uint64_t)h.hdr_len + h.str_off + h.str_len <= (uint64_t)st.st_size;
}

void probe__read(const char *btf_path, struct probe *ret)
{
	const char *btf = btf_path ? btf_path : KERNEL_BTF;
	struct probe p = { .btf_named = btf_path != NULL };
	struct utsname u;
	struct stat st;
	char text[256];

	if (uname(&u) == 0)
		read_version(&u, &p);
	p.btf = access(btf, R_OK) == 0;
	p.btf_damaged = p.btf && !holds_btf(btf);
	p.host_pids = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
	p.host_users = maps_all_users();
	p.capabilities = effective_capabilities();
	read_text("/sys/kernel/security/lockdown", text, sizeof(text));
	if (strstr(text, "[integrity]"))
		p.lockdown = PROBE_LOCKDOWN_INTEGRITY;
	else if (strstr(text, "[confidentiality]"))
		p.lockdown = PROBE_LOCKDOWN_CONFIDENTIALITY;
	p.paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", 2);
	p.perf_denied = p.paranoid > 2 && perf_denied();
	p.kptr_restrict = read_number("/proc/sys/kernel/kptr_restrict", 0);
	p.max_hz = read_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	p.max_stack = read_number("/proc/sys/kernel/perf_event_max_stack", 0);
	*ret = p;
}

/* ------------------------------------------------------------------------------------------------
 * Deciding
 */

/*
 * copy_from_user_nofault(), which reads stacks for us, took a lock of the memory allocator that the
 * interrupted code may hold: a CPU that does hangs, and soon the others. The repair, "mm: Fix
 * copy_from_user_nofault()", is in 6.4, 6.3.10 and 6.1.36; the kernels between had none.
 */
static bool may_hang(const struct probe *p)
{
	if (p->major == 5)
		return p->minor >= 19;
	if (p->major != 6 || p->minor > 3)
		return false;
	return !(p->minor == 1 && p->patch >= 36) && !(p->minor == 3 && p->patch >= 10);
}

static int require_btf(const struct probe *p, struct dcm_error *err)
{
	if (!p->btf && p->btf_named)
		return error__set(
			err, -EOPNOTSUPP,
			"btf_path: the file cannot be read: name one that holds the BTF of "
			"kernel %s",
			p->release);
	if (!p->btf)
		return error__set(err, -EOPNOTSUPP,
				  "kernel %s has no " KERNEL_BTF ": use a kernel built with "
				  "CONFIG_DEBUG_INFO_BTF, or name a file with its BTF in btf_path",
				  p->release);
	if (p->btf_damaged && p->btf_named)
		return error__set(
			err, -EOPNOTSUPP,
			"btf_path: the file holds no BTF, or not all of it: name one that holds "
			"that of kernel %s",
			p->release);
	if (p->btf_damaged)
		return error__set(err, -EOPNOTSUPP,
				  KERNEL_BTF " holds no BTF, or not all of it: if another file is "
					     "mounted there (findmnt), umount it; or name a file "
					     "with the BTF of kernel %s in btf_path",
				  p->release);
	return 0;
}

static int require_kernel(const struct probe *p, const struct settings *s, struct dcm_error *err)
{
	int r;

	if (p->major < OLDEST_MAJOR || (p->major == OLDEST_MAJOR && p->minor < OLDEST_MINOR))
		return error__set(err, -EOPNOTSUPP,
				  "kernel %s is too old for the eBPF sampler: use 5.8 or newer",
				  p->release);
	r = require_btf(p, err);
	if (r < 0)
		return r;
	if (p->lockdown == PROBE_LOCKDOWN_CONFIDENTIALITY)
		return error__set(
			err, -EPERM,
			"kernel lockdown is \"confidentiality\", which keeps BPF from reading "
			"the kernel: boot with lockdown=integrity");
	if (may_hang(p) && s->user_stacks && !s->unsafe_kernel)
		return error__set(err, -EOPNOTSUPP,
				  "kernel %s has a bug by which reading user stacks can hang the "
				  "machine: use 6.1.36, 6.3.10, 6.4 or newer; or set user_stacks: "
				  "false; or, at your risk, unsafe_kernel: true",
				  p->release);
	return 0;
}

int probe__require(const struct probe *p, const struct settings *s, struct dcm_error *err)
{
	int r = require_kernel(p, s, err);

	if (r < 0)
		return r;
	if (!has(p, CAP_SYS_ADMIN) && !(has(p, CAP_BPF) && has(p, CAP_PERFMON)))
		return error__set(err, -EPERM, "no right to sample the machine: run Decima as root, or give it %s",
				  has(p, CAP_BPF)	? "CAP_PERFMON"
				  : has(p, CAP_PERFMON) ? "CAP_BPF"
							: "CAP_BPF and CAP_PERFMON");
	if (p->perf_denied)
		return error__set(
			err, -EPERM,
			"kernel.perf_event_paranoid is %d, by which this kernel opens perf "
			"events for CAP_SYS_ADMIN only: set it to 2 (sysctl)",
			p->paranoid);
	if (!p->host_users)
		return error__set(
			err, -EPERM,
			"runs in a user namespace, whose capabilities do not hold for the kernel: "
			"run Decima in the host's (a container: without user namespace remapping)");
	if (!p->host_pids)
		return error__set(
			err, -EPERM,
			"runs in a pid namespace of its own and could not find the processes "
			"it samples: run it in the host's (docker: --pid=host, Kubernetes: "
			"hostPID: true)");
	return 0;
}

static int explain_files(const char *what, struct dcm_error *err)
{
	struct rlimit l = { 0 };

	getrlimit(RLIMIT_NOFILE, &l);
	return error__set(
		err, -EMFILE,
		"cannot %s: too many open files: RLIMIT_NOFILE is %llu: raise it to %u or more, "
		"and 4 for each CPU beyond 100 (ulimit -Hn, LimitNOFILE= of a unit)",
		what, (unsigned long long)l.rlim_cur, FILES_ENOUGH);
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
	if (code == -EMFILE)
		return explain_files(what, err);
	/* What libbpf says of types that it does not find. */
	if (code == -ESRCH)
		return error__set(err, code,
				  "cannot %s: %s lacks types that kernel %s has: name a file with "
				  "the whole BTF of this kernel in btf_path",
				  what, p->btf_named ? "the file of btf_path" : KERNEL_BTF, p->release);
	if (detail && *detail)
		return error__set(err, code, "cannot %s on kernel %s: %s: %s", what, p->release,
				  strerror(-code), detail);
	return error__sys(err, code, "cannot %s on kernel %s", what, p->release);
}

size_t probe__shortcomings(const struct probe *p, const char *ret[PROBE_SHORTCOMINGS_MAX])
{
	bool all = has(p, CAP_SYS_ADMIN);
	size_t n = 0;

	if (!has(p, CAP_SYS_PTRACE))
		ret[n++] = "other users' processes have no names: give Decima CAP_SYS_PTRACE";
	if (!has(p, CAP_DAC_READ_SEARCH))
		ret[n++] = "programs that not everybody may read have no names: give Decima "
			   "CAP_DAC_READ_SEARCH";
	if (p->kptr_restrict > 1)
		ret[n++] = "kernel frames have no names: set kernel.kptr_restrict to 1";
	else if (!has(p, CAP_SYSLOG) && !all)
		ret[n++] = "kernel frames may have no names: give Decima CAP_SYSLOG";
	if (!has(p, CAP_CHECKPOINT_RESTORE) && !all)
		ret[n++] = "deleted files have no names: give Decima CAP_CHECKPOINT_RESTORE";
	if (p->max_stack > 0 && p->max_stack < SAMPLER_KERNEL_FRAMES)
		ret[n++] = "kernel stacks are cut: set kernel.perf_event_max_stack to 127 "
			   "(sysctl), and "
			   "restart Decima";
	return n;
}

void probe__tell_state(const struct probe *p, const struct dcm_host *host, int64_t hz, const char *reduced)
{
	const char *missing[PROBE_SHORTCOMINGS_MAX];
	size_t n = probe__shortcomings(p, missing), at = 0;
	char text[960] = "";

	if (reduced)
		at += (size_t)snprintf(text, sizeof(text), "%s", reduced);
	for (size_t i = 0; i < n && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? "; " : "", missing[i]);
	/* It stops the timer until its next tick, and lowers the bound itself where interrupts take long. */
	if (p->max_hz > 0 && hz > p->max_hz && at < sizeof(text))
		at += (size_t)snprintf(
			text + at, sizeof(text) - at,
			"%sthe kernel takes at most %d of %lld samples a second: lower the "
			"frequency, or raise kernel.perf_event_max_sample_rate (sysctl)",
			at ? "; " : "", p->max_hz, (long long)hz);
	if (at)
		host->set_state(host, DCM_STATE_DEGRADED, "%s", text);
	else
		host->set_state(host, DCM_STATE_OK, "sampling at %lld Hz", (long long)hz);
}

void probe__tell_cpu(const struct probe *p, const struct dcm_host *host, int code)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (code == -EMFILE) {
		explain_files("sample a CPU that came online", &err);
		host->set_state(host, DCM_STATE_DEGRADED, "%s", err.text);
		return;
	}
	if (code == -EACCES && p->paranoid > 2)
		host->set_state(host, DCM_STATE_DEGRADED,
				"a CPU that came online is not sampled: kernel.perf_event_paranoid "
				"is %d, by which this kernel opens perf events for CAP_SYS_ADMIN "
				"only: set it to 2 (sysctl)",
				p->paranoid);
	else
		host->set_state(host, DCM_STATE_DEGRADED,
				"a CPU that came online is not sampled: %s", strerror(-code));
}
