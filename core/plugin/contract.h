/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/contract.h - is what a plugin says of itself fit to be used?
 *
 * The gates behind the dynamic linker, in order: magic, version, sizes, kind and name, the
 * functions of its kind, the tables of options (core/config/table.h).
 *
 * An older plugin's structs are shorter than ours. They are copied into ours with the rest zeroed,
 * so whoever uses `struct plugin` asks for NULL members and not for sizes. The option tables stay
 * the plugin's own (core/config walks them by `option_size`).
 *
 * Threads: any; what is filled may be read by all.
 */
#ifndef DECIMA_PLUGIN_CONTRACT_H
#define DECIMA_PLUGIN_CONTRACT_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"

/* A plugin that passed every gate. */
struct plugin {
	struct dcm_plugin info; /* its pointers lead to the next ones */
	struct dcm_lifecycle lifecycle;
	struct dcm_input_ops input; /* filled as info.kind says; else zero */
	struct dcm_storage_ops storage;
	struct dcm_output_ops output;
	char *path; /* where it was found */
};

/* "input", "storage", "output": as in the names of files. */
const char *plugin__kind_name(enum dcm_kind kind);
/* The other way round: 0, or -EINVAL. */
int plugin__kind_parse(struct dcm_str text, enum dcm_kind *ret);

/*
 * `theirs` is what the entry function returned, `path` (copied) where it came from. -ENOEXEC: no
 * plugin, or a broken one; -EPROTO: another version of the interface; -ENOMEM. The sentence names
 * the fault and the remedy.
 */
int plugin__check(const struct dcm_plugin *theirs, const char *path, struct plugin **ret,
		  struct dcm_error *err);
void plugin__free(struct plugin *p); /* of plugin__check() and loader__load_file() */
DEFINE_CLEANUP(struct plugin *, plugin__free);

#endif
