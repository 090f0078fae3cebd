/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/source.h - the command line's part of a configuration: -c, --set, --data, --listen, ...
 */
#ifndef DECIMA_MAIN_SOURCE_H
#define DECIMA_MAIN_SOURCE_H

#include "core/main/args.h"
#include "core/main/plan.h"

/* The values of --set, and how many; -ENOMEM. To be freed by the caller. */
int source__sets(const struct args *a, const char ***ret_sets, uint32_t *ret_n);

/* Fills a source from verb__config_options; -ENOMEM. `sets` must be freed by the caller. */
int source__from_args(const struct args *a, struct plan_source *ret, const char ***ret_sets);

#endif
