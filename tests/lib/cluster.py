# SPDX-License-Identifier: Apache-2.0
"""tests/lib/cluster.py - as much of a Kubernetes API server as a discovery asks, with a cluster as large as one likes

    cluster.py N [BARE [BYTES]]

Prints its own HOST:PORT and serves until it is told to end (SIGTERM): N pods of two ports each with all that a real pod's
object has (managedFields, volumes, tolerations, conditions), a service and its endpoints before each ten of them, their
nodes and namespaces, and BARE nodes that say no more than where they are, and BYTES of an annotation; lists in pages, and watches. All addresses are
loopback's, because what is found is asked. /-/label?RESOURCE=NAME&value=V gives the first object whose name begins so the
label "changed", and tells the watches; /-/delete?RESOURCE=NAME takes it away; /-/asked is how often each resource was
listed, pages counted.
"""
import http.server
import json
import queue
import signal
import sys
import threading
import urllib.parse


def meta(name, namespace=None, labels=None, **more):
    m = {"name": name, "uid": "%08x-5f3a-4c1e-9d2b-%012x" % (hash_of(name), hash_of(name + "/")), "resourceVersion": "1", "creationTimestamp": "2024-05-02T07:11:12Z",
         "labels": labels or {}, "managedFields": [managed("kube-controller-manager", "f:metadata"), managed("kubelet", "f:status")]}
    if namespace:
        m["namespace"] = namespace
    return {**m, **more}


def hash_of(text):
    return int.from_bytes(text.encode(), "big") * 2654435761 % (1 << 32)


def managed(who, what):
    fields = ("f:containers", "f:conditions", "f:image", "f:imagePullPolicy", "f:name", "f:ports", "f:resources", "f:terminationMessagePath",
              "f:volumeMounts", "f:dnsPolicy", "f:enableServiceLinks", "f:restartPolicy", "f:schedulerName", "f:securityContext", "f:volumes", "f:tolerations")
    return {"manager": who, "operation": "Update", "apiVersion": "v1", "time": "2024-05-02T07:11:12Z", "fieldsType": "FieldsV1",
            "fieldsV1": {what: {f: {".": {}, "k:{\"type\":\"%s\"}" % f: {".": {}, "f:status": {}, "f:lastTransitionTime": {}}} for f in fields}}}


def pod(i):
    app, node = "app-%d" % (i // 10), "node-%d" % (i // 30)
    name, ip = "%s-%08x-%05d" % (app, hash_of(app), i), "127.%d.%d.%d" % (1 + (i >> 16), i >> 8 & 255, i & 255)
    labels = {"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app, "app.kubernetes.io/version": "1.%d.0" % (i % 7), "app.kubernetes.io/component": "server",
              "app.kubernetes.io/managed-by": "Helm", "team": "team-%d" % (i % 20), "pod-template-hash": "%08x" % hash_of(app)}
    notes = {"prometheus.io/scrape": "true", "prometheus.io/port": "6060", "kubectl.kubernetes.io/restartedAt": "2024-05-02T07:11:12Z",
             "checksum/config": "%064x" % hash_of(app)}
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "%s-%08x" % (app, hash_of(app)), "uid": "u", "controller": True, "blockOwnerDeletion": True}]
    volumes = [{"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}], "defaultMode": 420}}]
    container = {"name": app, "image": "registry.example/team/%s:1.%d.0" % (app, i % 7), "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
                 "env": [{"name": "VARIABLE_%d" % v, "value": "some value of it"} for v in range(12)],
                 "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
                 "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10},
                 "volumeMounts": [{"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
                 "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}, {"name": "debug", "containerPort": 6060, "protocol": "TCP"}]}
    conditions = [{"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2024-05-02T07:11:12Z"} for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    return {"metadata": meta(name, "ns-%d" % (i // 10 % 25), labels, annotations=notes, ownerReferences=owner),
            "spec": {"containers": [container], "nodeName": node, "volumes": volumes, "restartPolicy": "Always", "serviceAccountName": "default",
                     "tolerations": [{"key": "node.kubernetes.io/" + k, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for k in ("not-ready", "unreachable")]},
            "status": {"phase": "Running", "conditions": conditions, "hostIP": "127.254.%d.%d" % (i // 30 >> 8, i // 30 & 255), "podIP": ip, "podIPs": [{"ip": ip}], "qosClass": "Burstable",
                       "containerStatuses": [{"name": app, "ready": True, "restartCount": 0, "image": container["image"], "started": True,
                                              "imageID": "registry.example/team/%s@sha256:%064x" % (app, hash_of(app)), "containerID": "containerd://%064x" % hash_of(name)}]}}


def service(name, pods):
    namespace = pods[0]["metadata"]["namespace"]
    return {"metadata": meta(name, namespace, {"app.kubernetes.io/name": name}), "spec": {"type": "ClusterIP", "clusterIP": "127.253.0.1", "ports": [{"name": "debug", "port": 6060}]}}


def endpoints(name, pods):
    addresses = [{"ip": p["status"]["podIP"], "nodeName": p["spec"]["nodeName"],
                  "targetRef": {"kind": "Pod", "namespace": p["metadata"]["namespace"], "name": p["metadata"]["name"]}} for p in pods]
    return {"metadata": meta(name, pods[0]["metadata"]["namespace"], {"app.kubernetes.io/name": name}),
            "subsets": [{"addresses": addresses, "ports": [{"name": "debug", "port": 6060, "protocol": "TCP"}]}]}


def bare(i, n_bytes):
    return {"name": "bare-%d" % i, **({"annotations": {"said": ("%08d" % i).ljust(n_bytes, ".")}} if n_bytes else {})}


class Cluster:
    def __init__(self, n, n_bare, n_bytes):
        pods = [pod(i) for i in range(n)]
        groups = [("app-%d" % (i // 10), pods[i:i + 10]) for i in range(0, n, 10)]
        address = {"addresses": [{"type": "InternalIP", "address": "127.255.0.1"}]}
        self.lock, self.version, self.watches, self.asked = threading.Lock(), 1, [], {}
        self.objects = {
            "pods": pods,
            "services": [service(*g) for g in groups],
            "endpoints": [endpoints(*g) for g in groups],
            "nodes": [{"metadata": meta("node-%d" % i, None, {"zone": "z%d" % (i % 3)})} for i in range((n + 29) // 30)]
                     + [{"metadata": bare(i, n_bytes), "status": address} for i in range(n_bare)],
            "namespaces": [{"metadata": meta("ns-%d" % i, None, {"owner": "o%d" % i})} for i in range(25)],
        }

    def change(self, resource, name, value):
        with self.lock:
            o = next(o for o in self.objects[resource] if o["metadata"]["name"].startswith(name))
            self.version += 1
            o["metadata"]["resourceVersion"] = str(self.version)
            if value is None:
                self.objects[resource].remove(o)
            else:
                o["metadata"].setdefault("labels", {})["changed"] = value
            for of, waiting in self.watches:
                if of == resource:
                    waiting.put(json.dumps({"type": "DELETED" if value is None else "MODIFIED", "object": o}))

    def page(self, resource, limit, begin):
        with self.lock:
            self.asked[resource] = self.asked.get(resource, 0) + 1
            rest = begin + limit < len(self.objects[resource])
            return json.dumps({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.version), "continue": str(begin + limit) if rest else ""},
                               "items": self.objects[resource][begin:begin + limit]})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def watch(self, resource):
        waiting = queue.Queue()
        with cluster.lock:
            cluster.watches.append((resource, waiting))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                line = (waiting.get() + "\n").encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
        except OSError:
            pass  # who watched has gone

    def do_GET(self):
        where = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(where.query))
        resource = where.path.rsplit("/", 1)[1]
        if where.path == "/-/asked":
            self.answer(json.dumps(cluster.asked))
        elif where.path in ("/-/label", "/-/delete"):
            value = asked.pop("value", None)
            for of, name in asked.items():
                cluster.change(of, name, value)
            self.answer("")
        elif resource not in cluster.objects:
            self.send_error(404)
        elif "watch" in asked:
            self.watch(resource)
        else:
            self.answer(cluster.page(resource, int(asked.get("limit", 1 << 30)), int(asked.get("continue", 0))))


signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))
cluster = Cluster(*(int(a) for a in [*sys.argv[1:], 0, 0][:3]))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print("127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
