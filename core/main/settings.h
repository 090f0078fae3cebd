/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/settings.h - the options of the program itself: everything in the file but the plugins'
 * instances
 */
#ifndef DECIMA_MAIN_SETTINGS_H
#define DECIMA_MAIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/main/server_settings.h"

struct log_settings {
	int32_t level;	      /* enum dcm_log_level */
	int32_t format;	      /* auto, text, json, journal */
	struct dcm_map areas; /* of int32_t: enum dcm_log_level */
};

struct pipeline_settings {
	int64_t intake_bytes;
	int64_t shared_bytes;
	int64_t drain_timeout_ns;
};

struct symbols_settings {
	int64_t table_bytes;
	int64_t learned_bytes;
	bool files, lines, inlines;
	int64_t lines_timeout_ns;
	int64_t lines_bytes;
	int64_t open_files;
	struct dcm_list debuginfo;  /* of const char *: directories */
	struct dcm_list debuginfod; /* of const char *: URLs */
	int64_t debuginfod_timeout_ns;
	int64_t debuginfod_bytes;
	int64_t max_bytes;    /* of what is kept on disk; 0: nothing is */
	int64_t retention_ns; /* 0: no bound */
};

struct main_settings {
	struct server_settings server;
	struct log_settings log;
	struct pipeline_settings pipeline;
	struct symbols_settings symbols;
	struct dcm_map labels;		 /* of const char * */
	struct dcm_list relabel_configs; /* of struct dcm_relabel_rule */
	const char *node;
	const char *data;
	const char *plugin_path;
	const char *user; /* to become when started as root; NULL: stay */
};

extern const struct dcm_table settings__table;

/* Labels that each profile may be given; `place` is the option they stand in. 0 or -EINVAL. */
int settings__check_labels(const struct dcm_map *labels, const char *place, struct dcm_error *err);

#endif
