# SPDX-License-Identifier: Apache-2.0
"""tests/data/discovery/fill_consul.py - puts the services of the tests into a Consul server, and changes them

    fill_consul.py SERVER TOKEN [CHANGE]

SERVER is http://HOST:PORT. Without CHANGE all is put in; "change" alters it, "save FILE" and "restore FILE" are a
snapshot (after which indices are smaller), "many N" adds N services with an instance each.
"""
import json
import sys
import urllib.error
import urllib.request

server, token, *change = sys.argv[1:]


def call(method, path, body=None):
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    r = urllib.request.Request(server + path, data, method=method, headers={"X-Consul-Token": token})
    try:
        return urllib.request.urlopen(r).read()
    except urllib.error.HTTPError as e:
        sys.exit("%s %s: %s" % (method, path, e.read().decode()))


def check(status, name="check"):
    return {"CheckID": name, "Name": name, "Status": status}


def put(node, address, service=None, checks=(), meta=None, tagged=None):
    body = {"Node": node, "Address": address, "NodeMeta": meta or {}, "TaggedAddresses": tagged or {}}
    if service:
        body["Service"] = service
        body["Checks"] = [dict(c, ServiceID=service["ID"] if "ServiceID" not in c else c["ServiceID"]) for c in checks]
    else:
        body["Checks"] = list(checks)
    call("PUT", "/v1/catalog/register", body)


def service(name, id, port=6060, address="", tags=(), **meta):
    return {"Service": name, "ID": id, "Port": port, "Address": address, "Tags": list(tags), "Meta": {k.replace("__", "-"): v for k, v in meta.items()}}


lan = {"lan": "10.1.0.1", "wan": "198.51.100.1", "lan_ipv4": "10.1.0.1"}
meta1 = {"rack": "r1", "zone-name": "z/1", "external-node": "true"}


def fill():
    put("one", "10.1.0.1", service("web", "web-1", 8080, tags=["v1", "blue"], team="a", build__id="7"), [check("passing")], meta1, lan)
    put("two", "10.1.0.2", service("web", "web-2", 8081, "192.168.5.5", ["v2"], team="b"), [check("warning", "w"), check("passing", "p")], {"rack": "r2"})
    put("three", "fd00::3", service("web", "web-3", 8082, tags=["blue"]), [check("critical", "c"), check("warning", "w")])
    put("three", "fd00::3", service("web", "web-4", 8083, "fd00::33"), [])
    put("one", "10.1.0.1", service("api", "api-1", 9090, tags=["blue", "a,b"]), [check("critical", "_service_maintenance:api-1")], meta1, lan)
    put("four", "10.1.0.4", service("api", "api-2", 9090, tags=["green", "blue"]))
    put("four", "10.1.0.4", None, [check("critical", "_node_maintenance")])
    put("two", "10.1.0.2", service("an odd/name", "odd", 0, "host.example", ["=", "x y"]), [], {"rack": "r2"})
    put("five", "five.example", service("tagless", "tagless"))


def alter():
    put("five", "five.example", service("web", "web-5", 8085, tags=["v3"], team="a"), [check("passing")])
    put("one", "10.1.0.1", service("web", "web-1", 8080, tags=["v1", "blue"], team="a", build__id="8"), [check("critical")], meta1, lan)
    call("PUT", "/v1/catalog/deregister", {"Node": "two", "ServiceID": "web-2"})
    call("PUT", "/v1/catalog/deregister", {"Node": "five", "ServiceID": "tagless"})
    put("five", "five.example", service("new", "new-1", 7000, tags=["blue"]))


if not change:
    fill()
elif change[0] == "change":
    alter()
elif change[0] == "save":
    open(change[1], "wb").write(call("GET", "/v1/snapshot"))
elif change[0] == "restore":
    call("PUT", "/v1/snapshot", open(change[1], "rb").read())
elif change[0] == "many":
    for i in range(int(change[1])):
        put("many", "127.0.0.1", service("many-%05d" % i, "many-%d" % i, 10000 + i))
