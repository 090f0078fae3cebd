/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_kubernetes_sd.c - targets and labels of the objects that an API server of Kubernetes says there are
 *
 * The first byte says the role, the rest is JSON: {"nodes": [OBJECT, ..], "pods": [..], ..}. A target has its address first,
 * each label once and with a value, and names that labels may have.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/kube.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const resources[] = {
	[KUBE_NODE] = "nodes",
	[KUBE_POD] = "pods",
	[KUBE_SERVICE] = "services",
	[KUBE_ENDPOINTS] = "endpoints",
	[KUBE_SLICE] = "endpointslices",
	[KUBE_INGRESS] = "ingresses",
	[KUBE_NAMESPACE] = "namespaces",
	[KUBE_REPLICASET] = "replicasets",
	[KUBE_JOB] = "jobs",
};

static const json_t *cluster;

/* NAMESPACE/NAME or NAME, as kube.h has it */
static void write_key(char to[static 600], const char *namespace, const char *name)
{
	snprintf(to, 600, "%s%s%s", namespace ? namespace : "", namespace ? "/" : "", name ? name : "");
}

/* In the place of kubernetes_sd.c's: among the objects of the input. */
json_t *kube__find(const struct kube *k, enum kube_resource resource, const char *namespace,
		   const char *name)
{
	char wanted[600], key[600];
	json_t *object;
	size_t i;

	(void)k;
	write_key(wanted, namespace, name);
	json_array_foreach(json_object_get(cluster, resources[resource]), i, object)
	{
		const json_t *meta = json_object_get(object, "metadata");

		write_key(key, json_string_value(json_object_get(meta, "namespace")),
			  json_string_value(json_object_get(meta, "name")));
		if (name && strcmp(key, wanted) == 0)
			return json_incref(object);
	}
	return NULL;
}

static bool is_name(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", s.p[i]) ||
		    !s.p[i])
			return false;
	return s.n > 0;
}

static void check_target(const struct labels *l)
{
	if (l->n == 0 || !str__eq(l->v[0].name, STR("__address__")))
		abort();
	for (uint32_t i = 1; i < l->n; i++) {
		if (!is_name(l->v[i].name) || l->v[i].value.n == 0)
			abort();
		for (uint32_t k = 1; k < i && l->n < 100; k++)
			if (str__eq(l->v[k].name, l->v[i].name))
				abort();
	}
}

static void build(const struct kube *k, const json_t *object)
{
	struct groups found = { 0 };

	if (kube_roles__build(k, object, &found) == 0)
		for (size_t i = 0; i < found.v.n; i++)
			check_target(&found.v.v[i]);
	groups__fini(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_error_t why;
	json_t *root = size > 1 ? json_loadb((const char *)data + 1, size - 1, 0, &why) : NULL, *object;
	const struct kube_options options = {
		.role = root ? data[0] % (KUBE_INGRESS + 1) : 0,
		.attach = { true, true, true, true, true },
	};
	const struct kube k = { .options = &options };
	size_t i;

	cluster = root;
	json_array_foreach(json_object_get(root, resources[options.role]), i, object) build(&k, object);
	json_decref(root);
	return 0;
}
