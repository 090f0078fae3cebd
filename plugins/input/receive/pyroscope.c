/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/pyroscope.c - POST /ingest
 */
#include "plugins/input/receive/pyroscope.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "plugins/input/receive/form.h"
#include "plugins/input/receive/labels.h"
#include "plugins/input/receive/type_config.h"

#define SECOND INT64_C(1000000000)

enum { USUAL_RATE_HZ = 100, MAX_RATE_HZ = 1000000000 };

/* What the end of an application's name says of the numbers. */
struct measure {
	const char *end;
	const char *type;
	bool is_time; /* counts of samples, at sampleRate a second */
};
static const struct measure measures[] = {
	{ "cpu", "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", true },
	{ "itimer", "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", true },
	{ "wall", "wall:wall:nanoseconds:wall:nanoseconds:delta", true },
	{ "inuse_objects", "memory:inuse_objects:count:space:bytes", false },
	{ "inuse_space", "memory:inuse_space:bytes:space:bytes", false },
	{ "alloc_objects", "memory:alloc_objects:count:space:bytes:delta", false },
	{ "alloc_space", "memory:alloc_space:bytes:space:bytes:delta", false },
	{ "goroutines", "goroutine:goroutine:count:goroutine:count", false },
	{ "mutex_count", "mutex:contentions:count:contentions:count:delta", false },
	{ "mutex_duration", "mutex:delay:nanoseconds:contentions:count:delta", false },
	{ "block_count", "block:contentions:count:contentions:count:delta", false },
	{ "block_duration", "block:delay:nanoseconds:contentions:count:delta", false },
	{ "lock_count", "block:contentions:count:contentions:count:delta", false },
	{ "lock_duration", "block:delay:nanoseconds:contentions:count:delta", false },
	{ "alloc_in_new_tlab_objects", "memory:alloc_in_new_tlab_objects:count:space:bytes:delta", false },
	{ "alloc_in_new_tlab_bytes", "memory:alloc_in_new_tlab_bytes:bytes:space:bytes:delta", false },
	{ "alloc_outside_tlab_objects", "memory:alloc_outside_tlab_objects:count:space:bytes:delta", false },
	{ "alloc_outside_tlab_bytes", "memory:alloc_outside_tlab_bytes:bytes:space:bytes:delta", false },
	{ "live", "memory:live:count:space:bytes", false },
	{ "exceptions", "exceptions:samples:count:::delta", false },
};

/* One request, as it is read. */
struct upload {
	struct desk *desk;
	const struct dcm_request *q;
	struct dcm_error *err;
	struct dcm_decode how;
	struct labels labels;
	struct dcm_str app;
	int64_t from_ns, until_ns; /* 0: not said. Some clients cut one of them, so that it may be the earlier */
	int64_t rate_hz;
	const uint8_t *data;
	size_t n;
	int status;		   /* of a refusal, when it is another than 400 */
	struct type_config config; /* of a form */
};

static struct dcm_str param(const struct upload *u, const char *name)
{
	return desk__field(u->q->params, u->q->n_params, name);
}

/* ---- parameters ---- */

/* Seconds, milli-, micro- or nanoseconds since 1970, told by how many they are; or as units.h has it. */
static int read_time(struct upload *u, const char *name, int64_t *ret)
{
	struct dcm_str text = param(u, name);
	int64_t v;

	*ret = 0;
	if (text.n == 0)
		return 0;
	if (units__parse_int(text, "", &v) == 0 && v > 0) {
		const int64_t unit = v < 100 * SECOND		  ? SECOND
				     : v < 100 * SECOND * 1000	  ? 1000000
				     : v < 100 * SECOND * 1000000 ? 1000
								  : 1;
		if (v <= INT64_MAX / unit) {
			*ret = v * unit;
			return 0;
		}
	}
	if (units__parse_time(text, u->desk->host->real_ns(u->desk->host), ret) == 0)
		return 0;
	return error__set(u->err, -EINVAL, "%s: \"%.*s\" is no time: write seconds since 1970, or now-10s",
			  name, STR_ARG(text));
}

static int read_rate(struct upload *u)
{
	struct dcm_str text = param(u, "sampleRate");

	u->rate_hz = USUAL_RATE_HZ;
	if (text.n == 0)
		return 0;
	if (units__parse_int(text, "", &u->rate_hz) < 0 || u->rate_hz < 0 || u->rate_hz > MAX_RATE_HZ)
		return error__set(u->err, -EINVAL, "sampleRate: \"%.*s\" is no number of samples a second",
				  STR_ARG(text));
	return 0;
}

static int read_params(struct upload *u)
{
	int r = labels__read_app(&u->labels, param(u, "name"), &u->app, u->err);

	if (r == 0)
		r = read_time(u, "from", &u->from_ns);
	if (r == 0)
		r = read_time(u, "until", &u->until_ns);
	return r == 0 ? read_rate(u) : r;
}

/* ---- labels ---- */

static int put_names(struct upload *u)
{
	struct dcm_str spy = param(u, "spyName");
	const char *name = labels__has(&u->labels, STR("service_name")) ? "app_name" : "service_name";
	int r = 0;

	if (!labels__has(&u->labels, str__of(name)))
		r = labels__put(&u->labels, str__of(name), u->app, u->err);
	if (r == 0 && spy.n && !str__eq(spy, STR("unknown")) &&
	    !labels__has(&u->labels, STR("pyroscope_spy")))
		r = labels__put(&u->labels, STR("pyroscope_spy"), spy, u->err);
	return r;
}

/* ---- text: what it counts ---- */

/* Cuts the end off the application's name. */
static const struct measure *take_measure(struct upload *u)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		uint32_t n = (uint32_t)strlen(measures[i].end);

		if (u->app.n > n + 1 && u->app.p[u->app.n - n - 1] == '.' &&
		    str__ends(u->app, str__of(measures[i].end))) {
			u->app.n -= n + 1;
			return &measures[i];
		}
	}
	return &measures[0];
}

static void measure_text(struct upload *u)
{
	const struct measure *m = take_measure(u);

	u->how.measure = str__of(m->type);
	if (m->is_time && u->rate_hz) {
		u->how.period = SECOND / u->rate_hz;
		u->how.scale = u->how.period;
	} else if (m->is_time) {
		u->how.measure = STR("process_cpu:samples:count:::delta");
	}
	if (u->from_ns && u->until_ns > u->from_ns)
		u->how.duration_ns = u->until_ns - u->from_ns;
}

/* ---- forms ---- */

static int read_form(struct upload *u, struct form *f)
{
	struct form_part part;
	int r = 0;

	u->data = NULL;
	while (r == 0 && form__next(f, &part)) {
		if (str__eq(part.name, STR("profile"))) {
			u->data = part.data;
			u->n = part.n;
		} else if (str__eq(part.name, STR("sample_type_config")) && !u->config.root) {
			r = type_config__read(&u->config, part.data, part.n, u->err);
		} else if (str__eq(part.name, STR("jfr"))) {
			u->status = 415;
			return error__set(u->err, -EINVAL,
					  "jfr: JFR is not read; have the agent send pprof");
		}
	}
	if (r == 0 && f->fault)
		r = error__set(u->err, -EINVAL, "the form: %s", f->fault);
	if (r == 0 && !u->data)
		r = error__set(u->err, -EINVAL, "the form has no part \"profile\"");
	u->how.temporalities = u->config.v;
	u->how.n_temporalities = u->config.n;
	u->how.format = "pprof";
	return r;
}

/* ---- formats ---- */

static bool is_refused(const struct upload *u, struct dcm_str format, const char *name)
{
	const char *type = strcmp(name, "trie") == 0   ? "binary/octet-stream+trie"
			   : strcmp(name, "tree") == 0 ? "binary/octet-stream+tree"
						       : NULL;

	return str__eq(format, str__of(name)) ||
	       (type &&
		str__eq(desk__field(u->q->headers, u->q->n_headers, "content-type"), str__of(type)));
}

static int read_format(struct upload *u)
{
	static const char *const refused[] = { "trie", "tree", "jfr" };
	struct dcm_str format = param(u, "format");
	struct form f;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (is_refused(u, format, refused[i])) {
			u->status = 415;
			return error__set(u->err,
					  -EINVAL, "format: %s is not read; have the client send pprof, folded text or speedscope",
					  refused[i]);
		}
	if (form__begin(&f, desk__field(u->q->headers, u->q->n_headers, "content-type"), u->data, u->n))
		return read_form(u, &f);
	if (str__eq(format, STR("pprof")) || str__eq(format, STR("speedscope"))) {
		u->how.format = str__eq(format, STR("pprof")) ? "pprof" : "speedscope";
		return 0;
	}
	u->how.format = str__eq(format, STR("lines")) ? "lines" : "folded";
	measure_text(u);
	return 0;
}

static int read_upload(struct upload *u)
{
	int r = read_params(u);

	if (r == 0)
		r = read_format(u);
	if (r == 0)
		r = put_names(u);
	u->how.labels = u->labels.v;
	u->how.n_labels = u->labels.n;
	u->how.time_ns = u->from_ns;
	u->how.identity = u->from_ns ? DCM_IDENTITY_ALWAYS : DCM_IDENTITY_TIMED;
	return r;
}

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct upload u = { .desk = ctx, .q = q, .err = &err, .data = q->body, .n = q->n_body, .status = 400 };
	struct desk_verdict v;
	int r = read_upload(&u);

	if (r < 0)
		desk__refuse(u.desk, &v, r == -E2BIG ? 413 : u.status, "%s", err.text);
	else
		desk__take(u.desk, &u.how, u.data, u.n, q, &v);
	desk__note(u.desk, "pyroscope", q, &v);
	desk__tell(u.desk, &v, reply);
	type_config__fini(&u.config);
}

int pyroscope__serve(struct desk *d, struct dcm_error *err)
{
	static const char *const paths[] = { "/ingest", "/pyroscope/ingest" };
	struct dcm_endpoint endpoint = {
		.doc = "takes profiles of Pyroscope's clients",
		.answer = answer,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && r == 0; i++) {
		endpoint.path = paths[i];
		r = desk__serve(d, endpoint, err);
	}
	return r;
}
