/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/discoveries.h - the kinds of discovery that there are
 *
 * How to add one is at the top of discovery.h.
 */
#ifndef DECIMA_PPROF_SCRAPE_DISCOVERIES_H
#define DECIMA_PPROF_SCRAPE_DISCOVERIES_H

#include <decima/options.h>

/* kind, key of a job, and what the key is for: in the order of the configuration's description */
#define DISCOVERIES(X)                                                                                 \
	X(static_sd, "static_configs", "Targets that stand here.")                                     \
	X(file_sd, "file_sd_configs", "Targets that stand in files.")                                  \
	X(http_sd, "http_sd_configs", "Targets that a server of HTTP knows, in JSON.")                 \
	X(dns_sd, "dns_sd_configs", "Targets that stand in the DNS.")                                  \
	X(kubernetes_sd, "kubernetes_sd_configs", "Targets that a Kubernetes cluster has.")            \
	X(consul_sd, "consul_sd_configs", "Targets that are instances of services that Consul knows.") \
	X(docker_sd, "docker_sd_configs", "Targets that are containers of a Docker daemon.")

#define DISCOVERY_NUMBER(kind, key, doc) DISCOVERY_##kind,
enum { DISCOVERIES(DISCOVERY_NUMBER) N_DISCOVERIES };
#undef DISCOVERY_NUMBER

#define DISCOVERY_TABLE(kind, key, doc) extern const struct dcm_table kind##__table;
DISCOVERIES(DISCOVERY_TABLE)
#undef DISCOVERY_TABLE

#endif
