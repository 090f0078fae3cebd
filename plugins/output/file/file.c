/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/file/file.c - an output that writes one file for each profile
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host and put into a
 * directory of this output's own (folder.h), under a name made from its labels (delivery/name.h). The oldest
 * files go when there are too many, too large or too old ones. When the disk is full, or the
 * directory cannot be written for another reason, the batch is kept and tried again: nothing needs
 * a restart afterwards. A profile that was written is not written again by a retry.
 *
 * Threads: write() on the output's writer thread, lifecycle on the control thread; the mutex guards
 * the configuration that the two share.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/output/delivery/resume.h"
#include "plugins/output/file/folder.h"
#include "plugins/output/delivery/format.h"
#include "plugins/output/delivery/name.h"

/* ---- options ---- */

enum format {
	FORMAT_PPROF,
	FORMAT_FOLDED,
	FORMAT_SPEEDSCOPE,
	FORMAT_HTML,
};

struct file_config {
	const char *directory;
	const char *file_name;
	int32_t format; /* enum format */
	bool sync;
	int64_t max_age_ns, max_files, max_bytes;
};

static const struct dcm_option rows[] = {
	{
		.name = "directory",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct file_config, directory),
		.flags = DCM_OPT_RESTART | DCM_OPT_UNIQUE,
		.doc = "Where the files go: an empty directory, or one that this output used "
		       "before. Default: the output's own place in the data directory.",
	},
	{
		.name = "file_name",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct file_config, file_name),
		.def = "{service_name}/{type}-{time}",
		.doc = "Path of a file in it, without the extension. {type}, {time}, {date}, "
		       "{year}, "
		       "{month}, {day}, {hour}, {series} and {id} are replaced, the times in UTC, "
		       "and any other {label} by the profile's label: "
		       "dt={date}/hour={hour}/{type}-{time}-{series}, for one. A name that is "
		       "taken gets a number up to 9 behind it, and then the time in nanoseconds.",
	},
	{
		.name = "format",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct file_config, format),
		.def = "pprof",
		.choices = format_names,
		.doc = "pprof (.pb.gz, for go tool pprof), folded (for flamegraph.pl), "
		       "speedscope, or html (a page with the flame graph).",
	},
	{
		.name = "sync",
		.type = DCM_OPT_BOOL,
		.offset = offsetof(struct file_config, sync),
		.def = "false",
		.doc = "Wait until each file is on the disk: nothing is lost by a power cut, at "
		       "the cost of two fsync "
		       "for each profile.",
	},
	{
		.name = "max_age",
		.type = DCM_OPT_DURATION,
		.offset = offsetof(struct file_config, max_age_ns),
		.def = "7d",
		.min = "0",
		.doc = "Files older than this are removed when the next one is written; 0: never.",
	},
	{
		.name = "max_files",
		.type = DCM_OPT_INT,
		.offset = offsetof(struct file_config, max_files),
		.def = "100000",
		.min = "0",
		.max = "1000000",
		.unit = "",
		.doc = "The oldest files beyond this number are removed; 0: no limit. Each costs "
		       "about 100 bytes of memory.",
	},
	{
		.name = "max_bytes",
		.type = DCM_OPT_SIZE,
		.offset = offsetof(struct file_config, max_bytes),
		.def = "1GiB",
		.min = "0",
		.doc = "The oldest files beyond this size together are removed; 0: no limit.",
	},
};

static int check_config(const void *config, struct dcm_error *err)
{
	const struct file_config *c = config;

	if (c->directory && c->directory[0] != '/')
		return error__set(err, -EINVAL, "directory \"%s\" is not absolute; begin it with /",
				  c->directory);
	return name__check("file_name", c->file_name, err);
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct file_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- state ---- */

struct file_output {
	const struct dcm_host *host;
	struct folder *folder;
	char *directory;
	struct dcm_metric *written, *removed, *files, *bytes;

	struct resume resume; /* write()'s */

	pthread_mutex_t mutex;
	const struct file_config *config;
};

/* ---- lifecycle ---- */

/* The configured directory, or one in the data directory: a copy. */
static int find_directory(const struct dcm_host *host, const struct file_config *config, char **ret,
			  struct dcm_error *err)
{
	struct buf path = { 0 };
	size_t n;
	int r;

	if (config->directory) {
		buf__text(&path, config->directory);
	} else {
		r = host->data_dir_make(host, err);
		if (r < 0)
			return r;
		buf__printf(&path, "%s/profiles", host->data_dir);
	}
	if (path.error) {
		buf__fini(&path);
		return error__nomem(err);
	}
	*ret = (char *)buf__take(&path, &n);
	return 0;
}

static struct folder_now now(const struct file_output *f)
{
	return (struct folder_now){ f->host->real_ns(f->host), f->host->mono_ns(f->host) };
}

static void file_stop(void *instance)
{
	struct file_output *f = instance;

	resume__end(&f->resume, f->host);
	folder__free(f->folder);
	pthread_mutex_destroy(&f->mutex);
	free(f->directory);
	free(f);
}

static int file_open(const struct dcm_host *host, const void *config, void **ret_instance,
		     struct dcm_error *err)
{
	struct file_output *f = NEW(struct file_output);
	int r;

	if (!f)
		return error__nomem(err);
	f->host = host;
	f->config = config;
	pthread_mutex_init(&f->mutex, NULL);
	r = find_directory(host, config, &f->directory, err);
	if (r == 0)
		r = folder__open(f->directory, host->instance, now(f), &f->folder, err);
	if (r < 0) {
		error__prefix(err, "directory");
		file_stop(f);
		return r;
	}
	f->written = host->metric(host, DCM_COUNTER, "file_written_total", "Files that were written.");
	f->removed = host->metric(host, DCM_COUNTER, "file_removed_total",
				  "Files that were removed by the limits.");
	f->files = host->metric(host, DCM_GAUGE_METRIC, "file_files", "Files in the directory.");
	f->bytes = host->metric(host, DCM_GAUGE_METRIC, "file_bytes",
				"Size of the files in the directory.");
	*ret_instance = f;
	return 0;
}

/* Limits may have become smaller, and files older, while nobody looked. */
static void rotate(struct file_output *f, const struct file_config *config)
{
	const struct folder_limits limits = {
		.max_age_ns = config->max_age_ns,
		.max_files = (uint64_t)config->max_files,
		.max_bytes = (uint64_t)config->max_bytes,
	};
	struct folder_stat stat;
	uint64_t n = folder__rotate(f->folder, &limits, f->host->mono_ns(f->host));

	folder__stat(f->folder, &stat);
	f->host->metric_add(f->removed, n);
	f->host->metric_set(f->files, (double)stat.n_files);
	f->host->metric_set(f->bytes, (double)stat.bytes);
}

static int file_start(void *instance, struct dcm_error *err)
{
	struct file_output *f = instance;

	(void)err;
	rotate(f, f->config);
	f->host->set_state(f->host, DCM_STATE_OK, "writes %s files into %s",
			   format_names[f->config->format], f->directory);
	return 0;
}

static int file_prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	struct file_output *f = instance;
	const char *old = f->config->directory, *new = ((const struct file_config *)config)->directory;

	if (strcmp(old ? old : "", new ? new : "") != 0)
		return error__set(err, -EBUSY, "a new directory needs a restart of this output");
	*ret_change = (void *)(uintptr_t)config;
	return 0;
}

static void file_commit(void *instance, void *change)
{
	struct file_output *f = instance;

	pthread_mutex_lock(&f->mutex);
	f->config = change;
	pthread_mutex_unlock(&f->mutex);
}

static void file_abort(void *instance, void *change)
{
	(void)instance;
	(void)change;
}

/* ---- work ---- */

/*
 * What one batch is written with: texts are copied, because a commit frees the old configuration.
 */
struct work {
	struct file_config config;
	char *file_name;
};

static int begin_work(struct file_output *f, struct work *w)
{
	pthread_mutex_lock(&f->mutex);
	w->config = *f->config;
	w->file_name = mem__dup_str(f->config->file_name, strlen(f->config->file_name));
	pthread_mutex_unlock(&f->mutex);
	return w->file_name ? 0 : -ENOMEM;
}

static int put(struct file_output *f, const struct work *w, const struct dcm_batch *batch,
	       uint32_t profile, const uint8_t *data, size_t n, struct dcm_error *err)
{
	struct folder_file file = {
		.extension = formats[w->config.format].extension,
		.data = data,
		.n = n,
		.sync = w->config.sync,
		.now = now(f),
	};
	struct buf name = { 0 };
	int r = name__expand(w->file_name, batch, profile, &name);

	if (r == 0) {
		file.name = (const char *)name.data;
		r = folder__put(f->folder, &file, err);
	} else {
		error__sys(err, r, "no name for a profile");
	}
	buf__fini(&name);
	return r;
}

/* One profile into one file. 0, or a code that says whether it can go well later. */
static int write_profile(struct file_output *f, const struct work *w, const struct dcm_batch *batch,
			 uint32_t profile, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	size_t n = 0;
	int r = f->host->encode(f->host, batch, profile, format_names[w->config.format], &data, &n, err);

	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : r;
	r = put(f, w, batch, profile, data, n, err);
	if (r < 0 && r != -ENAMETOOLONG && r != -EEXIST) {
		f->host->set_state(f->host, DCM_STATE_DEGRADED, "%s; %s", err->text,
				   r == -ENOSPC || r == -EDQUOT
					   ? "make room, or lower max_bytes: it goes on by itself"
					   : "it goes on by itself when that is put right");
		return -EAGAIN;
	}
	return r;
}

/* All profiles from where it stopped in this batch. -EAGAIN: it goes on there. */
static int write_profiles(struct file_output *f, const struct work *w, struct dcm_batch *batch,
			  int64_t deadline_mono_ns, struct dcm_error *err)
{
	for (uint32_t i = resume__begin(&f->resume, f->host, batch); i < batch->n_profiles; i++) {
		int r = write_profile(f, w, batch, i, err);

		if (r == -EAGAIN)
			return r;
		if (r < 0)
			f->host->drop(f->host, r == -EEXIST ? "name_taken" : "not_encoded",
				      batch->profiles[i].n_rows);
		else
			f->host->metric_add(f->written, 1);
		resume__note(&f->resume, i + 1);
		if (f->host->mono_ns(f->host) > deadline_mono_ns && i + 1 < batch->n_profiles)
			return error__set(err, -EAGAIN, "%u of %u profiles were written in time",
					  i + 1, batch->n_profiles);
	}
	resume__end(&f->resume, f->host);
	return 0;
}

static int file_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		      struct dcm_error *err)
{
	struct file_output *f = instance;
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	struct work w = { 0 };
	int r = begin_work(f, &w);

	if (!err)
		err = &own;
	if (r < 0)
		return -EAGAIN;
	r = write_profiles(f, &w, batch, deadline_mono_ns, err);
	rotate(f, &w.config);
	if (r == 0)
		f->host->set_state(f->host, DCM_STATE_OK, "writes %s files into %s",
				   format_names[w.config.format], f->directory);
	free(w.file_name);
	return r;
}

/* ---- what the host is told ---- */

/*
 * Who holds the directory may be the daemon that is to be replaced: a warning. One in the data
 * directory is the host's to look at.
 */
static void file_preflight(const struct dcm_host *host, const void *config, dcm_report_fn report,
			   void *ctx)
{
	const struct file_config *c = config;
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	(void)host;
	r = c->directory ? folder__look(c->directory, &err) : 0;
	if (r == 0)
		return;
	error__prefix(&err, "directory");
	report(ctx, r == -EBUSY ? DCM_LOG_WARNING : DCM_LOG_ERROR, err.text);
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = file_open,
	.start = file_start,
	.prepare = file_prepare,
	.commit = file_commit,
	.abort = file_abort,
	.stop = file_stop,
	.preflight = file_preflight,
};

static const struct dcm_output_ops output = {
	.size = sizeof(output),
	.write = file_write,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED,
	.name = "file",
	.version = "1.0",
	.summary = "Writes each profile into a file: pprof, folded, speedscope or html.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
