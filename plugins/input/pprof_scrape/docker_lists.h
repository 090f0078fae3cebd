/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/docker_lists.h - the targets of what a Docker daemon lists: containers and networks
 *
 * Bytes are anybody's who is at the daemon's address; the targets are bounded whatever the lists join to.
 */
#ifndef DECIMA_PPROF_SCRAPE_DOCKER_LISTS_H
#define DECIMA_PPROF_SCRAPE_DOCKER_LISTS_H

#include <decima/plugin.h>
#include <jansson.h>

#include "plugins/input/pprof_scrape/groups.h"

/* Borrowed. */
struct docker_lists {
	const json_t *containers, *networks; /* as GET /containers/json and GET /networks answer */
	const char *host_networking_host;    /* the address of a container in the host's network */
	int64_t port;			     /* of a container that has no TCP port */
	bool match_first_network; /* of a container in several, the first by name alone */
};

/* 0; -EINVAL with a sentence: they are no such lists; -E2BIG: more than can be held; -ENOMEM. */
int docker_lists__build(const struct docker_lists *lists, struct groups *found, struct dcm_error *err);

#endif
