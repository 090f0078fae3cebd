/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/docker_lists.c - the targets of what a Docker daemon lists: containers and networks
 *
 * A target for each network of a container and each of its TCP ports there. Which targets and labels
 * there are is Prometheus' (its discovery/moby).
 */
#include "plugins/input/pprof_scrape/docker_lists.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/json_str.h"
#include "plugins/input/pprof_scrape/labelset.h"

#define META "__meta_docker_"

enum {
	MAX_HOPS = 16,		   /* from a container to whose network it has */
	MAX_TEXT_BYTES = 256 << 20 /* of all labels, which stand once in the lists and often in targets */
};

struct work {
	const struct docker_lists *lists;
	json_t *containers, *networks; /* by their Id */
	struct groups *found;
	struct dcm_error *err;
};

/* ---- JSON ---- */

static struct dcm_str mode_of(const json_t *container)
{
	return json_str__at(json_object_get(container, "HostConfig"), "NetworkMode");
}

static json_t *networks_of(const json_t *container)
{
	return json_object_get(json_object_get(container, "NetworkSettings"), "Networks");
}

/* What a list has, by its Id. NULL: out of memory. */
static json_t *by_id(const json_t *list)
{
	json_t *map = json_object(), *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *id = json_string_value(json_object_get(entry, "Id"));

		if (map && id && json_object_set(map, id, entry) < 0) {
			json_decref(map);
			return NULL;
		}
	}
	return map;
}

/* ---- labels ---- */

static void put_map(struct labelset *l, const char *prefix, json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value)
		labelset__put_key(l, prefix, str__of(key), json_str__of(value));
}

static void put_container(struct labelset *l, const json_t *c)
{
	const json_t *name = json_array_get(json_object_get(c, "Names"), 0);

	labelset__put(l, META "container_id", json_str__at(c, "Id"));
	labelset__put(l, META "container_name", json_str__of(name));
	labelset__put(l, META "container_network_mode", mode_of(c));
	labelset__put(l, META "container_image", json_str__at(c, "Image"));
	labelset__put(l, META "container_image_id", json_str__at(c, "ImageID"));
	put_map(l, META "container_label_", json_object_get(c, "Labels"));
}

static struct dcm_str flag(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key)) ? STR("true") : STR("false");
}

static void put_network(struct labelset *l, const json_t *n)
{
	if (!n)
		return;
	labelset__put(l, META "network_id", json_str__at(n, "Id"));
	labelset__put(l, META "network_name", json_str__at(n, "Name"));
	labelset__put(l, META "network_scope", json_str__at(n, "Scope"));
	labelset__put(l, META "network_internal", flag(n, "Internal"));
	labelset__put(l, META "network_ingress", flag(n, "Ingress"));
	put_map(l, META "network_label_", json_object_get(n, "Labels"));
}

/* ---- targets ---- */

static int64_t port_of(const json_t *p, const char *key)
{
	const json_t *v = json_object_get(p, key);

	if (!v)
		return 0;
	return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= 65535
		       ? json_integer_value(v)
		       : -1;
}

static int add_ports(struct work *w, struct labelset *l, const json_t *c, struct dcm_str ip, bool *ret_some)
{
	const json_t *p;
	size_t i;

	json_array_foreach(json_object_get(c, "Ports"), i, p)
	{
		int64_t private = port_of(p, "PrivatePort"), public = port_of(p, "PublicPort");

		if (!str__eq(json_str__at(p, "Type"), STR("tcp")))
			continue;
		if (private < 0 || public < 0)
			return error__set(w->err, -EINVAL,
					  "a port of container %.64s is not a number of 0 to 65535",
					  json_str__at(c, "Id").p ? json_str__at(c, "Id").p
								  : "without Id");
		labelset__put_int(l, META "port_private", private);
		if (public) {
			labelset__put_int(l, META "port_public", public);
			labelset__put(l, META "port_public_ip", json_str__at(p, "IP"));
		}
		labelset__add_port(l, ip, private);
		if (l->error)
			return l->error;
		*ret_some = true;
	}
	return 0;
}

static int add_endpoint(struct work *w, const json_t *c, const json_t *endpoint)
{
	struct labelset l = { .to = w->found };
	struct dcm_str ip = json_str__at(endpoint, "IPAddress"),
		       id = json_str__at(endpoint, "NetworkID");
	bool has_ports = false;
	int r;

	if (ip.n == 0)
		ip = json_str__at(endpoint, "GlobalIPv6Address");
	if (w->found->arena.total_bytes > MAX_TEXT_BYTES)
		return -E2BIG;
	put_container(&l, c);
	put_network(&l, id.p ? json_object_get(w->networks, id.p) : NULL);
	labelset__put(&l, META "network_ip", ip);
	labelset__share(&l);
	r = l.error ? l.error : add_ports(w, &l, c, ip, &has_ports);
	if (r == 0 && !has_ports && str__eq(mode_of(c), STR("host")))
		labelset__add(&l, str__of(w->lists->host_networking_host));
	else if (r == 0 && !has_ports)
		labelset__add_port(&l, ip, w->lists->port);
	if (r == 0)
		r = l.error;
	labelset__fini(&l);
	return r;
}

/* A container may have the network of another, which may have that of a third. */
static json_t *find_networks(const struct work *w, const json_t *c)
{
	static const char shares[] = "container:";
	json_t *networks = networks_of(c);

	for (int hop = 0; json_object_size(networks) == 0 && hop < MAX_HOPS; hop++) {
		struct dcm_str mode = mode_of(c);

		if (!str__starts(mode, STR("container:")))
			break;
		c = json_object_get(w->containers, mode.p + strlen(shares));
		if (!c)
			break;
		networks = networks_of(c);
	}
	return networks;
}

static const json_t *first_of(json_t *networks)
{
	const char *name, *first = NULL;
	json_t *endpoint;

	json_object_foreach(networks, name, endpoint) if (json_is_object(endpoint) &&
							  (!first || strcmp(name, first) < 0))
		first = name;
	return first ? json_object_get(networks, first) : NULL;
}

static int add_container(struct work *w, const json_t *c)
{
	json_t *networks, *endpoint;
	const char *name;
	int r = 0;

	if (!json_is_object(c))
		return error__set(w->err, -EINVAL, "a container is not a map");
	if (json_array_size(json_object_get(c, "Names")) == 0)
		return 0; /* one that is being removed */
	networks = find_networks(w, c);
	if (w->lists->match_first_network && json_object_size(networks) > 1) {
		const json_t *first = first_of(networks);

		return first ? add_endpoint(w, c, first) : 0;
	}
	json_object_foreach(networks, name, endpoint)
	{
		r = json_is_object(endpoint) ? add_endpoint(w, c, endpoint) : 0;
		if (r < 0)
			return r;
	}
	return r;
}

int docker_lists__build(const struct docker_lists *lists, struct groups *found, struct dcm_error *err)
{
	struct work w = { .lists = lists, .found = found, .err = err };
	const json_t *c;
	size_t i;
	int r = 0;

	if (!json_is_array(lists->containers))
		return error__set(err, -EINVAL, "the answer is no list of containers");
	if (!json_is_array(lists->networks))
		return error__set(err, -EINVAL, "the answer is no list of networks");
	w.containers = by_id(lists->containers);
	w.networks = by_id(lists->networks);
	if (!w.containers || !w.networks)
		r = -ENOMEM;
	json_array_foreach(lists->containers, i, c)
	{
		if (r < 0)
			break;
		r = add_container(&w, c);
	}
	json_decref(w.containers);
	json_decref(w.networks);
	return r;
}
