/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/file_sd.c - targets that stand in files
 *
 * Files are read at the start, when something in their directory changes (inotify), and at the
 * interval besides, as on file systems that tell nothing. A file that cannot be read, or says what
 * cannot be, leaves the targets that it had before; one that has gone takes them along. A directory that is not there leaves
 * them, too: another takes its place in a moment, as a rule.
 * Directories are watched, not files: editors and kubelets put another file in the place of the old
 * one. Each look watches them anew, as another directory may be in the place of the old one, too; one
 * that is not there is looked for every second. Changes come in bursts, so that a look waits a moment after the first.
 */
#include <errno.h>
#include <glob.h>
#include <stdalign.h>
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
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/options.h"

#define SETTLE_NS  ((int64_t)100000000)
#define MISSING_NS ((int64_t)1000000000)

/* ---- options ---- */

struct file_sd_options {
	struct dcm_list files; /* of const char *: paths, of which the last part may have one * */
	int64_t refresh_interval_ns;
};

static const struct dcm_option rows[] = {
	{ .name = "files",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct file_sd_options, files),
	  .flags = DCM_OPT_REQUIRED | DCM_OPT_PATH,
	  .doc = "Files of targets, ending in .json, .yml or .yaml; the last part of a path may "
		 "have "
		 "one *. They are read when they change." },
	{ .name = "refresh_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct file_sd_options, refresh_interval_ns),
	  .def = "5m",
	  .min = "1s",
	  .max = DURATION_MAX,
	  .doc = "How often they are read besides." },
};

/* As Prometheus: one * at most, in the last part, and an ending that says what it is. */
static int check(const void *config, struct dcm_error *err)
{
	const struct file_sd_options *o = config;
	const char *const *files = o->files.items;

	if (o->files.n == 0)
		return error__set(err, -EINVAL, "files: name at least one file");
	for (uint32_t i = 0; i < o->files.n; i++) {
		const char *slash = strrchr(files[i], '/'), *last = slash ? slash + 1 : files[i];
		const char *star = strchr(files[i], '*'), *dot = strrchr(last, '.');

		if (star && (star < last || strchr(star + 1, '*')))
			return error__set(err, -EINVAL, "files: \"%s\" has a * elsewhere than once in its last part",
					  files[i]);
		if (!dot || (strcmp(dot, ".json") != 0 && strcmp(dot, ".yml") != 0 &&
			     strcmp(dot, ".yaml") != 0))
			return error__set(err, -EINVAL,
					  "files: \"%s\" does not end in .json, .yml or .yaml",
					  files[i]);
	}
	return 0;
}

const struct dcm_table file_sd__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct file_sd_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check,
};

/* ---- state ---- */

/* A file whose targets the job has. */
struct known {
	struct source source;
	char *path;
	bool is_seen; /* by the look that is under way */
};

struct file_sd {
	struct discovery *d;
	struct job *job;
	const struct file_sd_options *options;
	bool has_failed;     /* in the look that is under way */
	uint32_t n_missing;  /* directories that were not there at the last one */
	int64_t due_mono_ns; /* the next one, whatever comes meanwhile */
	int inotify;
	struct loop_timer look;
	VEC(struct known *) files;
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

static void read_file(struct file_sd *f, struct known *k)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct groups found = { 0 };
	struct buf text = { 0 };
	int r = read_all(k->path, &text, &err);

	if (r == 0)
		r = parse(k->path, &text, &found, &err);
	if (r == 0)
		r = groups__label_all(&found, STR("__meta_filepath"), str__of(k->path));
	buf__fini(&text);
	if (r == 0) {
		discovery__found(f->d, &k->source, &found);
		return;
	}
	groups__fini(&found);
	f->has_failed = true;
	discovery__failed(f->d, "%s", r == -ENOMEM ? "out of memory" : err.text);
}

/* ---- looking ---- */

static void known_free(struct file_sd *f, struct known *k)
{
	discovery__lost(f->d, &k->source);
	free(k->path);
	free(k);
}

static struct known *known_of(struct file_sd *f, const char *path)
{
	struct known *k;

	for (size_t i = 0; i < f->files.n; i++)
		if (strcmp(f->files.v[i]->path, path) == 0)
			return f->files.v[i];
	k = NEW(struct known);
	if (!k)
		return NULL;
	k->path = strdup(path);
	if (k->path && vec__push(&f->files, k))
		return k;
	free(k->path);
	free(k);
	return NULL;
}

static void see(struct file_sd *f, const char *path)
{
	struct known *k = known_of(f, path);

	if (!k) {
		f->has_failed = true;
		discovery__failed(f->d, "out of memory");
		return;
	}
	k->is_seen = true;
	read_file(f, k);
}

/* False: a directory could not be read, so that nobody knows what is there. */
static bool see_pattern(struct file_sd *f, const char *pattern)
{
	glob_t found = { 0 };
	int r = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);

	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		see(f, found.gl_pathv[i]);
	globfree(&found);
	if (r == 0 || r == GLOB_NOMATCH)
		return true;
	f->has_failed = true;
	discovery__failed(f->d, "%s: its directory cannot be read", pattern);
	return false;
}

/* The directory of a pattern. One that is watched already goes on. 0 or a negative errno. */
static int watch(const struct file_sd *f, const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	char *dir = slash ? strndup(pattern, slash == pattern ? 1 : (size_t)(slash - pattern))
			  : strdup(".");
	int r = !dir ? -ENOMEM
		: inotify_add_watch(f->inotify, dir,
				    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
					    IN_CREATE | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR) < 0
			? -errno
			: 0;

	free(dir);
	return r;
}

/* Those that are not there any more. */
static void forget_unseen(struct file_sd *f)
{
	for (size_t i = f->files.n; i > 0; i--)
		if (!f->files.v[i - 1]->is_seen) {
			known_free(f, f->files.v[i - 1]);
			f->files.v[i - 1] = f->files.v[--f->files.n];
		}
}

static void look(void *ctx);

/* Only whether a directory has come is looked at each second, not what is in the others. */
static void look_for_missing(void *ctx)
{
	struct file_sd *f = ctx;
	const char *const *patterns = f->options->files.items;
	const int64_t now = f->job->host->mono_ns(f->job->host);
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->options->files.n; i++)
		n += watch(f, patterns[i]) == -ENOENT;
	if (n < f->n_missing || now >= f->due_mono_ns) {
		look(f);
		return;
	}
	f->look.fn = look_for_missing;
	loop__set(f->job->loop, &f->look, now + MISSING_NS);
}

static void set_next(struct file_sd *f, int64_t now)
{
	int64_t at = f->due_mono_ns;

	f->look.fn = f->n_missing ? look_for_missing : look;
	if (f->n_missing && at > now + MISSING_NS)
		at = now + MISSING_NS;
	loop__set(f->job->loop, &f->look, at);
}

static void look(void *ctx)
{
	struct file_sd *f = ctx;
	const char *const *patterns = f->options->files.items;
	const int64_t now = f->job->host->mono_ns(f->job->host);
	bool is_known = true;

	f->has_failed = false;
	f->n_missing = 0;
	for (size_t i = 0; i < f->files.n; i++)
		f->files.v[i]->is_seen = false;
	for (uint32_t i = 0; i < f->options->files.n; i++) {
		/* Before it is read: what changes in the meantime is told. */
		f->n_missing += watch(f, patterns[i]) == -ENOENT;
		is_known &= see_pattern(f, patterns[i]);
	}
	if (is_known)
		forget_unseen(f);
	if (!f->has_failed)
		discovery__well(f->d);
	f->due_mono_ns = now + f->options->refresh_interval_ns;
	set_next(f, now);
}

/* A directory that has moved away is nobody's any more; the look that follows watches it anew if it is. */
static void unwatch_moved(const struct file_sd *f, const char *events, size_t n)
{
	const struct inotify_event *e;

	for (size_t at = 0; at < n; at += sizeof(*e) + e->len) {
		e = (const struct inotify_event *)(const void *)(events + at);
		if (e->mask & IN_MOVE_SELF)
			inotify_rm_watch(f->inotify, e->wd);
	}
}

/* Which file changed does not matter: all is looked at, once it has been quiet for a moment. */
static void changed(void *ctx)
{
	struct file_sd *f = ctx;
	alignas(struct inotify_event) char events[4096];
	int64_t soon = f->job->host->mono_ns(f->job->host) + SETTLE_NS;
	ssize_t n;

	while ((n = read(f->inotify, events, sizeof(events))) > 0)
		unwatch_moved(f, events, (size_t)n);
	f->look.fn = look;
	if (!f->look.place || f->look.at_mono_ns > soon)
		loop__set(f->job->loop, &f->look, soon);
}

/* ---- lifecycle ---- */

static void tell_unwatched(const struct file_sd *f, const char *pattern, int error)
{
	f->job->host->log(f->job->host, DCM_LOG_WARNING,
			  "job %s: %s: cannot be watched for changes (%s); it is looked %s",
			  f->job->options->job_name, pattern, strerror(-error),
			  error == -ENOENT ? "for every second" : "at every refresh_interval");
}

static void stop(struct discovery *d)
{
	struct file_sd *f = d->state;

	if (!f)
		return;
	loop__cancel(f->job->loop, &f->look);
	if (f->inotify >= 0) {
		loop__unwatch(f->job->loop, f->inotify);
		close(f->inotify);
	}
	for (size_t i = 0; i < f->files.n; i++)
		known_free(f, f->files.v[i]);
	vec__fini(&f->files);
	free(f);
}

static int start(struct discovery *d, struct dcm_error *err)
{
	const struct file_sd_options *options = d->options;
	const char *const *patterns = options->files.items;
	struct job *job = d->job;
	struct file_sd *f = NEW(struct file_sd);

	if (!f)
		return error__nomem(err);
	d->state = f;
	f->d = d;
	f->job = job;
	f->options = options;
	f->look.fn = look;
	f->look.ctx = f;
	/* There may be too few of them; then the interval is what there is. */
	f->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (uint32_t i = 0; i < options->files.n; i++) {
		int r = watch(f, patterns[i]);

		if (r < 0)
			tell_unwatched(f, patterns[i], r);
	}
	if ((f->inotify >= 0 && loop__watch(job->loop, f->inotify, changed, f) < 0) ||
	    loop__set(job->loop, &f->look, job->host->mono_ns(job->host)) < 0)
		return error__nomem(err);
	return 0;
}

const struct discovery_kind file_sd = {
	.name = "file_sd",
	.start = start,
	.stop = stop,
};
