/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kubernetes_sd.c - targets that a Kubernetes cluster has, by the objects of a role
 *
 * Which objects a role watches and joins: kube_roles.c; how they are kept up, and whose targets are
 * made anew when one of them has changed: kube.h. That is done at most once a second when what changed
 * is joined with others. Source: prometheus.io, kubernetes_sd_config; Prometheus' discovery/kubernetes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/kube.h"
#include "plugins/input/pprof_scrape/kube_selector.h"

#define ACCOUNT	 "/var/run/secrets/kubernetes.io/serviceaccount"
#define SOON_NS	 ((int64_t)100000000)
#define LATER_NS ((int64_t)1000000000)

/* ---- options ---- */

static const char *const roles[] = { "node",	      "pod",	 "service", "endpoints",
				     "endpointslice", "ingress", NULL };

static const struct dcm_option selector_rows[] = {
	{ .name = "role",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct kube_selector, role),
	  .choices = roles,
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "Which objects: those of the role itself; pod and service for endpoints and "
		 "endpointslice; "
		 "node for pod." },
	{ .name = "label",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct kube_selector, label),
	  .doc = "A label selector, as \"app in (a, b)\"." },
	{ .name = "field",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct kube_selector, field),
	  .doc = "A field selector, as \"spec.nodeName=here\"." },
};
static const struct dcm_table selector_table = DCM_TABLE(struct kube_selector, selector_rows);

static const struct dcm_option namespace_rows[] = {
	{ .name = "own_namespace",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct kube_namespaces, own_namespace),
	  .doc = "The one that we run in." },
	{ .name = "names",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct kube_namespaces, names),
	  .doc = "These." },
};

static const struct dcm_option attach_rows[] = {
#define ATTACH(key, member, text)                                                                  \
	{                                                                                          \
		.name = key, .type = DCM_OPT_BOOL, .offset = offsetof(struct kube_attach, member), \
		.doc = text                                                                        \
	}
	ATTACH("node", node, "Labels and annotations of the node: for pod, endpoints and endpointslice."),
	ATTACH("namespace", namespace, "Labels and annotations of the namespace: for all but node."),
	ATTACH("deployment", deployment, "The name of a pod's Deployment; watches ReplicaSets."),
	ATTACH("job", job, "The name of a pod's Job."),
	ATTACH("cronjob", cronjob, "The name of a pod's CronJob; watches Jobs."),
#undef ATTACH
};
static const struct dcm_table namespace_table = DCM_TABLE(struct kube_namespaces, namespace_rows);
static const struct dcm_table attach_table = DCM_TABLE(struct kube_attach, attach_rows);

static const struct dcm_option rows[] = {
	{ .name = "role",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct kube_options, role),
	  .choices = roles,
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "Which objects targets are made of." },
	{ .name = "api_server",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct kube_options, api_server),
	  .doc = "http:// or https://. Without it, and without kubeconfig_file, we run in a pod, "
		 "and ask as "
		 "its service account." },
	{ .name = "kubeconfig_file",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct kube_options, kubeconfig_file),
	  .flags = DCM_OPT_PATH,
	  .doc = "A kubeconfig, whose current context says where and as whom to ask. One that runs "
		 "a "
		 "program for that is refused." },
	{ .name = "namespaces",
	  .type = DCM_OPT_STRUCT,
	  .table = &namespace_table,
	  .offset = offsetof(struct kube_options, namespaces),
	  .doc = "Whose objects. Without it, all." },
	{ .name = "selectors",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRUCT,
	  .table = &selector_table,
	  .offset = offsetof(struct kube_options, selectors),
	  .doc = "Ask for some of the objects only." },
	{ .name = "attach_metadata",
	  .type = DCM_OPT_STRUCT,
	  .table = &attach_table,
	  .offset = offsetof(struct kube_options, attach),
	  .doc = "What of other objects becomes labels besides. Each is a watch more." },
	{ .name = "",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_HTTP_CLIENT,
	  .offset = offsetof(struct kube_options, http) },
};

/* Whose selectors each role may have, a bit for each. */
static const uint32_t allowed[] = {
	[KUBE_NODE] = 1u << KUBE_NODE,
	[KUBE_POD] = 1u << KUBE_POD | 1u << KUBE_NODE,
	[KUBE_SERVICE] = 1u << KUBE_SERVICE,
	[KUBE_ENDPOINTS] = 1u << KUBE_ENDPOINTS | 1u << KUBE_POD | 1u << KUBE_SERVICE,
	[KUBE_SLICE] = 1u << KUBE_SLICE | 1u << KUBE_POD | 1u << KUBE_SERVICE,
	[KUBE_INGRESS] = 1u << KUBE_INGRESS,
};

static int check_selectors(const struct kube_options *o, struct dcm_error *err)
{
	const struct kube_selector *s = o->selectors.items;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < o->selectors.n; i++) {
		if (seen & 1u << s[i].role)
			return error__set(err, -EINVAL,
					  "selectors: role %s has two; join them with a comma",
					  roles[s[i].role]);
		seen |= 1u << s[i].role;
		if (!(allowed[o->role] & 1u << s[i].role))
			return error__set(err, -EINVAL,
					  "selectors: role %s looks at no objects of role %s",
					  roles[o->role], roles[s[i].role]);
		if (s[i].label && !kube_selector__is_of_labels(s[i].label))
			return error__set(err, -EINVAL, "selectors: label: \"%s\" is no selector, as \"app=web,tier in (a, b)\"",
					  s[i].label);
		if (s[i].field && !kube_selector__is_of_fields(s[i].field))
			return error__set(err, -EINVAL, "selectors: field: \"%s\" is no selector, as \"status.phase=Running\"",
					  s[i].field);
	}
	return 0;
}

static bool is_custom(const struct dcm_http_options *h)
{
	return h->basic.username || h->basic.username_file || h->authorization.credentials.text ||
	       h->authorization.credentials.file || h->bearer.text || h->bearer.file ||
	       h->oauth2.client_id || h->tls.ca || h->tls.cert || h->tls.ca_file ||
	       h->tls.cert_file || h->tls.server_name || h->tls.insecure_skip_verify ||
	       h->proxy.url || h->proxy.from_environment || h->http_headers.n;
}

static int check(const void *config, struct dcm_error *err)
{
	const struct kube_options *o = config;

	if (o->api_server && (!url__is_askable(o->api_server) || strncmp(o->api_server, "http", 4) != 0))
		return error__set(err, -EINVAL,
				  "api_server: \"%s\" is not http:// or https:// with a host",
				  o->api_server);
	if (o->api_server && o->kubeconfig_file)
		return error__set(
			err, -EINVAL,
			"api_server: kubeconfig_file says it as well; leave one of them out");
	if (!o->api_server && is_custom(&o->http))
		return error__set(
			err, -EINVAL,
			"%s", o->kubeconfig_file ? "kubeconfig_file: says also as whom to ask; leave the options of the HTTP client out" : "api_server: options of the HTTP client need it; without it, the pod's service account asks");
	if (o->namespaces.own_namespace && (o->api_server || o->kubeconfig_file))
		return error__set(err, -EINVAL,
				  "namespaces: own_namespace is the pod's that we run in, and goes "
				  "with neither "
				  "api_server nor kubeconfig_file");
	return check_selectors(o, err);
}

const struct dcm_table kubernetes_sd__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct kube_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check,
};

/* ---- from objects to targets ---- */

/* What is joined with objects of the watch has been listed: in their namespace, and what is in none. */
static bool is_ready(const struct kube *k, const struct kube_watch *of)
{
	for (size_t i = 0; i < k->watches.n; i++) {
		const struct kube_watch *w = k->watches.v[i];
		const bool is_joined = !w->namespace || !of->namespace ||
				       strcmp(w->namespace, of->namespace) == 0;

		if (is_joined && !w->is_synced)
			return false;
	}
	return true;
}

static int build_targets(struct kube *k, struct kube_object *o, struct groups *found)
{
	int r;

	vec__fini(&o->asked);
	k->building = o;
	k->is_out_of_memory = false;
	r = kube_roles__build(k, o->doc->v, found);
	k->building = NULL;
	return r == 0 && k->is_out_of_memory ? -ENOMEM : r;
}

static void build(struct kube *k, struct kube_object *o)
{
	struct groups found = { 0 };
	int r = build_targets(k, o, &found);

	o->is_dirty = false;
	if (r == 0) {
		discovery__found(k->d, &o->source, &found);
		return;
	}
	groups__fini(&found);
	discovery__failed(k->d, "%s: %s", o->key,
			  r == -E2BIG ? "has more labels than can be held" : "out of memory");
}

/* ---- which objects are made anew ---- */

static uint32_t hash_of(enum kube_resource resource, const char *key)
{
	return (uint32_t)hash__bytes(key, strlen(key), resource);
}

static uint64_t *word_of(struct kube *k, uint32_t hash)
{
	return &k->changed[hash % KUBE_CHANGED_BITS / 64];
}

static bool has_changed(struct kube *k, const struct kube_object *o)
{
	for (size_t i = 0; i < o->asked.n; i++)
		if (*word_of(k, o->asked.v[i]) >> o->asked.v[i] % 64 & 1)
			return true;
	return false;
}

static void build_changed(struct kube *k, const struct kube_watch *w)
{
	for (uint32_t b = 0; b < w->n_buckets; b++)
		for (struct kube_object *o = w->buckets[b]; o; o = o->next)
			if (o->is_dirty || has_changed(k, o))
				build(k, o);
}

static void rebuild(void *ctx)
{
	struct kube *k = ctx;
	bool all = true;

	/* What has to wait stays dirty: the end of a list comes here again. */
	for (size_t i = 0; i < k->watches.n; i++) {
		const struct kube_watch *w = k->watches.v[i];

		if (!w->is_primary)
			continue;
		if (is_ready(k, w))
			build_changed(k, w);
		else
			all = false;
	}
	memset(k->changed, 0, sizeof(k->changed));
	if (all && !k->is_built) {
		k->is_built = true;
		job__looked(k->d->job);
	}
}

static bool is_whole(const struct discovery *d)
{
	const struct kube *k = d->state;

	return k && k->is_built;
}

static void rebuild_in(struct kube *k, int64_t ns)
{
	const struct dcm_host *host = k->d->job->host;

	if (!k->rebuild.place)
		loop__set(k->d->job->loop, &k->rebuild, host->mono_ns(host) + ns);
}

void kube__changed(struct kube_watch *w, struct kube_object *o)
{
	struct kube *k = w->kube;
	uint32_t hash;

	if (w->is_primary) {
		o->is_dirty = true;
		rebuild_in(k, SOON_NS);
		return;
	}
	hash = hash_of(w->resource, o->key);
	*word_of(k, hash) |= UINT64_C(1) << hash % 64;
	rebuild_in(k, LATER_NS);
}

void kube__listed(struct kube *k)
{
	rebuild_in(k, SOON_NS);
}

const struct kube_value *kube__find(struct kube *k, enum kube_resource resource,
				    const char *namespace, const char *name)
{
	const struct kube_object *o = NULL;
	char key[600];
	int n = snprintf(key, sizeof(key), "%s%s%s", namespace ? namespace : "",
			 namespace ? "/" : "", name ? name : "");

	if (!name || n < 0 || (size_t)n >= sizeof(key))
		return NULL;
	if (!vec__push(&k->building->asked, hash_of(resource, key)))
		k->is_out_of_memory = true;
	for (size_t i = 0; i < k->watches.n && !o; i++)
		if (k->watches.v[i]->resource == resource)
			o = kube_watch__find(k->watches.v[i], key);
	return o ? o->doc->v : NULL;
}

/* ---- lifecycle ---- */

static void stop(struct discovery *d)
{
	struct kube *k = d->state;

	if (!k)
		return;
	for (size_t i = 0; i < k->watches.n; i++)
		kube_watch__free(k->watches.v[i]);
	vec__fini(&k->watches);
	loop__cancel(d->job->loop, &k->rebuild);
	d->job->host->http_client_free(k->client);
	kube_access__fini(&k->access);
	free(k);
}

static int get_access(struct kube *k, struct dcm_error *err)
{
	const struct kube_options *o = k->options;
	struct kube_access *a = &k->access;

	if (o->kubeconfig_file)
		return kube_access__kubeconfig(a, o->kubeconfig_file, err);
	if (!o->api_server)
		return kube_access__in_cluster(a, ACCOUNT, err);
	a->http = o->http;
	a->server = arena__printf(
		&a->arena, "%.*s",
		(int)(strlen(o->api_server) - str__ends(str__of(o->api_server), STR("/"))),
		o->api_server);
	return a->server ? 0 : error__nomem(err);
}

static int watch_one(struct kube *k, const char *namespace)
{
	const struct kube_attach *with = &k->options->attach;
	int32_t role = k->options->role;
	bool has_pods = role == KUBE_POD || role == KUBE_ENDPOINTS || role == KUBE_SLICE;
	bool is_joined = role == KUBE_ENDPOINTS || role == KUBE_SLICE;
	int r = kube_watch__new(k, (enum kube_resource)role, namespace, true);

	if (r == 0 && is_joined)
		r = kube_watch__new(k, KUBE_SERVICE, namespace, false);
	if (r == 0 && is_joined)
		r = kube_watch__new(k, KUBE_POD, namespace, false);
	if (r == 0 && has_pods && with->deployment)
		r = kube_watch__new(k, KUBE_REPLICASET, namespace, false);
	if (r == 0 && has_pods && with->cronjob)
		r = kube_watch__new(k, KUBE_JOB, namespace, false);
	return r;
}

static bool is_among(const char *name, const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int watch_all(struct kube *k, const char *own)
{
	const char *const *names = k->options->namespaces.names.items;
	const uint32_t n = k->options->namespaces.names.n;
	int32_t role = k->options->role;
	int r = 0;

	if (role == KUBE_NODE || (n == 0 && !own))
		r = watch_one(k, NULL);
	for (uint32_t i = 0; i < n && role != KUBE_NODE && r == 0; i++)
		if (!is_among(names[i], names, i))
			r = watch_one(k, names[i]);
	if (own && role != KUBE_NODE && r == 0 && !is_among(own, names, n))
		r = watch_one(k, own);
	if (k->options->attach.node &&
	    (role == KUBE_POD || role == KUBE_ENDPOINTS || role == KUBE_SLICE) && r == 0)
		r = kube_watch__new(k, KUBE_NODE, NULL, false);
	if (k->options->attach.namespace && role != KUBE_NODE && r == 0)
		r = kube_watch__new(k, KUBE_NAMESPACE, NULL, false);
	return r;
}

/* As in Prometheus, one that cannot reach its cluster by what is said stops nobody else. */
static int start(struct discovery *d, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	struct kube *k = NEW(struct kube);
	const char *own = NULL;
	int r;

	if (!k)
		return error__nomem(err);
	d->state = k;
	k->d = d;
	k->options = d->options;
	k->rebuild.fn = rebuild;
	k->rebuild.ctx = k;
	r = get_access(k, &why);
	if (r == 0 && k->options->namespaces.own_namespace)
		r = kube_access__own_namespace(&k->access, ACCOUNT, &own, &why);
	if (r == 0)
		r = d->job->host->http_client_new(d->job->host, &k->access.http, &k->client, &why);
	if (r == 0)
		r = watch_all(k, own);
	if (r == -ENOMEM)
		return error__nomem(err);
	if (r < 0)
		discovery__failed(d, "%s", why.text);
	return 0;
}

const struct discovery_kind kubernetes_sd = {
	.name = "kubernetes_sd",
	.start = start,
	.stop = stop,
	.is_whole = is_whole,
};
