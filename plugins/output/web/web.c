/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/web/web.c - the pages: the files of ui/dist, offered at the server's addresses
 *
 * The files are in this object as gzip (assets.h, made from ui/dist/files), or with ui_dir in a directory like ui/dist; the
 * host serves them. The page
 * asks /api/v1 of the same server and nobody else, which the Content-Security-Policy (W3C, CSP Level 3) makes the browser
 * hold it to: no script, style or connection of another origin, no code out of text but the worker's, by one policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/output/web/assets.h"

#define POLICY                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "    \
	"connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'none'; "             \
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types decima-worker"
#define SHARED "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"

enum { LIST_MAX = 64 << 10, FILE_MAX = 16 << 20 };

struct web_config {
	const char *ui_dir;
};

static const struct dcm_option rows[] = {
	{
		.name = "ui_dir",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct web_config, ui_dir),
		.flags = DCM_OPT_PATH | DCM_OPT_RESTART,
		.doc = "A directory as ui/build.mjs makes it, whose files are served and not those "
		       "that are built in: for "
		       "pages of one's own. They are read at the start, and everybody may load "
		       "them.",
	},
};

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct web_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
};

/* A file of ui_dir, until the host has it. */
struct web_file {
	char *name, *type;
	struct buf content;
	bool immutable;
};

struct web {
	const struct dcm_host *host;
	const struct web_config *config;
	VEC(struct web_file) files;
};

static void forget_files(struct web *w)
{
	for (size_t i = 0; i < w->files.n; i++) {
		free(w->files.v[i].name);
		free(w->files.v[i].type);
		buf__fini(&w->files.v[i].content);
	}
	vec__fini(&w->files);
}

static void web_stop(void *instance)
{
	forget_files(instance);
	free(instance);
}

/* ---- from a directory ---- */

/* A regular file in it: no pipe, which never ends, and no link, which may lead anywhere. */
static int read_file(int dir, const char *name, size_t max_bytes, struct buf *ret)
{
	return fd__read_regular(dir, name, O_NOFOLLOW, max_bytes, ret);
}

/* What stands before the next `mark`, ended by a NUL; *at goes behind it. NULL: there is none. */
static char *next_part(char **at, char mark)
{
	char *from = *at, *end = strchr(from, mark);

	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return from;
}

/* The file of a line of the list: NAME TYPE HASHED, with tabs between them. */
static int read_line(struct web *w, int dir, char *line, struct dcm_error *err)
{
	const char *name = next_part(&line, '\t'), *type = next_part(&line, '\t');

	if (!name || !type || name[0] == '.' || name[0] == '\0' || strchr(name, '/') || strlen(name) > 200)
		return error__set(err, -EINVAL,
				  "ui_dir: %s/files: a line is no name in that directory, type, "
				  "and 0 or 1, with tabs "
				  "between them; ui/build.mjs writes it",
				  w->config->ui_dir);
	if (!vec__push(&w->files, (struct web_file){ .immutable = line[0] == '1' }))
		return error__nomem(err);
	struct web_file *f = &w->files.v[w->files.n - 1];
	f->name = strdup(name);
	f->type = strdup(type);
	if (!f->name || !f->type)
		return error__nomem(err);
	int r = read_file(dir, name, FILE_MAX, &f->content);
	return r < 0 ? error__sys(err, r, "ui_dir: cannot read %s/%s", w->config->ui_dir, name) : 0;
}

static int read_directory(struct web *w, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf list = { 0 };
	CLEANUP(fd__closep) int dir = open(w->config->ui_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : read_file(dir, "files", LIST_MAX, &list);
	bool has_page = false;
	char *at, *line;

	if (r < 0)
		return error__sys(err, r, "ui_dir: cannot read %s/files, which lists what to serve",
				  w->config->ui_dir);
	buf__byte(&list, '\n');
	buf__byte(&list, '\0');
	if (list.error)
		return error__nomem(err);
	at = (char *)list.data;
	while (r == 0 && (line = next_part(&at, '\n')) != NULL) {
		has_page |= strncmp(line, "index.html\t", 11) == 0;
		if (line[0])
			r = read_line(w, dir, line, err);
	}
	if (r == 0 && !has_page)
		r = error__set(err, -EINVAL, "ui_dir: %s/files lists no index.html", w->config->ui_dir);
	return r;
}

/* ---- the instance ---- */

/* A directory that cannot be served is told before anything that runs has ended: a reload then changes nothing. */
static int web_open(const struct dcm_host *host, const void *config, void **ret_instance,
		    struct dcm_error *err)
{
	struct web *w = NEW(struct web);
	int r = 0;

	if (!w)
		return error__nomem(err);
	w->host = host;
	w->config = config;
	if (w->config->ui_dir)
		r = read_directory(w, err);
	if (r < 0)
		web_stop(w);
	else
		*ret_instance = w;
	return r;
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
		.flags = a->is_gzip ? DCM_PAGE_GZIP : 0,
	};

	snprintf(path, sizeof(path), "/%s", is_page ? "" : a->name);
	return w->host->page(w->host, &page, err);
}

static int offer_files(const struct web *w, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < w->files.n && r == 0; i++) {
		const struct web_file *f = &w->files.v[i];

		r = offer(w,
			  &(struct asset){ .name = f->name,
					   .type = f->type,
					   .data = f->content.data,
					   .end = f->content.data + f->content.n,
					   .immutable = f->immutable },
			  err);
	}
	return r;
}

static int offer_own(const struct web *w, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]) && r == 0; i++)
		r = offer(w, &assets[i], err);
	return r;
}

static int web_start(void *instance, struct dcm_error *err)
{
	struct web *w = instance;
	int r = w->config->ui_dir ? offer_files(w, err) : offer_own(w, err);

	forget_files(w); /* the host has them */
	if (r == 0 && w->config->ui_dir)
		w->host->set_state(w->host, DCM_STATE_OK,
				   "the pages of %s are at the server's addresses", w->config->ui_dir);
	else if (r == 0)
		w->host->set_state(w->host, DCM_STATE_OK, "the pages are at the server's addresses");
	return r;
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
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
