/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/type_config.c - sample types as Pyroscope's SDKs describe them
 */
#include "plugins/input/receive/type_config.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

static enum dcm_temporality temporality_of(const json_t *entry)
{
	const char *aggregation = json_string_value(json_object_get(entry, "aggregation"));

	if (aggregation && strcmp(aggregation, "average") == 0)
		return DCM_GAUGE;
	return json_is_true(json_object_get(entry, "cumulative")) ? DCM_CUMULATIVE : DCM_DELTA;
}

int type_config__read(struct type_config *c, const uint8_t *data, size_t n, struct dcm_error *err)
{
	const char *type;
	json_t *entry;

	if (n > TYPE_CONFIG_BYTES)
		return error__set(err, -E2BIG, "sample_type_config: has %zu bytes; send at most %d",
				  n, TYPE_CONFIG_BYTES);
	c->root = json_loadb((const char *)data, n, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(c->root))
		return error__set(err, -EINVAL, "sample_type_config: it is no JSON object");
	json_object_foreach(c->root, type, entry)
	{
		if (c->n == TYPE_CONFIG_TYPES)
			return error__set(err, -E2BIG, "sample_type_config: more than %d types",
					  TYPE_CONFIG_TYPES);
		c->v[c->n++] = (struct dcm_temporality_of){ str__of(type), temporality_of(entry) };
	}
	return 0;
}

void type_config__fini(struct type_config *c)
{
	json_decref(c->root);
	*c = (struct type_config){ .n = 0 };
}
