/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/loader.h - finds KIND_NAME.so along the plugin path, checks it, and keeps it
 *
 * A file passes these gates in order, and the first that fails gives the sentence: trust (trust.h),
 * the dynamic linker (RTLD_NOW | RTLD_LOCAL, through the checked descriptor), the entry symbol, and
 * what the plugin says of itself (contract.h). What was linked is never unloaded: its threads and
 * thread-locals may outlive any use of it. $ORIGIN means nothing to a library that is loaded so.
 *
 * Threads: one at a time; core/main's control thread. What loader__get() returned may be read by
 * any thread.
 */
#ifndef DECIMA_PLUGIN_LOADER_H
#define DECIMA_PLUGIN_LOADER_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/plugin/contract.h"

struct loader;

/*
 * `path`: directories between colons, searched in order; each must be absolute. `strict`: the rules
 * of trust.h, as trust__is_privileged() says. -EINVAL names the directory at fault.
 */
int loader__new(const char *path, bool strict, struct loader **ret, struct dcm_error *err);
/* Every instance of its plugins is gone before. The code stays. */
void loader__free(struct loader *l);
DEFINE_CLEANUP(struct loader *, loader__free);

/*
 * The plugin, loaded now or before. -ENOENT: no such file (the sentence lists the path and the
 * nearest name there); -EPERM: not trusted; -ENOEXEC: no plugin, or a broken one; -EPROTO: another
 * version of the interface.
 */
int loader__get(struct loader *l, enum dcm_kind kind, const char *name, const struct plugin **ret,
		struct dcm_error *err);

/* Its directories as one text, cut to what fits, for sentences. Returns `text`. */
const char *loader__path(const struct loader *l, char *text, size_t cap);

/* The plugin of that kind along the path that may have been meant; false when no name is near. */
bool loader__nearest(const struct loader *l, enum dcm_kind kind, const char *name, char ret[static 33]);

/* loader__get() for one file, wherever it is: for decima-plugin-check. */
int loader__load_file(const char *file, bool strict, struct plugin **ret, struct dcm_error *err);

/*
 * Every file named KIND_NAME.so along the path, sorted by kind and name; the first of a name wins,
 * as in loader__get(). Loads each. plugin is NULL for one that was refused, and `why` then says so.
 * Stops when `each` returns not 0, and returns that.
 */
typedef int (*loader_each_fn)(void *ctx, enum dcm_kind kind, const char *name, const char *file,
			      const struct plugin *plugin, const char *why);
int loader__each(struct loader *l, loader_each_fn each, void *ctx, struct dcm_error *err);

/*
 * Every file that no name leads to, because one of the same name (`before`) stands earlier in the
 * path; sorted likewise, and nothing is loaded.
 */
typedef int (*loader_shadowed_fn)(void *ctx, enum dcm_kind kind, const char *name, const char *file,
				  const char *before);
int loader__each_shadowed(const struct loader *l, loader_shadowed_fn each, void *ctx,
			  struct dcm_error *err);

#endif
