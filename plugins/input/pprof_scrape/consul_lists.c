/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/consul_lists.c - what Consul lists: services of its catalog, and the targets of one
 *
 * Which targets and labels there are is Prometheus' (its discovery/consul), and what checks come to
 * together is Consul's (its Go client).
 */
#include "plugins/input/pprof_scrape/consul_lists.h"

#include <errno.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/json_str.h"
#include "plugins/input/pprof_scrape/labelset.h"

#define META "__meta_consul_"

bool consul_lists__has_tags(const json_t *service, const struct dcm_list *tags)
{
	const char *const *wanted = tags->items;
	const json_t *tag;

	for (uint32_t i = 0; i < tags->n; i++) {
		bool has = false;
		size_t k;

		json_array_foreach(service, k, tag)
			has |= str__eq(json_str__of(tag), str__of(wanted[i]));
		if (!has)
			return false;
	}
	return true;
}

static void put_map(struct labelset *l, const char *prefix, json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value)
		labelset__put_key(l, prefix, str__of(key), json_str__of(value));
}

/* With the separator at both ends too, so that rules need not know where a tag stands. */
static void put_tags(struct labelset *l, const json_t *tags, const char *separator)
{
	struct buf b = { 0 };
	const json_t *tag;
	size_t i;

	buf__text(&b, separator);
	json_array_foreach(tags, i, tag)
	{
		buf__text(&b, i ? separator : "");
		buf__str(&b, json_str__of(tag));
	}
	buf__text(&b, separator);
	if (b.error)
		l->error = -ENOMEM;
	else
		labelset__put(l, META "tags", buf__view(&b));
	buf__fini(&b);
}

/* Maintenance is a check of its own name, and weighs more than any other. A status that is none says nothing. */
static struct dcm_str health_of(const json_t *checks)
{
	bool has_warning = false, has_critical = false, has_maintenance = false;
	const json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		struct dcm_str id = json_str__at(check, "CheckID"),
			       status = json_str__at(check, "Status");

		if (str__eq(id, STR("_node_maintenance")) ||
		    str__starts(id, STR("_service_maintenance:")))
			has_maintenance = true;
		else if (str__eq(status, STR("warning")))
			has_warning = true;
		else if (str__eq(status, STR("critical")))
			has_critical = true;
		else if (!str__eq(status, STR("passing")))
			return STR("");
	}
	return has_maintenance ? STR("maintenance")
	       : has_critical  ? STR("critical")
	       : has_warning   ? STR("warning")
			       : STR("passing");
}

static void add_instance(struct labelset *l, const struct consul_service *from, const json_t *instance)
{
	const json_t *node = json_object_get(instance, "Node"),
		     *service = json_object_get(instance, "Service");
	struct dcm_str own = json_str__at(service, "Address"),
		       address = json_str__at(node, "Address");
	int64_t port = json_integer_value(json_object_get(service, "Port"));

	labelset__put(l, META "address", address);
	labelset__put(l, META "node", json_str__at(node, "Node"));
	labelset__put(l, META "namespace", json_str__at(service, "Namespace"));
	labelset__put(l, META "partition", json_str__at(service, "Partition"));
	put_tags(l, json_object_get(service, "Tags"), from->tag_separator);
	labelset__put(l, META "service_address", own);
	labelset__put_int(l, META "service_port", port);
	labelset__put(l, META "service_id", json_str__at(service, "ID"));
	labelset__put(l, META "health", health_of(json_object_get(instance, "Checks")));
	put_map(l, META "metadata_", json_object_get(node, "Meta"));
	put_map(l, META "service_metadata_", json_object_get(service, "Meta"));
	put_map(l, META "tagged_address_", json_object_get(node, "TaggedAddresses"));
	labelset__add_port(l, own.n ? own : address, port);
}

int consul_lists__build(const struct consul_service *service, const json_t *instances,
			struct groups *found, struct dcm_error *err)
{
	struct labelset l = { .to = found };
	const json_t *instance;
	size_t i;
	int r = 0;

	if (!json_is_array(instances))
		return error__set(err, -EINVAL, "the answer is no list of instances");
	labelset__put(&l, META "service", str__of(service->name));
	labelset__put(&l, META "dc", str__of(service->datacenter));
	labelset__share(&l);
	json_array_foreach(instances, i, instance)
	{
		if (!json_is_object(json_object_get(instance, "Node")) ||
		    !json_is_object(json_object_get(instance, "Service")))
			r = error__set(err, -EINVAL, "instance %zu has no Node or no Service", i + 1);
		else
			add_instance(&l, service, instance);
		if (r < 0 || l.error)
			break;
	}
	if (r == 0)
		r = l.error;
	labelset__fini(&l);
	return r;
}
