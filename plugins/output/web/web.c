/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/web/web.c - the pages: the files of ui/dist, offered at the server's addresses
 *
 * The files are in this object as they are (assets.h, made from ui/dist/files); the host packs and serves them. The page
 * asks /api/v1 of the same server and nobody else, which the Content-Security-Policy (W3C, CSP Level 3) makes the browser
 * hold it to: no script, style or connection of another origin, no code out of text but the worker's, by one policy.
 */
#include <string.h>

#include <decima/plugin.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/output/web/assets.h"

#define POLICY                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "    \
	"connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'none'; "             \
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types decima-worker"
#define SHARED "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"

struct web {
	const struct dcm_host *host;
};

static int web_open(const struct dcm_host *host, const void *config, void **ret_instance,
		    struct dcm_error *err)
{
	struct web *w = NEW(struct web);

	(void)config;
	if (!w)
		return error__nomem(err);
	w->host = host;
	*ret_instance = w;
	return 0;
}

/* "/" is the page itself; the others go by their names. */
static int offer(const struct web *w, const struct asset *a, struct dcm_error *err)
{
	bool is_page = strcmp(a->name, "index.html") == 0;
	char path[256];
	const struct dcm_page page = {
		.size = sizeof(page),
		.path = path,
		.type = a->type,
		.data = a->data,
		.n = (size_t)(a->end - a->data),
		.headers = is_page ? SHARED "Content-Security-Policy: " POLICY "\r\n" : SHARED,
		.immutable = a->immutable,
	};

	snprintf(path, sizeof(path), "/%s", is_page ? "" : a->name);
	return w->host->page(w->host, &page, err);
}

static int web_start(void *instance, struct dcm_error *err)
{
	struct web *w = instance;
	int r = 0;

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]) && r == 0; i++)
		r = offer(w, &assets[i], err);
	if (r == 0)
		w->host->set_state(w->host, DCM_STATE_OK, "the pages are at the server's addresses");
	return r;
}

static void web_stop(void *instance)
{
	free(instance);
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = web_open,
	.start = web_start,
	.stop = web_stop,
};
static const struct dcm_output_ops ops = { .size = sizeof(ops) };
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.name = "web",
	.version = "1",
	.summary = "Pages for browsers: flame graphs, tables, comparisons, and how Decima itself "
		   "does.",
	.lifecycle = &lifecycle,
	.output = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
