/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/plan.h - a configuration, read and checked to the end, before anything of it is done
 *
 * Start, reload and `decima check` all make a plan first. Making one touches nothing: it reads the
 * file, applies the overrides, fills every table, finds and loads the plugins, and collects all
 * faults with their places.
 */
#ifndef DECIMA_MAIN_PLAN_H
#define DECIMA_MAIN_PLAN_H

#include "core/base/cleanup.h"
#include "core/config/problems.h"
#include "core/config/section.h"
#include "core/config/tree.h"
#include "core/main/settings.h"
#include "core/pipeline/options.h"
#include "core/plugin/instance.h"
#include "core/plugin/loader.h"
#include "core/plugin/trust.h"

/* What a verb's own option says in the place of a key of the configuration. */
struct plan_flag {
	const char *place; /* "--frequency": what errors name */
	const char *path;  /* "inputs.ebpf.frequency" */
	const char *value; /* NULL: the option was not given */
	bool is_yaml;	   /* a list, say; otherwise a text, whatever is in it */
};

/*
 * Where a configuration comes from. Pointers are borrowed and must outlive every plan made of them.
 */
struct plan_source {
	const char *path;	 /* the file; NULL: `text` */
	const char *text;	 /* YAML, when there is no file */
	const char *const *sets; /* [n_sets] "KEY=VALUE" */
	uint32_t n_sets;
	const char *listen, *data, *plugin_path, *log_level; /* NULL: as the file says */
	const struct plan_flag *flags; /* [n_flags] of the verb's other options */
	uint32_t n_flags;
	bool elsewhere; /* for another machine: missing variables are warnings, plugins may be missing too */
};

struct plan_instance {
	enum dcm_kind kind;
	const struct plugin *plugin;
	const char *name, *object; /* "ebpf", "input ebpf" */
	struct place at;
	const struct node *node;   /* of the tree; NULL: nothing is set */
	struct settings *settings; /* of the plugin; the graph takes it and leaves NULL */
	const struct destination_options *destination; /* NULL for inputs; lives in `settings` */
};

struct plan {
	struct tree *tree;
	struct arena arena;
	const struct main_settings *main;
	struct plan_instance *instances; /* [n]: storages, then outputs, then inputs, each in the file's order */
	uint32_t n;
};

/*
 * The configuration that `decima` has without a file: conf/decima.yaml says the same, and so does
 * what is installed. Built without the sampler, it scrapes itself.
 */
extern const char plan__default_text[];

/*
 * `loader` may be NULL: the plan then makes one along the configured path and hands it out. Faults
 * go to `problems` (with warnings); 0, -EINVAL or -ENOMEM. With -EINVAL the sentence is the first
 * fault.
 */
int plan__load(const struct plan_source *source, struct loader **loader, struct problems *problems,
	       struct plan **ret);
void plan__free(struct plan *p);
DEFINE_CLEANUP(struct plan *, plan__free);

/*
 * Appends all values that hold, as YAML that means the same (core/config/effective.h): instances
 * that are on, then the rest. Every instance still has its settings. -ENOMEM.
 */
int plan__effective(const struct plan *p, struct buf *out, struct dcm_error *err);

/*
 * Directory for data: --data, else the file's, else /var/lib/decima as root, else the XDG state
 * directory.
 */
int plan__data_dir(const struct plan *p, char ret[static 4096], struct dcm_error *err);

#endif
