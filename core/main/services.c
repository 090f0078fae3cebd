/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/services.c - emit to the pipeline, names from the symbol store, formats from the codecs,
 * rules from the pipeline
 */
#include "core/main/services.h"

#include "config.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/codec/session.h"
#include "core/net/http_client.h"
#include "core/pipeline/labelled.h"
#include "core/pipeline/rules.h"
#include "core/symbolize/demangle.h"
#include "core/symbolize/elf.h"

/*
 * How long an answer waits for files that are still being read: right after a start, names are
 * worth it.
 */
#define NAMES_WAIT_NS INT64_C(2000000000)

static int emit(void *ctx, const struct dcm_host *from, struct dcm_batch *batch, dcm_done_fn done,
		void *done_ctx)
{
	struct services *s = ctx;

	(void)from;
	return s->pipeline ? pipeline__emit(s->pipeline, batch, done, done_ctx) : -ESHUTDOWN;
}

static void offer_file(void *ctx, struct dcm_str build_id, struct dcm_str path, int fd)
{
	struct services *s = ctx;

	if (s->symbols)
		symbols__offer(s->symbols, build_id, path, fd);
}

static int build_id(void *ctx, int fd, char ret_hex[static 129])
{
	(void)ctx;
	return elf__build_id(fd, ret_hex);
}

static int kernel_symbol(void *ctx, uint64_t address, struct dcm_str *ret_name, struct dcm_str *ret_module)
{
	struct services *s = ctx;

	return s->symbols ? symbols__kernel(s->symbols, address, ret_name, ret_module) : -ENOENT;
}

int services__resolved(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
		       struct dcm_error *err)
{
	struct services *s = ctx;

	if (s->symbols)
		return symbols__resolve(s->symbols, batch, NAMES_WAIT_NS, ret_batch, err);
	*ret_batch = batch__ref(batch);
	return 0;
}

void services__learn(void *ctx, struct dcm_batch *batch)
{
	struct services *s = ctx;

	symbols__learn(s->symbols, batch);
}

static int encode(void *ctx, const struct dcm_batch *batch, uint32_t profile, const char *format,
		  uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	(void)ctx;
	return codec__encode_bytes(batch, profile, format, ret_data, ret_n, err);
}

static int decode(void *ctx, const char *format, const uint8_t *data, size_t n,
		  struct dcm_batch **ret_batch, struct dcm_error *err)
{
	(void)ctx;
	return codec__decode(format, data, n, ret_batch, err);
}

static int decode_session(const struct services *s, const struct dcm_decode *how, const uint8_t *data,
			  size_t n, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	const struct clock *clock = s->host.clock ? s->host.clock : &clock__system;
	bool is_kept = false;
	int r;

	r = sessions__decode(how->sessions, data, n, clock__mono(clock), ret_batch, &is_kept, err);
	if (r == 0 && how->found && DCM_HAS(how->found, session))
		how->found->session = is_kept ? DCM_SESSION_KEPT : DCM_SESSION_UNKEPT;
	/* As every decoder has it. */
	return r == -EBADMSG || r == -EPROTONOSUPPORT ? -EINVAL : r;
}

/* What a plugin knows of names, which are a symbol table's, as a codec asks for them. */
struct names_of {
	const struct dcm_decode *how;
	char human[DEMANGLE_MAX_OUTPUT];
};

static bool name_of(void *ctx, uint64_t address, struct dcm_str *ret_name, struct dcm_str *ret_system_name)
{
	struct names_of *n = ctx;

	*ret_system_name = n->how->name_of(n->how->name_ctx, address);
	*ret_name = (struct dcm_str){ n->human,
				      demangle__name(*ret_system_name, n->human, sizeof(n->human)) };
	return ret_name->n > 0;
}

static int decode_as(void *ctx, const struct dcm_decode *how, const uint8_t *data, size_t n,
		     struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct decode_options o = {
		.name = how->name,
		.labels = how->labels,
		.n_labels = how->n_labels,
		.time_ns = how->time_ns,
		.max_bytes = how->max_bytes,
	};
	struct decode_notes notes = { 0 };
	struct decode_measure m;
	struct names_of names;
	int r;

	if (DCM_HAS(how, sessions) && how->sessions && sessions__is_message(data, n))
		return decode_session(ctx, how, data, n, ret_batch, err);
	o.notes = &notes;
	if (DCM_HAS(how, duration_ns)) {
		m = (struct decode_measure){ how->measure, how->scale > 0 ? how->scale : 1,
					     how->period, how->duration_ns };
		o.temporalities = how->temporalities;
		o.n_temporalities = how->n_temporalities;
		o.identity = how->identity;
		o.measure = how->measure.n ? &m : NULL;
	}
	if (DCM_HAS(how, name_ctx) && how->name_of) {
		names.how = how;
		o.name_of = name_of;
		o.name_ctx = &names;
	}
	o.likely_version = DCM_HAS(how, likely_version) ? how->likely_version : NULL;
	r = codec__decode_with(how->format, data, n, &o, ret_batch, err);
	if (r == 0 && DCM_HAS(how, found) && how->found) {
		how->found->old_version = notes.old_version;
		how->found->n_refused = notes.n_refused;
		how->found->refusal = notes.refusal;
		if (DCM_HAS(how->found, has_mean_sizes))
			how->found->has_mean_sizes = notes.has_mean_sizes;
		if (DCM_HAS(how->found, is_version_told)) {
			how->found->version = notes.version;
			how->found->is_version_told = notes.is_version_told;
		}
	}
	return r;
}

/* ---- rules: what plugins know as struct dcm_rules is the pipeline's struct rules ---- */

static int rules_new(void *ctx, const struct dcm_relabel_rule *from, uint32_t n,
		     struct dcm_rules **ret, struct dcm_error *err)
{
	struct rules *r = NULL;
	int e = rules__new(from, n, &r, err);

	(void)ctx;
	if (e == 0)
		*ret = (struct dcm_rules *)r;
	return e;
}

static void rules_free(struct dcm_rules *rules)
{
	rules__free((struct rules *)rules);
}

/* What came out of the map, without what the rules took away. */
static void tell_labels(const struct label_map *m, struct dcm_label_text *to, dcm_series_fn each,
			void *ctx)
{
	uint32_t n = 0;

	for (size_t i = 0; i < m->v.n; i++)
		if (!m->v.v[i].is_removed)
			to[n++] = (struct dcm_label_text){ m->v.v[i].name, m->v.v[i].value };
	each(ctx, to, n);
}

static int run_map(const struct rules *rules, struct label_map *m, dcm_series_fn each, void *ctx)
{
	struct dcm_label_text *out;
	int r;

	label_map__sort(m);
	r = rules__run(rules, m);
	if (r <= 0)
		return r;
	if (m->n_undecided)
		return -EFBIG;
	out = arena__zalloc(&m->arena, m->v.n + 1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	label_map__sort(m);
	tell_labels(m, out, each, ctx);
	return 1;
}

static int rules_run(const struct dcm_rules *rules, const struct dcm_label_text *labels, uint32_t n,
		     dcm_series_fn each, void *ctx)
{
	struct label_map m = { 0 };
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = label_map__put(&m, labels[i].name, labels[i].value);
	if (r == 0)
		r = run_map((const struct rules *)rules, &m, each, ctx);
	label_map__fini(&m);
	return r;
}

static int labelled(void *ctx, struct dcm_batch *batch, const struct dcm_label_text *labels,
		    uint32_t n, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	(void)ctx;
	return labelled__make(batch, labels, n, ret_batch, err);
}

static int debuginfo(void *ctx, const struct dcm_debuginfo *w, int *ret_fd, uint64_t *ret_bytes,
		     struct dcm_error *err)
{
	const struct services *s = ctx;
	const struct symbols_wish wish = { w->build_id, w->path, w->max_bytes, w->stop, w->stop_ctx };
	struct symbols_provided got;
	int r = s->symbols ? symbols__provide(s->symbols, &wish, &got, err)
			   : error__set(err, -ENOENT, "no files are met here");

	if (r == 0) {
		*ret_fd = got.fd;
		*ret_bytes = got.bytes;
	}
	return r;
}

static void debuginfo_wanted(void *ctx, bool wanted)
{
	const struct services *s = ctx;

	if (s->symbols)
		symbols__want_files(s->symbols, wanted);
}

static int http_get(void *ctx, const struct dcm_http_request *request, struct dcm_http_answer *ret,
		    struct dcm_error *err)
{
	(void)ctx;
	return http_client__get(request, ret, err);
}

static int http_client_new(void *ctx, const struct dcm_host *from, const struct dcm_http_options *options,
			   struct dcm_http_client **ret, struct dcm_error *err)
{
	struct services *s = ctx;

	return s->http ? http_pool__client_new(s->http, from, options, ret, err) : error__nomem(err);
}

static void http_settle(void *ctx, const struct dcm_host *from)
{
	struct services *s = ctx;

	if (s->http)
		http_pool__settle(s->http, from);
}

static int page(void *ctx, const struct dcm_host *from, const struct dcm_page *page, struct dcm_error *err)
{
	struct services *s = ctx;

	if (s->pages)
		return pages__offer(s->pages, from, page, err);
	return error__set(err, -ENOTSUP, "pages are served by `decima run` alone");
}

static void withdraw_pages(void *ctx, const struct dcm_host *from)
{
	struct services *s = ctx;

	if (s->pages)
		pages__withdraw(s->pages, from);
}

static int serve(void *ctx, const struct dcm_host *from, const struct dcm_endpoint *endpoint,
		 struct dcm_error *err)
{
	struct services *s = ctx;

	if (s->endpoints)
		return endpoints__offer(s->endpoints, from, endpoint, err);
	return error__set(err, -ENOTSUP, "requests are answered by `decima run` alone");
}

static int withdraw_endpoints(void *ctx, const struct dcm_host *from, int64_t deadline_mono_ns)
{
	struct services *s = ctx;

	return s->endpoints ? endpoints__withdraw(s->endpoints, from, deadline_mono_ns) : 0;
}

void services__fini(struct services *s)
{
	http_pool__free(take_ptr(s->http));
}

void services__init(struct services *s)
{
	s->host.ctx = s;
	s->host.emit = emit;
	s->host.offer_file = offer_file;
	s->host.build_id = build_id;
	s->host.kernel_symbol = kernel_symbol;
	s->host.resolved = services__resolved;
	s->host.encode = encode;
	s->host.decode = decode;
	s->host.decode_as = decode_as;
	s->host.rules_new = rules_new;
	s->host.rules_free = rules_free;
	s->host.rules_run = rules_run;
	s->host.labelled = labelled;
	s->host.debuginfo = debuginfo;
	s->host.debuginfo_wanted = debuginfo_wanted;
	s->host.session_new = session__new;
	s->host.session_free = session__free;
	s->host.session_anew = session__anew;
	s->host.session_encode = session__encode_bytes;
	s->host.sessions_new = sessions__new;
	s->host.sessions_free = sessions__free;
	s->host.sessions_stat = sessions__stat;
	s->host.http_get = http_get;
	s->host.http_client_new = http_client_new;
	s->host.http_client_free = http_pool__client_free;
	s->host.http_start = http_pool__start;
	s->host.http_cancel = http_pool__cancel;
	s->host.http_client_sign = http_pool__client_sign;
	s->host.http_settle = http_settle;
	http_pool__new("decima/" PACKAGE_VERSION, &s->http);
	s->host.page = page;
	s->host.withdraw_pages = withdraw_pages;
	s->host.serve = serve;
	s->host.withdraw_endpoints = withdraw_endpoints;
	s->host.reply_put = endpoints__reply_put;
	s->host.request_waits = endpoints__request_waits;
	s->host.reply_header = endpoints__reply_header;
	s->host.reply_problem = endpoints__reply_problem;
}
