/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_roles.c - the targets of an object of a Kubernetes cluster, and their labels
 *
 * Which targets and labels there are is Prometheus' (discovery/kubernetes, by files of the roles' names):
 * labels of the group first, then those of a target, then of the pod behind it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/kube.h"
#include "plugins/input/pprof_scrape/labelset.h"

#define META "__meta_kubernetes_"

/* ---- JSON ---- */

static struct dcm_str text(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return (struct dcm_str){ json_string_value(v), (uint32_t)json_string_length(v) };
}

static const json_t *in(const json_t *o, const char *outer, const char *inner)
{
	return json_object_get(json_object_get(o, outer), inner);
}

static struct dcm_str lower(struct dcm_str s, char *to, size_t cap)
{
	size_t n = s.n < cap ? s.n : cap;

	for (size_t i = 0; i < n; i++)
		to[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
	return (struct dcm_str){ to, (uint32_t)n };
}

static void put_bool(struct labelset *l, const char *name, const json_t *v)
{
	if (json_is_boolean(v))
		labelset__put(l, name, json_is_true(v) ? STR("true") : STR("false"));
}

/* ---- labels of any object ---- */

static void put_map(struct labelset *l, const char *kind, const char *what, json_t *map)
{
	char prefix[80], present[80];
	const char *key;
	json_t *value;

	snprintf(prefix, sizeof(prefix), META "%s_%s_", kind, what);
	snprintf(present, sizeof(present), META "%s_%spresent_", kind, what);
	json_object_foreach(map, key, value)
	{
		labelset__put_key(l, prefix, str__of(key),
				  (struct dcm_str){ json_string_value(value),
						    (uint32_t)json_string_length(value) });
		labelset__put_key(l, present, str__of(key), STR("true"));
	}
}

static void put_meta(struct labelset *l, const char *kind, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");

	put_map(l, kind, "label", json_object_get(meta, "labels"));
	put_map(l, kind, "annotation", json_object_get(meta, "annotations"));
}

static struct dcm_str name_of(const json_t *object)
{
	return text(json_object_get(object, "metadata"), "name");
}

static const char *namespace_of(const json_t *object)
{
	return json_string_value(in(object, "metadata", "namespace"));
}

/* Of a node by its name; false: there is none. */
static bool put_node(const struct kube *k, struct labelset *l, const char *name)
{
	json_t *node = name ? kube__find(k, KUBE_NODE, NULL, name) : NULL;

	if (!node)
		return false;
	labelset__put(l, META "node_name", name_of(node));
	put_meta(l, "node", node);
	json_decref(node);
	return true;
}

static void put_namespace(const struct kube *k, struct labelset *l, const json_t *object)
{
	json_t *namespace = k->options->attach.namespace
				    ? kube__find(k, KUBE_NAMESPACE, NULL, namespace_of(object))
				    : NULL;

	if (namespace)
		put_meta(l, "namespace", namespace);
	json_decref(namespace);
}

/* ---- pods ---- */

static const json_t *controller_of(const json_t *object)
{
	const json_t *owners = in(object, "metadata", "ownerReferences");
	const json_t *owner;
	size_t i;

	json_array_foreach(owners, i, owner) if (json_is_true(json_object_get(
							 owner, "controller"))) return owner;
	return NULL;
}

/* The name of the controller of the object of that name, when it is of that kind. */
static void put_owner(const struct kube *k, struct labelset *l, const char *label,
		      enum kube_resource resource, const char *namespace, const char *name,
		      const char *kind)
{
	json_t *object = kube__find(k, resource, namespace, name);
	const json_t *owner = object ? controller_of(object) : NULL;

	if (owner && str__eq(text(owner, "kind"), str__of(kind)))
		labelset__put(l, label, text(owner, "name"));
	json_decref(object);
}

static void put_controller(const struct kube *k, struct labelset *l, const json_t *pod)
{
	const json_t *owner = controller_of(pod);
	struct dcm_str kind = text(owner, "kind"), name = text(owner, "name");
	const struct kube_attach *with = &k->options->attach;

	if (!owner)
		return;
	if (kind.n)
		labelset__put(l, META "pod_controller_kind", kind);
	if (name.n)
		labelset__put(l, META "pod_controller_name", name);
	if (with->deployment && str__eq(kind, STR("ReplicaSet")))
		put_owner(k, l, META "pod_deployment_name", KUBE_REPLICASET, namespace_of(pod),
			  name.p, "Deployment");
	if (with->job && str__eq(kind, STR("Job")))
		labelset__put(l, META "pod_job_name", name);
	if (with->cronjob && str__eq(kind, STR("Job")))
		put_owner(k, l, META "pod_cronjob_name", KUBE_JOB, namespace_of(pod), name.p, "CronJob");
}

static void put_ready(struct labelset *l, const json_t *pod)
{
	const json_t *condition;
	struct dcm_str ready = STR("unknown");
	char buffer[16];
	size_t i;

	json_array_foreach(in(pod, "status", "conditions"), i, condition)
	{
		if (!str__eq(text(condition, "type"), STR("Ready")))
			continue;
		ready = lower(text(condition, "status"), buffer, sizeof(buffer));
		break;
	}
	labelset__put(l, META "pod_ready", ready);
}

static void put_pod(const struct kube *k, struct labelset *l, const json_t *pod)
{
	const json_t *status = json_object_get(pod, "status");

	labelset__put(l, META "pod_ip", text(status, "podIP"));
	put_ready(l, pod);
	labelset__put(l, META "pod_phase", text(status, "phase"));
	labelset__put(l, META "pod_node_name", text(json_object_get(pod, "spec"), "nodeName"));
	labelset__put(l, META "pod_host_ip", text(status, "hostIP"));
	labelset__put(l, META "pod_uid", text(json_object_get(pod, "metadata"), "uid"));
	labelset__put(l, META "pod_name", name_of(pod));
	put_meta(l, "pod", pod);
	put_controller(k, l, pod);
}

/* Calls fn for each container, and then for those that begin the pod. */
typedef void (*container_fn)(void *ctx, const json_t *container, bool is_init);
static void each_container(const json_t *pod, container_fn fn, void *ctx)
{
	const json_t *c;
	size_t i;

	json_array_foreach(in(pod, "spec", "containers"), i, c) fn(ctx, c, false);
	json_array_foreach(in(pod, "spec", "initContainers"), i, c) fn(ctx, c, true);
}

static int64_t port_of(const json_t *port, const char *key)
{
	return json_integer_value(json_object_get(port, key));
}

static void put_container(struct labelset *l, const json_t *c, bool is_init)
{
	labelset__put(l, META "pod_container_name", text(c, "name"));
	labelset__put(l, META "pod_container_image", text(c, "image"));
	labelset__put(l, META "pod_container_init", is_init ? STR("true") : STR("false"));
}

static void put_container_port(struct labelset *l, const json_t *port, struct dcm_str protocol)
{
	labelset__put(l, META "pod_container_port_name", text(port, "name"));
	labelset__put_int(l, META "pod_container_port_number", port_of(port, "containerPort"));
	labelset__put(l, META "pod_container_port_protocol", protocol);
}

struct pod_work {
	const json_t *pod;
	struct labelset *l;
};

static struct dcm_str container_id(const json_t *pod, const json_t *c, bool is_init)
{
	const json_t *status;
	size_t i;

	json_array_foreach(in(pod, "status", is_init ? "initContainerStatuses" : "containerStatuses"),
			   i, status)
	{
		if (str__eq(text(status, "name"), text(c, "name")))
			return text(status, "containerID");
	}
	return STR("");
}

static void add_container(void *ctx, const json_t *c, bool is_init)
{
	struct pod_work *w = ctx;
	struct dcm_str ip = text(json_object_get(w->pod, "status"), "podIP");
	const json_t *ports = json_object_get(c, "ports"), *port;
	size_t i;

	json_array_foreach(ports, i, port)
	{
		put_container(w->l, c, is_init);
		labelset__put(w->l, META "pod_container_id", container_id(w->pod, c, is_init));
		put_container_port(w->l, port, text(port, "protocol"));
		labelset__add_port(w->l, ip, port_of(port, "containerPort"));
	}
	if (json_array_size(ports))
		return;
	put_container(w->l, c, is_init);
	labelset__put(w->l, META "pod_container_id", container_id(w->pod, c, is_init));
	labelset__add(w->l, ip);
}

static void build_pod(const struct kube *k, const json_t *pod, struct labelset *l)
{
	struct pod_work w = { pod, l };
	const char *node = json_string_value(in(pod, "spec", "nodeName"));

	/* It has none while it begins, or when it was evicted. */
	if (text(json_object_get(pod, "status"), "podIP").n == 0)
		return;
	put_pod(k, l, pod);
	labelset__put(l, META "namespace", text(json_object_get(pod, "metadata"), "namespace"));
	/* A node that is not there was left out by a selector. */
	if (k->options->attach.node && !put_node(k, l, node))
		return;
	put_namespace(k, l, pod);
	labelset__share(l);
	each_container(pod, add_container, &w);
}

/* ---- nodes ---- */

static const json_t *node_address(const json_t *node)
{
	static const char *const order[] = { "InternalIP",  "InternalDNS",  "ExternalIP",
					     "ExternalDNS", "LegacyHostIP", "Hostname" };
	const json_t *a;
	size_t i;

	for (size_t t = 0; t < sizeof(order) / sizeof(*order); t++)
		json_array_foreach(in(node, "status", "addresses"), i,
				   a) if (str__eq(text(a, "type"), str__of(order[t]))) return a;
	return NULL;
}

static void build_node(const json_t *node, struct labelset *l)
{
	const json_t *all = in(node, "status", "addresses"), *a = node_address(node), *c;
	char type[64], status[16];

	if (!a)
		return;
	labelset__put(l, META "node_provider_id", text(json_object_get(node, "spec"), "providerID"));
	size_t i;
	json_array_foreach(in(node, "status", "conditions"), i, c)
		labelset__put_key(l, META "node_condition_", lower(text(c, "type"), type, sizeof(type)),
				  lower(text(c, "status"), status, sizeof(status)));
	labelset__put(l, META "node_name", name_of(node));
	put_meta(l, "node", node);
	labelset__put(l, "instance", name_of(node));
	/* Of two of a type the first counts: put last. */
	for (i = json_array_size(all); i > 0; i--)
		labelset__put_key(l, META "node_address_", text(json_array_get(all, i - 1), "type"),
				  text(json_array_get(all, i - 1), "address"));
	labelset__add_port(
		l, text(a, "address"),
		port_of(json_object_get(in(node, "status", "daemonEndpoints"), "kubeletEndpoint"),
			"Port"));
}

/* ---- services ---- */

static void put_service(struct labelset *l, const json_t *service)
{
	labelset__put(l, META "namespace", text(json_object_get(service, "metadata"), "namespace"));
	labelset__put(l, META "service_name", name_of(service));
	put_meta(l, "service", service);
}

static void put_load_balancer(struct labelset *l, const json_t *service)
{
	const json_t *all = json_object_get(in(service, "status", "loadBalancer"), "ingress"), *one;
	struct dcm_str ip;
	char joined[1024];
	size_t n = 0, i;

	json_array_foreach(all, i, one)
	{
		ip = text(one, "ip");
		if (ip.n && n + ip.n + 1 < sizeof(joined))
			n += (size_t)snprintf(joined + n, sizeof(joined) - n, "%s%.*s",
					      n ? "," : "", STR_ARG(ip));
	}
	labelset__put(l, META "service_loadbalancer_ip",
		      n ? (struct dcm_str){ joined, (uint32_t)n }
			: text(json_object_get(service, "spec"), "loadBalancerIP"));
}

static void build_service(const struct kube *k, const json_t *service, struct labelset *l)
{
	const json_t *spec = json_object_get(service, "spec"), *port;
	struct dcm_str type = text(spec, "type"), name = name_of(service);
	char host[600];
	size_t i;

	put_service(l, service);
	put_namespace(k, l, service);
	labelset__share(l);
	snprintf(host, sizeof(host), "%.*s.%s.svc", STR_ARG(name),
		 namespace_of(service) ? namespace_of(service) : "");
	json_array_foreach(json_object_get(spec, "ports"), i, port)
	{
		labelset__put(l, META "service_port_name", text(port, "name"));
		labelset__put_int(l, META "service_port_number", port_of(port, "port"));
		labelset__put(l, META "service_port_protocol", text(port, "protocol"));
		labelset__put(l, META "service_type", type);
		if (str__eq(type, STR("ExternalName")))
			labelset__put(l, META "service_external_name", text(spec, "externalName"));
		else
			labelset__put(l, META "service_cluster_ip", text(spec, "clusterIP"));
		if (str__eq(type, STR("LoadBalancer")))
			put_load_balancer(l, service);
		labelset__add_port(l, str__of(host), port_of(port, "port"));
	}
}

/* ---- ingresses ---- */

/* The pattern's first part may be a *, which stands for one part. */
static bool matches(struct dcm_str pattern, struct dcm_str host)
{
	const char *dot = host.n ? memchr(host.p, '.', host.n) : NULL;

	if (str__eq(pattern, host))
		return true;
	return dot && str__starts(pattern, STR("*.")) &&
	       str__eq((struct dcm_str){ pattern.p + 1, pattern.n - 1 },
		       (struct dcm_str){ dot, host.n - (uint32_t)(dot - host.p) });
}

static bool has_tls(const json_t *spec, struct dcm_str host)
{
	const json_t *tls, *h;
	size_t i, k;

	json_array_foreach(json_object_get(spec, "tls"), i, tls)
	{
		json_array_foreach(json_object_get(tls, "hosts"), k, h)
		{
			if (matches((struct dcm_str){ json_string_value(h),
						      (uint32_t)json_string_length(h) },
				    host))
				return true;
		}
	}
	return false;
}

static void add_path(struct labelset *l, struct dcm_str host, bool is_https, struct dcm_str path)
{
	labelset__put(l, META "ingress_scheme", is_https ? STR("https") : STR("http"));
	labelset__put(l, META "ingress_host", host);
	labelset__put(l, META "ingress_path", path.n ? path : STR("/"));
	labelset__add(l, host);
}

static void build_ingress(const struct kube *k, const json_t *ingress, struct labelset *l)
{
	const json_t *spec = json_object_get(ingress, "spec"), *rule, *path;
	size_t i, n;

	labelset__put(l, META "namespace", text(json_object_get(ingress, "metadata"), "namespace"));
	labelset__put(l, META "ingress_class_name", text(spec, "ingressClassName"));
	labelset__put(l, META "ingress_name", name_of(ingress));
	put_meta(l, "ingress", ingress);
	put_namespace(k, l, ingress);
	labelset__share(l);
	json_array_foreach(json_object_get(spec, "rules"), i, rule)
	{
		const json_t *http = json_object_get(rule, "http");
		struct dcm_str host = text(rule, "host");
		bool is_https = has_tls(spec, host);

		json_array_foreach(json_object_get(http, "paths"), n, path)
			add_path(l, host, is_https, text(path, "path"));
		if (!http)
			add_path(l, host, is_https, STR("/"));
	}
}

/* ---- endpoints and slices of them ---- */

/* A pod that an endpoint leads to, and the ports that have a target already. */
struct seen {
	json_t *pod;
	VEC(int64_t) ports;
};

struct endpoints_work {
	const struct kube *k;
	struct labelset *l;
	VEC(struct seen) seen;
	/* Of the one that is being made. */
	const struct seen *of;
	int64_t port;		 /* -1: it has none */
	struct dcm_str protocol; /* p NULL: the container's */
};

static struct seen *see(struct endpoints_work *w, const json_t *ref)
{
	const char *namespace = json_string_value(json_object_get(ref, "namespace"));
	const char *name = json_string_value(json_object_get(ref, "name"));
	struct seen new = { 0 };

	if (!ref || !str__eq(text(ref, "kind"), STR("Pod")) || !name || !namespace)
		return NULL;
	for (size_t i = 0; i < w->seen.n; i++)
		if (str__eq(name_of(w->seen.v[i].pod), str__of(name)) &&
		    str__eq(str__of(namespace_of(w->seen.v[i].pod)), str__of(namespace)))
			return &w->seen.v[i];
	new.pod = kube__find(w->k, KUBE_POD, namespace, name);
	if (!new.pod)
		return NULL;
	if (vec__push(&w->seen, new))
		return &w->seen.v[w->seen.n - 1];
	json_decref(new.pod);
	w->l->error = -ENOMEM;
	return NULL;
}

static void put_matching_port(void *ctx, const json_t *c, bool is_init)
{
	struct endpoints_work *w = ctx;
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(c, "ports"), i, port)
	{
		if (port_of(port, "containerPort") != w->port)
			continue;
		put_container(w->l, c, is_init);
		put_container_port(w->l, port, w->protocol.p ? w->protocol : text(port, "protocol"));
		break;
	}
}

/* What all targets of an endpoint have: the pod behind it, and its container. */
static void put_endpoint_pod(struct endpoints_work *w, const json_t *ref)
{
	struct seen *s = see(w, ref);

	if (!s)
		return;
	put_pod(w->k, w->l, s->pod);
	each_container(s->pod, put_matching_port, w);
	if (!vec__push(&s->ports, w->port))
		w->l->error = -ENOMEM;
}

static bool is_covered(const struct seen *s, int64_t port)
{
	for (size_t i = 0; i < s->ports.n; i++)
		if (s->ports.v[i] == port)
			return true;
	return false;
}

static void add_uncovered(void *ctx, const json_t *c, bool is_init)
{
	struct endpoints_work *w = ctx;
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(c, "ports"), i, port)
	{
		int64_t number = port_of(port, "containerPort");

		if (is_covered(w->of, number))
			continue;
		put_container(w->l, c, is_init);
		put_container_port(w->l, port, text(port, "protocol"));
		put_pod(w->k, w->l, w->of->pod);
		labelset__add_port(w->l, text(json_object_get(w->of->pod, "status"), "podIP"), number);
	}
}

/* Ports of the pods that no endpoint leads to are targets, too. */
static void end_endpoints(struct endpoints_work *w)
{
	for (size_t i = 0; i < w->seen.n; i++) {
		w->of = &w->seen.v[i];
		if (text(json_object_get(w->of->pod, "status"), "podIP").n)
			each_container(w->of->pod, add_uncovered, w);
		json_decref(w->seen.v[i].pod);
		vec__fini(&w->seen.v[i].ports);
	}
	vec__fini(&w->seen);
}

static void put_ref(struct labelset *l, const json_t *ref, const char *kind, const char *name)
{
	if (!ref)
		return;
	labelset__put(l, kind, text(ref, "kind"));
	labelset__put(l, name, text(ref, "name"));
}

static void add_endpoint(struct endpoints_work *w, const json_t *address, const json_t *port,
			 const char *ready)
{
	struct labelset *l = w->l;
	const json_t *ref = json_object_get(address, "targetRef");
	const char *node = json_string_value(json_object_get(address, "nodeName"));

	if (l->error)
		return;
	w->port = port_of(port, "port");
	w->protocol = text(port, "protocol");
	labelset__put(l, META "endpoint_port_name", text(port, "name"));
	labelset__put(l, META "endpoint_port_protocol", w->protocol);
	labelset__put(l, META "endpoint_ready", str__of(ready));
	put_ref(l, ref, META "endpoint_address_target_kind", META "endpoint_address_target_name");
	labelset__put(l, META "endpoint_node_name", str__of(node));
	labelset__put(l, META "endpoint_hostname", text(address, "hostname"));
	if (!node && str__eq(text(ref, "kind"), STR("Node")))
		node = json_string_value(json_object_get(ref, "name"));
	if (w->k->options->attach.node)
		put_node(w->k, l, node);
	put_endpoint_pod(w, ref);
	labelset__add_port(l, text(address, "ip"), w->port);
}

static void build_endpoints(const struct kube *k, const json_t *object, struct labelset *l)
{
	struct endpoints_work w = { .k = k, .l = l };
	json_t *service = kube__find(k, KUBE_SERVICE, namespace_of(object), name_of(object).p);
	const json_t *subset, *port, *address;
	size_t i, p, a;

	labelset__put(l, META "namespace", text(json_object_get(object, "metadata"), "namespace"));
	if (service)
		put_service(l, service);
	json_decref(service);
	labelset__put(l, META "endpoints_name", name_of(object));
	put_meta(l, "endpoints", object);
	put_namespace(k, l, object);
	labelset__share(l);
	json_array_foreach(json_object_get(object, "subsets"), i, subset)
	{
		json_array_foreach(json_object_get(subset, "ports"), p, port)
		{
			if (l->error)
				break;
			json_array_foreach(json_object_get(subset, "addresses"), a, address)
				add_endpoint(&w, address, port, "true");
			json_array_foreach(json_object_get(subset, "notReadyAddresses"), a, address)
				add_endpoint(&w, address, port, "false");
		}
	}
	end_endpoints(&w);
}

static void put_slice_endpoint(struct labelset *l, const json_t *e)
{
	const json_t *c = json_object_get(e, "conditions"), *value;
	const char *key;

	put_bool(l, META "endpointslice_endpoint_conditions_ready", json_object_get(c, "ready"));
	put_bool(l, META "endpointslice_endpoint_conditions_serving", json_object_get(c, "serving"));
	put_bool(l, META "endpointslice_endpoint_conditions_terminating",
		 json_object_get(c, "terminating"));
	labelset__put(l, META "endpointslice_endpoint_hostname", text(e, "hostname"));
	put_ref(l, json_object_get(e, "targetRef"), META "endpointslice_address_target_kind",
		META "endpointslice_address_target_name");
	labelset__put(l, META "endpointslice_endpoint_node_name", text(e, "nodeName"));
	labelset__put(l, META "endpointslice_endpoint_zone", text(e, "zone"));
	json_object_foreach(json_object_get(e, "deprecatedTopology"), key, value)
	{
		labelset__put_key(l, META "endpointslice_endpoint_topology_", str__of(key),
				  (struct dcm_str){ json_string_value(value),
						    (uint32_t)json_string_length(value) });
		labelset__put_key(l, META "endpointslice_endpoint_topology_present_", str__of(key),
				  STR("true"));
	}
}

static void add_slice_address(struct endpoints_work *w, struct dcm_str address, const json_t *e,
			      const json_t *port)
{
	struct labelset *l = w->l;
	const json_t *ref = json_object_get(e, "targetRef"),
		     *number = json_object_get(port, "port");
	bool is_node = str__eq(text(ref, "kind"), STR("Node"));

	if (l->error)
		return;
	w->port = number ? json_integer_value(number) : -1;
	w->protocol = (struct dcm_str){ 0 };
	labelset__put(l, META "endpointslice_port_name", text(port, "name"));
	labelset__put(l, META "endpointslice_port_protocol", text(port, "protocol"));
	if (number)
		labelset__put_int(l, META "endpointslice_port", w->port);
	labelset__put(l, META "endpointslice_port_app_protocol", text(port, "appProtocol"));
	put_slice_endpoint(l, e);
	if (w->k->options->attach.node)
		put_node(w->k, l,
			 json_string_value(json_object_get(is_node ? ref : e,
							   is_node ? "name" : "nodeName")));
	put_endpoint_pod(w, ref);
	if (number)
		labelset__add_port(l, address, w->port);
	else
		labelset__add(l, address);
}

/* The second one of a service that has addresses of both kinds leads to the same pods. */
static bool is_second_family(const json_t *service, const json_t *slice)
{
	const json_t *spec = json_object_get(service, "spec");
	struct dcm_str policy = text(spec, "ipFamilyPolicy");
	const json_t *first = json_array_get(json_object_get(spec, "ipFamilies"), 0);

	return (str__eq(policy, STR("PreferDualStack")) ||
		str__eq(policy, STR("RequireDualStack"))) &&
	       first && !str__eq(text(slice, "addressType"), str__of(json_string_value(first)));
}

static void build_slice(const struct kube *k, const json_t *slice, struct labelset *l)
{
	struct endpoints_work w = { .k = k, .l = l };
	const char *of = json_string_value(
		json_object_get(in(slice, "metadata", "labels"), "kubernetes.io/service-name"));
	json_t *service = kube__find(k, KUBE_SERVICE, namespace_of(slice), of);
	const json_t *e, *port, *address;
	bool is_second = service && is_second_family(service, slice);
	size_t i, p, a;

	labelset__put(l, META "namespace", text(json_object_get(slice, "metadata"), "namespace"));
	labelset__put(l, META "endpointslice_address_type", text(slice, "addressType"));
	labelset__put(l, META "endpointslice_name", name_of(slice));
	put_meta(l, "endpointslice", slice);
	if (service)
		put_service(l, service);
	json_decref(service);
	put_namespace(k, l, slice);
	if (is_second)
		return;
	labelset__share(l);
	json_array_foreach(json_object_get(slice, "endpoints"), i, e)
	{
		json_array_foreach(json_object_get(slice, "ports"), p, port)
		{
			if (l->error)
				break;
			json_array_foreach(json_object_get(e, "addresses"), a, address) add_slice_address(
				&w,
				(struct dcm_str){ json_string_value(address),
						  (uint32_t)json_string_length(address) },
				e, port);
		}
	}
	end_endpoints(&w);
}

/* ---- all roles ---- */

int kube_roles__build(const struct kube *k, const json_t *object, struct groups *found)
{
	struct labelset l = { .to = found };

	switch (k->options->role) {
	case KUBE_NODE:
		build_node(object, &l);
		break;
	case KUBE_POD:
		build_pod(k, object, &l);
		break;
	case KUBE_SERVICE:
		build_service(k, object, &l);
		break;
	case KUBE_ENDPOINTS:
		build_endpoints(k, object, &l);
		break;
	case KUBE_SLICE:
		build_slice(k, object, &l);
		break;
	default:
		build_ingress(k, object, &l);
	}
	labelset__fini(&l);
	return l.error;
}
