/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_probe.c - each machine that cannot be sampled gets the sentence that helps
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "plugins/input/ebpf/probe.h"

#define CAP(c) (1ull << (c))

/* A machine on which all is well. */
static const struct probe good = {
	.major = 6,
	.minor = 1,
	.patch = 36,
	.release = "6.1.0",
	.btf = true,
	.host_pids = true,
	.host_users = true,
	.capabilities = UINT64_MAX,
	.paranoid = 2,
};

static const struct settings plain = { .user_stacks = true, .kernel_stacks = true };

static void assert_refused(struct probe p, int code, const char *part)
{
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(probe__require(&p, &plain, &err), code);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static void test_require(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct probe p = good;

	(void)state;
	assert_int_equal(probe__require(&p, &plain, &err), 0);
	p.capabilities = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	assert_int_equal(probe__require(&p, &plain, &err), 0);
	p.capabilities = CAP(CAP_SYS_ADMIN);
	assert_int_equal(probe__require(&p, &plain, &err), 0);
	p.capabilities = CAP(CAP_BPF);
	assert_refused(p, -EPERM, "give it CAP_PERFMON");
	p.capabilities = CAP(CAP_PERFMON);
	assert_refused(p, -EPERM, "give it CAP_BPF");
	p.capabilities = 0;
	assert_refused(p, -EPERM, "CAP_BPF and CAP_PERFMON");
	p = good;
	p.minor = 7;
	p.major = 5;
	assert_refused(p, -EOPNOTSUPP, "5.8 or newer");
	p = good;
	p.major = 4;
	assert_refused(p, -EOPNOTSUPP, "too old");
	p = good;
	p.btf = false;
	assert_refused(p, -EOPNOTSUPP, "btf_path");
	p.btf_named = true;
	assert_refused(p, -EOPNOTSUPP, "btf_path: the file cannot be read");
	p = good;
	p.lockdown = PROBE_LOCKDOWN_CONFIDENTIALITY;
	assert_refused(p, -EPERM, "lockdown=integrity");
	p = good;
	p.host_pids = false;
	assert_refused(p, -EPERM, "--pid=host");
	p = good;
	p.host_users = false;
	assert_refused(p, -EPERM, "user namespace");
	p = good;
	p.perf_denied = true;
	p.paranoid = 3;
	assert_refused(p, -EPERM, "kernel.perf_event_paranoid is 3");
}

static void test_bug_that_hangs(void **state)
{
	static const struct {
		unsigned major, minor, patch;
		bool refused;
	} kernels[] = {
		{ 5, 10, 0, false }, { 5, 15, 0, false }, { 5, 18, 19, false }, { 5, 19, 0, true },
		{ 6, 0, 19, true },  { 6, 1, 0, true },	  { 6, 1, 35, true },	{ 6, 1, 36, false },
		{ 6, 2, 16, true },  { 6, 3, 9, true },	  { 6, 3, 10, false },	{ 6, 4, 0, false },
		{ 6, 12, 0, false }, { 7, 2, 0, false },
	};
	struct settings unsafe = plain, no_user = plain;
	struct dcm_error err = DCM_ERROR_INIT;
	struct probe p = good;

	(void)state;
	unsafe.unsafe_kernel = true;
	no_user.user_stacks = false;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		p.major = kernels[i].major;
		p.minor = kernels[i].minor;
		p.patch = kernels[i].patch;
		if (kernels[i].refused)
			assert_refused(p, -EOPNOTSUPP, "unsafe_kernel: true");
		else
			assert_int_equal(probe__require(&p, &plain, &err), 0);
		assert_int_equal(probe__require(&p, &unsafe, &err), 0);
		assert_int_equal(probe__require(&p, &no_user, &err), 0);
	}
}

static void test_explain(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct probe p = good;

	(void)state;
	assert_int_equal(probe__explain(&p, "load", -EPERM, "denied", &err), -EPERM);
	assert_non_null(strstr(err.text, "seccomp"));
	assert_non_null(strstr(err.text, "denied"));
	p.lockdown = PROBE_LOCKDOWN_INTEGRITY;
	probe__explain(&p, "load", -EPERM, NULL, &err);
	assert_non_null(strstr(err.text, "lockdown"));
	p = good;
	p.major = 5;
	p.minor = 10;
	p.capabilities = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	probe__explain(&p, "load", -EPERM, NULL, &err);
	assert_non_null(strstr(err.text, "LimitMEMLOCK"));
	assert_int_equal(probe__explain(&good, "load", -EINVAL, "R1 invalid", &err), -EINVAL);
	assert_non_null(strstr(err.text, "R1 invalid"));
	assert_non_null(strstr(err.text, "6.1.0"));
	assert_int_equal(probe__explain(&good, "load", -ENOSPC, NULL, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(probe__explain(&good, "load", -EMFILE, "detail", &err), -EMFILE);
	assert_non_null(strstr(err.text, "RLIMIT_NOFILE is "));
	assert_non_null(strstr(err.text, "raise it to 1024"));
	assert_int_equal(probe__explain(&good, "load", -ESRCH, "detail", &err), -ESRCH);
	assert_non_null(strstr(err.text, "/sys/kernel/btf/vmlinux lacks"));
	assert_non_null(strstr(err.text, "btf_path"));
}

/* The file of a test: these bytes, and as long as that. */
static bool is_damaged(const void *bytes, size_t n, off_t size)
{
	char path[] = "/tmp/decima-test-XXXXXX";
	int fd = mkstemp(path);
	struct probe p;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
	probe__read(path, &p);
	unlink(path);
	assert_true(p.btf);
	return p.btf_damaged;
}

/* What is there may hold none, or be cut off. */
static void test_btf(void **state)
{
	struct btf_header h = { .magic = BTF_MAGIC,
				.version = BTF_VERSION,
				.hdr_len = sizeof(h),
				.type_len = 100,
				.str_off = 100,
				.str_len = 50 };
	static const char elf[] = "\177ELF and more, as long as a header";
	const off_t whole = sizeof(h) + 150;
	char noise[1000];
	struct probe p;

	(void)state;
	memset(noise, 0x5a, sizeof(noise));
	assert_true(is_damaged(noise, sizeof(noise), sizeof(noise)));
	assert_true(is_damaged("", 0, 0));
	assert_false(is_damaged(&h, sizeof(h), whole));
	assert_true(is_damaged(&h, sizeof(h), whole - 1));
	h.type_len = UINT32_MAX;
	assert_true(is_damaged(&h, sizeof(h), whole));
	assert_false(is_damaged(elf, sizeof(elf), 100));
	probe__read("/dev/null", &p);
	assert_true(p.btf_damaged);
	p = good;
	p.btf_damaged = true;
	assert_refused(p, -EOPNOTSUPP, "/sys/kernel/btf/vmlinux holds no BTF");
	assert_refused(p, -EOPNOTSUPP, "umount it");
	p.btf_named = true;
	assert_refused(p, -EOPNOTSUPP, "btf_path: the file holds no BTF");
}

/* Exactly these are missing, in this order. */
static void assert_missing(struct probe p, const char *const *parts)
{
	const char *missing[PROBE_SHORTCOMINGS_MAX];
	size_t n = probe__shortcomings(&p, missing), i;

	for (i = 0; parts[i] && i < n; i++)
		if (!strstr(missing[i], parts[i]))
			fail_msg("\"%s\" does not say \"%s\"", missing[i], parts[i]);
	assert_null(parts[i]);
	assert_int_equal(n, i);
}

static void test_shortcomings(void **state)
{
	static const struct {
		uint64_t without;
		const char *says;
	} rights[] = {
		{ CAP(CAP_SYS_PTRACE), "give Decima CAP_SYS_PTRACE" },
		{ CAP(CAP_DAC_READ_SEARCH), "give Decima CAP_DAC_READ_SEARCH" },
		{ CAP(CAP_SYSLOG), "give Decima CAP_SYSLOG" },
		{ CAP(CAP_CHECKPOINT_RESTORE), "give Decima CAP_CHECKPOINT_RESTORE" },
	};
	const uint64_t fine = ~CAP(CAP_SYS_ADMIN);
	struct probe p = good;

	(void)state;
	assert_missing(p, (const char *const[]){ NULL });
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
		p.capabilities = fine & ~rights[i].without;
		assert_missing(p, (const char *const[]){ rights[i].says, NULL });
	}
	p.capabilities = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	assert_missing(p, (const char *const[]){ rights[0].says, rights[1].says, rights[2].says,
						 rights[3].says, NULL });
	p = good;
	p.capabilities = CAP(CAP_SYS_ADMIN);
	assert_missing(p, (const char *const[]){ rights[0].says, rights[1].says, NULL });
	p = good;
	p.kptr_restrict = 2;
	assert_missing(p, (const char *const[]){ "kernel.kptr_restrict to 1", NULL });
	/* Who has no CAP_SYSLOG either is told first what no right makes up for. */
	p.capabilities = fine & ~CAP(CAP_SYSLOG);
	assert_missing(p, (const char *const[]){ "kernel.kptr_restrict to 1", NULL });
	/* As many as are taken is no shortcoming. */
	p = good;
	p.max_stack = 127;
	assert_missing(p, (const char *const[]){ NULL });
	p.max_stack = 126;
	assert_missing(p, (const char *const[]){ "set kernel.perf_event_max_stack to 127", NULL });
}

/* ------------------------------------------------------------------------------------------------
 * What the host is told
 */

static char told[600];
static enum dcm_state told_state;

__attribute__((format(printf, 3, 4))) static void set_state(const struct dcm_host *host,
							    enum dcm_state state, const char *fmt, ...)
{
	va_list ap;

	(void)host;
	told_state = state;
	va_start(ap, fmt);
	vsnprintf(told, sizeof(told), fmt, ap);
	va_end(ap);
}

static void test_tells(void **state)
{
	const struct dcm_host host = { .size = sizeof(host), .set_state = set_state };
	struct probe p = good;

	(void)state;
	probe__tell_state(&p, &host, 99, NULL);
	assert_int_equal(told_state, DCM_STATE_OK);
	assert_string_equal(told, "sampling at 99 Hz");
	/* Fewer than configured is less than it should be, with all rights there are. */
	probe__tell_state(&p, &host, 199, "sampling at 99 of 199 Hz");
	assert_int_equal(told_state, DCM_STATE_DEGRADED);
	assert_string_equal(told, "sampling at 99 of 199 Hz");
	p.max_hz = 99;
	probe__tell_state(&p, &host, 99, NULL);
	assert_int_equal(told_state, DCM_STATE_OK);
	probe__tell_state(&p, &host, 997, NULL);
	assert_int_equal(told_state, DCM_STATE_DEGRADED);
	assert_non_null(strstr(told, "at most 99 of 997 samples a second"));
	assert_non_null(strstr(told, "raise kernel.perf_event_max_sample_rate"));
	p.capabilities = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	probe__tell_state(&p, &host, 99, NULL);
	assert_int_equal(told_state, DCM_STATE_DEGRADED);
	probe__tell_state(&p, &host, 99, "sampling at 49 of 99 Hz");
	assert_int_equal(strncmp(told, "sampling at 49 of 99 Hz; ", 25), 0);
	/* All of them, whole. */
	assert_non_null(strstr(told, "CAP_SYS_PTRACE; "));
	assert_non_null(strstr(told, "CAP_DAC_READ_SEARCH; "));
	assert_non_null(strstr(told, "CAP_SYSLOG; "));
	assert_string_equal(told + strlen(told) - strlen("CAP_CHECKPOINT_RESTORE"),
			    "CAP_CHECKPOINT_RESTORE");
	probe__tell_cpu(&p, &host, -EACCES);
	assert_non_null(strstr(told, "a CPU that came online is not sampled: Permission denied"));
	p.paranoid = 3;
	probe__tell_cpu(&p, &host, -EACCES);
	assert_int_equal(told_state, DCM_STATE_DEGRADED);
	assert_non_null(strstr(told, "kernel.perf_event_paranoid is 3"));
	assert_non_null(strstr(told, "set it to 2"));
	probe__tell_cpu(&p, &host, -EMFILE);
	assert_int_equal(told_state, DCM_STATE_DEGRADED);
	assert_non_null(
		strstr(told, "CPU that came online: too many open files: RLIMIT_NOFILE is "));
	probe__tell_cpu(&p, &host, -ENOMEM);
	assert_non_null(strstr(told, "memory"));
}

static void test_this_machine(void **state)
{
	struct utsname u;
	struct probe p;

	(void)state;
	probe__read(NULL, &p);
	assert_int_equal(uname(&u), 0);
	assert_string_equal(p.release, u.release);
	assert_true(p.major >= 3);
	assert_int_equal(p.btf, access("/sys/kernel/btf/vmlinux", R_OK) == 0);
	assert_false(p.btf_damaged);
	if (geteuid() != 0)
		assert_int_equal(p.capabilities & CAP(CAP_SYS_ADMIN), 0);
	probe__read("/no such file", &p);
	assert_false(p.btf);
	assert_true(p.btf_named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_require),	     cmocka_unit_test(test_bug_that_hangs),
		cmocka_unit_test(test_explain),	     cmocka_unit_test(test_btf),
		cmocka_unit_test(test_shortcomings), cmocka_unit_test(test_tells),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests_name("ebpf_probe", tests, NULL, NULL);
}
