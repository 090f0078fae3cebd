/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_watch.c - the objects of one resource of a Kubernetes cluster
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/kube.h"
#include "plugins/input/pprof_scrape/kube_page.h"

/* As kubectl asks: a page of pods is some 4 MB. */
#define PAGE	     500
#define WATCH_S	     480
#define LIST_NS	     ((int64_t)60000000000)
#define BACKOFF_NS   ((int64_t)800000000)
#define BACKOFF_MOST 6 /* doublings: 51 s */
#define REFUSALS     2 /* of a watch, until its version is given up */

/* What is known of one resource: a pod takes some 1.5 kB. */
#define MAX_OBJECTS 100000
#define MAX_BYTES   ((size_t)128 << 20)

/* ---- objects by their key ---- */

static uint32_t hash_of(const char *key)
{
	return (uint32_t)hash__bytes(key, strlen(key), 0);
}

struct kube_object *kube_watch__find(const struct kube_watch *w, const char *key)
{
	uint32_t hash = hash_of(key);

	for (struct kube_object *o = w->n_buckets ? w->buckets[hash & (w->n_buckets - 1)] : NULL; o;
	     o = o->next)
		if (o->hash == hash && strcmp(o->key, key) == 0)
			return o;
	return NULL;
}

static bool grow(struct kube_watch *w)
{
	uint32_t n = w->n_buckets ? w->n_buckets * 2 : 64;
	struct kube_object **buckets;

	if (w->n < w->n_buckets)
		return true;
	buckets = mem__zalloc(n, sizeof(*buckets));
	if (!buckets)
		return w->n_buckets > 0;
	for (uint32_t i = 0; i < w->n_buckets; i++)
		for (struct kube_object *o = w->buckets[i], *next; o; o = next) {
			next = o->next;
			o->next = buckets[o->hash & (n - 1)];
			buckets[o->hash & (n - 1)] = o;
		}
	free(w->buckets);
	w->buckets = buckets;
	w->n_buckets = n;
	return true;
}

static size_t bytes_of(const struct kube_object *o)
{
	return sizeof(*o) + strlen(o->key) + 1 + (o->doc ? o->doc->n_bytes : 0);
}

static struct kube_object *add_object(struct kube_watch *w, const char *key)
{
	const size_t n = strlen(key) + 1;
	struct kube_object *o = grow(w) ? mem__zalloc(1, sizeof(*o) + n) : NULL;

	if (!o)
		return NULL;
	memcpy(o->key, key, n);
	o->hash = hash_of(key);
	o->next = w->buckets[o->hash & (w->n_buckets - 1)];
	w->buckets[o->hash & (w->n_buckets - 1)] = o;
	w->n++;
	w->n_bytes += bytes_of(o);
	return o;
}

static void remove_object(struct kube_watch *w, struct kube_object *o)
{
	struct kube_object **at = &w->buckets[o->hash & (w->n_buckets - 1)];

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	w->n--;
	w->n_bytes -= bytes_of(o);
	discovery__lost(w->kube->d, &o->source);
	kube__changed(w, o);
	kube_doc__free(o->doc);
	vec__fini(&o->asked);
	free(o);
}

/* ---- what comes ---- */

static bool key_of(const json_t *object, char ret[static 600])
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *name = json_string_value(json_object_get(meta, "name"));
	const char *namespace = json_string_value(json_object_get(meta, "namespace"));
	int n = snprintf(ret, 600, "%s%s%s", namespace ? namespace : "", namespace ? "/" : "",
			 name ? name : "");

	return name && n > 0 && n < 600;
}

static void fail(struct kube_watch *w, const char *what)
{
	discovery__failed(w->kube->d, "%s: %s", kube_resources[w->resource].name, what);
	w->is_told = true;
}

static void tell_full(const struct kube_watch *w)
{
	discovery__failed(w->kube->d,
			  "%s: %u have no room, as no more than %d are held, and %zu MiB; choose "
			  "some by namespaces or selectors",
			  kube_resources[w->resource].name, w->n_left_out, MAX_OBJECTS, MAX_BYTES >> 20);
}

/* That there are too many of another resource remains to be told. */
static void go_well(struct kube_watch *w)
{
	const struct kube *k = w->kube;

	w->n_failures = 0;
	w->is_told = false;
	for (size_t i = 0; i < k->watches.n; i++)
		if (k->watches.v[i]->n_left_out) {
			tell_full(k->watches.v[i]);
			return;
		}
	discovery__well(k->d);
}

/* One that there is no room for is not known, as if it were not there: until the next list. */
static void leave_out(struct kube_watch *w, struct kube_object *o)
{
	const struct dcm_host *host = w->kube->d->job->host;

	if (o)
		remove_object(w, o);
	if (w->n_left_out++ == 0 && !w->is_listing)
		tell_full(w);
	host->drop(host, "kubernetes_objects", 1);
}

static bool has_room(const struct kube_watch *w, const struct kube_object *o, const struct kube_doc *new)
{
	const size_t before = o && o->doc ? o->doc->n_bytes : 0;

	return (o || w->n < MAX_OBJECTS) && w->n_bytes - before + new->n_bytes <= MAX_BYTES;
}

/* The object is as the document says, which it takes. False: out of memory. */
static bool put_doc(struct kube_watch *w, const char *key, struct kube_doc *doc)
{
	struct kube_object *o = kube_watch__find(w, key);

	if (!has_room(w, o, doc)) {
		kube_doc__free(doc);
		leave_out(w, o);
		return true;
	}
	if (!o)
		o = add_object(w, key);
	if (!o) {
		kube_doc__free(doc);
		return false;
	}
	w->n_seen += !o->is_seen;
	o->is_seen = true;
	if (o->doc && kube_doc__are_same(o->doc, doc)) {
		kube_doc__free(doc);
		return true;
	}
	w->n_bytes -= bytes_of(o);
	kube_doc__free(o->doc);
	o->doc = doc;
	w->n_bytes += bytes_of(o);
	kube__changed(w, o);
	return true;
}

/* An object as it is now. False: it could not be kept, which was told. */
static bool put(struct kube_watch *w, json_t *object)
{
	const struct kube_resource_kind *kind = &kube_resources[w->resource];
	struct texts *texts = w->kube->d->job->texts;
	struct kube_doc *doc;
	char key[600];

	if (!key_of(object, key)) {
		fail(w, "an object has no name");
		return false;
	}
	doc = kube_doc__new(texts, object, w->is_primary || !kind->joined ? kind->mask : kind->joined);
	if (doc && put_doc(w, key, doc))
		return true;
	fail(w, "out of memory");
	return false;
}

static void ask(struct kube_watch *w);

static void later(struct kube_watch *w, int64_t ns)
{
	const struct dcm_host *host = w->kube->d->job->host;

	loop__set(w->kube->d->job->loop, &w->again, host->mono_ns(host) + ns);
}

static void back_off(struct kube_watch *w)
{
	uint32_t n = w->n_failures < BACKOFF_MOST ? w->n_failures : BACKOFF_MOST;

	w->n_failures++;
	later(w, BACKOFF_NS << n);
}

static void forget_version(struct kube_watch *w)
{
	free(w->version);
	free(w->more);
	w->version = w->more = NULL;
}

static void set_text(char **to, const json_t *meta, const char *key)
{
	const char *value = json_string_value(json_object_get(meta, key));

	free(*to);
	*to = value && value[0] ? strdup(value) : NULL;
}

/* ---- lists ---- */

static void each_object(struct kube_watch *w, void (*fn)(struct kube_watch *w, struct kube_object *o))
{
	for (uint32_t i = 0; i < w->n_buckets; i++)
		for (struct kube_object *o = w->buckets[i], *next; o; o = next) {
			next = o->next;
			fn(w, o);
		}
}

static void unsee(struct kube_watch *w, struct kube_object *o)
{
	(void)w;
	o->is_seen = false;
}

static void remove_unseen(struct kube_watch *w, struct kube_object *o)
{
	if (!o->is_seen)
		remove_object(w, o);
}

struct taking {
	struct kube_watch *w;
	bool is_well;
};

static void take_item(void *ctx, json_t *object)
{
	struct taking *t = ctx;

	t->is_well &= put(t->w, object);
}

static bool take_page(struct kube_watch *w, const struct query_reply *reply)
{
	const uint32_t n_before = w->n_seen + w->n_left_out;
	struct taking t = { w, true };
	json_t *meta = NULL;
	const char *fault = kube_page__read(reply->data, reply->n, take_item, &t, &meta);

	set_text(&w->more, meta, "continue");
	set_text(&w->version, meta, "resourceVersion");
	json_decref(meta);
	if (!fault && !w->version)
		fault = "the list has no resourceVersion";
	if (!fault && t.is_well && w->more && w->n_seen + w->n_left_out == n_before)
		fault = "the list goes on and on, and says nothing new";
	if (fault)
		fail(w, fault);
	return t.is_well && !fault;
}

static void listed(void *ctx, const struct query_reply *reply)
{
	struct kube_watch *w = ctx;

	w->query = NULL;
	if (reply->fault == -ECANCELED)
		return;
	/* The rest of a list that took long may not be known any more: once, that is nothing to tell of. */
	if (reply->fault || reply->status != 200) {
		if (reply->fault || reply->status != 410 || w->n_failures)
			fail(w, reply->sentence);
		forget_version(w);
		back_off(w);
		return;
	}
	if (!take_page(w, reply)) {
		forget_version(w);
		back_off(w);
		return;
	}
	if (!w->more) {
		w->is_listing = false;
		w->is_synced = true;
		each_object(w, remove_unseen);
		go_well(w);
		kube__listed(w->kube);
	}
	ask(w);
}

/* ---- watches ---- */

static void take_error(struct kube_watch *w, const json_t *status)
{
	if (json_integer_value(json_object_get(status, "code")) == 410)
		forget_version(w);
	else
		fail(w, "the watch ended with an error; it begins anew");
	query__cancel(w->query);
	w->query = NULL;
	back_off(w);
}

/* False: it was not taken, which was told. */
static bool take_change(struct kube_watch *w, const char *type, json_t *object)
{
	struct kube_object *o;
	char key[600];

	if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
		return put(w, object);
	if (strcmp(type, "DELETED") != 0)
		return true; /* BOOKMARK: the version alone */
	if (!key_of(object, key)) {
		fail(w, "an object has no name");
		return false;
	}
	o = kube_watch__find(w, key);
	if (o)
		remove_object(w, o);
	return true;
}

/* What an event said is missing: only a list has it. */
static void list_anew(struct kube_watch *w)
{
	forget_version(w);
	query__cancel(w->query);
	w->query = NULL;
	back_off(w);
}

static void event(void *ctx, const char *line, size_t n)
{
	struct kube_watch *w = ctx;
	json_error_t why;
	json_t *root = json_loadb(line, n, 0, &why);
	const char *type = json_string_value(json_object_get(root, "type"));
	json_t *object = json_object_get(root, "object");

	if (!type || !object) {
		fail(w, "an event of the watch cannot be read; the list is read anew");
		list_anew(w);
	} else if (strcmp(type, "ERROR") == 0) {
		take_error(w, object);
	} else if (take_change(w, type, object)) {
		set_text(&w->version, json_object_get(object, "metadata"), "resourceVersion");
		if (w->is_told)
			go_well(w);
	} else {
		list_anew(w);
	}
	json_decref(root);
}

static void watch_ended(void *ctx, const struct query_reply *reply)
{
	struct kube_watch *w = ctx;
	const struct dcm_host *host = w->kube->d->job->host;

	w->query = NULL;
	if (reply->fault == -ECANCELED)
		return;
	if (reply->fault ? reply->fault != -ETIMEDOUT : reply->status != 200 && reply->status != 410)
		fail(w, reply->sentence);
	else if (w->is_told)
		go_well(w);
	/* The version may be what is refused: a list says another. */
	if (!reply->fault &&
	    (reply->status == 410 || (reply->status != 200 && w->n_failures >= REFUSALS)))
		forget_version(w);
	/* A watch that lasted is no failure, however it ended. */
	if (host->mono_ns(host) - w->began_mono_ns > 10 * BACKOFF_NS)
		w->n_failures = 0;
	back_off(w);
}

/* ---- asking ---- */

static const struct kube_selector *selector_of(const struct kube_watch *w)
{
	const struct kube_options *o = w->kube->options;
	const struct kube_selector *all = o->selectors.items;

	for (uint32_t i = 0; i < o->selectors.n; i++)
		if (all[i].role == (int32_t)w->resource)
			return &all[i];
	return NULL;
}

static void add_param(struct buf *b, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	buf__printf(b, "&%s=", name);
	url__escape(b, str__of(value));
}

static void build_url(const struct kube_watch *w, struct buf *b)
{
	const struct kube_resource_kind *r = &kube_resources[w->resource];
	const struct kube_selector *s = selector_of(w);

	buf__printf(b, "%s/%s", w->kube->access.server, r->group);
	if (w->namespace)
		buf__text(b, "/namespaces/");
	if (w->namespace)
		url__escape(b, str__of(w->namespace));
	buf__printf(b, "/%s?", r->name);
	if (w->is_listing)
		buf__printf(b, "limit=%d", PAGE);
	else
		buf__printf(b, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%d", WATCH_S);
	add_param(b, "resourceVersion", w->is_listing ? NULL : w->version);
	add_param(b, "continue", w->is_listing ? w->more : NULL);
	add_param(b, "labelSelector", s ? s->label : NULL);
	add_param(b, "fieldSelector", s ? s->field : NULL);
	buf__byte(b, '\0');
}

static void ask(struct kube_watch *w)
{
	struct discovery *d = w->kube->d;
	struct dcm_http_header accept = { STR("Accept"), STR("application/json") };
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf url = { 0 };
	int r;

	if (!w->version) {
		w->is_listing = true;
		w->n_seen = w->n_left_out = 0;
		each_object(w, unsee);
	}
	build_url(w, &url);
	w->began_mono_ns = d->job->host->mono_ns(d->job->host);
	if (url.error) {
		r = error__nomem(&err);
	} else {
		struct query_ask a = { .host = d->job->host,
				       .loop = d->job->loop,
				       .client = w->kube->client,
				       .url = (const char *)url.data,
				       .headers = &accept,
				       .n_headers = 1,
				       .timeout_ns = w->is_listing ? LIST_NS
								   : (WATCH_S + 30) * (int64_t)1000000000,
				       .line = w->is_listing ? NULL : event,
				       .done = w->is_listing ? listed : watch_ended,
				       .ctx = w };

		r = query__start(&a, &w->query, &err);
	}
	buf__fini(&url);
	if (r == 0 || r == -ESHUTDOWN)
		return;
	fail(w, err.text);
	back_off(w);
}

static void again(void *ctx)
{
	ask(ctx);
}

/* ---- lifecycle ---- */

void kube_watch__free(struct kube_watch *w)
{
	if (!w)
		return;
	loop__cancel(w->kube->d->job->loop, &w->again);
	query__cancel(w->query);
	each_object(w, remove_object);
	free(w->buckets);
	forget_version(w);
	free(w);
}

int kube_watch__new(struct kube *k, enum kube_resource resource, const char *namespace, bool is_primary)
{
	struct kube_watch *w = NEW(struct kube_watch);

	if (!w)
		return -ENOMEM;
	w->kube = k;
	w->resource = resource;
	w->namespace = kube_resources[resource].has_no_namespace ? NULL : namespace;
	w->is_primary = is_primary;
	w->again.fn = again;
	w->again.ctx = w;
	if (!vec__push(&k->watches, w)) {
		free(w);
		return -ENOMEM;
	}
	return loop__set(k->d->job->loop, &w->again, k->d->job->host->mono_ns(k->d->job->host));
}
