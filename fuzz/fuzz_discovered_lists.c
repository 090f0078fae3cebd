/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_discovered_lists.c - targets and labels of what Consul and Docker list
 *
 * The first byte says whose, and options; the rest is JSON: Consul's instances of a service, or
 * [CONTAINERS, NETWORKS] of Docker. A target has its address first, each label once and with a value, and names
 * that labels may have; a fault has a sentence.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "fuzz/target.h"
#include "plugins/input/pprof_scrape/consul_lists.h"
#include "plugins/input/pprof_scrape/docker_lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int build(uint8_t options, const json_t *root, struct groups *found, struct dcm_error *err)
{
	const struct consul_service service = { .name = "s",
						.datacenter = options & 2 ? "d" : "",
						.tag_separator = options & 4 ? "" : "," };
	const struct docker_lists lists = { .containers = json_array_get(root, 0),
					    .networks = json_array_get(root, 1),
					    .host_networking_host = "h",
					    .port = 80,
					    .match_first_network = options & 2 };

	return options & 1 ? docker_lists__build(&lists, found, err)
			   : consul_lists__build(&service, root, found, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	json_error_t why;
	json_t *root = size > 1 ? json_loadb((const char *)data + 1, size - 1, 0, &why) : NULL;
	int r;

	if (!root)
		return 0;
	r = build(data[0], root, &found, &err);
	if (r == -EINVAL && !err.text[0])
		abort();
	for (size_t i = 0; r == 0 && i < found.v.n; i++)
		target__check(&found.v.v[i]);
	groups__fini(&found);
	json_decref(root);
	return 0;
}
