/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/host.c - the `struct dcm_host` that one instance is given
 *
 * `struct host` begins with the public struct, so that the pointer a plugin hands back is ours.
 * Building, batches and regexes are the core's functions as they are; the rest goes to
 * host_services. One mutex guards the state and the list of metrics; nothing is called with it
 * held.
 *
 * Batch ids: the source is the hash of node, instance and start time; each builder counts in a
 * block of its own of 2^32 sequences, so that several builders of one instance need no common
 * counter.
 */
#include "core/plugin/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/identity.h"
#include "core/batch/revalue.h"
#include "core/broker/rights.h"
#include "core/config/regex.h"
#include "core/plugin/emissions.h"
#include "core/plugin/mapped.h"

/* A sentence that changes while the state stays is logged at most this often, and the last one always. */
#define SENTENCE_LOG_NS ((int64_t)10 * 1000000000)

struct host {
	struct dcm_host pub; /* first */
	const struct host_services *services;
	char *name, *data_dir;
	struct dcm_hash source;
	_Atomic uint64_t n_builders; /* each numbers its batches from such a 2^32nd on; the first block is n_decoded's */
	_Atomic uint64_t n_decoded;
	struct emissions *emissions;

	pthread_mutex_t mutex;
	struct host_state own, state; /* as the plugin says; as people see it */
	char trouble[512];	      /* what the core says; "" for nothing */
	int64_t logged_mono_ns;	      /* 0: nothing yet */
	bool owes_line;		      /* the state is not as the log has it: host__log_state() */
	VEC(struct stats_metric *) metrics;
};

static struct host *mine(const struct dcm_host *h)
{
	return (struct host *)(uintptr_t)h;
}

static const struct clock *clock_of(const struct host *h)
{
	return h->services->clock ? h->services->clock : &clock__system;
}

/* ---- telling people ---- */

static void host_log(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void host_log(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
{
	struct host *h = mine(host);
	va_list ap;

	if (!h->services->log)
		return;
	va_start(ap, fmt);
	log__vline(h->services->log, (int)level, h->name, fmt, ap);
	va_end(ap);
}

static void host_drop(const struct dcm_host *host, const char *reason, uint64_t n)
{
	struct host *h = mine(host);

	if (h->services->stats)
		stats__drop(h->services->stats, h->name, reason, n);
}

static int state_level(enum dcm_state state)
{
	switch (state) {
	case DCM_STATE_FAILED:
		return DCM_LOG_ERROR;
	case DCM_STATE_DEGRADED:
		return DCM_LOG_WARNING;
	case DCM_STATE_OK:
		return DCM_LOG_INFO;
	case DCM_STATE_STARTING:
	case DCM_STATE_STOPPED:
		break;
	}
	return DCM_LOG_DEBUG;
}

static const char *state_text(enum dcm_state state)
{
	static const char *const texts[] = {
		[DCM_STATE_STARTING] = "starting", [DCM_STATE_OK] = "ok",
		[DCM_STATE_DEGRADED] = "degraded", [DCM_STATE_FAILED] = "failed",
		[DCM_STATE_STOPPED] = "stopped",
	};

	return (unsigned)state < sizeof(texts) / sizeof(texts[0]) ? texts[state] : "unknown";
}

/* What people see: the plugin's own word, unless it says all is well and the core knows better. */
static void effective(const struct host *h, struct host_state *ret)
{
	*ret = h->own;
	if (!h->trouble[0] || (h->own.state != DCM_STATE_OK && h->own.state != DCM_STATE_STARTING))
		return;
	ret->state = DCM_STATE_DEGRADED;
	snprintf(ret->sentence, sizeof(ret->sentence), "%s", h->trouble);
}

static void log_state(const struct host *h, const struct host_state *st)
{
	if (h->services->log)
		log__line(h->services->log, state_level(st->state), h->name, "%s%s%s",
			  state_text(st->state), st->sentence[0] ? ": " : "", st->sentence);
}

int64_t host__log_state(struct dcm_host *host)
{
	struct host *h = mine(host);
	const int64_t now = clock__mono(clock_of(h));
	int64_t due = INT64_MAX;
	struct host_state st;

	pthread_mutex_lock(&h->mutex);
	const bool logs = h->owes_line && now - h->logged_mono_ns >= SENTENCE_LOG_NS;
	if (logs) {
		h->logged_mono_ns = now;
		h->owes_line = false;
		st = h->state;
	} else if (h->owes_line) {
		due = h->logged_mono_ns + SENTENCE_LOG_NS;
	}
	pthread_mutex_unlock(&h->mutex);
	if (logs)
		log_state(h, &st);
	return due;
}

/* After a change of `own` or `trouble`, with the mutex, which it lets go. */
static void publish(struct host *h)
{
	int64_t now = clock__mono(clock_of(h));
	struct host_state new;
	bool is_new_state, is_new, logs;

	effective(h, &new);
	is_new_state = h->state.state != new.state;
	is_new = is_new_state || strcmp(h->state.sentence, new.sentence) != 0;
	logs = is_new_state || (is_new && now - h->logged_mono_ns >= SENTENCE_LOG_NS);
	if (is_new) {
		new.since_real_ns = clock__real(clock_of(h));
		h->state = new;
	}
	if (logs)
		h->logged_mono_ns = now;
	h->owes_line = !logs && (is_new || h->owes_line);
	pthread_mutex_unlock(&h->mutex);

	if (logs)
		log_state(h, &new);
	if (is_new && h->services->state_changed)
		h->services->state_changed(h->services->ctx, &h->pub, new.state, new.sentence);
}

void host__set_state(struct dcm_host *host, enum dcm_state state, const char *sentence)
{
	struct host *h = mine(host);

	pthread_mutex_lock(&h->mutex);
	h->own.state = state;
	snprintf(h->own.sentence, sizeof(h->own.sentence), "%s", sentence);
	publish(h);
}

void host__set_trouble(struct dcm_host *host, const char *sentence)
{
	struct host *h = mine(host);

	pthread_mutex_lock(&h->mutex);
	snprintf(h->trouble, sizeof(h->trouble), "%s", sentence);
	publish(h);
}

static void host_set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void host_set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
{
	char sentence[sizeof(((struct host_state *)0)->sentence)] = "";
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(sentence))
		sentence[str__utf8_cut(sentence, sizeof(sentence) - 1)] = '\0';
	str__clean(sentence, strlen(sentence));
	host__set_state(&mine(host)->pub, state, sentence);
}

void host__state(struct dcm_host *host, struct host_state *ret)
{
	struct host *h = mine(host);

	pthread_mutex_lock(&h->mutex);
	*ret = h->state;
	pthread_mutex_unlock(&h->mutex);
}

/* One that is tried again, as often as that may be, asks for the same each time. With the mutex. */
static bool has_metric(const struct host *h, const struct stats_metric *m)
{
	for (size_t i = 0; i < h->metrics.n; i++)
		if (h->metrics.v[i] == m)
			return true;
	return false;
}

/* With the mutex; labels[0] is for the instance. NULL: refused, or no memory. */
static struct stats_metric *register_metric(struct host *h, enum dcm_metric_kind kind, const char *name,
					    const char *help, struct stats_label *labels, size_t n)
{
	static const enum stats_kind kinds[] = {
		[DCM_COUNTER] = STATS_COUNTER, [DCM_GAUGE_METRIC] = STATS_GAUGE, [DCM_SECONDS] = STATS_HISTOGRAM
	};
	char full[STATS_NAME_MAX + 1];
	struct stats_def def = { .name = full,
				 .help = help,
				 .kind = STATS_GAUGE,
				 .buckets = kind == DCM_SECONDS ? &stats__seconds : NULL };

	if ((unsigned)kind > DCM_SECONDS)
		return NULL;
	def.kind = kinds[kind];
	if (!h->services->stats || snprintf(full, sizeof(full), "decima_%s", name) >= (int)sizeof(full) ||
	    !vec__reserve(&h->metrics, 1))
		return NULL;
	labels[0] = (struct stats_label){ "instance", h->name };
	return stats__register(h->services->stats, &def, labels, n);
}

/* `struct dcm_metric` is `struct stats_metric` under the name that plugins know. */
static struct dcm_metric *host_metric(const struct dcm_host *host, enum dcm_metric_kind kind,
				      const char *name, const char *help)
{
	struct host *h = mine(host);
	struct stats_label label[1];
	struct stats_metric *m;

	pthread_mutex_lock(&h->mutex);
	m = register_metric(h, kind, name, help, label, 1);
	if (m && has_metric(h, m))
		stats__unregister(h->services->stats, m);
	else if (m)
		h->metrics.v[h->metrics.n++] = m;
	pthread_mutex_unlock(&h->mutex);
	return (struct dcm_metric *)m;
}

static struct dcm_metric *host_metric_of(const struct dcm_host *host, enum dcm_metric_kind kind,
					 const char *name, const char *help,
					 const struct dcm_label_text *labels, uint32_t n)
{
	struct host *h = mine(host);
	/* A little more than stats.h has room for, which then refuses a name, and cuts a value. */
	struct {
		char name[STATS_NAME_MAX + 2], value[STATS_VALUE_MAX + 2];
	} texts[STATS_LABELS_MAX];
	struct stats_label all[STATS_LABELS_MAX];
	struct stats_metric *m;

	if (n == 0 || n >= STATS_LABELS_MAX)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(texts[i].name, sizeof(texts[i].name), "%.*s", STR_ARG(labels[i].name));
		snprintf(texts[i].value, sizeof(texts[i].value), "%.*s", STR_ARG(labels[i].value));
		all[i + 1] = (struct stats_label){ texts[i].name, texts[i].value };
	}
	pthread_mutex_lock(&h->mutex);
	m = register_metric(h, kind, name, help, all, n + 1);
	if (m)
		h->metrics.v[h->metrics.n++] = m;
	pthread_mutex_unlock(&h->mutex);
	return (struct dcm_metric *)m;
}

static void host_metric_end(const struct dcm_host *host, struct dcm_metric *metric)
{
	struct host *h = mine(host);
	struct stats_metric *m = (struct stats_metric *)metric;

	pthread_mutex_lock(&h->mutex);
	for (size_t i = 0; i < h->metrics.n; i++) {
		if (h->metrics.v[i] != m)
			continue;
		h->metrics.v[i] = h->metrics.v[--h->metrics.n];
		stats__unregister(h->services->stats, m);
		break;
	}
	pthread_mutex_unlock(&h->mutex);
}

static void host_metric_add(struct dcm_metric *m, uint64_t n)
{
	stats__counter_add((struct stats_metric *)m, n);
	stats__histogram_observe((struct stats_metric *)m, n);
}

static void host_metric_set(struct dcm_metric *m, double value)
{
	stats__gauge_set((struct stats_metric *)m, value);
}

static int64_t host_mono_ns(const struct dcm_host *host)
{
	return clock__mono(clock_of(mine(host)));
}

static int64_t host_real_ns(const struct dcm_host *host)
{
	return clock__real(clock_of(mine(host)));
}

/* ---- batches ---- */

static struct dcm_builder *host_builder_new(const struct dcm_host *host, uint64_t max_bytes)
{
	struct host *h = mine(host);
	struct dcm_builder *b = builder__new(max_bytes);

	if (b)
		builder__set_source(b, h->source, (atomic_fetch_add(&h->n_builders, 1) + 1) << 32);
	return b;
}

static int no_service(const struct dcm_host *host, struct dcm_error *err, const char *what)
{
	return error__set(err, -ENOSYS, "%s: this host offers no %s", host->instance, what);
}

static int host_emit(const struct dcm_host *host, struct dcm_batch *batch, dcm_done_fn done, void *ctx)
{
	const struct host_services *s = mine(host)->services;
	struct emission *e;
	int r;

	if (!s->emit)
		return -ENOSYS;
	if (!done)
		return s->emit(s->ctx, host, batch, NULL, NULL);
	r = emissions__add(mine(host)->emissions, done, ctx, &e);
	if (r < 0)
		return r;
	r = s->emit(s->ctx, host, batch, emission__done, e);
	if (r == 0 || emission__cancel(e))
		return r;
	/* Settling came first, and has said that the batch is on its way: it is ours to count. */
	host_drop(host, "shutdown", batch__n_rows(batch));
	return 0;
}

void host__settle(struct dcm_host *host)
{
	const struct host_services *s = mine(host)->services;

	emissions__settle(mine(host)->emissions);
	if (s->http_settle)
		s->http_settle(s->ctx, host);
	if (s->withdraw_pages)
		s->withdraw_pages(s->ctx, host);
	/* Nobody is left but when a start failed right after it had offered them: nothing to hurry for. */
	while (host__withdraw(host, 0) == -ETIMEDOUT)
		;
}

int host__withdraw(struct dcm_host *host, int64_t deadline_mono_ns)
{
	const struct host_services *s = mine(host)->services;

	return s->withdraw_endpoints ? s->withdraw_endpoints(s->ctx, host, deadline_mono_ns) : 0;
}

void host__reopen(struct dcm_host *host)
{
	emissions__reopen(mine(host)->emissions);
}

/* ---- names ---- */

static void host_offer_file(const struct dcm_host *host, struct dcm_str build_id,
			    struct dcm_str path, int fd)
{
	const struct host_services *s = mine(host)->services;

	if (s->offer_file)
		s->offer_file(s->ctx, build_id, path, fd);
}

static int host_build_id(const struct dcm_host *host, int fd, char ret_hex[static 129])
{
	const struct host_services *s = mine(host)->services;

	return s->build_id ? s->build_id(s->ctx, fd, ret_hex) : -ENOSYS;
}

static int host_kernel_symbol(const struct dcm_host *host, uint64_t address,
			      struct dcm_str *ret_name, struct dcm_str *ret_module)
{
	const struct host_services *s = mine(host)->services;

	return s->kernel_symbol ? s->kernel_symbol(s->ctx, address, ret_name, ret_module) : -ENOSYS;
}

static void host_process_event(const struct dcm_host *host, enum dcm_process_event event,
			       const struct dcm_process *process)
{
	const struct host_services *s = mine(host)->services;

	if (s->sources)
		sources__process_event(s->sources, event, process);
}

static void host_resolve_runtime(const struct dcm_host *host, const struct dcm_process *process,
				 const uint64_t *addresses, uint32_t n, dcm_symbol_fn each,
				 void *ctx, enum dcm_unnamed *ret_why)
{
	const struct host_services *s = mine(host)->services;

	if (s->sources)
		sources__resolve(s->sources, process, addresses, n, each, ctx, ret_why);
	else if (ret_why)
		*ret_why = DCM_UNNAMED_JIT_NO_MAP;
}

static int host_resolved(const struct dcm_host *host, struct dcm_batch *batch,
			 struct dcm_batch **ret_batch, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->resolved ? s->resolved(s->ctx, batch, ret_batch, err)
			   : no_service(host, err, "symbols");
}

/* ---- formats, files ---- */

static int host_encode(const struct dcm_host *host, const struct dcm_batch *batch, uint32_t profile,
		       const char *format, uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->encode ? s->encode(s->ctx, batch, profile, format, ret_data, ret_n, err)
			 : no_service(host, err, "encoder");
}

/*
 * What says no id of its own gets one of the instance's, as what it builds has: whoever it is sent to knows it again then,
 * when it has to be sent twice. Nobody else has the batch yet.
 */
static void identify(struct host *h, struct dcm_batch *b)
{
	if (!b->id.source.lo && !b->id.source.hi)
		b->id = (struct dcm_batch_id){ .source = h->source,
					       .sequence = atomic_fetch_add(&h->n_decoded, 1) };
}

static int host_decode(const struct dcm_host *host, const char *format, const uint8_t *data,
		       size_t n, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;
	int r = s->decode ? s->decode(s->ctx, format, data, n, ret_batch, err)
			  : no_service(host, err, "decoder");

	if (r == 0)
		identify(mine(host), *ret_batch);
	return r;
}

static int host_decode_as(const struct dcm_host *host, const struct dcm_decode *how, const uint8_t *data,
			  size_t n, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;
	int r = s->decode_as ? s->decode_as(s->ctx, how, data, n, ret_batch, err)
			     : no_service(host, err, "decoder");

	if (r == 0)
		identify(mine(host), *ret_batch);
	return r;
}

static int host_revalued(const struct dcm_host *host, struct dcm_batch *batch,
			 const struct dcm_revalue *changes, uint32_t n,
			 struct dcm_batch **ret_batch, struct dcm_error *err)
{
	(void)host;
	return batch__revalued(batch, changes, n, ret_batch, err);
}

static int host_labelled(const struct dcm_host *host, struct dcm_batch *batch,
			 const struct dcm_label_text *labels, uint32_t n,
			 struct dcm_batch **ret_batch, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->labelled ? s->labelled(s->ctx, batch, labels, n, ret_batch, err)
			   : no_service(host, err, "relabelling");
}

static int host_debuginfo(const struct dcm_host *host, const struct dcm_debuginfo *wish,
			  int *ret_fd, uint64_t *ret_bytes, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->debuginfo ? s->debuginfo(s->ctx, wish, ret_fd, ret_bytes, err)
			    : no_service(host, err, "debuginfo");
}

static void host_debuginfo_wanted(const struct dcm_host *host, bool wanted)
{
	const struct host_services *s = mine(host)->services;

	if (s->debuginfo_wanted)
		s->debuginfo_wanted(s->ctx, wanted);
}

static int host_rules_new(const struct dcm_host *host, const struct dcm_relabel_rule *rules,
			  uint32_t n, struct dcm_rules **ret, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->rules_new ? s->rules_new(s->ctx, rules, n, ret, err)
			    : no_service(host, err, "relabelling");
}

static int host_session_new(const struct dcm_host *host, struct dcm_session **ret, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->session_new ? s->session_new(ret, err) : no_service(host, err, "encoder of sessions");
}

static int host_sessions_new(const struct dcm_host *host, uint64_t max_bytes,
			     struct dcm_sessions **ret, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->sessions_new ? s->sessions_new(max_bytes, ret, err)
			       : no_service(host, err, "decoder of sessions");
}

/* A host without sessions makes none, so nobody has one to do more with than to free none. */
static void no_session_free(struct dcm_session *session)
{
	(void)session;
}

static void no_sessions_free(struct dcm_sessions *sessions)
{
	(void)sessions;
}

static void take_sessions(struct host *h)
{
	const struct host_services *s = h->services;

	h->pub.session_free = s->session_new ? s->session_free : no_session_free;
	h->pub.session_anew = s->session_anew;
	h->pub.session_encode = s->session_encode;
	h->pub.sessions_free = s->sessions_new ? s->sessions_free : no_sessions_free;
	h->pub.sessions_stat = s->sessions_stat;
}

static int host_data_dir_make(const struct dcm_host *host, struct dcm_error *err)
{
	int r;

	if (!host->data_dir)
		return no_service(host, err, "data directory");
	r = fd__mkdirs(host->data_dir, 0700);
	return r < 0 ? error__sys(err, r, "%s: cannot be made", host->data_dir) : 0;
}

static int host_http_get(const struct dcm_host *host, const struct dcm_http_request *request,
			 struct dcm_http_answer *ret, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->http_get ? s->http_get(s->ctx, request, ret, err)
			   : no_service(host, err, "HTTP client");
}

/* ---- clients: a host without them makes none, so nobody has one to start calls with ---- */

static int host_http_client_new(const struct dcm_host *host, const struct dcm_http_options *options,
				struct dcm_http_client **ret, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->http_client_new ? s->http_client_new(s->ctx, host, options, ret, err)
				  : no_service(host, err, "HTTP client");
}

static void no_http_client_free(struct dcm_http_client *client)
{
	(void)client;
}

static int no_http_start(struct dcm_http_client *client, const struct dcm_http_call *call,
			 uint64_t *ret_id, struct dcm_error *err)
{
	(void)client;
	(void)call;
	(void)ret_id;
	return error__set(err, -ENOSYS, "this host offers no HTTP client");
}

static void no_http_cancel(struct dcm_http_client *client, uint64_t id)
{
	(void)client;
	(void)id;
}

static int no_http_client_sign(struct dcm_http_client *client, const struct dcm_http_signature *how,
			       struct dcm_error *err)
{
	(void)client;
	(void)how;
	return error__set(err, -ENOSYS, "this host signs no requests");
}

static void take_http(struct host *h)
{
	const struct host_services *s = h->services;
	bool has = s->http_client_new;

	h->pub.http_client_new = host_http_client_new;
	h->pub.http_client_free = has ? s->http_client_free : no_http_client_free;
	h->pub.http_start = has ? s->http_start : no_http_start;
	h->pub.http_cancel = has ? s->http_cancel : no_http_cancel;
	h->pub.http_client_sign = has && s->http_client_sign ? s->http_client_sign : no_http_client_sign;
}

static int host_page(const struct dcm_host *host, const struct dcm_page *page, struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->page ? s->page(s->ctx, host, page, err) : no_service(host, err, "server for pages");
}

static int host_serve(const struct dcm_host *host, const struct dcm_endpoint *endpoint,
		      struct dcm_error *err)
{
	const struct host_services *s = mine(host)->services;

	return s->serve ? s->serve(s->ctx, host, endpoint, err) : no_service(host, err, "server");
}

/* ---- rights ---- */

static int host_open_guarded(const struct dcm_host *host, const struct dcm_guarded *g)
{
	return rights__open(mine(host)->services->broker, g);
}

static int host_perf_event(const struct dcm_host *host, const struct perf_event_attr *attr, uint32_t cpu)
{
	return rights__perf_event(mine(host)->services->broker, attr, cpu);
}

static int host_bpf_array(const struct dcm_host *host, uint32_t value_bytes, uint32_t n)
{
	return rights__bpf_array(mine(host)->services->broker, value_bytes, n);
}

static int host_bpf_put(const struct dcm_host *host, int array_of_maps, uint32_t index, int array)
{
	return rights__bpf_put(mine(host)->services->broker, array_of_maps, index, array);
}

/* ---- batches ---- */

static struct dcm_hash host_stack_hash(const struct dcm_host *host, const struct dcm_batch *batch,
				       uint32_t stack)
{
	(void)host;
	return identity__stack(batch, stack);
}

/* ---- mapped files ---- */

static int host_map_file(const struct dcm_host *host, int fd, size_t n, const uint8_t **ret)
{
	(void)host;
	return mapped__add(fd, n, ret);
}

static void host_unmap_file(const struct dcm_host *host, const uint8_t *p, size_t n)
{
	(void)host;
	mapped__remove(p, n);
}

static uint64_t host_n_lost_pages(const struct dcm_host *host)
{
	(void)host;
	return mapped__n_lost();
}

static int host_regex_new(const struct dcm_host *host, struct dcm_str pattern,
			  struct dcm_regex **ret_regex, struct dcm_error *err)
{
	(void)host;
	return regex__new(pattern, 0, ret_regex, err);
}

/* ---- the object ---- */

static const struct dcm_host functions = {
	.size = sizeof(struct dcm_host),
	.abi_major = DCM_ABI_MAJOR,
	.abi_minor = DCM_ABI_MINOR,
	.log = host_log,
	.drop = host_drop,
	.set_state = host_set_state,
	.metric = host_metric,
	.metric_add = host_metric_add,
	.metric_set = host_metric_set,
	.mono_ns = host_mono_ns,
	.real_ns = host_real_ns,
	.builder_new = host_builder_new,
	.builder_free = builder__free,
	.add_string = builder__string,
	.add_mapping = builder__mapping,
	.add_function = builder__function,
	.add_process = builder__process,
	.add_location = builder__location,
	.add_stack = builder__stack,
	.add_series = builder__series,
	.add_label_set = builder__label_set,
	.add_profile = builder__profile,
	.add_row = builder__row,
	.seal = builder__seal,
	.batch_ref = batch__ref,
	.batch_unref = batch__unref,
	.emit = host_emit,
	.offer_file = host_offer_file,
	.build_id = host_build_id,
	.kernel_symbol = host_kernel_symbol,
	.process_event = host_process_event,
	.resolve_runtime = host_resolve_runtime,
	.resolved = host_resolved,
	.encode = host_encode,
	.decode = host_decode,
	.regex_matches = regex__matches,
	.data_dir_make = host_data_dir_make,
	.http_get = host_http_get,
	.open_guarded = host_open_guarded,
	.perf_event = host_perf_event,
	.bpf_array = host_bpf_array,
	.bpf_put = host_bpf_put,
	.add_stacks = builder__stacks,
	.map_file = host_map_file,
	.unmap_file = host_unmap_file,
	.n_lost_pages = host_n_lost_pages,
	.regex_new = host_regex_new,
	.regex_free = regex__free,
	.page = host_page,
	.serve = host_serve,
	.rules_new = host_rules_new,
	.decode_as = host_decode_as,
	.revalued = host_revalued,
	.labelled = host_labelled,
	.debuginfo = host_debuginfo,
	.debuginfo_wanted = host_debuginfo_wanted,
	.session_new = host_session_new,
	.sessions_new = host_sessions_new,
	.metric_of = host_metric_of,
	.metric_end = host_metric_end,
	.stack_hash = host_stack_hash,
};

static bool is_name(const char *s)
{
	size_t n = s ? strnlen(s, 65) : 0;

	return n > 0 && n <= 64 && s[0] != '.' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.#-") == n;
}

/*
 * Length-prefixed texts and the time: no two instances share it, nor does one before and after a
 * restart.
 */
static int make_source(struct host *h)
{
	struct buf b = { 0 };
	int error;

	buf__le32(&b, (uint32_t)strlen(h->pub.node));
	buf__text(&b, h->pub.node);
	buf__le32(&b, (uint32_t)strlen(h->name));
	buf__text(&b, h->name);
	buf__le64(&b, (uint64_t)clock__real(clock_of(h)));
	buf__le64(&b, (uint64_t)clock__mono(clock_of(h)));
	error = b.error;
	if (error == 0)
		h->source = hash__bytes128(b.data, b.n);
	buf__fini(&b);
	return error;
}

static int fill(struct host *h, const char *instance)
{
	const char *root = h->services->data_root;
	size_t n = root ? strlen(root) + 1 + strlen(instance) + 1 : 0;

	h->emissions = emissions__new();
	h->name = mem__dup_str(instance, strlen(instance));
	if (!h->name || !h->emissions)
		return -ENOMEM;
	if (root) {
		h->data_dir = mem__zalloc(n, 1);
		if (!h->data_dir)
			return -ENOMEM;
		snprintf(h->data_dir, n, "%s/%s", root, instance);
	}
	h->pub.instance = h->name;
	h->pub.node = h->services->node ? h->services->node : "";
	h->pub.data_dir = h->data_dir;
	return make_source(h);
}

int host__new(const char *instance, const struct host_services *services, struct dcm_host **ret,
	      struct dcm_error *err)
{
	CLEANUP(host__freep) struct dcm_host *pub = NULL;
	struct host *h;

	if (!is_name(instance))
		return error__set(err, -EINVAL,
				  "instance name \"%s\": use 1 to 64 of letters, digits, _ . # -, "
				  "not a dot first",
				  instance ? instance : "");
	h = NEW(struct host);
	if (!h)
		return error__nomem(err);
	pthread_mutex_init(&h->mutex, NULL);
	h->pub = functions;
	h->services = services;
	take_http(h);
	h->pub.rules_free = services->rules_free;
	h->pub.rules_run = services->rules_run;
	take_sessions(h);
	h->pub.reply_put = services->reply_put;
	h->pub.request_waits = services->request_waits;
	h->pub.reply_header = services->reply_header;
	h->pub.reply_problem = services->reply_problem;
	h->own.state = h->state.state = DCM_STATE_STARTING;
	h->state.since_real_ns = clock__real(clock_of(h));
	pub = &h->pub;
	if (fill(h, instance) < 0)
		return error__nomem(err);
	*ret = take_ptr(pub);
	return 0;
}

void host__free(struct dcm_host *host)
{
	struct host *h = mine(host);

	if (!h)
		return;
	for (size_t i = 0; i < h->metrics.n; i++)
		stats__unregister(h->services->stats, h->metrics.v[i]);
	vec__fini(&h->metrics);
	emissions__unref(h->emissions);
	pthread_mutex_destroy(&h->mutex);
	free(h->data_dir);
	free(h->name);
	free(h);
}

const struct host_services *host__services(const struct dcm_host *host)
{
	return mine(host)->services;
}
