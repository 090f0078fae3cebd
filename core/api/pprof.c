/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/pprof.c - /debug/pprof/: what this daemon's own CPU time goes into, as a Go program serves it
 *
 * `go tool pprof`, Prometheus-style scrapers and our own read it. A recording waits for its time, on a
 * thread that nothing else needs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"

#define SECOND_NS INT64_C(1000000000)

enum { SECONDS_DEFAULT = 30 /* Go's */, SECONDS_MAX = 3600 };

/* As Go's page has it: scrapers look for "NAME?debug=" to learn which profiles there are. */
void api__pprof_index(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	(void)req;
	snprintf(resp->content_type, sizeof(resp->content_type), "text/html; charset=utf-8");
	buf__text(&resp->body,
		  "<!doctype html><html><head><title>/debug/pprof/</title></head><body>\n"
		  "<h1>/debug/pprof/</h1>\n"
		  "<p><a href='profile?debug=1'>profile</a>: what this decima's own CPU time goes "
		  "into, for "
		  "<code>?seconds=N</code> (30), as pprof</p>\n"
		  "</body></html>\n");
}

/* The question's time bounds it, as it bounds every other; a bit of it is for names and the answer. */
static int64_t longest_seconds(const struct http_request *req)
{
	int64_t left = SECONDS_MAX;

	if (req->budget && req->budget->deadline_mono_ns)
		left = (req->budget->deadline_mono_ns - clock__mono(&clock__system)) / SECOND_NS - 3;
	return left < 1 ? 1 : left > SECONDS_MAX ? SECONDS_MAX : left;
}

static bool read_seconds(const struct http_request *req, int64_t *ret, struct http_response *resp)
{
	struct dcm_str said = http_request__param(req, "seconds");
	int64_t longest = longest_seconds(req);

	*ret = SECONDS_DEFAULT < longest ? SECONDS_DEFAULT : longest;
	if (!said.p || (units__parse_int(said, "s", ret) == 0 && *ret >= 1 && *ret <= longest))
		return true;
	http_response__problem(resp, 400,
			       "seconds is \"%.*s\"; write 1 to %" PRId64
			       " (a little less than server.query_timeout)",
			       STR_ARG(said), longest);
	return false;
}

static void refuse(int code, const struct dcm_error *err, struct http_response *resp)
{
	if (code == -EBUSY)
		http_response__header(resp, "Retry-After", "10");
	http_response__problem(resp, code == -ECANCELED ? http__status_of(code) : 503, "%s", err->text);
}

void api__pprof_profile(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct selfprofile_ask ask = { .clock = a->c.clock,
				       .cancelled = req->budget ? &req->budget->cancelled : NULL,
				       .symbols = a->c.symbols };
	int64_t seconds;
	int r;

	if (!a->c.selfprofile) {
		http_response__problem(resp, 503, "a daemon profiles itself, and this is none");
		return;
	}
	if (!read_seconds(req, &seconds, resp))
		return;
	snprintf(resp->content_type, sizeof(resp->content_type), "application/octet-stream");
	http_response__header(resp, "Content-Disposition", "attachment; filename=\"profile\"");
	/* Who asks for the head alone shall not wait for a body that is thrown away. */
	if (req->method == HTTP_HEAD)
		return;
	ask.duration_ns = seconds * SECOND_NS;
	r = selfprofile__record(a->c.selfprofile, &ask, &batch, &err);
	if (r == 0)
		r = codec__encode(batch, DCM_NONE, "pprof", &resp->body, &err);
	if (r < 0)
		refuse(r, &err, resp);
}
