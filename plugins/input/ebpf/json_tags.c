/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/json_tags.c - rows of tags out of what Kubernetes and container runtimes write
 */
#include "plugins/input/ebpf/json_tags.h"

#include <stdio.h>

#include "core/base/str.h"

struct dcm_str json_tags__text(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return (struct dcm_str){ json_is_string(value) ? json_string_value(value) : "",
				 (uint32_t)json_string_length(value) };
}

void json_tags__add(struct buf *rows, const char *name, const json_t *object, const char *key)
{
	tags__add(rows, str__of(name), json_tags__text(object, key));
}

void json_tags__add_map(struct buf *rows, const char *prefix, json_t *map)
{
	const char *key;
	json_t *value;
	char name[256];

	json_object_foreach(map, key, value)
	{
		snprintf(name, sizeof(name), "%s_%s", prefix, key);
		json_tags__add(rows, name, map, key);
		snprintf(name, sizeof(name), "%spresent_%s", prefix, key);
		tags__add(rows, str__of(name), STR("true"));
	}
}
