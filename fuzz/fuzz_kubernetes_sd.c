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
#include "fuzz/target.h"
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

enum { MOST_OBJECTS = 2000 };

/* The objects of the input, as a watch keeps them. */
static struct texts texts;
static struct {
	enum kube_resource resource;
	struct kube_doc *doc;
} cluster[MOST_OBJECTS];
static uint32_t n_objects;

static void keep(enum kube_resource resource, json_t *object)
{
	struct kube_doc *doc = kube_doc__new(&texts, object, kube_resources[resource].mask);

	if (!doc)
		abort();
	cluster[n_objects].resource = resource;
	cluster[n_objects++].doc = doc;
}

static bool is_called(const struct kube_value *object, const char *namespace, const char *name)
{
	const struct kube_value *meta = kube_value__get(object, "metadata");
	const struct dcm_str has = kube_value__text(kube_value__get(meta, "name"));
	const struct dcm_str in = kube_value__text(kube_value__get(meta, "namespace"));

	return str__eq(has, str__of(name)) &&
	       str__eq(in, namespace ? str__of(namespace) : (struct dcm_str){ 0 });
}

/* In the place of kubernetes_sd.c's. */
const struct kube_value *kube__find(struct kube *k, enum kube_resource resource,
				    const char *namespace, const char *name)
{
	(void)k;
	for (uint32_t i = 0; name && i < n_objects; i++)
		if (cluster[i].resource == resource && is_called(cluster[i].doc->v, namespace, name))
			return cluster[i].doc->v;
	return NULL;
}

static void build(struct kube *k, const struct kube_value *object)
{
	struct groups found = { 0 };

	if (kube_roles__build(k, object, &found) == 0)
		for (size_t i = 0; i < found.v.n; i++)
			target__check(&found.v.v[i]);
	groups__fini(&found);
}

static void read_cluster(const json_t *root)
{
	json_t *object;
	size_t i;

	for (uint32_t r = 0; r < sizeof(resources) / sizeof(*resources); r++)
		json_array_foreach(json_object_get(root, resources[r]), i,
				   object) if (n_objects < MOST_OBJECTS)
			keep((enum kube_resource)r, object);
}

static void forget_cluster(void)
{
	while (n_objects)
		kube_doc__free(cluster[--n_objects].doc);
	if (texts.n)
		abort();
	texts__fini(&texts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_error_t why;
	json_t *root = size > 1 ? json_loadb((const char *)data + 1, size - 1, 0, &why) : NULL;
	const struct kube_options options = {
		.role = root ? data[0] % (KUBE_INGRESS + 1) : 0,
		.attach = { true, true, true, true, true },
	};
	struct kube k = { .options = &options };

	read_cluster(root);
	json_decref(root);
	for (uint32_t i = 0; i < n_objects; i++)
		if (cluster[i].resource == (enum kube_resource)options.role)
			build(&k, cluster[i].doc->v);
	forget_cluster();
	return 0;
}
