/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/services.h - what plugins are offered: the host's functions over the core's objects
 */
#ifndef DECIMA_MAIN_SERVICES_H
#define DECIMA_MAIN_SERVICES_H

#include "core/net/endpoints.h"
#include "core/net/http_pool.h"
#include "core/net/pages.h"
#include "core/pipeline/pipeline.h"
#include "core/plugin/host.h"
#include "core/symbolize/symbols.h"

/*
 * The `ctx` behind the functions; both may be NULL (checks, offline answers): emit then refuses,
 * names stay unknown.
 */
struct services {
	struct host_services host; /* filled by services__init() */
	struct pipeline *pipeline;
	struct symbols *symbols;
	struct pages *pages;	     /* NULL: nobody serves them */
	struct endpoints *endpoints; /* likewise */
	struct http_pool *http;	     /* services__init()'s; NULL: there was no memory */
};

/*
 * Sets the functions; log, stats, clock, sources, node and data_root are the caller's to set
 * before.
 */
void services__init(struct services *s);
/* Ends the client thread. After the last plugin's stop(). Of a zeroed struct, too. */
void services__fini(struct services *s);

/* The pipeline's hooks (struct pipeline_config), with ctx the struct services. */
void services__learn(void *ctx, struct dcm_batch *batch);
int services__resolved(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
		       struct dcm_error *err);

#endif
