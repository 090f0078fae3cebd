/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/internal.h - what the handlers of this folder share
 */
#ifndef DECIMA_API_INTERNAL_H
#define DECIMA_API_INTERNAL_H

#include <pthread.h>

#include "core/api/api.h"
#include "core/api/uploads.h"

enum { API_MAX_LIST = 10000, API_MAX_RUNNING = 256, API_N_REFUSALS = 16, API_CALL_BYTES = 4096 };

/* A question under way that can be asked about and cancelled by its X-Query-Id. */
struct api_running {
	char id[65];
	struct dcm_budget *budget;
};

struct api {
	struct api_config c;
	int64_t started_real_ns;
	pthread_mutex_t lock; /* of `running` */
	struct api_running running[API_MAX_RUNNING];
	struct uploads *uploads;
	struct stats_metric *n_uploads[SYMBOLS_UPLOAD_REPLACED + 1], *n_refused[API_N_REFUSALS];
};

/* ---- params.c: what a request asks for ---- */

enum api_format { API_JSON, API_TEXT, API_FLAMETREE };

enum { API_MAX_GAPS = 32 };

struct api_gap {
	char what[64], why[128];
	int64_t from_ms, to_ms;
	uint64_t n_profiles;
};

/* What the store left out of an answer: gaps.c. */
struct api_gaps {
	struct api_gap v[API_MAX_GAPS]; /* [n] */
	uint32_t n, n_more;
};

/* The question's parts, with everything they point to in the request's arena. */
struct api_question {
	struct api *api;
	int64_t now_ns; /* real, when it came: the one "now" of all its parameters */
	struct question q;
	struct filter *filter; /* freed by api_question__fini() */
	enum api_format format;
	enum frames_group group;
	uint32_t max_rows, width, max_nodes;
	const struct dcm_str *under; /* [n_under] of trees; lives as long as the request */
	uint32_t n_under;
	bool invert;
	struct api_gaps gaps; /* complete when the question was answered */
};

/*
 * Reads the common parameters, and lets the question be cancelled until api_question__fini().
 * `selector` names the parameter that holds the selector (NULL: the list's optional `match`).
 * False: the response is a problem that names the parameter, and there is nothing to free.
 */
bool api_question__read(struct api *a, const struct http_request *req, const char *selector,
			struct api_question *ret, struct http_response *resp);
void api_question__fini(struct api_question *q);
/*
 * The rest, of all but exports: format (json, text), group, inv, max_rows, width. False: the
 * response is a problem.
 */
bool api_question__read_shape(const struct http_request *req, struct api_question *ret,
			      struct http_response *resp);
/* The same of trees, which have the format flametree, max_nodes and under, too. */
bool api_question__read_tree(const struct http_request *req, struct api_question *ret,
			     struct http_response *resp);

/*
 * The moments [from, to) in ms: names of two parameters, and their defaults before
 * api_range__read(); and what "now" is, of which a request has one: what it asks until now would be
 * over by the next look at the clock.
 */
struct api_range {
	const char *from, *to;
	int64_t from_ms, to_ms;
	int64_t now_ns;
};
/* As default of from_ms: an hour before `to`, wherever that is. */
#define API_AN_HOUR INT64_MIN

/* Had it ended when the request came? An answer about that can have a tag. */
bool api_range__is_over(const struct api_range *range);

/* False: the response is a problem. Also an empty range is one: who asks for it made a mistake. */
bool api_range__read(const struct http_request *req, struct api_range *range, struct http_response *resp);
/* From 0 to max; *ret stays when it is absent. False: the response is a problem. */
bool api_param__number(const struct http_request *req, const char *name, uint32_t max,
		       uint32_t *ret, struct http_response *resp);
/* json unless asked for text. */
bool api_param__format(const struct http_request *req, enum api_format *ret, struct http_response *resp);
/* Labels between commas, as selector__names() reads them; a comma too many does not matter. < 0: the response is a problem. */
int api_param__labels(const struct http_request *req, const char *name, const struct dcm_str **ret,
		      uint32_t *ret_n, struct http_response *resp);

/* ---- targets.c: what inputs collect from ---- */

/* Elements of a list; a table behind an empty line, or nothing when there are none. */
void api_endpoints__json(struct api *a, struct buf *out);
void api_endpoints__text(struct api *a, struct arena *arena, struct buf *out);

/* ---- gaps.c ---- */

void api_gaps__add(void *ctx, const struct dcm_gap *gap); /* a dcm_gap_fn; ctx: struct api_gaps */
/*
 * Each writes nothing when nothing was left out: ,"left_out":[..],"left_out_more":n ; lines; the
 * header API_LEFT_OUT.
 */
void api_gaps__json(const struct api_gaps *g, struct buf *b);
void api_gaps__text(const struct api_gaps *g, struct buf *b);
void api_gaps__header(const struct api_gaps *g, struct http_response *resp);

/* ---- notes.c: names that nothing has ---- */

enum api_note_place {
	API_NOTE_HEADER, /* alone */
	API_NOTE_BELOW,	 /* and in a line under the body, which is text */
};
void api_note__no_label(struct http_response *resp, enum api_note_place place, struct dcm_str name);
void api_note__no_function(struct http_response *resp, enum api_note_place place, struct dcm_str name);

/* Which of the labels in group_by some group of the answer has: {0}, then what is seen. */
struct api_grouped {
	uint32_t has; /* a bit each */
	uint64_t n_groups;
};
void api_grouped__saw(struct api_grouped *g, const struct question *q, struct dcm_str name,
		      struct dcm_str value);
/* All of those that lead stacks. */
void api_grouped__saw_frames(struct api_grouped *g, const struct question *q, const struct frames *f);
/* Names the first label that none has, where there are groups at all. */
void api_grouped__note(const struct api_grouped *g, const struct question *q,
		       struct http_response *resp, enum api_note_place place);

/* ---- compare.c: of a diff; all: what each side weighs, filtered or not ---- */

/* ,"compare":{..} */
void api_compare__json(const struct compare *c, const int64_t all[2], struct buf *b);
/* {"delta":..,"change":..,"z":..,"significant":..} */
void api_compare__json_change(const struct compare *c, const int64_t all[2],
			      const int64_t values[2], struct buf *b);
/* The same of every node's total: ,"delta":[..],.. */
void api_compare__json_columns(const struct flame *f, struct buf *b);

/* Turns an engine's failure into the fitting problem. */
void api__fail(struct http_response *resp, int code, const struct dcm_error *err);

/* The engine, or NULL while no storage runs. */
static inline struct engine *api__engine(const struct api *a)
{
	return a->c.engine ? a->c.engine(a->c.ctx) : NULL;
}
/* 503 and false when there is no engine. */
bool api__has_engine(struct api *a, struct http_response *resp);

/*
 * Registers a question under its X-Query-Id while it runs; params.c calls both. leave() is fine
 * without enter().
 */
void api__enter(struct api *a, const struct http_request *req);
void api__leave(struct api *a, const struct dcm_budget *budget);

/* ,"NAME":[1,2] */
void api__json_column(struct buf *b, const char *name, const int64_t *v, uint32_t n);

/* The numbers of a store as a JSON object (store.c). */
void api__put_store(const struct dcm_store_stat *s, struct buf *b);

/* ---- handlers; ctx is the struct api ---- */
void api__types(void *ctx, const struct http_request *req, struct http_response *resp); /* lists.c */
void api__labels(void *ctx, const struct http_request *req, struct http_response *resp);
void api__values(void *ctx, const struct http_request *req, struct http_response *resp);
void api__series(void *ctx, const struct http_request *req, struct http_response *resp); /* series.c */
void api__flame(void *ctx, const struct http_request *req, struct http_response *resp); /* trees.c */
void api__diff(void *ctx, const struct http_request *req, struct http_response *resp);
void api__callers(void *ctx, const struct http_request *req, struct http_response *resp);
void api__callees(void *ctx, const struct http_request *req, struct http_response *resp);
void api__functions(void *ctx, const struct http_request *req, struct http_response *resp);
void api__export(void *ctx, const struct http_request *req, struct http_response *resp);
void api__status(void *ctx, const struct http_request *req, struct http_response *resp); /* status.c */
void api__config(void *ctx, const struct http_request *req, struct http_response *resp);
void api__targets(void *ctx, const struct http_request *req, struct http_response *resp);
void api__log(void *ctx, const struct http_request *req, struct http_response *resp);
void api__pipeline(void *ctx, const struct http_request *req, struct http_response *resp);
void api__healthy(void *ctx, const struct http_request *req, struct http_response *resp);
void api__ready(void *ctx, const struct http_request *req, struct http_response *resp);
void api__health_check(void *ctx, const struct http_request *req, struct http_response *resp);
void api__reflection(void *ctx, const struct http_request *req, struct http_response *resp); /* ctx: the routes */
void api__health_list(void *ctx, const struct http_request *req, struct http_response *resp);
void api__health_watch(void *ctx, const struct http_request *req, struct http_response *resp);
void api__metrics(void *ctx, const struct http_request *req, struct http_response *resp);
void api__reload(void *ctx, const struct http_request *req, struct http_response *resp);
void api__store_stat(void *ctx, const struct http_request *req, struct http_response *resp); /* store.c */
void api__store_backup(void *ctx, const struct http_request *req, struct http_response *resp);
void api__store_check(void *ctx, const struct http_request *req, struct http_response *resp);
void api__store_remove(void *ctx, const struct http_request *req, struct http_response *resp);
void api__debuginfo_upload(void *ctx, const struct http_request *req, struct http_response *resp);
/* debuginfo_calls.c */
void api__should_initiate(void *ctx, const struct http_request *req, struct http_response *resp);
void api__initiate_upload(void *ctx, const struct http_request *req, struct http_response *resp);
void api__upload_stream(void *ctx, const struct http_request *req, struct http_response *resp);
void api__mark_finished(void *ctx, const struct http_request *req, struct http_response *resp);
void api__pprof_index(void *ctx, const struct http_request *req, struct http_response *resp); /* pprof.c */
void api__pprof_profile(void *ctx, const struct http_request *req, struct http_response *resp);
void api__query_get(void *ctx, const struct http_request *req, struct http_response *resp); /* api.c */
void api__query_cancel(void *ctx, const struct http_request *req, struct http_response *resp);

/* ---- debuginfo.c ---- */

/* Its counters, while there are statistics. */
void api__count_uploads(struct api *a);
void api__uncount_uploads(struct api *a);

/* The problem that fits an error of symbols__upload(), counted. */
void api__refuse_upload(struct api *a, int error, const char *sentence, struct http_response *resp);
/* Is there a file, and somebody to take it? False: the response says why not. */
bool api__may_upload(struct api *a, const struct http_request *req, struct http_response *resp);
/* Gives the request's file to the symbol store. Below 0: the response says why it was not taken. */
int api__take_upload(struct api *a, const struct http_request *req, struct symbols_upload *upload,
		     struct symbols_uploaded *ret, struct http_response *resp);

#endif
