# SPDX-License-Identifier: Apache-2.0
"""tests/data/discovery/fill_kubernetes.py - puts the objects of the tests into a Kubernetes API server

    fill_kubernetes.py SERVER TOKEN [PODS]

SERVER is https://HOST:PORT. With PODS, so many pods more, for the bench.
"""
import json
import ssl
import sys
import urllib.error
import urllib.request

server, token = sys.argv[1:3]
context = ssl._create_unverified_context()


def call(method, path, body):
    r = urllib.request.Request(server + path, json.dumps(body).encode(), method=method)
    r.add_header("Authorization", "Bearer " + token)
    r.add_header("Content-Type", "application/json")
    try:
        return json.load(urllib.request.urlopen(r, context=context))
    except urllib.error.HTTPError as e:
        if e.code == 409:
            return None
        sys.exit("%s %s: %s" % (method, path, e.read().decode()))


def put(path, body, status=None):
    made = call("POST", path, body)
    if made and status:
        made["status"] = status
        call("PUT", "%s/%s/status" % (path, made["metadata"]["name"]), made)
    return made


def meta(name, namespace=None, **more):
    m = dict(name=name, **more)
    if namespace:
        m["namespace"] = namespace
    return m


def owner(kind, name, version="apps/v1"):
    return [{"apiVersion": version, "kind": kind, "name": name, "uid": "00000000-0000-0000-0000-000000000001", "controller": True}]


def container(name, *ports):
    return {"name": name, "image": "registry/" + name + ":1", "ports": list(ports)}


def pod(namespace, name, node, ip, containers, init=(), phase="Running", ready="True", **more):
    status = {"phase": phase, "hostIP": "192.168.7.1", "conditions": [{"type": "Ready", "status": ready}],
              "containerStatuses": [{"name": c["name"], "containerID": "containerd://" + c["name"], "image": c["image"], "imageID": "",
                                     "ready": True, "restartCount": 0} for c in containers]}
    if ip:
        status.update(podIP=ip, podIPs=[{"ip": ip}])
    put("/api/v1/namespaces/%s/pods" % namespace,
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, namespace, **more),
         "spec": {"nodeName": node, "containers": list(containers), "initContainers": list(init)}}, status)


def nodes():
    for i, name in enumerate(("alpha", "beta")):
        put("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "spec": {"providerID": "cloud://" + name},
                              "metadata": meta(name, labels={"zone.example/name": "z%d" % i, "disk": "ssd"},
                                               annotations={"note/it": "a b", "empty": ""})},
            {"addresses": [{"type": "Hostname", "address": name + ".local"}, {"type": "InternalIP", "address": "192.168.7.%d" % (i + 1)},
                           {"type": "InternalIP", "address": "fd00::%d" % (i + 1)}],
             "conditions": [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "Unknown"}],
             "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}})


def workloads():
    spec = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container("web")]}}
    put("/apis/apps/v1/namespaces/shop/replicasets",
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta("web-1", "shop", ownerReferences=owner("Deployment", "web")),
         "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": spec}})
    job = {"spec": {"containers": [container("job")], "restartPolicy": "Never"}}
    put("/apis/batch/v1/namespaces/shop/jobs",
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": job},
         "metadata": meta("nightly-1", "shop", ownerReferences=owner("CronJob", "nightly", "batch/v1"))})


def pods():
    http, pprof = {"name": "http", "containerPort": 8080}, {"name": "pprof", "containerPort": 6060}
    web = dict(labels={"app": "web", "tier.example/x": "front"}, annotations={"scrape/port": "6060"},
               ownerReferences=owner("ReplicaSet", "web-1"))
    pod("shop", "web-1-a", "alpha", "10.1.0.1", [container("web", http, pprof), container("side")], [container("setup")], **web)
    pod("shop", "web-1-b", "beta", "fd01::2", [container("web", http, pprof)], ready="False", **web)
    pod("shop", "nightly-1-x", "beta", "10.1.0.3", [container("job", {"containerPort": 9, "protocol": "UDP"})], phase="Succeeded",
        ownerReferences=owner("Job", "nightly-1", "batch/v1"))
    pod("shop", "starting", "alpha", None, [container("web", http)], phase="Pending")
    pod("shop", "elsewhere", "gone", "10.1.0.4", [container("web", http)])
    pod("other", "lonely", "alpha", "10.1.0.5", [container("web", http)], labels={"app": "lonely"})


def services():
    path = "/api/v1/namespaces/shop/services"
    one = {"name": "http", "port": 80, "targetPort": 8080}
    put(path, {"apiVersion": "v1", "kind": "Service", "metadata": meta("web", "shop", labels={"team": "a"}, annotations={"x": "y"}),
               "spec": {"selector": {"app": "web"}, "clusterIP": "10.0.0.10", "ports": [one]}})
    put(path, {"apiVersion": "v1", "kind": "Service", "metadata": meta("away", "shop"),
               "spec": {"type": "ExternalName", "externalName": "away.example", "ports": [{"port": 443}]}})
    put(path, {"apiVersion": "v1", "kind": "Service", "metadata": meta("front", "shop"),
               "spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.11", "ports": [one, {"name": "p", "port": 6060, "protocol": "TCP"}]}},
        {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}, {"hostname": "lb"}, {"ip": "203.0.113.2"}]}})


def ref(kind, name):
    return {"kind": kind, "namespace": "shop", "name": name} if kind == "Pod" else {"kind": kind, "name": name}


def endpoints():
    put("/api/v1/namespaces/shop/endpoints",
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta("web", "shop", labels={"e": "1"}), "subsets": [
            {"ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
             "addresses": [{"ip": "10.1.0.1", "nodeName": "alpha", "hostname": "h1", "targetRef": ref("Pod", "web-1-a")},
                           {"ip": "192.168.7.2", "targetRef": ref("Node", "beta")}, {"ip": "10.9.9.9"}],
             "notReadyAddresses": [{"ip": "fd01::2", "nodeName": "beta", "targetRef": ref("Pod", "web-1-b")}]}]})
    slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
    port = {"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "http"}
    put(slices, {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [port],
                 "metadata": meta("web-abc", "shop", labels={"kubernetes.io/service-name": "web"}), "endpoints": [
                     {"addresses": ["10.1.0.1"], "conditions": {"ready": True, "serving": True, "terminating": False}, "hostname": "h1",
                      "nodeName": "alpha", "zone": "z0", "targetRef": ref("Pod", "web-1-a")},
                     {"addresses": ["10.9.9.9"], "conditions": {}, "deprecatedTopology": {"rack.example/no": "7"}},
                     {"addresses": ["192.168.7.2"], "conditions": {"ready": False}, "targetRef": ref("Node", "beta")}]})
    put(slices, {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv6", "ports": [{"name": "", "protocol": "TCP"}],
                 "metadata": meta("bare", "shop"), "endpoints": [{"addresses": ["fd01::2"], "targetRef": ref("Pod", "web-1-b"), "nodeName": "beta"}]})


def ingresses():
    def back(path):
        return {"path": path, "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
    put("/apis/networking.k8s.io/v1/namespaces/shop/ingresses",
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta("site", "shop", labels={"i": "1"}), "spec": {
            "ingressClassName": "nginx", "tls": [{"hosts": ["*.example.test"]}],
            "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}, "rules": [
                {"host": "www.example.test", "http": {"paths": [back("/"), back("/debug")]}},
                {"host": "a.b.example.test", "http": {"paths": [back("/x")]}}, {"host": "bare.test"}]}})


for n, labels in (("shop", {"env": "prod"}), ("other", {})):
    put("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(n, labels=labels, annotations={"owner": n})})
if len(sys.argv) > 3:
    for i in range(int(sys.argv[3])):
        pod("other", "many-%d" % i, "alpha", "10.%d.%d.%d" % (2 + i // 65536, i // 256 % 256, i % 256),
            [container("web", {"name": "pprof", "containerPort": 6060})],
            labels={"app": "many", "pod-template-hash": "5d4f8c7b9%d" % (i % 10), "app.kubernetes.io/name": "many", "app.kubernetes.io/version": "1"},
            annotations={"prometheus.io/scrape": "true", "prometheus.io/port": "6060", "checksum/config": "%064x" % i})
else:
    nodes()
    workloads()
    pods()
    services()
    endpoints()
    ingresses()
