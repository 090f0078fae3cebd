/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_names.c - control groups, labels and lists of CPUs: text in, text out
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/cpus.h"
#include "plugins/input/ebpf/labels.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void assert_text(struct dcm_str got, const char *want)
{
	char text[512];

	snprintf(text, sizeof(text), "%.*s", STR_ARG(got));
	assert_string_equal(text, want);
}

static void test_cgroup_path(void **state)
{
	const char *const cases[][2] = {
		{ "0::/system.slice/cron.service\n", "/system.slice/cron.service" },
		{ "0::/system.slice/cron.service", "/system.slice/cron.service" },
		/* Hybrid: the unified hierarchy is there and empty. */
		{ "4:memory:/a/b\n1:name=systemd:/user.slice\n0::/\n", "/user.slice" },
		{ "4:memory:/a/b\n1:name=systemd:/\n0::/\n", "/a/b" },
		{ "12:cpu,cpuacct:/docker/x\n4:memory:/d\n", "/docker/x" },
		{ "0::/\n", "" },
		{ "0::/a:b:c\n", "/a:b:c" },
		{ "", "" },
		{ "\n\n", "" },
		{ "garbage", "" },
		{ "0:", "" },
		{ "0::relative\n", "" },
		{ "0::/..//x\n", "/..//x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_text(cgroup__path(str__of(cases[i][0])), cases[i][1]);
}

#define UID	   "8f2b4c5a-1d3e-4f60-9a7b-0c1d2e3f4a5b"
#define UID_	   "8f2b4c5a_1d3e_4f60_9a7b_0c1d2e3f4a5b"
#define STATIC_UID "b3a1e0c49f1d44c7a9d0f7c8e6b5a403"

/* Paths as the runtimes make them, with both cgroup drivers. */
static const struct {
	const char *path, *container, *runtime, *unit, *slice;
} groups[] = {
	/* docker: cgroupfs, systemd, rootless, docker in docker, systemd in docker */
	{ "/docker/" ID, ID, "docker", "", "" },
	{ "/system.slice/docker-" ID ".scope", ID, "docker", "", "system.slice" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", ID,
	  "docker", "", "user.slice" },
	{ "/docker/" ID "/docker/" ID "/init", ID, "docker", "", "" },
	{ "/docker/" ID "/system.slice/nginx.service", ID, "docker", "nginx.service", "system.slice" },
	{ "/system.slice/docker.service", "", "", "docker.service", "system.slice" },
	{ "/docker/buildkit/x7k2m9q4w1z8r5t3y6u0i2o4p", "x7k2m9q4w1z8r5t3y6u0i2o4p", "buildkit", "", "" },
	/*
	 * containerd: CRI with systemd, CRI with cgroupfs below the unit, nerdctl, a namespace of
	 * ctr
	 */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", "", "kubepods-burstable-pod" UID_ ".slice" },
	{ "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	  ".slice:cri-containerd:" ID,
	  ID, "containerd", "", "system.slice" },
	{ "/system.slice/nerdctl-" ID ".scope", ID, "containerd", "", "system.slice" },
	{ "/default/" ID, ID, "", "", "" },
	/* Kubernetes with cgroupfs; a static pod; kind */
	{ "/kubepods/besteffort/pod" UID "/" ID, ID, "", "", "" },
	{ "/kubepods/burstable/pod" STATIC_UID "/" ID, ID, "", "", "" },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", "", "kubelet-kubepods-pod" UID_ ".slice" },
	{ "/docker/" ID "/kubelet/kubepods/besteffort/pod" UID "/" ID, ID, "", "", "" },
	/* cri-o: systemd, a process below, its monitor, cgroupfs */
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", ID, "cri-o", "",
	  "kubepods-pod" UID_ ".slice" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", ID, "cri-o", "",
	  "kubepods-pod" UID_ ".slice" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", "", "", "",
	  "kubepods-pod" UID_ ".slice" },
	{ "/kubepods/burstable/pod" UID "/crio-" ID, ID, "cri-o", "", "" },
	/* podman: rootful, with init, rootless, its monitor, cgroupfs, a quadlet's service */
	{ "/machine.slice/libpod-" ID ".scope", ID, "podman", "", "machine.slice" },
	{ "/machine.slice/libpod-" ID ".scope/container/init.scope", ID, "podman", "", "machine.slice" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	  ID, "podman", "", "user.slice" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "", "", "", "machine.slice" },
	{ "/libpod_parent/libpod-" ID, ID, "podman", "", "" },
	{ "/system.slice/web.service/libpod-payload-" ID, ID, "", "", "system.slice" },
	/* LXC and LXD, with systemd inside */
	{ "/lxc/web1", "web1", "lxc", "", "" },
	{ "/lxc.payload/web1/system.slice/cron.service", "web1", "lxc", "cron.service", "system.slice" },
	{ "/lxc.payload.web1/user.slice", "web1", "lxc", "", "user.slice" },
	{ "/lxc.monitor.web1", "", "", "", "" },
	/* What looks alike */
	{ "/process_api/bb873371defd5133dc0f9d9aba0869a9", "", "", "", "" },
	{ "/x/g" ID, "", "", "", "" },
	{ "/x/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "", "", "", "" },
	{ "/podman.slice/pod", "", "", "", "podman.slice" },
	{ "/.slice/.service", "", "", "", "" },
	{ "/kubepods/podzzzzzzzz-1d3e-4f60-9a7b-0c1d2e3f4a5b", "", "", "", "" },
	{ "/", "", "", "", "" },
	{ "", "", "", "", "" },
};

static void test_groups(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct dcm_str path = str__of(groups[i].path);

		assert_text(cgroup__container(path), groups[i].container);
		assert_text(cgroup__runtime(path), groups[i].runtime);
		assert_text(cgroup__unit(path), groups[i].unit);
		assert_text(cgroup__slice(path), groups[i].slice);
	}
}

static void test_within(void **state)
{
	(void)state;
	assert_true(cgroup__is_within(STR("/a/b"), STR("/a/b")));
	assert_true(cgroup__is_within(STR("/a/b/c"), STR("/a/b")));
	assert_true(cgroup__is_within(STR("/a/b"), STR("/a/")));
	assert_true(cgroup__is_within(STR("/a"), STR("/")));
	assert_false(cgroup__is_within(STR("/a/bc"), STR("/a/b")));
	assert_false(cgroup__is_within(STR("/a"), STR("/a/b")));
	assert_false(cgroup__is_within(STR(""), STR("/a")));
}

static void test_unit(void **state)
{
	const char *const cases[][2] = {
		{ "/system.slice/nginx.service", "nginx.service" },
		{ "/system.slice/getty@tty1.service", "getty@tty1.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service",
		  "foot.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "" },
		{ "/user.slice/user-1000.slice/session-3.scope", "" },
		{ "/system.slice/a.service/sub", "a.service" },
		{ "/system.slice/.service", "" },
		{ "nginx.service", "nginx.service" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_text(cgroup__unit(str__of(cases[i][0])), cases[i][1]);
}

static void assert_comm(const char *comm, bool kthread, const char *want)
{
	char padded[16] = { 0 }, text[16];

	memcpy(padded, comm, strnlen(comm, sizeof(padded)));
	assert_text(labels__comm(padded, kthread, text), want);
}

static void test_comm(void **state)
{
	(void)state;
	assert_comm("bash", false, "bash");
	assert_comm("0123456789abcde", false, "0123456789abcde");
	/* The kernel ends it with a NUL, but nothing breaks when it does not. */
	assert_comm("0123456789abcdef", false, "0123456789abcdef");
	assert_comm("", false, "");
	assert_comm("a\nb\x1b\xff;c", false, "a?b??;c");
	assert_comm("caf\xc3\xa9", false, "caf\xc3\xa9");
	assert_comm("kworker/0:1", true, "kworker");
	assert_comm("kworker/0:1", false, "kworker/0:1");
	assert_comm("irq:7", true, "irq");
	assert_comm("/x", true, "/x");
}

static void test_service(void **state)
{
	const char *const unit = "/system.slice/nginx.service", *const exe = "/usr/sbin/nginx";
	const char *const docker = "/system.slice/docker-" ID ".scope";

	(void)state;
	assert_text(labels__service(str__of(docker), str__of(exe), STR("c"), false),
		    "0123456789ab");
	assert_text(labels__service(str__of(unit), str__of(exe), STR("c"), false), "nginx");
	assert_text(labels__service(STR("/x"), str__of(exe), STR("c"), false), "nginx");
	assert_text(labels__service(STR(""), STR("/"), STR("c"), false), "c");
	assert_text(labels__service(STR(""), STR(""), STR("c"), false), "c");
	assert_text(labels__service(str__of(unit), STR(""), STR("kworker"), true), "kernel");
	assert_text(labels__without_deleted(STR("/a/b (deleted)")), "/a/b");
	assert_text(labels__without_deleted(STR("/a/b")), "/a/b");
}

/* Writes a set as the kernel does: the parser's opposite. */
static void write_set(const struct cpus *set, char *out, size_t size)
{
	size_t n = 0;

	out[0] = 0;
	for (uint32_t from = 0; from < CPUS_MAX; from++) {
		uint32_t to = from;

		if (!cpus__has(set, from))
			continue;
		while (cpus__has(set, to + 1))
			to++;
		n += (size_t)snprintf(out + n, size - n, to > from ? "%s%u-%u" : "%s%u",
				      n ? "," : "", from, to);
		from = to;
	}
}

static uint32_t count_set(const struct cpus *set)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		n += cpus__has(set, cpu);
	return n;
}

static void test_cpus(void **state)
{
	const char *const good[] = { "", "0", "0-3", "1,3,5", "0-1,8-8191", "63-64" };
	const char *const bad[] = { "x",  "-",	 "1-",	 "3-1",		"0,",
				    ",0", "0 1", "8192", "99999999999", "0--1" };
	static struct cpus set;
	static char text[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(cpus__parse(str__of(good[i]), &set), 0);
		write_set(&set, text, sizeof(text));
		assert_string_equal(text, good[i]);
	}
	assert_int_equal(cpus__parse(STR("1-2\n"), &set), 0);
	assert_int_equal(count_set(&set), 2);
	assert_int_equal(cpus__highest(&set), 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(cpus__parse(str__of(bad[i]), &set), -EINVAL);
		assert_int_equal(count_set(&set), 2);
	}
	assert_int_equal(cpus__read("online", &set), 0);
	assert_int_equal(count_set(&set), sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(cpus__read("no such file", &set), -ENOENT);
	assert_int_equal(cpus__open("no such file"), -ENOENT);
}

/* A file that stays open is read as it is now. */
static void test_cpus_that_change(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint32_t n;
	} rounds[] = { { "0-3\n", 0, 4 },
		       { "0\n", 0, 1 },
		       { "0,2-3\n", 0, 3 },
		       { "0-", -EINVAL, 3 },
		       { "\n", 0, 0 } };
	int fd = memfd_create("online", MFD_CLOEXEC);
	static struct cpus set;

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, rounds[i].text, strlen(rounds[i].text), 0),
				 strlen(rounds[i].text));
		assert_int_equal(cpus__read_from(fd, &set), rounds[i].result);
		assert_int_equal(count_set(&set), rounds[i].n);
	}
	/* More than any list of CPUs. */
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(cpus__read_from(fd, &set), -EFBIG);
	close(fd);
	assert_int_equal(cpus__read_from(fd, &set), -EBADF);
	fd = cpus__open("online");
	assert_int_equal(cpus__read_from(fd, &set), 0);
	assert_int_equal(cpus__read_from(fd, &set), 0);
	assert_int_equal(count_set(&set), sysconf(_SC_NPROCESSORS_ONLN));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup_path), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_within),	    cmocka_unit_test(test_unit),
		cmocka_unit_test(test_comm),	    cmocka_unit_test(test_service),
		cmocka_unit_test(test_cpus),	    cmocka_unit_test(test_cpus_that_change),
	};

	return cmocka_run_group_tests_name("ebpf_names", tests, NULL, NULL);
}
