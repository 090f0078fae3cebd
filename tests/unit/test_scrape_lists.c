/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_lists.c - from what Consul and Docker list to targets and their labels
 *
 * What Prometheus makes of real servers' lists is in tests/e2e/discovery.sh; here is what no real server says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/consul_lists.h"
#include "plugins/input/pprof_scrape/docker_lists.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static json_t *parse(const char *text)
{
	json_error_t why;
	json_t *root = json_loads(text, 0, &why);

	if (!root)
		fail_msg("%s: %s", why.text, text);
	return root;
}

static int by_name(const void *a, const void *b)
{
	return str__cmp(((const struct dcm_label_text *)a)->name,
			((const struct dcm_label_text *)b)->name);
}

/* Targets in their order, labels by name. */
static const char *text_of(const struct groups *g)
{
	static char text[4000];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < g->v.n; i++) {
		struct group_labels *l = &g->v.v[i];

		qsort(l->v, l->n, sizeof(*l->v), by_name);
		for (uint32_t k = 0; k < l->n; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s=%.*s%s",
					      STR_ARG(l->v[k].name), STR_ARG(l->v[k].value),
					      k + 1 < l->n ? " " : ";");
	}
	return text;
}

/* ---- Consul ---- */

#define C "__meta_consul_"
#define INSTANCE(node, service, checks)                                                            \
	"{\"Node\":{" node "},\"Service\":{" service "},\"Checks\":[" checks "]}"
#define CHECK(id, status) "{\"CheckID\":\"" id "\",\"Status\":\"" status "\"}"

static const struct consul_service web = { "web", "dc", "," };

static const struct {
	const char *list, *said; /* what was found, or the fault */
} consul[] = {
	{ "[]", "" },
	{ "{}", "the answer is no list of instances" },
	{ "[{}]", "instance 1 has no Node or no Service" },
	{ "[" INSTANCE("", "", "") ",{\"Node\":{},\"Service\":3}]",
	  "instance 2 has no Node or no Service" },
	{ "[" INSTANCE("", "", "") "]", "__address__=:0 " C "dc=dc " C "health=passing " C
					"service=web " C "service_port=0 " C "tags=,,;" },
	{ "[" INSTANCE("\"Node\":\"n\",\"Address\":\"fd00::1\",\"Meta\":{\"a.b\":\"1\",\"x\":2},"
		       "\"TaggedAddresses\":{\"lan-v6\":\"l\"}",
		       "\"ID\":\"i\",\"Port\":8,\"Tags\":[\"t\",\"\"],\"Namespace\":\"ns\","
		       "\"Partition\":\"p\","
		       "\"Meta\":{\"\\u00e9-y\":\"z\",\"none\":\"\"}",
		       CHECK("c", "warning")) "]",
	  "__address__=[fd00::1]:8 " C "address=fd00::1 " C "dc=dc " C "health=warning " C
	  "metadata_a_b=1 " C "namespace=ns " C "node=n " C "partition=p " C "service=web " C
	  "service_id=i " C "service_metadata___y=z " C "service_port=8 " C
	  "tagged_address_lan_v6=l " C "tags=,t,,;" },
	{ "[" INSTANCE("\"Address\":\"n\",\"Node\":\"x\"", "", "") "," INSTANCE("", "", "") "]",
	  "__address__=n:0 " C "address=n " C "dc=dc " C "health=passing " C "node=x " C
	  "service=web " C "service_port=0 " C "tags=,,;__address__=:0 " C "dc=dc " C
	  "health=passing " C "service=web " C "service_port=0 " C "tags=,,;" },
	/* The service's address counts before the node's. */
	{ "[" INSTANCE("\"Address\":\"n\"", "\"Address\":\"s\",\"Port\":1", "") "]",
	  "__address__=s:1 " C "address=n " C "dc=dc " C "health=passing " C "service=web " C
	  "service_address=s " C "service_port=1 " C "tags=,,;" },
};

static void instances_become_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(consul) / sizeof(*consul); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct groups found = { 0 };
		json_t *list = parse(consul[i].list);
		int r = consul_lists__build(&web, list, &found, &err);

		assert_true(r == 0 || r == -EINVAL);
		assert_string_equal(r == 0 ? text_of(&found) : err.text, consul[i].said);
		groups__fini(&found);
		json_decref(list);
	}
}

static struct dcm_str find_label(const struct group_labels *l, struct dcm_str name)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (str__eq(l->v[i].name, name))
			return l->v[i].value;
	return STR("");
}

static void checks_come_together(void **state)
{
	static const struct {
		const char *checks, *health;
	} cases[] = {
		{ "", "passing" },
		{ CHECK("a", "passing") "," CHECK("b", "warning"), "warning" },
		{ CHECK("a", "critical") "," CHECK("b", "warning"), "critical" },
		{ CHECK("_node_maintenance", "critical") "," CHECK("b", "critical"),
		  "maintenance" },
		{ CHECK("b", "passing") "," CHECK("_service_maintenance:x", "critical"),
		  "maintenance" },
		{ CHECK("_service_maintenance", "passing"), "passing" },
		{ CHECK("_node_maintenance", "critical") "," CHECK("b", "odd"), "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct groups found = { 0 };
		char text[400];
		json_t *list;
		struct dcm_str health;

		snprintf(text, sizeof(text), "[" INSTANCE("", "", "%s") "]", cases[i].checks);
		list = parse(text);
		assert_int_equal(consul_lists__build(&web, list, &found, &err), 0);
		health = find_label(&found.v.v[0], STR(C "health"));
		if (!str__eq(health, str__of(cases[i].health)))
			fail_msg("%s: %.*s", cases[i].checks, STR_ARG(health));
		groups__fini(&found);
		json_decref(list);
	}
}

static void all_tags_are_needed(void **state)
{
	const char *wanted[] = { "a", "b" };
	const struct dcm_list none = { NULL, 0 }, both = { wanted, 2 };
	json_t *has = parse("[\"b\",\"x\",\"a\"]"), *lacks = parse("[\"a\",\"ab\"]"),
	       *odd = parse("{\"a\":1}");

	(void)state;
	assert_true(consul_lists__has_tags(has, &both));
	assert_false(consul_lists__has_tags(lacks, &both));
	assert_false(consul_lists__has_tags(odd, &both));
	assert_true(consul_lists__has_tags(odd, &none));
	json_decref(has);
	json_decref(lacks);
	json_decref(odd);
}

/* ---- Docker ---- */

#define D "__meta_docker_"
#define CONTAINER(id, mode, networks, ports)                                                       \
	"{\"Id\":\"" id "\",\"Names\":[\"/" id "\"],\"HostConfig\":{\"NetworkMode\":\"" mode       \
	"\"},"                                                                                     \
	"\"NetworkSettings\":{\"Networks\":" networks "},\"Ports\":[" ports "]}"
#define TCP(port) "{\"PrivatePort\":" port ",\"Type\":\"tcp\"}"
#define IP4(ip)	  "{\"NetworkID\":\"n\",\"IPAddress\":\"" ip "\",\"GlobalIPv6Address\":\"fd00::9\"}"
#define OF(id, mode)                                                                               \
	D "container_id=" id " " D "container_name=/" id " " D "container_network_mode=" mode " "

static const struct {
	const char *containers, *networks;
	bool match_first;
	const char *said;
} docker[] = {
	{ "[]", "[]", true, "" },
	{ "{}", "[]", true, "the answer is no list of containers" },
	{ "[]", "null", true, "the answer is no list of networks" },
	{ "[3]", "[]", true, "a container is not a map" },
	{ "[{\"Id\":\"a\"},{}]", "[]", true, "" },
	{ "[" CONTAINER("a", "x", "{\"x\":null}", "") "]", "[]", false, "" },
	{ "[" CONTAINER("a", "x", "{\"x\":null,\"y\":3}", "") "]", "[]", true, "" },
	{ "[" CONTAINER("a", "x", "{\"x\":" IP4("1.2.3.4") "}", TCP("-1")) "]", "[]", true,
	  "a port of container a is not a number of 0 to 65535" },
	{ "[" CONTAINER("a", "x", "{\"x\":" IP4("1.2.3.4") "}", TCP("\"80\"")) "]", "[]", true,
	  "a port of container a is not a number of 0 to 65535" },
	/* the IPv6 address where there is no other; a port that is not TCP's is none */
	{ "[" CONTAINER("a", "x", "{\"x\":" IP4("") "}", "{\"PrivatePort\":-5,\"Type\":\"udp\"}") "]", "[{\"Id\":\"n\",\"Name\":\"net\",\"Scope\":\"local\",\"Internal\":true,\"Labels\":{\"a b\":\"c\"}}]",
	  true,
	  "__address__=[fd00::9]:8080 " OF("a", "x") D
	  "network_id=n " D "network_ingress=false " D "network_internal=true " D
	  "network_ip=fd00::9 " D "network_label_a_b=c " D "network_name=net " D
	  "network_scope=local;" },
	/* all that a container has; two ports share it, and only one is public */
	{ "[{\"Id\":\"a\",\"Names\":[\"/n\",\"/"
	  "m\"],\"Image\":\"i\",\"ImageID\":\"d\",\"Labels\":{\"k-\":\"v\"},"
	  "\"NetworkSettings\":{\"Networks\":{\"x\":" IP4(
		  "1.2.3.4") "}},"
			     "\"Ports\":[{\"PrivatePort\":1,\"PublicPort\":2,\"IP\":\"::\","
			     "\"Type\":\"tcp\"}," TCP(
				     "3") "]},"
					  "{\"Id\":\"b\",\"Names\":[],\"NetworkSettings\":{"
					  "\"Networks\":{\"x\":" IP4("1.2.3.4") "}}}]",
	  "[]", true,
	  "__address__=1.2.3.4:1 " D "container_id=a " D "container_image=i " D
	  "container_image_id=d " D "container_label_k_=v " D "container_name=/n " D
	  "network_ip=1.2.3.4 " D "port_private=1 " D "port_public=2 " D
	  "port_public_ip=::;__address__=1.2.3.4:3 " D "container_id=a " D "container_image=i " D
	  "container_image_id=d " D "container_label_k_=v " D "container_name=/n " D
	  "network_ip=1.2.3.4 " D "port_private=3;" },
	{ "[" CONTAINER("a", "x", "{\"z\":" IP4("9.9.9.9") ",\"b\":" IP4("1.2.3.4") "}", TCP("1")) "]",
	  "[]", true, "__address__=1.2.3.4:1 " OF("a", "x") D "network_ip=1.2.3.4 " D "port_private=1;" },
	/* of two networks the first by name, or both; the host's has an address of its own */
	{ "[" CONTAINER("a", "x", "{\"z\":" IP4("9.9.9.9") ",\"b\":" IP4("1.2.3.4") ",\"a\":null}",
			TCP("1")) "]",
	  "[]", true, "__address__=1.2.3.4:1 " OF("a", "x") D "network_ip=1.2.3.4 " D "port_private=1;" },
	{ "[" CONTAINER("a", "x", "{\"z\":" IP4("9.9.9.9") ",\"b\":" IP4("1.2.3.4") "}", TCP("1")) "]",
	  "[]", false,
	  "__address__=9.9.9.9:1 " OF("a", "x") D
	  "network_ip=9.9.9.9 " D "port_private=1;__address__=1.2.3.4:1 " OF("a", "x") D
	  "network_ip=1.2.3.4 " D "port_private=1;" },
	{ "[" CONTAINER("a", "host", "{\"host\":{}}", "") "]", "[]", true,
	  "__address__=here " OF("a", "host") ";" },
	/* a container's network through a second that has a third's */
	{ "[" CONTAINER("a", "container:b", "{}", TCP("1")) "," CONTAINER(
		  "b", "container:c", "null",
		  "") "," CONTAINER("c", "x", "{\"x\":" IP4("1.2.3.4") "}", TCP("2")) "]",
	  "[]", true,
	  "__address__=1.2.3.4:1 " OF("a", "container:b") D
	  "network_ip=1.2.3.4 " D "port_private=1;__address__=1.2.3.4:8080 " OF("b", "container:c")
		  D "network_ip=1.2.3.4;__address__=1.2.3.4:2 " OF("c", "x") D
	  "network_ip=1.2.3.4 " D "port_private=2;" },
	{ "[" CONTAINER("a", "container:b", "{}", "") "," CONTAINER("b", "container:a", "{}", "") "]",
	  "[]", true, "" },
	{ "[" CONTAINER("a", "container:none", "{}", "") "]", "[]", true, "" },
};

static int build_docker(const json_t *containers, const json_t *networks, bool match_first,
			struct groups *found, struct dcm_error *err)
{
	const struct docker_lists lists = { .containers = containers,
					    .networks = networks,
					    .host_networking_host = "here",
					    .port = 8080,
					    .match_first_network = match_first };

	return docker_lists__build(&lists, found, err);
}

/* A label without a value is none, and a target without some has an end without a blank. */
static void trim(char *text)
{
	for (char *at = strstr(text, " ;"); at; at = strstr(text, " ;"))
		memmove(at, at + 1, strlen(at));
}

static void containers_become_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(docker) / sizeof(*docker); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct groups found = { 0 };
		json_t *containers = parse(docker[i].containers);
		json_error_t why;
		json_t *networks = json_loads(docker[i].networks, JSON_DECODE_ANY, &why);
		int r = build_docker(containers, networks, docker[i].match_first, &found, &err);
		char said[2000];

		snprintf(said, sizeof(said), "%s", docker[i].said);
		trim(said);
		assert_true(r == 0 || r == -EINVAL);
		assert_string_equal(r == 0 ? text_of(&found) : err.text, said);
		groups__fini(&found);
		json_decref(containers);
		json_decref(networks);
	}
}

/* What stands once in the lists, and in thousands of targets, has a bound. */
static void what_is_joined_is_bounded(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	json_t *networks = parse("[{\"Id\":\"n\",\"Labels\":{}}]"), *containers = json_array();
	json_t *container = parse(CONTAINER("a", "x", "{\"x\":" IP4("1.2.3.4") "}", ""));
	char *large = malloc((1 << 20) + 1);

	(void)state;
	assert_non_null(large);
	memset(large, 'x', 1 << 20);
	large[1 << 20] = '\0';
	json_object_set_new(json_object_get(json_array_get(networks, 0), "Labels"), "large",
			    json_string(large));
	for (int i = 0; i < 400; i++)
		json_array_append(containers, container);
	assert_int_equal(build_docker(containers, networks, true, &found, &err), -E2BIG);
	assert_true(found.arena.total_bytes < (size_t)300 << 20);
	groups__fini(&found);
	free(large);
	json_decref(container);
	json_decref(containers);
	json_decref(networks);
}

static void failing_memory_is_survived(void **state)
{
	json_t *instances = parse(consul[5].list), *containers = parse(docker[9].containers);
	json_t *networks = parse(docker[9].networks);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct groups found = { 0 };
		int r = consul_lists__build(&web, instances, &found, &err);

		if (r == 0)
			r = build_docker(containers, networks, true, &found, &err);
		failmalloc__disarm();
		assert_true(r == 0 ? found.v.n == 2 : r == -ENOMEM);
		groups__fini(&found);
	}
	json_decref(instances);
	json_decref(containers);
	json_decref(networks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instances_become_targets),
		cmocka_unit_test(checks_come_together),
		cmocka_unit_test(all_tags_are_needed),
		cmocka_unit_test(containers_become_targets),
		cmocka_unit_test(what_is_joined_is_bounded),
		cmocka_unit_test(failing_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
