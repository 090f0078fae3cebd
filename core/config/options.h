/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options.h - a YAML node and option tables become filled structs
 *
 * options__fill() takes what the file says where it says something and the row's default where it
 * does not, checks both by the row (type, unit, bounds, choices, regex, selector), and writes the
 * value at the row's offset. It goes on after a fault, so that one run finds all of them. Rules
 * beyond <decima/plugin.h>:
 *  - `key:` with nothing, `~` or `null` means absent. A scalar where a list belongs is refused.
 *  - ${NAME} is replaced by the environment in every value outside DCM_OPT_NO_ENV; ${NAME:-text}
 *    by `text` when NAME is unset or empty; $${ stands for ${ itself. Any other $ is just a $.
 *    Keys are never expanded.
 *  - Numbers may be quoted. Booleans are true and false. Choices do not mind upper case.
 *  - A secret called NAME may be given as NAME_file: the file's content without its last newline;
 *    a relative path starts at the configuration file's directory, as those of rows with
 *    DCM_OPT_PATH do, which stay paths.
 *  - A sub-struct that is absent has its defaults; its required rows and its check() are asked
 *    only when it is there.
 *  - A row named "" of type DCM_OPT_STRUCT puts its sub-table's keys among those of its own table.
 *    Any other row named "" must be the only one: its value stands where the struct would (a map
 *    of lists is a map of such structs).
 *
 * Limits: 256 MiB of structs, 64 KiB a secret, 1 MiB a scalar after expansion. Threads: none of
 * this keeps state; an arena and a problem list belong to one thread at a time.
 */
#ifndef DECIMA_CONFIG_OPTIONS_H
#define DECIMA_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/config/problems.h"
#include "core/config/tree.h"

struct options_env {
	struct arena *arena;	   /* the structs and everything they point to */
	struct problems *problems; /* where faults go */
	/* A variable's value or NULL; getenv(3) when this is NULL. */
	const char *(*get_variable)(void *ctx, const char *name);
	/* 0 or -EINVAL with a sentence; NULL: selectors are not checked. */
	int (*check_selector)(void *ctx, struct dcm_str text, struct dcm_error *err);
	/* Appends a secret's file; 0 or a negative errno. NULL: from the file system. */
	int (*read_secret)(void *ctx, const char *path, struct buf *out);
	void *ctx;
	/*
	 * The file is for another machine: missing variables and secret files are warnings, and the
	 * default stands.
	 */
	bool elsewhere;
};

/*
 * One table of the several that may share a map of the file (an instance's own options, and those
 * all have).
 */
struct options_part {
	const struct dcm_table *table;
	void *value; /* out: [table->struct_size], in the arena */
};

#define OPTIONS_PARTS_MAX 8

/*
 * Fills every part from the one map `node`; NULL or null: defaults. object ("input ebpf") begins
 * each sentence. 0, -EINVAL (problems has the errors) or -ENOMEM; values are set only on 0.
 */
int options__fill(const struct options_env *env, const char *object, const struct node *node,
		  struct options_part *parts, uint32_t n_parts);

/* The same for one table; the struct, or NULL with the fault in env->problems. */
void *options__fill_one(const struct options_env *env, const char *object, const struct node *node,
			const struct dcm_table *table);

/* The same, with keys that the table does not know left to whoever knows them. */
void *options__peek(const struct options_env *env, const char *object, const struct node *node,
		    const struct dcm_table *table);

/* Fills a struct with nothing but defaults, required rows left out: for table__check(). */
int options__try_defaults(const struct options_env *env, const struct dcm_table *table);

enum options_change {
	OPTIONS_SAME,
	OPTIONS_CHANGED,
	OPTIONS_RESTART /* a row with DCM_OPT_RESTART differs */
};

/*
 * Compares two filled structs of one table, deeply; texts by content, maps in order. key gets the
 * path of the first row that differs ("scrape_configs[1].job_name"), the first with DCM_OPT_RESTART
 * if there is one; "" when same.
 */
enum options_change options__compare(const struct dcm_table *table, const void *a, const void *b,
				     char key[static 256]);

#endif
