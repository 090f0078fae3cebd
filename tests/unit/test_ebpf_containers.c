/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_containers.c - names of containers, from files as their runtimes write them
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/containers.h"
#include "plugins/input/ebpf/tags.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/shell.h"

#define ID_A  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B  "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define TASKS "/run/containerd/io.containerd.runtime.v2.task/"

static const struct {
	enum containers_runtime runtime;
	const char *name, *id, *path, *json;
	const char *rows; /* NAME=VALUE, each with a blank behind it */
} cases[] = {
	{ CONTAINERS_DOCKER, "docker", ID_A, "/var/lib/docker/containers/" ID_A "/config.v2.json",
	  "{\"ID\":\"" ID_A
	  "\",\"State\":{\"Running\":true},\"Config\":{\"Image\":\"nginx\",\"Labels\":"
	  "{\"com.docker.compose.service\":\"front\"}},\"Name\":\"/shop-front-1\"}",
	  "container=shop-front-1 __meta_docker_container_name=shop-front-1 "
	  "__meta_docker_container_label_com_docker_compose_service=front "
	  "__meta_docker_container_labelpresent_com_docker_compose_service=true " },
	{ CONTAINERS_PODMAN, "podman", ID_B, "/var/lib/containers/storage/overlay-containers/containers.json",
	  "[{\"id\":\"" ID_A "\",\"names\":[\"other\"]},{\"id\":\"" ID_B
	  "\",\"names\":[\"web\",\"x\"]}]",
	  "container=web __meta_podman_container_name=web " },
	{ CONTAINERS_CONTAINERD, "containerd", ID_A, TASKS "k8s.io/" ID_A "/config.json",
	  "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"nginx\","
	  "\"io.kubernetes.cri.sandbox-name\":\"web-1\",\"io.kubernetes.cri.sandbox-namespace\":"
	  "\"shop\"}}",
	  "container=nginx __meta_containerd_container_name=nginx pod=web-1 "
	  "__meta_containerd_pod_name=web-1 namespace=shop " },
	{ CONTAINERS_CONTAINERD, "containerd", ID_B, TASKS "default/" ID_B "/config.json",
	  "{\"annotations\":{\"nerdctl/name\":\"db\"}}",
	  "container=db __meta_containerd_container_name=db " },
	{ CONTAINERS_CRIO, "cri-o", ID_A,
	  "/run/containers/storage/overlay-containers/" ID_A "/userdata/config.json",
	  "{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":"
	  "\"app-0\","
	  "\"io.kubernetes.pod.namespace\":\"prod\"}}",
	  "container=app pod=app-0 namespace=prod " },
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

static void assert_rows(const struct buf *rows, const char *want)
{
	struct dcm_str at = buf__view(rows), name, value;
	struct buf text = { 0 };

	while (tags__next(&at, &name, &value))
		buf__printf(&text, "%.*s=%.*s ", STR_ARG(name), STR_ARG(value));
	buf__byte(&text, 0);
	assert_string_equal((const char *)text.data, want);
	buf__fini(&text);
}

static void test_what_runtimes_write(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		struct buf rows = { 0 };

		assert_int_equal(containers__parse(cases[i].runtime, cases[i].id, cases[i].json,
						   strlen(cases[i].json), &rows),
				 0);
		assert_rows(&rows, cases[i].rows);
		buf__fini(&rows);
	}
}

static void test_what_they_do_not_write(void **state)
{
	static const struct {
		const char *json;
		int want;
	} odd[] = {
		{ "", -EBADMSG },
		{ "{", -EBADMSG },
		{ "{}", -ENOENT },
		{ "[]", -ENOENT },
		{ "[1,{\"id\":7}]", -ENOENT },
		{ "{\"Name\":7,\"annotations\":[]}", -ENOENT },
		{ "{\"Name\":\"/\"}", -ENOENT },
		{ "[{\"id\":\"" ID_A "\",\"names\":[]},{\"id\":\"" ID_A "\"}]", -ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		for (int r = 0; r < CONTAINERS_N_RUNTIMES; r++) {
			struct buf rows = { 0 };

			assert_int_equal(containers__parse((enum containers_runtime)r, ID_A,
							   odd[i].json, strlen(odd[i].json), &rows),
					 odd[i].want);
			buf__fini(&rows);
		}
}

/* A root directory of our own with all the files. */
static int make_root(void **state)
{
	char *root = strdup("/tmp/decima-test-containers-XXXXXX");

	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < CASES; i++) {
		char path[512], folder[512];

		snprintf(path, sizeof(path), "%s%s", root, cases[i].path);
		snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
		assert_int_equal(fd__mkdirs(folder, 0755), 0);
		assert_int_equal(fd__replace(path, 0600, cases[i].json, strlen(cases[i].json), NULL), 0);
	}
	*state = root;
	return 0;
}

static int remove_root(void **state)
{
	assert_int_equal(shell("rm -rf '%s'", (const char *)*state), 0);
	free(*state);
	return 0;
}

/* Each with a table of its own: ids of real runtimes differ. */
static void test_names_are_found(void **state)
{
	for (size_t i = 0; i < CASES; i++) {
		struct containers *c = containers__new(*state);
		struct buf rows = { 0 };

		assert_false(containers__find(c, str__of(cases[i].name), str__of(cases[i].id), &rows));
		for (int k = 0; k < 6000 && containers__version(c) == 1; k++)
			usleep(10000);
		assert_int_equal(containers__version(c), 2);
		assert_true(containers__find(c, str__of(cases[i].name), str__of(cases[i].id), &rows));
		assert_rows(&rows, cases[i].rows);
		buf__fini(&rows);
		containers__free(c);
	}
}

/* No such file, runtimes without one, and what is no id, above all a path. */
static void test_nothing_to_find(void **state)
{
	static const char none[] =
		"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";
	struct containers *c = containers__new(*state);
	struct buf rows = { 0 };

	assert_false(containers__find(c, STR("docker"), STR(""), &rows));
	assert_false(containers__find(c, STR("docker"), STR("../../../etc/passwd"), &rows));
	assert_false(containers__find(
		c, STR("docker"),
		STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/../aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), &rows));
	assert_false(containers__find(c, STR("lxc"), STR(ID_A), &rows));
	assert_false(containers__find(c, STR(""), STR(ID_A), &rows));
	assert_false(containers__find(c, STR("docker"), str__of(none), &rows));
	assert_false(containers__find(c, STR("docker"), str__of(none), &rows));
	assert_int_equal(rows.n, 0);
	assert_int_equal(containers__version(c), 1);
	containers__free(c);
}

/* More than are remembered: those of before are read anew. */
static void test_many(void **state)
{
	struct containers *c = containers__new(*state);
	struct buf rows = { 0 };

	for (unsigned i = 0; i < 5000; i++) {
		char id[65];

		snprintf(id, sizeof(id), "%064x", i);
		assert_false(containers__find(c, STR("cri-o"), str__of(id), &rows));
	}
	for (int k = 0; k < 6000 && !containers__find(c, STR("docker"), STR(ID_A), &rows); k++)
		usleep(10000);
	assert_rows(&rows, cases[0].rows);
	buf__fini(&rows);
	containers__free(c);
}

static void test_no_memory(void **state)
{
	FAILMALLOC_SWEEP (i) {
		struct containers *c = containers__new(*state);
		struct buf rows = { 0 };
		int r = c ? containers__parse(CONTAINERS_DOCKER, ID_A, cases[0].json,
					      strlen(cases[0].json), &rows)
			  : -ENOMEM;

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		buf__fini(&rows);
		containers__free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_runtimes_write),
		cmocka_unit_test(test_what_they_do_not_write),
		cmocka_unit_test(test_names_are_found),
		cmocka_unit_test(test_nothing_to_find),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_containers", tests, make_root, remove_root);
}
