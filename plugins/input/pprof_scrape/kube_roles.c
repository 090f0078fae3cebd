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

/* ---- values of an object ---- */

static const struct kube_value *get(const struct kube_value *o, const char *key)
{
	return kube_value__get(o, key);
}

static const struct kube_value *in(const struct kube_value *o, const char *outer, const char *inner)
{
	return get(get(o, outer), inner);
}

static struct dcm_str text(const struct kube_value *o, const char *key)
{
	return kube_value__text(get(o, key));
}

static struct dcm_str lower(struct dcm_str s, char *to, size_t cap)
{
	size_t n = s.n < cap ? s.n : cap;

	for (size_t i = 0; i < n; i++)
		to[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
	return (struct dcm_str){ to, (uint32_t)n };
}

/* ---- labels of any object ---- */

static void put_map(struct labelset *l, const char *kind, const char *what, const struct kube_value *map)
{
	char prefix[80], present[80];

	snprintf(prefix, sizeof(prefix), META "%s_%s_", kind, what);
	snprintf(present, sizeof(present), META "%s_%spresent_", kind, what);
	kube_each (v, map) {
		labelset__put_key(l, prefix, text__str(v->name), kube_value__text(v));
		labelset__put_key(l, present, text__str(v->name), STR("true"));
	}
}

static void put_meta(struct labelset *l, const char *kind, const struct kube_value *object)
{
	const struct kube_value *meta = get(object, "metadata");

	put_map(l, kind, "label", get(meta, "labels"));
	put_map(l, kind, "annotation", get(meta, "annotations"));
}

static struct dcm_str name_of(const struct kube_value *object)
{
	return text(get(object, "metadata"), "name");
}

static const char *namespace_of(const struct kube_value *object)
{
	return text(get(object, "metadata"), "namespace").p;
}

/* Of a node by its name; false: there is none. */
static bool put_node(struct kube *k, struct labelset *l, const char *name)
{
	const struct kube_value *node = name ? kube__find(k, KUBE_NODE, NULL, name) : NULL;

	if (!node)
		return false;
	labelset__put(l, META "node_name", name_of(node));
	put_meta(l, "node", node);
	return true;
}

static void put_namespace(struct kube *k, struct labelset *l, const struct kube_value *object)
{
	if (k->options->attach.namespace)
		put_meta(l, "namespace", kube__find(k, KUBE_NAMESPACE, NULL, namespace_of(object)));
}

/* ---- pods ---- */

static const struct kube_value *controller_of(const struct kube_value *object)
{
	kube_each (owner, in(object, "metadata", "ownerReferences")) {
		if (str__eq(text(owner, "controller"), STR("true")))
			return owner;
	}
	return NULL;
}

/* The name of the controller of the object of that name, when it is of that kind. */
static void put_owner(struct kube *k, struct labelset *l, const char *label, enum kube_resource resource,
		      const char *namespace, const char *name, const char *kind)
{
	const struct kube_value *owner = controller_of(kube__find(k, resource, namespace, name));

	if (owner && str__eq(text(owner, "kind"), str__of(kind)))
		labelset__put(l, label, text(owner, "name"));
}

static void put_controller(struct kube *k, struct labelset *l, const struct kube_value *pod)
{
	const struct kube_value *owner = controller_of(pod);
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

static void put_ready(struct labelset *l, const struct kube_value *pod)
{
	struct dcm_str ready = STR("unknown");
	char buffer[16];

	kube_each (condition, in(pod, "status", "conditions")) {
		if (!str__eq(text(condition, "type"), STR("Ready")))
			continue;
		ready = lower(text(condition, "status"), buffer, sizeof(buffer));
		break;
	}
	labelset__put(l, META "pod_ready", ready);
}

static void put_pod(struct kube *k, struct labelset *l, const struct kube_value *pod)
{
	const struct kube_value *status = get(pod, "status");

	labelset__put(l, META "pod_ip", text(status, "podIP"));
	put_ready(l, pod);
	labelset__put(l, META "pod_phase", text(status, "phase"));
	labelset__put(l, META "pod_node_name", text(get(pod, "spec"), "nodeName"));
	labelset__put(l, META "pod_host_ip", text(status, "hostIP"));
	labelset__put(l, META "pod_uid", text(get(pod, "metadata"), "uid"));
	labelset__put(l, META "pod_name", name_of(pod));
	put_meta(l, "pod", pod);
	put_controller(k, l, pod);
}

/* Calls fn for each container, and then for those that begin the pod. */
typedef void (*container_fn)(void *ctx, const struct kube_value *container, bool is_init);
static void each_container(const struct kube_value *pod, container_fn fn, void *ctx)
{
	kube_each (c, in(pod, "spec", "containers"))
		fn(ctx, c, false);
	kube_each (c, in(pod, "spec", "initContainers"))
		fn(ctx, c, true);
}

/* 0: it has none. */
static int64_t port_of(const struct kube_value *port, const char *key)
{
	struct dcm_str number = text(port, key);

	return number.p ? strtoll(number.p, NULL, 10) : 0;
}

static void put_container(struct labelset *l, const struct kube_value *c, bool is_init)
{
	labelset__put(l, META "pod_container_name", text(c, "name"));
	labelset__put(l, META "pod_container_image", text(c, "image"));
	labelset__put(l, META "pod_container_init", is_init ? STR("true") : STR("false"));
}

static void put_container_port(struct labelset *l, const struct kube_value *port, struct dcm_str protocol)
{
	labelset__put(l, META "pod_container_port_name", text(port, "name"));
	labelset__put_int(l, META "pod_container_port_number", port_of(port, "containerPort"));
	labelset__put(l, META "pod_container_port_protocol", protocol);
}

struct pod_work {
	const struct kube_value *pod;
	struct labelset *l;
};

static struct dcm_str container_id(const struct kube_value *pod, const struct kube_value *c, bool is_init)
{
	kube_each (status, in(pod, "status", is_init ? "initContainerStatuses" : "containerStatuses")) {
		if (str__eq(text(status, "name"), text(c, "name")))
			return text(status, "containerID");
	}
	return STR("");
}

static void add_container(void *ctx, const struct kube_value *c, bool is_init)
{
	struct pod_work *w = ctx;
	struct dcm_str ip = text(get(w->pod, "status"), "podIP");
	const struct kube_value *ports = get(c, "ports");

	kube_each (port, ports) {
		put_container(w->l, c, is_init);
		labelset__put(w->l, META "pod_container_id", container_id(w->pod, c, is_init));
		put_container_port(w->l, port, text(port, "protocol"));
		labelset__add_port(w->l, ip, port_of(port, "containerPort"));
	}
	if (kube_value__first(ports))
		return;
	put_container(w->l, c, is_init);
	labelset__put(w->l, META "pod_container_id", container_id(w->pod, c, is_init));
	labelset__add(w->l, ip);
}

static void build_pod(struct kube *k, const struct kube_value *pod, struct labelset *l)
{
	struct pod_work w = { pod, l };
	const char *node = text(get(pod, "spec"), "nodeName").p;

	/* It has none while it begins, or when it was evicted. */
	if (text(get(pod, "status"), "podIP").n == 0)
		return;
	put_pod(k, l, pod);
	labelset__put(l, META "namespace", text(get(pod, "metadata"), "namespace"));
	/* A node that is not there was left out by a selector. */
	if (k->options->attach.node && !put_node(k, l, node))
		return;
	put_namespace(k, l, pod);
	labelset__share(l);
	each_container(pod, add_container, &w);
}

/* ---- nodes ---- */

/* The first of that type. */
static const struct kube_value *address_of(const struct kube_value *node, struct dcm_str type)
{
	kube_each (a, in(node, "status", "addresses")) {
		if (str__eq(text(a, "type"), type))
			return a;
	}
	return NULL;
}

static const struct kube_value *node_address(const struct kube_value *node)
{
	static const char *const order[] = { "InternalIP",  "InternalDNS",  "ExternalIP",
					     "ExternalDNS", "LegacyHostIP", "Hostname" };
	const struct kube_value *a = NULL;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order) && !a; i++)
		a = address_of(node, str__of(order[i]));
	return a;
}

static void build_node(const struct kube_value *node, struct labelset *l)
{
	const struct kube_value *a = node_address(node);
	char type[64], status[16];

	if (!a)
		return;
	labelset__put(l, META "node_provider_id", text(get(node, "spec"), "providerID"));
	kube_each (c, in(node, "status", "conditions"))
		labelset__put_key(l, META "node_condition_", lower(text(c, "type"), type, sizeof(type)),
				  lower(text(c, "status"), status, sizeof(status)));
	labelset__put(l, META "node_name", name_of(node));
	put_meta(l, "node", node);
	labelset__put(l, "instance", name_of(node));
	kube_each (other, in(node, "status", "addresses")) {
		if (address_of(node, text(other, "type")) == other)
			labelset__put_key(l, META "node_address_", text(other, "type"),
					  text(other, "address"));
	}
	labelset__add_port(l, text(a, "address"),
			   port_of(get(in(node, "status", "daemonEndpoints"), "kubeletEndpoint"), "Port"));
}

/* ---- services ---- */

static void put_service(struct labelset *l, const struct kube_value *service)
{
	labelset__put(l, META "namespace", text(get(service, "metadata"), "namespace"));
	labelset__put(l, META "service_name", name_of(service));
	put_meta(l, "service", service);
}

static void put_load_balancer(struct labelset *l, const struct kube_value *service)
{
	char joined[1024];
	size_t n = 0;

	kube_each (one, get(in(service, "status", "loadBalancer"), "ingress")) {
		struct dcm_str ip = text(one, "ip");

		if (ip.n && n + ip.n + 1 < sizeof(joined))
			n += (size_t)snprintf(joined + n, sizeof(joined) - n, "%s%.*s",
					      n ? "," : "", STR_ARG(ip));
	}
	labelset__put(l, META "service_loadbalancer_ip",
		      n ? (struct dcm_str){ joined, (uint32_t)n }
			: text(get(service, "spec"), "loadBalancerIP"));
}

static void build_service(struct kube *k, const struct kube_value *service, struct labelset *l)
{
	const struct kube_value *spec = get(service, "spec");
	struct dcm_str type = text(spec, "type"), name = name_of(service);
	char host[600];

	put_service(l, service);
	put_namespace(k, l, service);
	labelset__share(l);
	snprintf(host, sizeof(host), "%.*s.%s.svc", STR_ARG(name),
		 namespace_of(service) ? namespace_of(service) : "");
	kube_each (port, get(spec, "ports")) {
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

static bool has_tls(const struct kube_value *spec, struct dcm_str host)
{
	kube_each (tls, get(spec, "tls")) {
		kube_each (h, get(tls, "hosts")) {
			if (matches(kube_value__text(h), host))
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

static void build_ingress(struct kube *k, const struct kube_value *ingress, struct labelset *l)
{
	const struct kube_value *spec = get(ingress, "spec");

	labelset__put(l, META "namespace", text(get(ingress, "metadata"), "namespace"));
	labelset__put(l, META "ingress_class_name", text(spec, "ingressClassName"));
	labelset__put(l, META "ingress_name", name_of(ingress));
	put_meta(l, "ingress", ingress);
	put_namespace(k, l, ingress);
	labelset__share(l);
	kube_each (rule, get(spec, "rules")) {
		const struct kube_value *http = get(rule, "http");
		struct dcm_str host = text(rule, "host");
		bool is_https = has_tls(spec, host);

		kube_each (path, get(http, "paths"))
			add_path(l, host, is_https, text(path, "path"));
		if (!http)
			add_path(l, host, is_https, STR("/"));
	}
}

/* ---- endpoints and slices of them ---- */

/* A pod that an endpoint leads to, and the ports that have a target already. */
struct seen {
	const struct kube_value *pod;
	VEC(int64_t) ports;
};

struct endpoints_work {
	struct kube *k;
	struct labelset *l;
	VEC(struct seen) seen;
	/* Of the one that is being made. */
	const struct seen *of;
	int64_t port;		 /* -1: it has none */
	struct dcm_str protocol; /* p NULL: the container's */
};

static struct seen *see(struct endpoints_work *w, const struct kube_value *ref)
{
	const char *namespace = text(ref, "namespace").p, *name = text(ref, "name").p;
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
	w->l->error = -ENOMEM;
	return NULL;
}

static void put_matching_port(void *ctx, const struct kube_value *c, bool is_init)
{
	struct endpoints_work *w = ctx;
	kube_each (port, get(c, "ports")) {
		if (port_of(port, "containerPort") != w->port)
			continue;
		put_container(w->l, c, is_init);
		put_container_port(w->l, port, w->protocol.p ? w->protocol : text(port, "protocol"));
		break;
	}
}

/* What all targets of an endpoint have: the pod behind it, and its container. */
static void put_endpoint_pod(struct endpoints_work *w, const struct kube_value *ref)
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

static void add_uncovered(void *ctx, const struct kube_value *c, bool is_init)
{
	struct endpoints_work *w = ctx;
	kube_each (port, get(c, "ports")) {
		int64_t number = port_of(port, "containerPort");

		if (is_covered(w->of, number))
			continue;
		put_container(w->l, c, is_init);
		put_container_port(w->l, port, text(port, "protocol"));
		put_pod(w->k, w->l, w->of->pod);
		labelset__add_port(w->l, text(get(w->of->pod, "status"), "podIP"), number);
	}
}

/* Ports of the pods that no endpoint leads to are targets, too. */
static void end_endpoints(struct endpoints_work *w)
{
	for (size_t i = 0; i < w->seen.n; i++) {
		w->of = &w->seen.v[i];
		if (text(get(w->of->pod, "status"), "podIP").n)
			each_container(w->of->pod, add_uncovered, w);
		vec__fini(&w->seen.v[i].ports);
	}
	vec__fini(&w->seen);
}

static void put_ref(struct labelset *l, const struct kube_value *ref, const char *kind, const char *name)
{
	if (!ref)
		return;
	labelset__put(l, kind, text(ref, "kind"));
	labelset__put(l, name, text(ref, "name"));
}

static void add_endpoint(struct endpoints_work *w, const struct kube_value *address,
			 const struct kube_value *port, const char *ready)
{
	struct labelset *l = w->l;
	const struct kube_value *ref = get(address, "targetRef");
	const char *node = text(address, "nodeName").p;

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
		node = text(ref, "name").p;
	if (w->k->options->attach.node)
		put_node(w->k, l, node);
	put_endpoint_pod(w, ref);
	labelset__add_port(l, text(address, "ip"), w->port);
}

static void build_endpoints(struct kube *k, const struct kube_value *object, struct labelset *l)
{
	struct endpoints_work w = { .k = k, .l = l };
	const struct kube_value *service = kube__find(k, KUBE_SERVICE, namespace_of(object),
						      name_of(object).p);

	labelset__put(l, META "namespace", text(get(object, "metadata"), "namespace"));
	if (service)
		put_service(l, service);
	labelset__put(l, META "endpoints_name", name_of(object));
	put_meta(l, "endpoints", object);
	put_namespace(k, l, object);
	labelset__share(l);
	kube_each (subset, get(object, "subsets")) {
		kube_each (port, get(subset, "ports")) {
			if (l->error)
				break;
			kube_each (address, get(subset, "addresses"))
				add_endpoint(&w, address, port, "true");
			kube_each (address, get(subset, "notReadyAddresses"))
				add_endpoint(&w, address, port, "false");
		}
	}
	end_endpoints(&w);
}

static void put_slice_endpoint(struct labelset *l, const struct kube_value *e)
{
	const struct kube_value *c = get(e, "conditions");

	labelset__put(l, META "endpointslice_endpoint_conditions_ready", text(c, "ready"));
	labelset__put(l, META "endpointslice_endpoint_conditions_serving", text(c, "serving"));
	labelset__put(l, META "endpointslice_endpoint_conditions_terminating", text(c, "terminating"));
	labelset__put(l, META "endpointslice_endpoint_hostname", text(e, "hostname"));
	put_ref(l, get(e, "targetRef"), META "endpointslice_address_target_kind",
		META "endpointslice_address_target_name");
	labelset__put(l, META "endpointslice_endpoint_node_name", text(e, "nodeName"));
	labelset__put(l, META "endpointslice_endpoint_zone", text(e, "zone"));
	kube_each (v, get(e, "deprecatedTopology")) {
		labelset__put_key(l, META "endpointslice_endpoint_topology_", text__str(v->name),
				  kube_value__text(v));
		labelset__put_key(l, META "endpointslice_endpoint_topology_present_",
				  text__str(v->name), STR("true"));
	}
}

static void add_slice_address(struct endpoints_work *w, struct dcm_str address,
			      const struct kube_value *e, const struct kube_value *port)
{
	struct labelset *l = w->l;
	const struct kube_value *ref = get(e, "targetRef"), *number = get(port, "port");
	bool is_node = str__eq(text(ref, "kind"), STR("Node"));

	if (l->error)
		return;
	w->port = number ? port_of(port, "port") : -1;
	w->protocol = (struct dcm_str){ 0 };
	labelset__put(l, META "endpointslice_port_name", text(port, "name"));
	labelset__put(l, META "endpointslice_port_protocol", text(port, "protocol"));
	if (number)
		labelset__put_int(l, META "endpointslice_port", w->port);
	labelset__put(l, META "endpointslice_port_app_protocol", text(port, "appProtocol"));
	put_slice_endpoint(l, e);
	if (w->k->options->attach.node)
		put_node(w->k, l, is_node ? text(ref, "name").p : text(e, "nodeName").p);
	put_endpoint_pod(w, ref);
	if (number)
		labelset__add_port(l, address, w->port);
	else
		labelset__add(l, address);
}

/* The second one of a service that has addresses of both kinds leads to the same pods. */
static bool is_second_family(const struct kube_value *service, const struct kube_value *slice)
{
	const struct kube_value *spec = get(service, "spec");
	struct dcm_str policy = text(spec, "ipFamilyPolicy");
	const struct kube_value *first = kube_value__first(get(spec, "ipFamilies"));

	return (str__eq(policy, STR("PreferDualStack")) ||
		str__eq(policy, STR("RequireDualStack"))) &&
	       first && !str__eq(text(slice, "addressType"), kube_value__text(first));
}

static void build_slice(struct kube *k, const struct kube_value *slice, struct labelset *l)
{
	struct endpoints_work w = { .k = k, .l = l };
	const char *of = text(in(slice, "metadata", "labels"), "kubernetes.io/service-name").p;
	const struct kube_value *service = kube__find(k, KUBE_SERVICE, namespace_of(slice), of);
	bool is_second = service && is_second_family(service, slice);

	labelset__put(l, META "namespace", text(get(slice, "metadata"), "namespace"));
	labelset__put(l, META "endpointslice_address_type", text(slice, "addressType"));
	labelset__put(l, META "endpointslice_name", name_of(slice));
	put_meta(l, "endpointslice", slice);
	if (service)
		put_service(l, service);
	put_namespace(k, l, slice);
	if (is_second)
		return;
	labelset__share(l);
	kube_each (e, get(slice, "endpoints")) {
		kube_each (port, get(slice, "ports")) {
			if (l->error)
				break;
			kube_each (address, get(e, "addresses"))
				add_slice_address(&w, kube_value__text(address), e, port);
		}
	}
	end_endpoints(&w);
}

/* ---- all roles ---- */

int kube_roles__build(struct kube *k, const struct kube_value *object, struct groups *found)
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
