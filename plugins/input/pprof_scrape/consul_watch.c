/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/consul_watch.c - what Consul is asked again and again, and what comes of it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/consul.h"
#include "plugins/input/pprof_scrape/consul_lists.h"
#include "plugins/input/pprof_scrape/job.h"

#define SECOND_NS    ((int64_t)1000000000)
#define WAIT_NS	     (120 * SECOND_NS) /* as Prometheus asks for */
#define WAIT_MIN_NS  (SECOND_NS / 10)
#define ANSWER_NS    (15 * SECOND_NS) /* until the whole answer is here, beyond the wait */
#define BACKOFF_NS   ((int64_t)800000000)
#define BACKOFF_MOST 6 /* doublings: 51 s */
#define MAX_BYTES    ((size_t)512 << 20)

static void again(void *ctx);

/* ---- how it goes ---- */

/* Of many that fail at once, as they do when Consul is away, one is told: sentences do not take turns. */
static void fail(struct consul_watch *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct consul_watch *w, const char *fmt, ...)
{
	static const char *const names[] = { "agent/self", "catalog/services", "health/service/" };
	struct consul *c = w->consul;
	char text[320];
	va_list ap;

	c->n_failing += w->n_failures++ == 0;
	if (!c->teller)
		c->teller = w;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (c->teller == w)
		discovery__failed(c->d, "%s%.64s: %s", names[w->kind], w->name, text);
	else
		discovery__failed(c->d, "%s", c->d->error);
}

static void fail_no_more(struct consul_watch *w)
{
	struct consul *c = w->consul;

	if (w->n_failures == 0)
		return;
	w->n_failures = 0;
	c->n_failing--;
	if (c->teller == w)
		c->teller = NULL;
}

static void go_well(struct consul_watch *w)
{
	fail_no_more(w);
	if (w->consul->n_failing == 0)
		discovery__well(w->consul->d);
}

/* ---- when ---- */

static void set(struct consul_watch *w, int64_t at_mono_ns)
{
	struct loop *loop = w->consul->d->job->loop;

	if (loop__set(loop, &w->again, at_mono_ns) < 0)
		fail(w, "out of memory");
}

/* After a failure later and later, otherwise refresh_interval after it was asked. */
static void plan(struct consul_watch *w)
{
	const struct dcm_host *host = w->consul->d->job->host;
	uint32_t n = w->n_failures < BACKOFF_MOST + 1 ? w->n_failures : BACKOFF_MOST + 1;

	if (n)
		set(w, host->mono_ns(host) + (BACKOFF_NS << (n - 1)));
	else
		set(w, w->began_mono_ns + w->consul->options->refresh_interval_ns);
}

static int64_t wait_of(const struct consul_watch *w)
{
	const struct consul *c = w->consul;
	int64_t turn;

	if (w->kind != CONSUL_SERVICE || c->services.n <= CONSUL_MAX_OPEN)
		return WAIT_NS;
	turn = c->options->refresh_interval_ns / (int64_t)c->services.n * CONSUL_MAX_OPEN;
	return turn < WAIT_MIN_NS ? WAIT_MIN_NS : turn > WAIT_NS ? WAIT_NS : turn;
}

static void take_turn(struct consul_watch *w)
{
	struct consul *c = w->consul;

	w->is_waiting = true;
	w->next_waiting = NULL;
	if (c->first_waiting)
		c->last_waiting->next_waiting = w;
	else
		c->first_waiting = w;
	c->last_waiting = w;
}

static void give_up_turn(struct consul_watch *w)
{
	struct consul *c = w->consul;
	struct consul_watch *before = NULL;

	if (!w->is_waiting)
		return;
	for (struct consul_watch *at = c->first_waiting; at != w; at = at->next_waiting)
		before = at;
	if (before)
		before->next_waiting = w->next_waiting;
	else
		c->first_waiting = w->next_waiting;
	if (c->last_waiting == w)
		c->last_waiting = before;
	w->is_waiting = false;
}

/* The next one's turn has come; through its timer, so that no question is asked inside of an answer. */
static void give_turn(struct consul *c)
{
	struct consul_watch *next = c->first_waiting;

	if (!next)
		return;
	give_up_turn(next);
	set(next, c->d->job->host->mono_ns(c->d->job->host));
}

static void close_one(struct consul_watch *w)
{
	w->query = NULL;
	if (w->kind != CONSUL_SERVICE)
		return;
	w->consul->n_open--;
	give_turn(w->consul);
}

/* ---- watches ---- */

static void watch_free(struct consul_watch *w)
{
	struct consul *c;

	if (!w)
		return;
	c = w->consul;
	loop__cancel(c->d->job->loop, &w->again);
	give_up_turn(w);
	query__cancel(w->query);
	if (w->query)
		close_one(w);
	fail_no_more(w);
	c->n_bytes -= w->n_bytes;
	discovery__lost(c->d, &w->source);
	free(w);
}

static struct consul_watch *watch_new(struct consul *c, enum consul_kind kind, const char *name)
{
	const struct dcm_host *host = c->d->job->host;
	const size_t n = strlen(name) + 1;
	struct consul_watch *w = mem__zalloc(1, sizeof(*w) + n);

	if (!w)
		return NULL;
	memcpy(w->name, name, n);
	w->consul = c;
	w->kind = kind;
	w->again.fn = again;
	w->again.ctx = w;
	if (loop__set(c->d->job->loop, &w->again, host->mono_ns(host)) == 0)
		return w;
	free(w);
	return NULL;
}

/* ---- services ---- */

static int compare(const void *a, const void *b)
{
	const struct consul_watch *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Among the first n, which are sorted. */
static struct consul_watch *find_service(const struct consul *c, const char *name, size_t n)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, c->services.v[middle]->name);

		if (order == 0)
			return c->services.v[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int add_service(struct consul *c, const char *name)
{
	struct consul_watch *w = watch_new(c, CONSUL_SERVICE, name);

	if (!w)
		return -ENOMEM;
	w->is_seen = true;
	if (vec__push(&c->services, w))
		return 0;
	watch_free(w);
	return -ENOMEM;
}

static bool is_wanted(const struct consul_options *o, const char *name, const json_t *tags)
{
	const char *const *names = o->services.items;
	bool is_named = o->services.n == 0;

	for (uint32_t i = 0; i < o->services.n && !is_named; i++)
		is_named = strcmp(names[i], name) == 0;
	return is_named && consul_lists__has_tags(tags, &o->tags);
}

static void remove_unseen(struct consul *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->services.n; i++)
		if (c->services.v[i]->is_seen)
			c->services.v[n++] = c->services.v[i];
		else
			watch_free(c->services.v[i]);
	c->services.n = n;
	if (n)
		qsort(c->services.v, n, sizeof(*c->services.v), compare);
}

static size_t count_wanted(const struct consul_options *o, json_t *list)
{
	const char *name;
	json_t *tags;
	size_t n = 0;

	json_object_foreach(list, name, tags) n += is_wanted(o, name, tags);
	return n;
}

/* Services that are there are watched, those that have gone are not any more. False: it was told why not. */
static bool take_catalog(struct consul_watch *w, json_t *list)
{
	struct consul *c = w->consul;
	const size_t n_before = c->services.n;
	size_t n_wanted;
	const char *name;
	json_t *tags;
	int r = 0;

	if (!json_is_object(list)) {
		fail(w, "the answer is no map of services");
		return false;
	}
	n_wanted = count_wanted(c->options, list);
	if (n_wanted > CONSUL_MAX_SERVICES) {
		fail(w, "%zu services, more than %d; choose some by services, tags or filter",
		     n_wanted, CONSUL_MAX_SERVICES);
		return false;
	}
	for (size_t i = 0; i < n_before; i++)
		c->services.v[i]->is_seen = false;
	json_object_foreach(list, name, tags)
	{
		struct consul_watch *s;

		if (!is_wanted(c->options, name, tags))
			continue;
		s = find_service(c, name, n_before);
		if (s)
			s->is_seen = true;
		else if (r == 0)
			r = add_service(c, name);
	}
	remove_unseen(c);
	if (r < 0)
		fail(w, "out of memory");
	return r == 0;
}

/* The instances take the place of those before. False: it was told why not. */
static bool take_service(struct consul_watch *w, const json_t *list)
{
	struct consul *c = w->consul;
	const struct consul_options *o = c->options;
	struct consul_service service = { .name = w->name,
					  .datacenter = o->datacenter ? o->datacenter : c->own_datacenter,
					  .tag_separator = o->tag_separator ? o->tag_separator : "" };
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	int r = consul_lists__build(&service, list, &found, &err);
	const size_t n_rest = c->n_bytes - w->n_bytes;

	if (r == 0 && found.arena.total_bytes > MAX_BYTES - n_rest)
		r = -E2BIG;
	if (r == 0) {
		w->n_bytes = found.arena.total_bytes;
		c->n_bytes = n_rest + w->n_bytes;
		discovery__found(c->d, &w->source, &found);
		return true;
	}
	groups__fini(&found);
	fail(w, "%s",
	     r == -ENOMEM  ? "out of memory"
	     : r == -E2BIG ? "all instances have more labels than can be held; choose some services"
			   : err.text);
	return false;
}

/* ---- the datacenter, and what waits for it ---- */

static int begin_lists(struct consul *c)
{
	const struct consul_options *o = c->options;
	const char *const *names = o->services.items;

	if (o->services.n == 0 || o->tags.n || (o->filter && o->filter[0])) {
		c->catalog = watch_new(c, CONSUL_CATALOG, "");
		return c->catalog ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < o->services.n; i++) {
		if (find_service(c, names[i], c->services.n))
			continue;
		if (add_service(c, names[i]) < 0)
			return -ENOMEM;
		qsort(c->services.v, c->services.n, sizeof(*c->services.v), compare);
	}
	return 0;
}

static bool take_agent(struct consul_watch *w, const json_t *self)
{
	struct consul *c = w->consul;
	const char *name = json_string_value(
		json_object_get(json_object_get(self, "Config"), "Datacenter"));

	if (!name) {
		fail(w, "the answer has no Config.Datacenter; is this a Consul agent?");
		return false;
	}
	free(c->own_datacenter);
	c->own_datacenter = strdup(name);
	if (c->own_datacenter && begin_lists(c) == 0)
		return true;
	fail(w, "out of memory");
	return false;
}

/* ---- answers ---- */

/*
 * Whether there is something new. An index that goes back, as after a restored snapshot, is not to be
 * waited behind. 0 or none is refused: asked with it, Consul would not wait.
 */
static bool take_index(struct consul_watch *w, const char *text, bool *ret_is_new)
{
	char *end = NULL;
	uint64_t index = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;

	if (index == 0 || *end) {
		fail(w, "the answer has no X-Consul-Index above 0; does a proxy take it away?");
		return false;
	}
	*ret_is_new = index != w->index;
	w->index = index < w->index ? 0 : index;
	return true;
}

static bool take(struct consul_watch *w, const struct query_reply *reply)
{
	const uint64_t before = w->index;
	bool is_new = true, is_well;
	json_error_t why;
	json_t *root;

	if (w->kind != CONSUL_AGENT && !take_index(w, reply->index, &is_new))
		return false;
	if (!is_new)
		return true;
	root = json_loadb(reply->data, reply->n, 0, &why);
	if (!root) {
		fail(w, "the answer is not JSON");
		is_well = false;
	} else {
		is_well = w->kind == CONSUL_AGENT     ? take_agent(w, root)
			  : w->kind == CONSUL_CATALOG ? take_catalog(w, root)
						      : take_service(w, root);
	}
	json_decref(root);
	if (!is_well)
		w->index = before < w->index ? before : 0;
	return is_well;
}

static void answered(void *ctx, const struct query_reply *reply)
{
	struct consul_watch *w = ctx;

	if (reply->fault == -ECANCELED) {
		w->query = NULL;
		return; /* the instance stops: nobody failed */
	}
	close_one(w);
	if (query_reply__fault(reply)[0])
		fail(w, "%s", query_reply__fault(reply));
	else if (take(w, reply))
		go_well(w);
	/* The agent is asked until it has said its datacenter. */
	if (w->kind != CONSUL_AGENT || w->n_failures)
		plan(w);
}

/* ---- asking ---- */

static void add_param(struct buf *b, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	buf__printf(b, "&%s=", name);
	url__escape(b, str__of(value));
}

static void add_list_params(const struct consul_watch *w, struct buf *b)
{
	const struct consul_options *o = w->consul->options;
	const char *const *tags = o->tags.items, *const *values = o->node_meta.items;

	for (uint32_t i = 0; i < o->node_meta.n; i++) {
		add_param(b, "node-meta", o->node_meta.keys[i]);
		buf__text(b, "%3A");
		url__escape(b, str__of(values[i]));
	}
	for (uint32_t i = 0; i < o->tags.n && w->kind == CONSUL_SERVICE; i++)
		add_param(b, "tag", tags[i]);
	add_param(b, "filter", w->kind == CONSUL_SERVICE ? o->health_filter : o->filter);
	if (o->allow_stale)
		buf__text(b, "&stale=");
	if (w->index)
		buf__printf(b, "&index=%" PRIu64, w->index);
	buf__printf(b, "&wait=%" PRId64 "ms", wait_of(w) / 1000000);
}

static void build_url(const struct consul_watch *w, struct buf *b)
{
	static const char *const paths[] = { "/v1/agent/self", "/v1/catalog/services",
					     "/v1/health/service/" };
	const struct consul_options *o = w->consul->options;
	size_t at;

	buf__printf(b, "%s%s", (const char *)w->consul->base.data, paths[w->kind]);
	url__escape(b, str__of(w->name));
	at = b->n;
	add_param(b, "dc", o->datacenter);
	add_param(b, "ns", o->namespace);
	add_param(b, "partition", o->partition);
	if (w->kind != CONSUL_AGENT)
		add_list_params(w, b);
	if (b->n > at && !b->error)
		b->data[at] = '?';
	buf__byte(b, '\0');
}

static void ask(struct consul_watch *w)
{
	struct consul *c = w->consul;
	const struct dcm_host *host = c->d->job->host;
	struct dcm_http_header headers[] = {
		{ STR("Accept"), STR("application/json") },
		{ STR("X-Consul-Token"), str__of(c->options->token) },
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf url = { 0 };
	struct query_ask a = { .host = host,
			       .loop = c->d->job->loop,
			       .client = c->client,
			       .headers = headers,
			       .n_headers = headers[1].value.n ? 2 : 1,
			       .done = answered,
			       .ctx = w };
	/* Consul waits up to a sixteenth longer, so that not all come at once. */
	int64_t wait = w->kind == CONSUL_AGENT ? 0 : wait_of(w);
	int r;

	build_url(w, &url);
	w->began_mono_ns = host->mono_ns(host);
	a.url = (const char *)url.data;
	a.timeout_ns = wait + wait / 16 + ANSWER_NS;
	r = url.error ? error__nomem(&err) : query__start(&a, &w->query, &err);
	buf__fini(&url);
	if (r == 0 && w->kind == CONSUL_SERVICE)
		c->n_open++;
	if (r == 0 || r == -ESHUTDOWN)
		return;
	fail(w, "%s", err.text);
	plan(w);
	if (w->kind == CONSUL_SERVICE)
		give_turn(c);
}

static void again(void *ctx)
{
	struct consul_watch *w = ctx;

	if (w->kind == CONSUL_SERVICE && w->consul->n_open >= CONSUL_MAX_OPEN)
		take_turn(w);
	else
		ask(w);
}

/* ---- lifecycle ---- */

int consul_watch__begin(struct consul *c)
{
	if (c->options->datacenter && c->options->datacenter[0])
		return begin_lists(c);
	c->agent = watch_new(c, CONSUL_AGENT, "");
	return c->agent ? 0 : -ENOMEM;
}

void consul_watch__free_all(struct consul *c)
{
	while (c->first_waiting)
		give_up_turn(c->first_waiting);
	for (size_t i = 0; i < c->services.n; i++)
		watch_free(c->services.v[i]);
	vec__fini(&c->services);
	watch_free(c->catalog);
	watch_free(c->agent);
}
