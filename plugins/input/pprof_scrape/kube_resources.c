/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_resources.c - where objects of a Kubernetes cluster are listed, and what is kept of them
 *
 * The masks name what kube_roles.c asks for, and no more: most of a pod is what it was made from, and who
 * changed which field.
 */
#include "plugins/input/pprof_scrape/kube.h"

static const struct kube_mask owner_mask[] = { { "kind", 0 }, { "name", 0 }, { "controller", 0 }, { 0, 0 } };
static const struct kube_mask owned_meta[] = {
	{ "name", 0 }, { "namespace", 0 }, { "ownerReferences", owner_mask }, { 0, 0 }
};
static const struct kube_mask owned_mask[] = { { "metadata", owned_meta }, { 0, 0 } };
static const struct kube_mask usual_meta[] = {
	{ "name", 0 }, { "namespace", 0 }, { "labels", 0 }, { "annotations", 0 }, { 0, 0 }
};
static const struct kube_mask only_meta[] = { { "metadata", usual_meta }, { 0, 0 } };
static const struct kube_mask pod_meta[] = {
	{ "name", 0 },	 { "namespace", 0 },   { "uid", 0 },
	{ "labels", 0 }, { "annotations", 0 }, { "ownerReferences", owner_mask },
	{ 0, 0 }
};
static const struct kube_mask state_mask[] = { { "type", 0 }, { "status", 0 }, { 0, 0 } };
static const struct kube_mask container_port[] = {
	{ "name", 0 }, { "containerPort", 0 }, { "protocol", 0 }, { 0, 0 }
};
static const struct kube_mask container_mask[] = {
	{ "name", 0 }, { "image", 0 }, { "ports", container_port }, { 0, 0 }
};
static const struct kube_mask id_mask[] = { { "name", 0 }, { "containerID", 0 }, { 0, 0 } };
static const struct kube_mask pod_spec[] = { { "nodeName", 0 },
					     { "containers", container_mask },
					     { "initContainers", container_mask },
					     { 0, 0 } };
static const struct kube_mask pod_status[] = { { "podIP", 0 },
					       { "hostIP", 0 },
					       { "phase", 0 },
					       { "conditions", state_mask },
					       { "containerStatuses", id_mask },
					       { "initContainerStatuses", id_mask },
					       { 0, 0 } };
static const struct kube_mask pod_mask[] = {
	{ "metadata", pod_meta }, { "spec", pod_spec }, { "status", pod_status }, { 0, 0 }
};
/* Endpoints have no label of a container's id. */
static const struct kube_mask joined_pod_status[] = {
	{ "podIP", 0 }, { "hostIP", 0 }, { "phase", 0 }, { "conditions", state_mask }, { 0, 0 }
};
static const struct kube_mask joined_pod_mask[] = {
	{ "metadata", pod_meta }, { "spec", pod_spec }, { "status", joined_pod_status }, { 0, 0 }
};
static const struct kube_mask node_spec[] = { { "providerID", 0 }, { 0, 0 } };
static const struct kube_mask node_address[] = { { "type", 0 }, { "address", 0 }, { 0, 0 } };
static const struct kube_mask node_status[] = {
	{ "addresses", node_address }, { "conditions", state_mask }, { "daemonEndpoints", 0 }, { 0, 0 }
};
static const struct kube_mask node_mask[] = {
	{ "metadata", usual_meta }, { "spec", node_spec }, { "status", node_status }, { 0, 0 }
};
static const struct kube_mask port_mask[] = {
	{ "name", 0 }, { "port", 0 }, { "protocol", 0 }, { "appProtocol", 0 }, { 0, 0 }
};
static const struct kube_mask service_spec[] = { { "ports", port_mask },  { "type", 0 },
						 { "externalName", 0 },	  { "clusterIP", 0 },
						 { "loadBalancerIP", 0 }, { "ipFamilies", 0 },
						 { "ipFamilyPolicy", 0 }, { 0, 0 } };
static const struct kube_mask balancer_mask[] = { { "ip", 0 }, { 0, 0 } };
static const struct kube_mask balancers_mask[] = { { "ingress", balancer_mask }, { 0, 0 } };
static const struct kube_mask service_status[] = { { "loadBalancer", balancers_mask }, { 0, 0 } };
static const struct kube_mask service_mask[] = {
	{ "metadata", usual_meta }, { "spec", service_spec }, { "status", service_status }, { 0, 0 }
};
/* Of an endpoint's service: its labels, and which of its addresses come first. */
static const struct kube_mask joined_service_spec[] = { { "ipFamilies", 0 },
							{ "ipFamilyPolicy", 0 },
							{ 0, 0 } };
static const struct kube_mask joined_service_mask[] = { { "metadata", usual_meta },
							{ "spec", joined_service_spec },
							{ 0, 0 } };
static const struct kube_mask ref_mask[] = { { "kind", 0 }, { "namespace", 0 }, { "name", 0 }, { 0, 0 } };
static const struct kube_mask address_mask[] = {
	{ "ip", 0 }, { "hostname", 0 }, { "nodeName", 0 }, { "targetRef", ref_mask }, { 0, 0 }
};
static const struct kube_mask subset_mask[] = { { "addresses", address_mask },
						{ "notReadyAddresses", address_mask },
						{ "ports", port_mask },
						{ 0, 0 } };
static const struct kube_mask endpoints_mask[] = { { "metadata", usual_meta },
						   { "subsets", subset_mask },
						   { 0, 0 } };
static const struct kube_mask endpoint_mask[] = { { "addresses", 0 },
						  { "conditions", 0 },
						  { "hostname", 0 },
						  { "nodeName", 0 },
						  { "zone", 0 },
						  { "targetRef", ref_mask },
						  { "deprecatedTopology", 0 },
						  { 0, 0 } };
static const struct kube_mask slice_mask[] = { { "metadata", usual_meta },
					       { "addressType", 0 },
					       { "endpoints", endpoint_mask },
					       { "ports", port_mask },
					       { 0, 0 } };
static const struct kube_mask path_mask[] = { { "path", 0 }, { 0, 0 } };
static const struct kube_mask paths_mask[] = { { "paths", path_mask }, { 0, 0 } };
static const struct kube_mask rule_mask[] = { { "host", 0 }, { "http", paths_mask }, { 0, 0 } };
static const struct kube_mask tls_mask[] = { { "hosts", 0 }, { 0, 0 } };
static const struct kube_mask ingress_spec[] = {
	{ "ingressClassName", 0 }, { "rules", rule_mask }, { "tls", tls_mask }, { 0, 0 }
};
static const struct kube_mask ingress_mask[] = { { "metadata", usual_meta },
						 { "spec", ingress_spec },
						 { 0, 0 } };

const struct kube_resource_kind kube_resources[] = {
	[KUBE_NODE] = { "api/v1", "nodes", node_mask, only_meta, true },
	[KUBE_POD] = { "api/v1", "pods", pod_mask, joined_pod_mask, false },
	[KUBE_SERVICE] = { "api/v1", "services", service_mask, joined_service_mask, false },
	[KUBE_ENDPOINTS] = { "api/v1", "endpoints", endpoints_mask, NULL, false },
	[KUBE_SLICE] = { "apis/discovery.k8s.io/v1", "endpointslices", slice_mask, NULL, false },
	[KUBE_INGRESS] = { "apis/networking.k8s.io/v1", "ingresses", ingress_mask, NULL, false },
	[KUBE_NAMESPACE] = { "api/v1", "namespaces", only_meta, NULL, true },
	[KUBE_REPLICASET] = { "apis/apps/v1", "replicasets", owned_mask, NULL, false },
	[KUBE_JOB] = { "apis/batch/v1", "jobs", owned_mask, NULL, false },
};
