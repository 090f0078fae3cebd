/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/api.h - /api/v1, /-/, /metrics and /debug/pprof/: what the command line, the pages and scripts ask
 *
 * Handlers over core/net's routes: they read parameters, ask the engine, and write JSON or, with
 * format=text, what a person reads. They run over HTTP and in the command line's own process
 * (`--data`) alike.
 *
 * Common parameters (all optional but q):
 *	q            selector
 *	from, to     times: RFC 3339, Unix seconds, now-15m. Merges: the last hour; lists: everything
 *	focus, hide, hide_stacks, only_stacks   filters (core/query/filter.h); may come several times
 *	group_by, sum_by                        label names, between commas
 *	group        function, line, file, binary, address
 *	format       json, text, or an export's format
 *	max_rows, width                         bounds of text
 * Answers are bounded; errors are RFC 9457 problems whose detail says what to do.
 */
#ifndef DECIMA_API_API_H
#define DECIMA_API_API_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/net/http.h"
#include "core/pipeline/pipeline.h"
#include "core/plugin/instance.h"
#include "core/query/engine.h"
#include "core/selfprofile/selfprofile.h"
#include "core/stats/stats.h"
#include "core/symbolize/symbols.h"

/* The header of an answer from which the store left something out: a sentence for people. */
#define API_LEFT_OUT "Decima-Left-Out"
/* The header of an answer to a question that names what nothing has: a sentence for people. */
#define API_NOTE "Decima-Note"

/* An instance, for /api/v1/pipeline and /api/v1/targets. Texts live for the call. */
struct api_instance {
	const char *kind, *plugin, *name, *path;
	struct instance_view view;
};
typedef void (*api_instance_fn)(void *ctx, const struct api_instance *instance);
/* What an input collects from: its name, and the target. */
typedef void (*api_target_fn)(void *ctx, const char *input, const struct dcm_target *target);

/*
 * Everything may be NULL that a one-shot command has not; the routes then answer 503. All of it
 * outlives the api.
 */
struct api_config {
	struct stats *stats;
	struct pipeline *pipeline;
	struct symbols *symbols;
	struct selfprofile *selfprofile;
	const struct clock *clock;
	struct log_tail *log_tail; /* NULL: nobody keeps lines */
	const char *node, *data_dir, *config_path;
	uint64_t upload_bytes; /* that a file of debuginfo may have; 0: none is taken */
	void *ctx;	       /* of the functions below; any thread calls them */
	struct engine *(*engine)(void *ctx); /* NULL while no storage runs */
	bool (*store_stat)(void *ctx, struct dcm_store_stat *ret);
	const char *(*workers_state)(void *ctx); /* why no debug information is read; "": it is */
	void (*effective)(void *ctx, struct buf *out); /* appends the configuration, without secrets */
	void (*each_instance)(void *ctx, api_instance_fn fn, void *fn_ctx);
	void (*each_target)(void *ctx, api_target_fn fn, void *fn_ctx); /* NULL: there are none */
	/* Encodes an answer: "pprof", "folded", "speedscope", "batch". */
	int (*encode)(void *ctx, const struct dcm_batch *batch, const char *format, struct buf *out,
		      struct dcm_error *err);
	int (*reload)(void *ctx, struct dcm_error *err);
	int64_t (*reloaded_real_ns)(void *ctx); /* when that was done the last time; 0: never */
	/*
	 * A copy of the store in a directory that does not exist yet, and may be there after a
	 * failure that says so; what a check of it finds.
	 */
	int (*backup)(void *ctx, const char *dir, struct dcm_error *err);
	int (*check)(void *ctx, struct dcm_budget *budget, dcm_report_fn report, void *report_ctx,
		     struct dcm_error *err);
	/* Removes what matches from the store; NULL: it is only read here. */
	int (*remove)(void *ctx, const struct dcm_select *sel, uint64_t *ret_n_profiles,
		      struct dcm_error *err);
};

struct api;
int api__new(const struct api_config *config, struct api **ret, struct dcm_error *err);
/* Nothing is dispatched any more. */
void api__free(struct api *a);
DEFINE_CLEANUP(struct api *, api__free);

/* Adds every route. The api outlives the table. */
int api__add_routes(struct api *a, struct http_routes *routes, struct dcm_error *err);

#endif
