/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/sandbox.c - what a process gives up for good
 *
 * The filter is a list of numbers in classic BPF: the architecture must be the one we were compiled
 * for (so no 32-bit calls, and x32's numbers are on no list), then the number is compared with each
 * that is allowed. Its answer to the others is an error and no signal: libraries ask for things
 * that they can do without. Capabilities are set by the raw call, whose version 3 is in every
 * kernel that runs us.
 */
#include "core/broker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/sanitizer.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

enum { CAPS_MAX = 64, WORDS = _LINUX_CAPABILITY_U32S_3, FILTER_CALLS_MAX = 200 };

bool sandbox__is_sanitized(void)
{
#if SANITIZER
	return true;
#else
	return false;
#endif
}

/* ------------------------------------------------------------------------------------------------
 * Capabilities
 */

static int get_caps(struct __user_cap_data_struct ret[WORDS])
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &h, ret) < 0 ? -errno : 0;
}

static int set_caps(uint64_t caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[WORDS] = { 0 };

	for (unsigned i = 0; i < WORDS; i++)
		data[i].effective = data[i].permitted = (uint32_t)(caps >> 32 * i);
	return syscall(SYS_capset, &h, data) < 0 ? -errno : 0;
}

uint64_t sandbox__capabilities(void)
{
	struct __user_cap_data_struct data[WORDS];

	if (get_caps(data) < 0)
		return UINT64_MAX;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

int sandbox__keep_capabilities(uint64_t keep)
{
	struct __user_cap_data_struct has[WORDS];
	int r = get_caps(has);

	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* Where there is none (before 4.3), there is nothing to clear. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Takes CAP_SETPCAP; without it the set bounds only what no_new_privs rules out already. */
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return set_caps(keep & (has[0].permitted | (uint64_t)has[1].permitted << 32));
}

int sandbox__become(uid_t uid, gid_t gid, bool keep_caps)
{
	uint64_t caps = sandbox__capabilities();

	if (caps == UINT64_MAX)
		return -EPERM;
	if (keep_caps && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return keep_caps ? set_caps(caps) : 0;
}

/* ------------------------------------------------------------------------------------------------
 * A child
 */

/* All but standard error and `keep`. Before 5.9 there is no call for it. */
static void close_others(int keep)
{
	if ((keep <= 3 || syscall(SYS_close_range, 3, keep - 1, 0) == 0) &&
	    syscall(SYS_close_range, keep + 1, ~0u, 0) == 0)
		return;
	for (long fd = 3, n = sysconf(_SC_OPEN_MAX); fd < n; fd++)
		if (fd != keep)
			close((int)fd);
}

int sandbox__begin_child(const char *name, pid_t parent, int keep)
{
	sigset_t all;
	int null;

	prctl(PR_SET_NAME, name, 0, 0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	/* It may have died before that. */
	if (getppid() != parent)
		return -ESRCH;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_IGN);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	close_others(keep);
	return 0;
}

int sandbox__limit(int which, uint64_t value)
{
	struct rlimit l;

	if (getrlimit(which, &l) < 0)
		return -errno;
	/* To raise the hard one takes CAP_SYS_RESOURCE. */
	if (l.rlim_max > value)
		l.rlim_max = value;
	l.rlim_cur = l.rlim_max;
	return setrlimit(which, &l) < 0 ? -errno : 0;
}

/* ------------------------------------------------------------------------------------------------
 * System calls
 */

int sandbox__allow_only(const int *calls, size_t n)
{
	struct sock_filter code[FILTER_CALLS_MAX + 6], *at = code;
	struct sock_fprog program = { .filter = code };

	if (n > FILTER_CALLS_MAX)
		return -E2BIG;
	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, arch));
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	/* Jumps reach 255 instructions: to the last one, which allows. */
	for (size_t i = 0; i < n; i++)
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i],
						     (uint8_t)(n - i), 0);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)(at - code);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return -errno;
	return 0;
}
