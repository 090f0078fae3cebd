/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/store_dir.c - which storage plugin a directory is a store of
 */
#include "core/main/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/vec.h"

/* A data directory has one for each instance, and a few more. */
enum { MAX_NAMES = 1024 };

struct finding {
	VEC(const struct plugin *) plugins; /* that have directories */
	const char *dir;
	struct store_dir *ret;
	unsigned n;	 /* stores within dir */
	char names[200]; /* of them, as text */
};

static int note_plugin(void *ctx, enum dcm_kind kind, const char *name, const char *file,
		       const struct plugin *plugin, const char *why)
{
	struct finding *f = ctx;

	(void)name, (void)file, (void)why;
	if (kind != DCM_STORAGE || !plugin || !plugin->storage.recognises)
		return 0;
	return vec__push(&f->plugins, plugin) ? 0 : -ENOMEM;
}

static bool has_option(const struct plugin *p, const char *name)
{
	const struct dcm_table *t = p->info.options;

	for (uint32_t i = 0; t && i < t->n_options; i++) {
		const char *at = (const char *)t->options + (size_t)i * t->option_size;

		if (strcmp(((const struct dcm_option *)at)->name, name) == 0)
			return true;
	}
	return false;
}

/* 1: it is a store, and *ret says whose; 0: it is none; -EACCES, ...: nobody can tell. */
static int recognise(const struct finding *f, const char *path, struct store_dir *ret)
{
	int failure = 0;

	for (size_t i = 0; i < f->plugins.n; i++) {
		const struct plugin *p = f->plugins.v[i];
		int r = p->storage.recognises(path);

		if (r > 0) {
			ret->plugin = p;
			ret->has_read_only = has_option(p, "read_only");
			snprintf(ret->path, sizeof(ret->path), "%s", path);
			return 1;
		}
		failure = r < 0 ? r : failure;
	}
	return failure;
}

static void look_into(struct finding *f, const char *name)
{
	char path[PATH_MAX];
	size_t at = strlen(f->names);

	if (name[0] == '.' || snprintf(path, sizeof(path), "%s/%s", f->dir, name) >= (int)sizeof(path))
		return;
	if (recognise(f, path, f->ret) <= 0)
		return;
	snprintf(f->names + at, sizeof(f->names) - at, "%s%s", f->n ? ", " : "", name);
	f->n++;
}

static int find_within(struct finding *f, struct dcm_error *err)
{
	DIR *d = opendir(f->dir);
	struct dirent *e;

	if (!d)
		return error__sys(err, -errno, "%s", f->dir);
	for (unsigned i = 0; i < MAX_NAMES && (e = readdir(d)); i++)
		look_into(f, e->d_name);
	closedir(d);
	if (f->n == 0)
		return error__set(err, -ENOENT,
				  "%s: not a store that a plugin here knows; give the directory "
				  "of a store, or of a daemon's data",
				  f->dir);
	if (f->n > 1)
		return error__set(err, -EINVAL, "%s: holds several stores: %s; give the path of one",
				  f->dir, f->names);
	return 0;
}

int store_dir__find(const char *dir, struct loader *loader, struct store_dir *ret, struct dcm_error *err)
{
	struct finding f = { .dir = dir, .ret = ret };
	int r = loader__each(loader, note_plugin, &f, err);

	if (r == -ENOMEM)
		error__nomem(err);
	if (r == 0 && f.plugins.n == 0) {
		char path[512];

		r = error__set(
			err, -ENOENT,
			"%s: no storage plugin in %s can read a directory; say where they are with "
			"DECIMA_PLUGIN_PATH",
			dir, loader__path(loader, path, sizeof(path)));
	} else if (r == 0) {
		r = recognise(&f, dir, ret);
		if (r < 0)
			error__sys(err, r, "%s", dir);
		else
			r = r > 0 ? 0 : find_within(&f, err);
	}
	vec__fini(&f.plugins);
	return r;
}
