/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/file_sd.c - targets that stand in files
 *
 * Directories are watched, not files: editors and kubelets put another file in the place of the old
 * one. Changes come in bursts, so that a look waits a moment after the first.
 */
#include "plugins/input/pprof_scrape/file_sd.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define SETTLE_NS ((int64_t)100000000)

/* A file whose targets the job has. */
struct known {
	char *path;
	bool is_seen; /* by the look that is under way */
};

struct file_sd {
	struct job *job;
	const struct file_sd_options *options;
	int inotify;
	struct loop_timer look;
	VEC(struct known) files;
};

/* ---- reading ---- */

static int read_all(const char *path, struct buf *out, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = fd__open_regular(path);
	int r = fd < 0 ? fd : fd__read_all(fd, GROUPS_MAX_BYTES, out);

	return r < 0 ? error__sys(err, r, "%s: cannot be read", path) : 0;
}

static int parse(const char *path, const struct buf *text, struct groups *to, struct dcm_error *err)
{
	const char *dot = strrchr(path, '.');
	int r = dot && strcmp(dot, ".json") == 0
			? groups__read_json(to, (const char *)text->data, text->n, err)
			: groups__read_yaml(to, (const char *)text->data, text->n, err);

	if (r < 0)
		error__prefix(err, "%s", path);
	return r;
}

/* The label that says where a target was found, as Prometheus has it. */
static int add_origin(struct groups *g, const char *path)
{
	struct dcm_label_text origin = { STR("__meta_filepath"), arena__str(&g->arena, str__of(path)) };

	if (!origin.value.p)
		return -ENOMEM;
	for (size_t i = 0; i < g->v.n; i++) {
		struct labels *l = &g->v.v[i];
		struct dcm_label_text *v = arena__zalloc(&g->arena, l->n + 1, sizeof(*v));

		if (!v)
			return -ENOMEM;
		memcpy(v, l->v, l->n * sizeof(*v));
		v[l->n++] = origin;
		l->v = v;
	}
	return 0;
}

static void read_file(struct file_sd *f, const char *path)
{
	const struct dcm_host *host = f->job->host;
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	struct buf text = { 0 };
	int r = read_all(path, &text, &err);

	if (r == 0)
		r = parse(path, &text, &found, &err);
	if (r == 0)
		r = add_origin(&found, path);
	buf__fini(&text);
	if (r == 0) {
		r = job__found(f->job, path, &found);
	} else {
		groups__fini(&found);
		host->log(host, DCM_LOG_WARNING, "job %s: %s; its targets stay as they were",
			  f->job->options->job_name, r == -ENOMEM ? "out of memory" : err.text);
	}
}

/* ---- looking ---- */

static void forget(struct file_sd *f, size_t i)
{
	job__lost(f->job, f->files.v[i].path);
	free(f->files.v[i].path);
	f->files.v[i] = f->files.v[--f->files.n];
}

static void see(struct file_sd *f, const char *path)
{
	char *copy;

	for (size_t i = 0; i < f->files.n; i++)
		if (strcmp(f->files.v[i].path, path) == 0) {
			f->files.v[i].is_seen = true;
			read_file(f, path);
			return;
		}
	copy = strdup(path);
	if (!copy || !vec__push(&f->files, (struct known){ copy, true })) {
		free(copy);
		return;
	}
	read_file(f, path);
}

/* False: a directory could not be read, so that nobody knows what is there. */
static bool see_pattern(struct file_sd *f, const char *pattern)
{
	const struct dcm_host *host = f->job->host;
	glob_t found = { 0 };
	int r = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);

	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		see(f, found.gl_pathv[i]);
	globfree(&found);
	if (r == 0 || r == GLOB_NOMATCH)
		return true;
	host->log(host, DCM_LOG_WARNING,
		  "job %s: %s: its directory cannot be read; its targets stay as they were",
		  f->job->options->job_name, pattern);
	return false;
}

static void look(void *ctx)
{
	struct file_sd *f = ctx;
	const char *const *patterns = f->options->files.items;
	int64_t now = f->job->host->mono_ns(f->job->host);
	bool is_known = true;

	for (size_t i = 0; i < f->files.n; i++)
		f->files.v[i].is_seen = false;
	for (uint32_t i = 0; i < f->options->files.n; i++)
		is_known &= see_pattern(f, patterns[i]);
	for (size_t i = f->files.n; is_known && i > 0; i--)
		if (!f->files.v[i - 1].is_seen)
			forget(f, i - 1);
	loop__set(f->job->loop, &f->look, now + f->options->refresh_interval_ns);
}

/* What changed does not matter: all is looked at, once it has been quiet for a moment. */
static void changed(void *ctx)
{
	struct file_sd *f = ctx;
	char events[4096];
	int64_t soon = f->job->host->mono_ns(f->job->host) + SETTLE_NS;

	while (read(f->inotify, events, sizeof(events)) > 0)
		;
	if (!f->look.place || f->look.at_mono_ns > soon)
		loop__set(f->job->loop, &f->look, soon);
}

/* ---- lifecycle ---- */

/* A directory that is not there yet is found at the interval. */
static void watch(struct file_sd *f, const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	char *dir = slash ? strndup(pattern, slash == pattern ? 1 : (size_t)(slash - pattern))
			  : strdup(".");
	int r = dir ? inotify_add_watch(f->inotify, dir,
					IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
						IN_CREATE | IN_ONLYDIR)
		    : -1;

	if (r < 0)
		f->job->host->log(f->job->host,
				  DCM_LOG_WARNING, "job %s: %s: cannot be watched for changes (%s); it is looked at every refresh_interval",
				  f->job->options->job_name, dir ? dir : pattern, strerror(errno));
	free(dir);
}

void file_sd__free(struct file_sd *f)
{
	if (!f)
		return;
	loop__cancel(f->job->loop, &f->look);
	if (f->inotify >= 0) {
		loop__unwatch(f->job->loop, f->inotify);
		close(f->inotify);
	}
	for (size_t i = 0; i < f->files.n; i++)
		free(f->files.v[i].path);
	vec__fini(&f->files);
	free(f);
}

int file_sd__new(struct job *job, const struct file_sd_options *options, struct file_sd **ret,
		 struct dcm_error *err)
{
	const char *const *patterns = options->files.items;
	struct file_sd *f = NEW(struct file_sd);

	if (!f)
		return error__nomem(err);
	f->job = job;
	f->options = options;
	f->look.fn = look;
	f->look.ctx = f;
	/* There may be too few of them; then the interval is what there is. */
	f->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (uint32_t i = 0; i < options->files.n; i++)
		watch(f, patterns[i]);
	if ((f->inotify >= 0 && loop__watch(job->loop, f->inotify, changed, f) < 0) ||
	    loop__set(job->loop, &f->look, job->host->mono_ns(job->host)) < 0) {
		file_sd__free(f);
		return error__nomem(err);
	}
	*ret = f;
	return 0;
}
