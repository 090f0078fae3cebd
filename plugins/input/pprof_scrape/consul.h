/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/consul.h - what a discovery knows of Consul, and how it is kept up
 *
 * A consul_watch is one thing that is asked again and again: the agent, for its datacenter, once; the catalog,
 * for the names of services; the instances of one service. The latter two by blocking queries: Consul
 * answers when there is something newer than the index that it told before, or after a while. At most
 * CONSUL_MAX_OPEN services are asked for at once, as Consul lets an address have 200 connections; with
 * more of them they take turns, and each has its turn about once in refresh_interval.
 * On the loop's thread. Source: developer.hashicorp.com, "Blocking queries", "Catalog", "Health".
 */
#ifndef DECIMA_PPROF_SCRAPE_CONSUL_H
#define DECIMA_PPROF_SCRAPE_CONSUL_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/loop.h"
#include "plugins/input/pprof_scrape/query.h"

enum {
	CONSUL_MAX_OPEN = 128,
	CONSUL_MAX_SERVICES = 16384,
};

struct consul_options {
	const char *server, *path_prefix, *token, *datacenter, *namespace, *partition;
	const char *username, *password, *filter, *health_filter, *tag_separator;
	int32_t scheme; /* enum consul_scheme */
	bool allow_stale;
	int64_t refresh_interval_ns;
	struct dcm_list services, tags; /* of const char * */
	struct dcm_map node_meta;	/* of const char * */
	struct dcm_http_options http;
};
enum consul_scheme { CONSUL_HTTP, CONSUL_HTTPS };

enum consul_kind { CONSUL_AGENT, CONSUL_CATALOG, CONSUL_SERVICE };

struct consul_watch {
	struct consul *consul;
	enum consul_kind kind;
	uint64_t index; /* what was told last; 0: ask without */
	struct query *query;
	int64_t began_mono_ns;
	uint32_t n_failures; /* in a row */
	bool is_seen;	     /* in the catalog at hand */
	bool is_waiting;     /* for its turn */
	struct consul_watch *next_waiting;
	struct loop_timer again;
	struct source source; /* of a service */
	size_t n_bytes;	      /* of what was found there, when it was found: what is kept is less */
	char name[];	      /* likewise; "" of the others */
};

struct consul {
	struct discovery *d;
	const struct consul_options *options;
	struct dcm_http_options http; /* the options', with username and password */
	struct dcm_http_client *client;
	struct buf base;      /* what paths are put behind, with a NUL */
	char *own_datacenter; /* the agent's, when the options say none */
	struct consul_watch *agent, *catalog;
	VEC(struct consul_watch *) services; /* by name */
	struct consul_watch *first_waiting, *last_waiting;
	uint32_t n_open;	     /* questions for services under way */
	uint32_t n_failing;	     /* watches whose last question failed */
	struct consul_watch *teller; /* the one of them whose fault is told; NULL: none */
	size_t n_bytes;		     /* of what was found */
};

/* Begins to ask: for the datacenter, or at once for what depends on it. 0 or -ENOMEM. */
int consul_watch__begin(struct consul *c);
/* Gives up all that was found. */
void consul_watch__free_all(struct consul *c);

#endif
