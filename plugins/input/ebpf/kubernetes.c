/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/kubernetes.c - which pod a container belongs to
 *
 * An answer becomes a table of containers sorted by id, which replaces the old one as a whole. At
 * most 16 MiB of answer and 16,384 containers; the token is read anew for each question, because
 * Kubernetes replaces it.
 */
#include "plugins/input/ebpf/kubernetes.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/json_tags.h"
#include "plugins/input/ebpf/thread.h"
#include "plugins/input/ebpf/background.h"

enum {
	TOKEN_BYTES_MAX = 64 * 1024,
	ANSWER_BYTES_MAX = 16 << 20,
};
#define SOONEST_NS 2000000000ll
#define TIMEOUT_NS 5000000000ll

struct container {
	char *id;
	struct buf rows;
};

struct table {
	VEC(struct container) containers; /* sorted by id */
	bool is_cut;			  /* there are more */
};

struct kubernetes {
	const struct dcm_host *host;
	struct settings_kubernetes settings; /* texts are ours, never NULL */
	struct dcm_metric *requests, *failures, *containers;
	char last_error[1024]; /* told; the thread's */

	_Atomic uint64_t version;
	struct background bg; /* its lock: over all below */
	struct table table;
	struct buf node; /* rows of tags of the node, which all containers have */
	bool asked;	 /* for a container that the table has not */
};

static void table_fini(struct table *t)
{
	for (size_t i = 0; i < t->containers.n; i++) {
		free(t->containers.v[i].id);
		buf__fini(&t->containers.v[i].rows);
	}
	vec__fini(&t->containers);
}

static char *copy_of(const char *text)
{
	return mem__dup_str(text ? text : "", text ? strlen(text) : 0);
}

struct kubernetes *kubernetes__new(const struct dcm_host *host, const struct settings_kubernetes *settings)
{
	struct kubernetes *k = NEW(struct kubernetes);

	if (!k)
		return NULL;
	k->host = host;
	k->settings = *settings;
	k->settings.url = copy_of(settings->url);
	k->settings.node = copy_of(settings->node);
	k->settings.token_file = copy_of(settings->token_file);
	k->settings.ca_file = copy_of(settings->ca_file);
	atomic_init(&k->version, 1);
	background__init(&k->bg);
	if (!k->settings.url || !k->settings.node || !k->settings.token_file || !k->settings.ca_file) {
		kubernetes__free(k);
		return NULL;
	}
	if (settings->source == SETTINGS_KUBERNETES_NONE)
		return k;
	k->requests = host->metric(host, DCM_COUNTER, "sampler_kubernetes_requests_total",
				   "questions for the pods of this node");
	k->failures = host->metric(host, DCM_COUNTER, "sampler_kubernetes_failures_total",
				   "of these, without a usable answer");
	k->containers = host->metric(host, DCM_GAUGE_METRIC, "sampler_kubernetes_containers",
				     "containers whose pod is known");
	return k;
}

void kubernetes__free(struct kubernetes *k)
{
	if (!k)
		return;
	background__stop(&k->bg);
	table_fini(&k->table);
	buf__fini(&k->node);
	free((char *)(uintptr_t)k->settings.url);
	free((char *)(uintptr_t)k->settings.node);
	free((char *)(uintptr_t)k->settings.token_file);
	free((char *)(uintptr_t)k->settings.ca_file);
	background__fini(&k->bg);
	free(k);
}

/* ------------------------------------------------------------------------------------------------
 * An answer
 */

static void add_controller(struct buf *rows, json_t *owners)
{
	size_t i;
	json_t *owner;

	json_array_foreach(owners, i, owner) if (json_is_true(json_object_get(owner, "controller")))
	{
		json_tags__add(rows, "__meta_kubernetes_pod_controller_kind", owner, "kind");
		json_tags__add(rows, "__meta_kubernetes_pod_controller_name", owner, "name");
	}
}

static void add_ready(struct buf *rows, json_t *conditions)
{
	size_t i;
	json_t *condition;

	json_array_foreach(conditions, i,
			   condition) if (str__eq(json_tags__text(condition, "type"), STR("Ready")))
		/* Prometheus has "true", "false" and "unknown". */
		tags__add(rows, STR("__meta_kubernetes_pod_ready"),
			  str__eq(json_tags__text(condition, "status"), STR("True")) ? STR("true")
			  : str__eq(json_tags__text(condition, "status"), STR("False"))
				  ? STR("false")
				  : STR("unknown"));
}

/* What all containers of a pod have. */
static void add_pod(struct buf *rows, json_t *pod)
{
	json_t *meta = json_object_get(pod, "metadata"), *status = json_object_get(pod, "status");

	json_tags__add(rows, "namespace", meta, "namespace");
	json_tags__add(rows, "pod", meta, "name");
	json_tags__add(rows, "__meta_kubernetes_namespace", meta, "namespace");
	json_tags__add(rows, "__meta_kubernetes_pod_name", meta, "name");
	json_tags__add(rows, "__meta_kubernetes_pod_uid", meta, "uid");
	json_tags__add(rows, "__meta_kubernetes_pod_node_name", json_object_get(pod, "spec"), "nodeName");
	json_tags__add(rows, "__meta_kubernetes_node_name", json_object_get(pod, "spec"), "nodeName");
	json_tags__add(rows, "__meta_kubernetes_pod_ip", status, "podIP");
	json_tags__add(rows, "__meta_kubernetes_pod_host_ip", status, "hostIP");
	json_tags__add(rows, "__meta_kubernetes_pod_phase", status, "phase");
	add_controller(rows, json_object_get(meta, "ownerReferences"));
	add_ready(rows, json_object_get(status, "conditions"));
}

/* "containerd://ID" to ID. */
static struct dcm_str id_of(struct dcm_str container_id)
{
	for (uint32_t i = 0; i + 3 <= container_id.n; i++)
		if (memcmp(container_id.p + i, "://", 3) == 0)
			return (struct dcm_str){ container_id.p + i + 3, container_id.n - i - 3 };
	return STR("");
}

static int add_container(struct table *t, json_t *pod, json_t *status, bool is_init)
{
	json_t *meta = json_object_get(pod, "metadata");
	struct dcm_str id = id_of(json_tags__text(status, "containerID"));
	struct container c = { .id = NULL };

	/* One that waits to be started has none yet. */
	if (id.n == 0)
		return 0;
	if (t->containers.n >= KUBERNETES_CONTAINERS_MAX) {
		t->is_cut = true;
		return 0;
	}
	json_tags__add(&c.rows, "container", status, "name");
	add_pod(&c.rows, pod);
	json_tags__add(&c.rows, "__meta_kubernetes_pod_container_name", status, "name");
	json_tags__add(&c.rows, "__meta_kubernetes_pod_container_id", status, "containerID");
	json_tags__add(&c.rows, "__meta_kubernetes_pod_container_image", status, "image");
	tags__add(&c.rows, STR("__meta_kubernetes_pod_container_init"),
		  is_init ? STR("true") : STR("false"));
	json_tags__add_map(&c.rows, "__meta_kubernetes_pod_label", json_object_get(meta, "labels"));
	json_tags__add_map(&c.rows, "__meta_kubernetes_pod_annotation",
			   json_object_get(meta, "annotations"));
	c.id = mem__dup_str(id.p, id.n);
	if (!c.id || c.rows.error || !vec__push(&t->containers, c)) {
		free(c.id);
		buf__fini(&c.rows);
		return -ENOMEM;
	}
	return 0;
}

static int add_containers(struct table *t, json_t *pod)
{
	static const struct {
		const char *key;
		bool is_init;
	} lists[] = { { "containerStatuses", false },
		      { "initContainerStatuses", true },
		      { "ephemeralContainerStatuses", false } };
	json_t *status = json_object_get(pod, "status"), *one;
	size_t i;
	int r = 0;

	for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++)
		json_array_foreach(json_object_get(status, lists[l].key), i, one) if (r == 0)
			r = add_container(t, pod, one, lists[l].is_init);
	return r;
}

static int by_id(const void *pa, const void *pb)
{
	const struct container *a = pa, *b = pb;

	return strcmp(a->id, b->id);
}

static bool same_table(const struct table *a, const struct table *b)
{
	if (a->containers.n != b->containers.n)
		return false;
	for (size_t i = 0; i < a->containers.n; i++)
		if (strcmp(a->containers.v[i].id, b->containers.v[i].id) != 0 ||
		    !str__eq(buf__view(&a->containers.v[i].rows), buf__view(&b->containers.v[i].rows)))
			return false;
	return true;
}

int kubernetes__take(struct kubernetes *k, const char *json, size_t n)
{
	json_t *list = json_loadb(json, n, JSON_REJECT_DUPLICATES, NULL), *items, *pod;
	struct table fresh = { 0 }, old;
	bool is_cut;
	size_t i;
	int r = 0;

	items = json_object_get(list, "items");
	if (!json_is_array(items)) {
		json_decref(list);
		return -EBADMSG;
	}
	json_array_foreach(items, i, pod) if (r == 0) r = add_containers(&fresh, pod);
	json_decref(list);
	if (r < 0) {
		table_fini(&fresh);
		return r;
	}
	if (fresh.containers.n)
		qsort(fresh.containers.v, fresh.containers.n, sizeof(*fresh.containers.v), by_id);
	is_cut = fresh.is_cut;
	k->host->metric_set(k->containers, (double)fresh.containers.n);
	pthread_mutex_lock(&k->bg.lock);
	old = fresh;
	if (!same_table(&k->table, &fresh)) {
		old = k->table;
		k->table = fresh;
		atomic_fetch_add(&k->version, 1);
	}
	pthread_mutex_unlock(&k->bg.lock);
	table_fini(&old);
	return is_cut ? -EFBIG : 0;
}

int kubernetes__take_node(struct kubernetes *k, const char *json, size_t n)
{
	json_t *node = json_loadb(json, n, JSON_REJECT_DUPLICATES, NULL);
	json_t *meta = json_object_get(node, "metadata");
	struct buf rows = { 0 };
	bool fits = json_is_string(json_object_get(meta, "name"));

	if (fits) {
		json_tags__add_map(&rows, "__meta_kubernetes_node_label",
				   json_object_get(meta, "labels"));
		json_tags__add_map(&rows, "__meta_kubernetes_node_annotation",
				   json_object_get(meta, "annotations"));
	}
	json_decref(node);
	if (!fits || rows.error) {
		buf__fini(&rows);
		return fits ? -ENOMEM : -EBADMSG;
	}
	pthread_mutex_lock(&k->bg.lock);
	if (!str__eq(buf__view(&k->node), buf__view(&rows))) {
		struct buf old = k->node;

		k->node = rows;
		rows = old;
		atomic_fetch_add(&k->version, 1);
	}
	pthread_mutex_unlock(&k->bg.lock);
	buf__fini(&rows);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * A question
 */

/* What is asked for, and what an answer to it is good for. */
struct question {
	const char *right, *what; /* for sentences */
	int (*take)(struct kubernetes *k, const char *json, size_t n);
};

static const struct question for_pods = {
	.right = "list pods (nodes/proxy for the kubelet, pods for the API server)",
	.what = "list of pods",
	.take = kubernetes__take,
};
static const struct question for_node = {
	.right = "get this node (nodes)",
	.what = "node",
	.take = kubernetes__take_node,
};

static int read_token(const struct kubernetes *k, struct buf *ret, struct dcm_error *err)
{
	int r;

	if (!k->settings.token_file[0])
		return 0;
	r = fd__read_path(AT_FDCWD, k->settings.token_file, TOKEN_BYTES_MAX, ret);
	if (r < 0)
		return error__sys(err, r, "%s: the token cannot be read; set kubernetes.token_file",
				  k->settings.token_file);
	while (ret->n > 0 && (ret->data[ret->n - 1] == '\n' || ret->data[ret->n - 1] == ' '))
		ret->data[--ret->n] = 0;
	return 0;
}

static void make_url(const struct kubernetes *k, const struct question *q, struct buf *ret)
{
	const char *node = k->settings.node[0] ? k->settings.node : k->host->node;
	const struct settings_kubernetes *s = &k->settings;
	bool kubelet = s->source == SETTINGS_KUBERNETES_KUBELET;
	struct dcm_str base = str__of(s->url);

	if (base.n == 0)
		base = kubelet ? STR("https://127.0.0.1:10250") : STR("https://kubernetes.default.svc");
	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	buf__str(ret, base);
	if (q == &for_node)
		buf__printf(ret, "/api/v1/nodes/%s", node);
	else if (kubelet)
		buf__text(ret, "/pods");
	else
		buf__printf(ret, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", node);
}

static int ask(struct kubernetes *k, const struct question *q,
	       const struct dcm_http_request *request, struct dcm_error *err)
{
	struct dcm_http_answer answer = { .size = sizeof(answer) };
	int r = k->host->http_get(k->host, request, &answer, err);

	if (r < 0)
		return r;
	if (answer.status == 401 || answer.status == 403)
		r = error__set(err, -EACCES, "%s: answered %d: the token may not %s", request->url,
			       answer.status, q->right);
	else if (answer.status != 200)
		r = error__set(err, -EIO, "%s: answered %d, not 200", request->url, answer.status);
	else
		r = q->take(k, (const char *)answer.data, answer.n);
	if (r == -EBADMSG)
		error__set(err, r, "%s: the answer is no %s", request->url, q->what);
	else if (r == -EFBIG)
		error__set(err, r, "%s: the answer has more containers than the %d that are known here",
			   request->url, KUBERNETES_CONTAINERS_MAX);
	else if (r == -ENOMEM)
		error__nomem(err);
	free(answer.data);
	return r;
}

static int ask_for(struct kubernetes *k, const struct question *q, struct dcm_error *err)
{
	struct dcm_http_request request = { .size = sizeof(request),
					    .ca_file = k->settings.ca_file[0] ? k->settings.ca_file : NULL,
					    .insecure = k->settings.insecure,
					    .timeout_ns = TIMEOUT_NS,
					    .max_bytes = ANSWER_BYTES_MAX };
	struct buf url = { 0 }, token = { 0 };
	int r;

	if (!DCM_HAS(k->host, http_get))
		return error__set(err, -ENOSYS,
				  "this host has no HTTP client: needs <decima/plugin.h> 1.1");
	make_url(k, q, &url);
	r = url.error ? error__nomem(err) : read_token(k, &token, err);
	if (r == 0) {
		request.url = (const char *)url.data;
		request.bearer = token.n ? (const char *)token.data : NULL;
		r = ask(k, q, &request, err);
	}
	buf__fini(&url);
	buf__fini(&token);
	return r;
}

int kubernetes__ask(struct kubernetes *k, struct dcm_error *err)
{
	int r = ask_for(k, &for_pods, err);

	if (r == 0 && k->settings.node_labels && k->settings.source == SETTINGS_KUBERNETES_API)
		r = ask_for(k, &for_node, err);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * The thread
 */

static void ask_and_tell(struct kubernetes *k)
{
	struct dcm_error err = DCM_ERROR_INIT;

	k->host->metric_add(k->requests, 1);
	if (kubernetes__ask(k, &err) == 0) {
		if (k->last_error[0])
			k->host->log(k->host, DCM_LOG_INFO, "Kubernetes: all is known again");
		k->last_error[0] = 0;
		return;
	}
	k->host->metric_add(k->failures, 1);
	if (strncmp(k->last_error, err.text, sizeof(k->last_error) - 1) == 0)
		return;
	snprintf(k->last_error, sizeof(k->last_error), "%s", err.text);
	k->host->log(k->host, DCM_LOG_WARNING, "Kubernetes: containers have no pod, or no node: %s",
		     err.text);
}

/* Until the interval is over, or somebody asked and 2 s are. With the lock. */
static void wait_for_next(struct kubernetes *k, int64_t last_ns)
{
	while (!k->bg.stopping) {
		int64_t until = last_ns + (k->asked ? SOONEST_NS : k->settings.interval_ns);
		struct timespec deadline = thread__timespec(until);

		if (thread__mono_ns() >= until)
			break;
		pthread_cond_timedwait(&k->bg.changed, &k->bg.lock, &deadline);
	}
	k->asked = false;
}

static void *run(void *arg)
{
	struct kubernetes *k = arg;

	pthread_mutex_lock(&k->bg.lock);
	while (!k->bg.stopping) {
		int64_t now = thread__mono_ns();

		pthread_mutex_unlock(&k->bg.lock);
		ask_and_tell(k);
		pthread_mutex_lock(&k->bg.lock);
		wait_for_next(k, now);
	}
	pthread_mutex_unlock(&k->bg.lock);
	return NULL;
}

int kubernetes__start(struct kubernetes *k)
{
	if (k->settings.source == SETTINGS_KUBERNETES_NONE)
		return 0;
	return background__start(&k->bg, "ebpf-kubernetes", run, k);
}

/* ------------------------------------------------------------------------------------------------
 * From other threads
 */

static const struct container *find(const struct table *t, const char *id)
{
	const struct container key = { .id = (char *)(uintptr_t)id };

	return t->containers.n
		       ? bsearch(&key, t->containers.v, t->containers.n, sizeof(*t->containers.v), by_id)
		       : NULL;
}

bool kubernetes__find(struct kubernetes *k, struct dcm_str container_id, struct buf *rows)
{
	const struct container *c;
	char id[128];

	if (k->settings.source == SETTINGS_KUBERNETES_NONE || container_id.n == 0 ||
	    container_id.n >= sizeof(id))
		return false;
	memcpy(id, container_id.p, container_id.n);
	id[container_id.n] = 0;
	pthread_mutex_lock(&k->bg.lock);
	c = find(&k->table, id);
	if (c) {
		buf__str(rows, buf__view(&c->rows));
		buf__str(rows, buf__view(&k->node));
	} else if (!k->asked) {
		k->asked = true;
		pthread_cond_broadcast(&k->bg.changed);
	}
	pthread_mutex_unlock(&k->bg.lock);
	return c != NULL;
}

uint64_t kubernetes__version(const struct kubernetes *k)
{
	return atomic_load(&k->version);
}
