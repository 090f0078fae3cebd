/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/shared.h - the option tables that several plugins share (enum dcm_shared)
 *
 * Relabel rules: Prometheus' relabel_config with its defaults and its refusals (pkg
 * "model/relabel": Config.Validate).
 */
#ifndef DECIMA_CONFIG_SHARED_H
#define DECIMA_CONFIG_SHARED_H

#include <stdbool.h>

#include <decima/plugin.h>

/* One relabel rule: struct dcm_relabel_rule. */
extern const struct dcm_table shared__relabel_rule;

/* type, element and table of what the shared table stands for; false when `which` is unknown. */
bool shared__resolve(enum dcm_shared which, struct dcm_option *row);

/* What Prometheus 3 takes as the name of a label: UTF-8 that is not empty. */
bool shared__is_label_name(const char *s);

#endif
