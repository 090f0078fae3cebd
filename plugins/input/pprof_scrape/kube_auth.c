/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_auth.c - how an API server of Kubernetes is reached, and as whom
 *
 * Sources: kubernetes.io, "Accessing the API from a pod" and "Configure access to multiple clusters";
 * client-go's rest.InClusterConfig() and tools/clientcmd.
 */
#include "plugins/input/pprof_scrape/kube_auth.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"

enum { MAX_FILE = 4 << 20 };

void kube_access__fini(struct kube_access *a)
{
	arena__fini(&a->arena);
}

/* ---- in a pod ---- */

static int read_file(const char *path, struct buf *out, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = fd__open_regular(path);
	int r = fd < 0 ? fd : fd__read_all(fd, MAX_FILE, out);

	return r < 0 ? error__sys(err, r, "%s: cannot be read", path) : 0;
}

int kube_access__in_cluster(struct kube_access *a, const char *dir, struct dcm_error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"),
		   *port = getenv("KUBERNETES_SERVICE_PORT");
	const char *token = arena__printf(&a->arena, "%s/token", dir);
	bool is_ipv6 = host && strchr(host, ':');

	a->http = (struct dcm_http_options){ .follow_redirects = true, .enable_http2 = true };
	if (!token)
		return error__nomem(err);
	if (!host || !port || access(token, R_OK) < 0)
		return error__set(err, -EINVAL, "this is no pod (no KUBERNETES_SERVICE_HOST, or no %s); give api_server or kubeconfig_file",
				  token);
	a->server = arena__printf(&a->arena, "https://%s%s%s:%s", is_ipv6 ? "[" : "", host,
				  is_ipv6 ? "]" : "", port);
	a->http.authorization.type = "Bearer";
	a->http.authorization.credentials.file = token;
	a->http.tls.ca_file = arena__printf(&a->arena, "%s/ca.crt", dir);
	return a->server && a->http.tls.ca_file ? 0 : error__nomem(err);
}

int kube_access__own_namespace(struct kube_access *a, const char *dir, const char **ret,
			       struct dcm_error *err)
{
	char *path = arena__printf(&a->arena, "%s/namespace", dir);
	struct buf text = { 0 };
	struct dcm_str copy = { 0 };
	int r = path ? read_file(path, &text, err) : error__nomem(err);

	if (r == 0 && text.n == 0)
		r = error__set(err, -EINVAL, "%s: is empty", path);
	if (r == 0) {
		copy = arena__str(&a->arena,
				  (struct dcm_str){ (const char *)text.data, (uint32_t)text.n });
		r = copy.p ? 0 : error__nomem(err);
	}
	if (r == 0)
		*ret = copy.p;
	buf__fini(&text);
	return r;
}

/* ---- kubeconfig ---- */

struct config {
	struct kube_access *to;
	bool no_memory; /* for one of its texts */
	yaml_document_t doc;
	const char *dir; /* of the file */
	size_t n_dir;
};

static const yaml_node_t *get(struct config *c, const yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(&c->doc, p->key);

		if (k->type == YAML_SCALAR_NODE && strcmp((const char *)k->data.scalar.value, key) == 0)
			return yaml_document_get_node(&c->doc, p->value);
	}
	return NULL;
}

static const char *kept(struct config *c, const char *text)
{
	c->no_memory |= !text;
	return text ? text : "";
}

/* "" for none; a copy that lives as long as the access. */
static const char *text_of(struct config *c, const yaml_node_t *map, const char *key)
{
	const yaml_node_t *v = get(c, map, key);

	if (!v || v->type != YAML_SCALAR_NODE)
		return "";
	return kept(c, arena__str(&c->to->arena, (struct dcm_str){ (const char *)v->data.scalar.value,
								   (uint32_t)v->data.scalar.length })
			       .p);
}

/* As the file says it, relative to its own folder. */
static const char *path_of(struct config *c, const char *path)
{
	return path[0] == '/'
		       ? path
		       : kept(c, arena__printf(&c->to->arena, "%.*s%s", (int)c->n_dir, c->dir, path));
}

/* The map `what` of the element of list `list` that has that name. */
static const yaml_node_t *named(struct config *c, const char *list, const char *what, const char *name)
{
	const yaml_node_t *all = get(c, yaml_document_get_root_node(&c->doc), list);

	if (!all || all->type != YAML_SEQUENCE_NODE)
		return NULL;
	for (yaml_node_item_t *i = all->data.sequence.items.start; i < all->data.sequence.items.top; i++) {
		const yaml_node_t *e = yaml_document_get_node(&c->doc, *i);
		const yaml_node_t *n = get(c, e, "name");

		if (n && n->type == YAML_SCALAR_NODE &&
		    strcmp((const char *)n->data.scalar.value, name) == 0)
			return get(c, e, what);
	}
	return NULL;
}

/* What `key` says, by text in base64 in KEY-data or by a path in KEY; the text counts first. */
static int pem_of(struct config *c, const yaml_node_t *map, const char *key, const char **ret_text,
		  const char **ret_file, struct dcm_error *err)
{
	char data_key[64];
	const char *data, *path = text_of(c, map, key);
	struct base64_decode_ctx decoder;
	size_t n;
	uint8_t *out;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	data = text_of(c, map, data_key);
	if (!data[0] && path[0])
		*ret_file = path_of(c, path);
	if (!data[0])
		return 0;
	n = BASE64_DECODE_LENGTH(strlen(data));
	out = arena__alloc(&c->to->arena, n + 1);
	if (!out)
		return error__nomem(err);
	base64_decode_init(&decoder);
	if (!base64_decode_update(&decoder, &n, out, strlen(data), data) || !base64_decode_final(&decoder))
		return error__set(err, -EINVAL, "%s is not base64", data_key);
	out[n] = '\0';
	*ret_text = (const char *)out;
	return 0;
}

static bool is_true(const char *text)
{
	return strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static int take_cluster(struct config *c, const yaml_node_t *cluster, struct dcm_error *err)
{
	struct dcm_http_options *http = &c->to->http;
	const char *server = text_of(c, cluster, "server");
	size_t n = strlen(server);

	while (n && server[n - 1] == '/')
		n--;
	if (n == 0)
		return error__set(err, -EINVAL, "the cluster of its current context has no server");
	c->to->server = kept(c, arena__printf(&c->to->arena, "%.*s", (int)n, server));
	http->tls.server_name = or_null(text_of(c, cluster, "tls-server-name"));
	http->tls.insecure_skip_verify = is_true(text_of(c, cluster, "insecure-skip-tls-verify"));
	http->proxy.url = or_null(text_of(c, cluster, "proxy-url"));
	return pem_of(c, cluster, "certificate-authority", &http->tls.ca, &http->tls.ca_file, err);
}

static int take_user(struct config *c, const yaml_node_t *user, struct dcm_error *err)
{
	struct dcm_http_options *http = &c->to->http;
	const char *token = text_of(c, user, "token"), *file = text_of(c, user, "tokenFile");
	int r;

	if (get(c, user, "exec") || get(c, user, "auth-provider"))
		return error__set(err, -EINVAL,
				  "its user is known by a program (exec, auth-provider), which is "
				  "not run; give it a token or a "
				  "certificate, as of a service account: kubectl create token");
	if (file[0]) {
		http->authorization.credentials.file = path_of(c, file);
		http->authorization.type = "Bearer";
	} else if (token[0]) {
		http->authorization.credentials.text = token;
		http->authorization.type = "Bearer";
	}
	http->basic.username = or_null(text_of(c, user, "username"));
	http->basic.password.text = http->basic.username ? text_of(c, user, "password") : NULL;
	r = pem_of(c, user, "client-certificate", &http->tls.cert, &http->tls.cert_file, err);
	return r < 0 ? r : pem_of(c, user, "client-key", &http->tls.key.text, &http->tls.key.file, err);
}

static int take(struct config *c, struct dcm_error *err)
{
	const char *current = text_of(c, yaml_document_get_root_node(&c->doc), "current-context");
	const yaml_node_t *context = named(c, "contexts", "context", current);
	const char *cluster = text_of(c, context, "cluster"), *user = text_of(c, context, "user");
	int r;

	if (!context)
		return error__set(err, -EINVAL, "current-context \"%s\" is none of its contexts", current);
	c->to->http = (struct dcm_http_options){ .follow_redirects = true, .enable_http2 = true };
	r = take_cluster(c, named(c, "clusters", "cluster", cluster), err);
	return r < 0 ? r : take_user(c, named(c, "users", "user", user), err);
}

int kube_access__kubeconfig(struct kube_access *a, const char *path, struct dcm_error *err)
{
	const char *slash = strrchr(path, '/');
	struct config c = { .to = a, .dir = path, .n_dir = slash ? (size_t)(slash - path) + 1 : 0 };
	struct buf text = { 0 };
	yaml_parser_t parser;
	int r = read_file(path, &text, err);

	if (r < 0)
		goto out;
	if (!yaml_parser_initialize(&parser)) {
		r = error__nomem(err);
		goto out;
	}
	yaml_parser_set_input_string(&parser, text.data, text.n);
	if (!yaml_parser_load(&parser, &c.doc)) {
		r = error__set(err, -EINVAL, "line %zu: is not YAML", parser.problem_mark.line + 1);
	} else {
		r = take(&c, err);
		if (c.no_memory)
			r = error__nomem(err);
		yaml_document_delete(&c.doc);
	}
	yaml_parser_delete(&parser);
	if (r < 0)
		error__prefix(err, "%s", path);
out:
	buf__fini(&text);
	return r;
}
