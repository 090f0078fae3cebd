/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/consul_lists.h - what Consul lists: services of its catalog, and the targets of one
 *
 * Bytes are anybody's who is at the server's address.
 */
#ifndef DECIMA_PPROF_SCRAPE_CONSUL_LISTS_H
#define DECIMA_PPROF_SCRAPE_CONSUL_LISTS_H

#include <decima/plugin.h>
#include <jansson.h>

#include "plugins/input/pprof_scrape/groups.h"

/* Has the service of the catalog (its list of tags) all of these (of const char *)? */
bool consul_lists__has_tags(const json_t *service, const struct dcm_list *tags);

/*
 * The targets of a service: `instances` as GET /v1/health/service/NAME answers. 0; -EINVAL with a
 * sentence: it is no such list; -E2BIG: more labels than can be held; -ENOMEM.
 */
struct consul_service {
	const char *name, *datacenter, *tag_separator;
};
int consul_lists__build(const struct consul_service *service, const json_t *instances,
			struct groups *found, struct dcm_error *err);

#endif
