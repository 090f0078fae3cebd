/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/ingest.c - POST /api/v1/ingest: a profile as it is
 */
#include "plugins/input/receive/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "plugins/input/receive/labels.h"

enum { FORMAT_MAX_BYTES = 16 };

struct wish {
	struct dcm_decode how;
	struct labels labels;
	char format[FORMAT_MAX_BYTES];
};

static int take_format(struct wish *w, struct dcm_str value, struct dcm_error *err)
{
	static const char *const formats[] = { "pprof", "folded", "lines", "speedscope", "perf" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!str__eq(value, str__of(formats[i])))
			continue;
		snprintf(w->format, sizeof(w->format), "%s", formats[i]);
		w->how.format = w->format;
		return 0;
	}
	return error__set(err, -EINVAL, "format: \"%.*s\" is none of pprof, folded, lines, speedscope, perf; without it the bytes tell",
			  STR_ARG(value));
}

static int take_time(struct desk *d, struct wish *w, struct dcm_str value, struct dcm_error *err)
{
	int64_t now = d->host->real_ns(d->host);

	if (units__parse_time(value, now, &w->how.time_ns) < 0)
		return error__set(err, -EINVAL, "time: \"%.*s\" is no time: write 2026-01-02T15:04:05Z, seconds since 1970, or now-5m",
				  STR_ARG(value));
	w->how.identity = DCM_IDENTITY_ALWAYS;
	return 0;
}

static int read_params(struct desk *d, const struct dcm_request *q, struct wish *w, struct dcm_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < q->n_params && r == 0; i++) {
		const struct dcm_field *p = &q->params[i];

		if (str__eq(p->name, STR("label")))
			r = labels__put_pair(&w->labels, p->value, err);
		else if (str__eq(p->name, STR("name")))
			w->how.name = p->value;
		else if (str__eq(p->name, STR("format")))
			r = take_format(w, p->value, err);
		else if (str__eq(p->name, STR("time")))
			r = take_time(d, w, p->value, err);
	}
	w->how.labels = w->labels.v;
	w->how.n_labels = w->labels.n;
	return r;
}

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct wish w = { .how = { .identity = DCM_IDENTITY_TIMED } };
	struct dcm_error err = DCM_ERROR_INIT;
	struct desk_verdict v;
	char text[96];
	int r, n;

	r = read_params(d, q, &w, &err);
	if (r < 0)
		desk__refuse(d, &v, r == -E2BIG ? 413 : 400, "%s", err.text);
	else
		desk__take(d, &w.how, q->body, q->n_body, q, &v);
	if (!desk__tell(d, &v, reply))
		return;
	n = snprintf(text, sizeof(text), "{\"profiles\":%u,\"samples\":%llu}\n", v.n_profiles,
		     (unsigned long long)v.n_rows);
	d->host->reply_put(reply, 200, "application/json", text, (size_t)n);
}

int ingest__serve(struct desk *d, struct dcm_error *err)
{
	static const char *const params[] = { "label", "name", "format", "time", NULL };
	static const char *const repeats[] = { "label", NULL };
	const struct dcm_endpoint endpoint = {
		.path = "/api/v1/ingest",
		.doc = "takes a profile: pprof, folded, speedscope",
		.params = params,
		.repeats = repeats,
		.answer = answer,
	};

	return desk__serve(d, endpoint, err);
}
