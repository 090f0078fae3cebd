/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/query_verbs.h - `decima query ...`, `targets`: what is asked of the API, printed
 */
#ifndef DECIMA_MAIN_QUERY_VERBS_H
#define DECIMA_MAIN_QUERY_VERBS_H

#include "core/main/args.h"

/* Option tables of the verbs in verbs.c. */
extern const struct args_option query_verbs__range[]; /* --from --to */
extern const struct args_option query_verbs__filter[]; /* --focus --hide --hide-stacks --only-stacks */
extern const struct args_option query_verbs__format[]; /* --format text|json */
extern const struct args_option query_verbs__table[];  /* --max-rows */
extern const struct args_option query_verbs__tree[];   /* --max-rows --group --invert */
extern const struct args_option query_verbs__series[]; /* --step --sum-by */
extern const struct args_option query_verbs__stacks[]; /* --group-by */
extern const struct args_option query_verbs__file[];   /* -o */
extern const struct args_option query_verbs__sides[];  /* --a-from .. --b-to */
extern const struct args_option query_verbs__match[];  /* --match */

int query_verbs__types(const struct args *a);
int query_verbs__labels(const struct args *a);
int query_verbs__values(const struct args *a);
int query_verbs__time_series(const struct args *a);
int query_verbs__top(const struct args *a);
int query_verbs__flame(const struct args *a);
int query_verbs__folded(const struct args *a);
int query_verbs__pprof(const struct args *a);
int query_verbs__diff(const struct args *a);
int query_verbs__callers(const struct args *a);
int query_verbs__callees(const struct args *a);
int query_verbs__targets(const struct args *a);

#endif
