/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/verbs.h - every command of `decima`, as one table
 */
#ifndef DECIMA_MAIN_VERBS_H
#define DECIMA_MAIN_VERBS_H

#include "core/main/args.h"

struct loader;

extern const struct args_verb verbs[]; /* ends with a row of zeroes */

/* The verbs that have a file of their own (run_verb.c, check_verb.c, ...). */
int verb__run(const struct args *a);
int verb__check(const struct args *a);
int verb__plugins(const struct args *a);
int verb__describe(const struct args *a);
int verb__record(const struct args *a);
int verb__convert(const struct args *a);
int verb__debuginfo_extract(const struct args *a);
int verb__debuginfo_upload(const struct args *a);
int verb__store_stat(const struct args *a);
int verb__store_check(const struct args *a);
int verb__store_backup(const struct args *a);
int verb__store_remove(const struct args *a);
int verb__store_restore(const struct args *a);
int verb__generate(const struct args *a);
int verb__complete(const struct args *a);

/*
 * -c, --set, --data, --listen, --plugin-path, --log-level: how a configuration is found and
 * overridden.
 */
extern const struct args_option verb__config_options[];

/*
 * A loader for --plugin-path, or for where plugins were installed, by the rules of trust.h;
 * EXIT_DONE, or another exit status after a sentence.
 */
int verb__open_loader(const struct args *a, struct loader **ret);

#endif
