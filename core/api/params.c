/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/params.c - from parameters to a question
 */
#include <errno.h>
#include <string.h>

#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/query/selector.h"

#define HOUR_MS INT64_C(3600000)

bool api__has_engine(struct api *a, struct http_response *resp)
{
	if (api__engine(a))
		return true;
	http_response__problem(resp, 503,
			       "no storage runs here, so nothing can be asked; configure storage: "
			       "and see /api/v1/pipeline");
	return false;
}

void api__fail(struct http_response *resp, int code, const struct dcm_error *err)
{
	int status = http__status_of(code);

	/* The answer did not fit, which ended the question: http_routes__dispatch() says so. */
	if (resp->body.error)
		return;
	if (status == 503)
		http_response__header(resp, "Retry-After", "1");
	http_response__problem(resp, status, "%s", err->text[0] ? err->text : strerror(-code));
}

/* A time in ms; *ms stays when the parameter is absent. False: the response is a problem. */
static bool read_time(const struct http_request *req, const char *name, int64_t now_ns, int64_t *ms,
		      struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, name);
	int64_t ns;

	if (text.n == 0)
		return true;
	if (units__parse_time(text, now_ns, &ns) < 0) {
		http_response__problem(
			resp, 400, "%s: \"%.*s\" is no time; write RFC 3339, Unix seconds, now or now-15m",
			name, STR_ARG(text));
		return false;
	}
	*ms = ns / 1000000;
	return true;
}

bool api_range__is_over(const struct api_range *range)
{
	return range->to_ms < range->now_ns / 1000000;
}

bool api_range__read(const struct http_request *req, struct api_range *range, struct http_response *resp)
{
	if (!read_time(req, range->to, range->now_ns, &range->to_ms, resp))
		return false;
	if (range->from_ms == API_AN_HOUR)
		range->from_ms = range->to_ms - HOUR_MS;
	if (!read_time(req, range->from, range->now_ns, &range->from_ms, resp))
		return false;
	/* Nothing is older, and merged profiles bear the time of `from`, which may not be negative. */
	range->from_ms = range->from_ms < 0 ? 0 : range->from_ms;
	if (range->from_ms < range->to_ms)
		return true;
	http_response__problem(
		resp, 400, "%s: the range is empty, because it does not begin before %s; swap them, or give both",
		range->from, range->to);
	return false;
}

int api_param__labels(const struct http_request *req, const char *name, const struct dcm_str **ret,
		      uint32_t *ret_n, struct http_response *resp)
{
	struct dcm_str *all;
	struct dcm_error err = DCM_ERROR_INIT;
	uint32_t n = 0, n_all;
	int r = selector__names(http_request__param(req, name), req->arena, &all, &n_all, &err);

	*ret = NULL;
	*ret_n = 0;
	if (r < 0) {
		http_response__problem(resp, r == -ENOMEM ? 503 : 400, "%s: %s", name, err.text);
		return r;
	}
	for (uint32_t i = 0; i < n_all; i++)
		if (all[i].n > 0)
			all[n++] = all[i];
	*ret = n ? all : NULL;
	*ret_n = n;
	return 0;
}

bool api_param__number(const struct http_request *req, const char *name, uint32_t max,
		       uint32_t *ret, struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, name);
	int64_t n;

	if (text.n == 0)
		return true;
	if (units__parse_int(text, "", &n) < 0 || n < 0 || n > max) {
		http_response__problem(resp, 400, "%s: \"%.*s\" is no number between 0 and %u",
				       name, STR_ARG(text), max);
		return false;
	}
	*ret = (uint32_t)n;
	return true;
}

static bool read_filter(const struct http_request *req, struct api_question *ret,
			struct http_response *resp)
{
	static const struct {
		const char *name;
		enum filter_kind kind;
	} kinds[] = { { "focus", FILTER_FOCUS },
		      { "hide", FILTER_HIDE },
		      { "hide_stacks", FILTER_HIDE_STACKS },
		      { "only_stacks", FILTER_ONLY_STACKS } };
	struct dcm_error err = DCM_ERROR_INIT;

	ret->filter = filter__new();
	if (!ret->filter) {
		http_response__problem(resp, 503, "out of memory");
		return false;
	}
	ret->q.filter = ret->filter;
	for (uint32_t i = 0; i < req->n_params; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			if (!str__eq(req->params[i].name, str__of(kinds[k].name)))
				continue;
			if (filter__add_text(ret->filter, kinds[k].kind, req->params[i].value, &err) < 0) {
				http_response__problem(resp, 400, "%s: %s", kinds[k].name, err.text);
				return false;
			}
		}
	return true;
}

static bool read_flag(const struct http_request *req, const char *name, bool *ret,
		      struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, name);

	*ret = str__eq(text, STR("1")) || str__eq(text, STR("true"));
	if (*ret || text.n == 0 || str__eq(text, STR("0")) || str__eq(text, STR("false")))
		return true;
	http_response__problem(resp, 400, "%s: \"%.*s\" is neither 1 nor 0", name, STR_ARG(text));
	return false;
}

bool api_param__format(const struct http_request *req, enum api_format *ret, struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, "format");

	*ret = str__eq(text, STR("text")) ? API_TEXT : API_JSON;
	if (*ret == API_TEXT || text.n == 0 || str__eq(text, STR("json")))
		return true;
	http_response__problem(resp, 400, "format: \"%.*s\" is neither json nor text", STR_ARG(text));
	return false;
}

static bool read_shape(const struct http_request *req, struct api_question *ret,
		       struct http_response *resp)
{
	struct dcm_str group = http_request__param(req, "group");
	struct dcm_error err = DCM_ERROR_INIT;

	if (group.n > 0 && frames__parse_group(group, &ret->group, &err) < 0) {
		http_response__problem(resp, 400, "group: %s", err.text);
		return false;
	}
	return read_flag(req, "inv", &ret->invert, resp) &&
	       api_param__number(req, "max_rows", 10000000, &ret->max_rows, resp) &&
	       api_param__number(req, "width", 10000, &ret->width, resp);
}

bool api_question__read_shape(const struct http_request *req, struct api_question *ret,
			      struct http_response *resp)
{
	return api_param__format(req, &ret->format, resp) && read_shape(req, ret, resp);
}

/* The names of the path that the tree is to be under, root first. */
static bool read_under(const struct http_request *req, struct api_question *ret,
		       struct http_response *resp)
{
	struct dcm_str *names;
	uint32_t n = 0;

	for (uint32_t i = 0; i < req->n_params; i++)
		n += str__eq(req->params[i].name, STR("under"));
	if (n == 0)
		return true;
	names = arena__alloc(req->arena, n * sizeof(*names));
	if (!names) {
		http_response__problem(resp, 503, "out of memory");
		return false;
	}
	for (uint32_t i = 0; i < req->n_params; i++)
		if (str__eq(req->params[i].name, STR("under")))
			names[ret->n_under++] = req->params[i].value;
	ret->under = names;
	return true;
}

bool api_question__read_tree(const struct http_request *req, struct api_question *ret,
			     struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, "format");

	if (str__eq(text, STR("flametree"))) {
		ret->format = API_FLAMETREE;
	} else if (!api_param__format(req, &ret->format, resp)) {
		http_response__problem(resp, 400, "format: \"%.*s\" is none of json, text, flametree",
				       STR_ARG(text));
		return false;
	}
	return read_shape(req, ret, resp) && read_under(req, ret, resp) &&
	       api_param__number(req, "max_nodes", FLAME_MAX_NODES, &ret->max_nodes, resp);
}

static bool read_selection(const struct http_request *req, const char *selector,
			   struct api_question *ret, struct http_response *resp)
{
	bool list = !selector;
	struct api_range range = { .from = "from",
				   .to = "to",
				   .from_ms = list ? 0 : API_AN_HOUR,
				   .to_ms = ret->now_ns / 1000000 + 1,
				   .now_ns = ret->now_ns };

	ret->q.selector = http_request__param(req, list ? "match" : selector);
	if (!list && ret->q.selector.n == 0) {
		http_response__problem(resp, 400,
				       "%s: missing; give a selector like "
				       "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}",
				       selector);
		return false;
	}
	if (!ret->q.selector.p)
		ret->q.selector = STR("");
	if (!api_range__read(req, &range, resp))
		return false;
	ret->q.from_ms = range.from_ms;
	ret->q.to_ms = range.to_ms;
	resp->has_tag = api_range__is_over(&range);
	return api_param__labels(req, "group_by", &ret->q.group_by, &ret->q.n_group_by, resp) == 0;
}

bool api_question__read(struct api *a, const struct http_request *req, const char *selector,
			struct api_question *ret, struct http_response *resp)
{
	*ret = (struct api_question){ .api = a,
				      .now_ns = clock__real(a->c.clock),
				      .group = FRAMES_FUNCTION,
				      .q.budget = req->budget };
	if (!api__has_engine(a, resp))
		return false;
	if (read_selection(req, selector, ret, resp) && read_filter(req, ret, resp)) {
		if (ret->q.budget) {
			ret->q.budget->gap = api_gaps__add;
			ret->q.budget->gap_ctx = &ret->gaps;
		}
		api__enter(a, req);
		return true;
	}
	api_question__fini(ret);
	return false;
}

void api_question__fini(struct api_question *q)
{
	api__leave(q->api, q->q.budget);
	if (q->q.budget)
		q->q.budget->gap = NULL;
	filter__free(q->filter);
	q->filter = NULL;
}
