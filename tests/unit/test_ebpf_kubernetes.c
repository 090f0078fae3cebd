/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_kubernetes.c - pods of containers, from answers as the kubelet gives them
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/kubernetes.h"
#include "plugins/input/ebpf/tags.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/failmalloc.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const char pods[] =
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"web-6f7-"
	"x2\","
	"\"namespace\":\"shop\",\"uid\":\"8f2b4c5a-1d3e-4f60-9a7b-0c1d2e3f4a5b\",\"labels\":{"
	"\"app\":\"web\","
	"\"app.kubernetes.io/name\":\"web\"},\"annotations\":{\"note\":\"a "
	"b\"},\"ownerReferences\":[{\"kind\":"
	"\"ReplicaSet\",\"name\":\"web-6f7\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\"},"
	"\"status\":{"
	"\"phase\":\"Running\",\"hostIP\":\"10.0.0.1\",\"podIP\":\"10.1.0.7\",\"conditions\":[{"
	"\"type\":\"Ready\","
	"\"status\":\"True\"}],\"containerStatuses\":[{\"name\":\"nginx\",\"image\":\"nginx:1.25\","
	"\"containerID\":\"containerd://" ID_B "\"},{\"name\":\"starting\",\"image\":\"x\"}],"
	"\"initContainerStatuses\":[{\"name\":\"setup\",\"image\":\"busybox\",\"containerID\":"
	"\"cri-o://" ID_A
	"\"}]}},{\"metadata\":{\"name\":\"pending\",\"namespace\":\"shop\"},\"status\":{}}]}";

static const char node[] = "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{"
			   "\"topology.kubernetes.io/zone\":"
			   "\"z-1\"},\"annotations\":{\"rack\":\"7\"}},\"status\":{}}";

/* What the fake server says, and was asked last. */
static struct {
	int error, status;
	const char *body, *node;
	char url[256], bearer[64], ca_file[64];
	bool insecure;
} server;

static int http_get(const struct dcm_host *host, const struct dcm_http_request *request,
		    struct dcm_http_answer *ret, struct dcm_error *err)
{
	(void)host;
	snprintf(server.url, sizeof(server.url), "%s", request->url);
	snprintf(server.bearer, sizeof(server.bearer), "%s", request->bearer ? request->bearer : "");
	snprintf(server.ca_file, sizeof(server.ca_file), "%s", request->ca_file ? request->ca_file : "");
	server.insecure = request->insecure;
	if (server.error) {
		snprintf(err->text, sizeof(err->text), "down");
		return server.error;
	}
	ret->status = server.status;
	ret->data = (uint8_t *)strdup(strstr(request->url, "/nodes/") ? server.node : server.body);
	ret->n = ret->data ? strlen((const char *)ret->data) : 0;
	return ret->data ? 0 : -ENOMEM;
}

struct fixture {
	struct ebpf_host host;
	struct settings_kubernetes settings;
	struct kubernetes *k;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->host.host.http_get = http_get;
	f->settings.source = SETTINGS_KUBERNETES_KUBELET;
	f->settings.interval_ns = 3600000000000;
	f->k = kubernetes__new(&f->host.host, &f->settings);
	memset(&server, 0, sizeof(server));
	server.status = 200;
	server.body = pods;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kubernetes__free(f->k);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

static void assert_value(const struct buf *rows, const char *name, const char *want)
{
	struct dcm_str got = tags__value(buf__view(rows), str__of(name));
	char text[512];

	snprintf(text, sizeof(text), "%.*s", STR_ARG(got));
	assert_string_equal(text, want);
}

static void test_answer(void **state)
{
	struct fixture *f = *state;
	struct buf rows = { 0 };
	uint64_t version = kubernetes__version(f->k);

	assert_false(kubernetes__find(f->k, STR(ID_B), &rows));
	assert_int_equal(kubernetes__take(f->k, pods, strlen(pods)), 0);
	assert_int_equal(kubernetes__version(f->k), version + 1);
	assert_true(kubernetes__find(f->k, STR(ID_B), &rows));
	assert_value(&rows, "namespace", "shop");
	assert_value(&rows, "pod", "web-6f7-x2");
	assert_value(&rows, "container", "nginx");
	assert_value(&rows, "__meta_kubernetes_namespace", "shop");
	assert_value(&rows, "__meta_kubernetes_pod_name", "web-6f7-x2");
	assert_value(&rows, "__meta_kubernetes_pod_uid", "8f2b4c5a-1d3e-4f60-9a7b-0c1d2e3f4a5b");
	assert_value(&rows, "__meta_kubernetes_pod_ip", "10.1.0.7");
	assert_value(&rows, "__meta_kubernetes_pod_host_ip", "10.0.0.1");
	assert_value(&rows, "__meta_kubernetes_pod_node_name", "n1");
	assert_value(&rows, "__meta_kubernetes_node_name", "n1");
	assert_value(&rows, "__meta_kubernetes_pod_phase", "Running");
	assert_value(&rows, "__meta_kubernetes_pod_ready", "true");
	assert_value(&rows, "__meta_kubernetes_pod_controller_kind", "ReplicaSet");
	assert_value(&rows, "__meta_kubernetes_pod_controller_name", "web-6f7");
	assert_value(&rows, "__meta_kubernetes_pod_container_name", "nginx");
	assert_value(&rows, "__meta_kubernetes_pod_container_id", "containerd://" ID_B);
	assert_value(&rows, "__meta_kubernetes_pod_container_image", "nginx:1.25");
	assert_value(&rows, "__meta_kubernetes_pod_container_init", "false");
	assert_value(&rows, "__meta_kubernetes_pod_label_app", "web");
	assert_value(&rows, "__meta_kubernetes_pod_labelpresent_app", "true");
	assert_value(&rows, "__meta_kubernetes_pod_label_app_kubernetes_io_name", "web");
	assert_value(&rows, "__meta_kubernetes_pod_annotation_note", "a b");
	buf__reset(&rows);
	assert_true(kubernetes__find(f->k, STR(ID_A), &rows));
	assert_value(&rows, "container", "setup");
	assert_value(&rows, "__meta_kubernetes_pod_container_init", "true");
	/* The same again is nothing new; an empty list is. */
	assert_int_equal(kubernetes__take(f->k, pods, strlen(pods)), 0);
	assert_int_equal(kubernetes__version(f->k), version + 1);
	assert_int_equal(kubernetes__take(f->k, "{\"items\":[]}", 12), 0);
	assert_int_equal(kubernetes__version(f->k), version + 2);
	assert_false(kubernetes__find(f->k, STR(ID_A), &rows));
	assert_false(kubernetes__find(f->k, STR(""), &rows));
	buf__fini(&rows);
}

/* What there is no room for is told, and what there is room for is known. */
static void test_too_many(void **state)
{
	struct fixture *f = *state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf list = { 0 }, rows = { 0 };

	for (int n = KUBERNETES_CONTAINERS_MAX; n <= KUBERNETES_CONTAINERS_MAX + 1; n++) {
		buf__reset(&list);
		buf__text(&list, "{\"items\":[{\"metadata\":{\"name\":\"p\"},\"status\":{"
				 "\"containerStatuses\":[");
		for (int i = 0; i < n; i++)
			buf__printf(&list, "%s{\"name\":\"c\",\"containerID\":\"d://%064d\"}",
				    i ? "," : "", i);
		buf__text(&list, "]}}]}");
		buf__byte(&list, 0);
		assert_int_equal(list.error, 0);
		server.body = (const char *)list.data;
		assert_int_equal(kubernetes__ask(f->k, &err), n > KUBERNETES_CONTAINERS_MAX ? -EFBIG : 0);
		assert_true(kubernetes__find(
			f->k, STR("0000000000000000000000000000000000000000000000000000000000016383"),
			&rows));
	}
	assert_non_null(strstr(err.text, "more containers than the 16384"));
	assert_false(kubernetes__find(
		f->k, STR("0000000000000000000000000000000000000000000000000000000000016384"), &rows));
	buf__fini(&list);
	buf__fini(&rows);
}

/* Nonsense leaves what was known. */
static void test_bad_answers(void **state)
{
	struct fixture *f = *state;
	const char *const bad[] = { "", "{", "[]", "{\"items\":{}}", "null", "{\"items\":1}" };
	const char *const odd[] = {
		"{\"items\":[1,null,\"x\",[],{}]}",
		"{\"items\":[{\"status\":{\"containerStatuses\":[1,{\"containerID\":7},"
		"{\"containerID\":\"x\"},{\"containerID\":\"://\"}]}}]}",
		"{\"items\":[{\"metadata\":{\"labels\":[1],\"name\":{}},\"status\":{"
		"\"containerStatuses\":[{\"containerID\":\"d://" ID_A "\"}]}}]}"
	};
	struct buf rows = { 0 };

	assert_int_equal(kubernetes__take(f->k, pods, strlen(pods)), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(kubernetes__take(f->k, bad[i], strlen(bad[i])), -EBADMSG);
	assert_true(kubernetes__find(f->k, STR(ID_B), &rows));
	buf__fini(&rows);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_int_equal(kubernetes__take(f->k, odd[i], strlen(odd[i])), 0);
}

static void test_questions(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/decima-test-token-XXXXXX";
	int fd = mkstemp(path);
	struct dcm_error err = DCM_ERROR_INIT;
	struct settings_kubernetes s = { .source = SETTINGS_KUBERNETES_API,
					 .url = "https://api:6443/",
					 .node = "n1",
					 .token_file = path,
					 .ca_file = "/ca",
					 .insecure = true };
	struct kubernetes *k;

	assert_int_equal(kubernetes__ask(f->k, &err), 0);
	assert_string_equal(server.url, "https://127.0.0.1:10250/pods");
	assert_string_equal(server.bearer, "");
	assert_string_equal(server.ca_file, "");
	assert_int_equal(write(fd, "secret\n", 7), 7);
	k = kubernetes__new(&f->host.host, &s);
	assert_int_equal(kubernetes__ask(k, &err), 0);
	assert_string_equal(server.url,
			    "https://api:6443/api/v1/pods?fieldSelector=spec.nodeName%3Dn1");
	assert_string_equal(server.bearer, "secret");
	assert_string_equal(server.ca_file, "/ca");
	assert_true(server.insecure);
	server.status = 403;
	assert_int_equal(kubernetes__ask(k, &err), -EACCES);
	assert_non_null(strstr(err.text, "may not list pods"));
	server.status = 500;
	assert_int_equal(kubernetes__ask(k, &err), -EIO);
	server.status = 200;
	server.body = "hello";
	assert_int_equal(kubernetes__ask(k, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no list of pods"));
	server.error = -ECONNREFUSED;
	assert_int_equal(kubernetes__ask(k, &err), -ECONNREFUSED);
	close(fd);
	unlink(path);
	assert_int_equal(kubernetes__ask(k, &err), -ENOENT);
	assert_non_null(strstr(err.text, "kubernetes.token_file"));
	/* A host of before. */
	f->host.host.size = offsetof(struct dcm_host, http_get);
	assert_int_equal(kubernetes__ask(k, &err), -ENOSYS);
	kubernetes__free(k);
}

/* The API server is asked for the node where that is wanted; all containers have what it says. */
static void test_node(void **state)
{
	struct fixture *f = *state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct settings_kubernetes s = { .source = SETTINGS_KUBERNETES_API, .node = "n1" };
	struct kubernetes *k;
	struct buf rows = { 0 };
	uint64_t version;

	server.node = node;
	k = kubernetes__new(&f->host.host, &s);
	assert_int_equal(kubernetes__ask(k, &err), 0);
	assert_null(strstr(server.url, "/nodes/"));
	kubernetes__free(k);
	s.node_labels = true;
	k = kubernetes__new(&f->host.host, &s);
	assert_int_equal(kubernetes__ask(k, &err), 0);
	assert_string_equal(server.url, "https://kubernetes.default.svc/api/v1/nodes/n1");
	version = kubernetes__version(k);
	assert_true(kubernetes__find(k, STR(ID_B), &rows));
	assert_value(&rows, "__meta_kubernetes_node_label_topology_kubernetes_io_zone", "z-1");
	assert_value(&rows, "__meta_kubernetes_node_labelpresent_topology_kubernetes_io_zone", "true");
	assert_value(&rows, "__meta_kubernetes_node_annotation_rack", "7");
	assert_value(&rows, "__meta_kubernetes_pod_label_app", "web");
	assert_int_equal(kubernetes__ask(k, &err), 0);
	assert_int_equal(kubernetes__version(k), version);
	server.node = "{\"metadata\":{\"name\":\"n1\"}}";
	assert_int_equal(kubernetes__ask(k, &err), 0);
	assert_int_equal(kubernetes__version(k), version + 1);
	server.node = "{\"metadata\":{}}";
	assert_int_equal(kubernetes__ask(k, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no node"));
	buf__fini(&rows);
	kubernetes__free(k);
}

/* The thread asks by itself, and ends at once. */
static void test_thread(void **state)
{
	struct fixture *f = *state;
	struct buf rows = { 0 };

	assert_int_equal(kubernetes__start(f->k), 0);
	for (int i = 0; i < 1000 && !kubernetes__find(f->k, STR(ID_A), &rows); i++)
		usleep(10000);
	assert_value(&rows, "container", "setup");
	buf__fini(&rows);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;

	FAILMALLOC_SWEEP (i) {
		struct kubernetes *k = kubernetes__new(&f->host.host, &f->settings);
		int r = k ? kubernetes__take(k, pods, strlen(pods)) : -ENOMEM;

		if (r == 0)
			r = kubernetes__take_node(k, node, strlen(node));
		failmalloc__disarm();
		/* jansson is a library of its own and its allocations do not fail here. */
		assert_true(r == 0 || r == -ENOMEM);
		kubernetes__free(k);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_answer),    TEST(test_too_many), TEST(test_bad_answers),
		TEST(test_questions), TEST(test_node),	   TEST(test_thread),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_kubernetes", tests, NULL, NULL);
}
