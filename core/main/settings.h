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

struct token_settings {
	const char *token;
	int32_t role;	       /* enum http_role less one: read, write, admin */
	struct dcm_map labels; /* of const char * */
};

struct tls_settings {
	const char *cert_file, *key_file, *client_ca_file; /* "": none */
	int32_t client_auth;				   /* required, optional */
	int32_t client_role;				   /* as a token's */
};

struct server_settings {
	struct dcm_list listen; /* of const char * */
	struct dcm_list tokens; /* of struct token_settings */
	struct tls_settings tls;
	struct dcm_list hosts;	      /* of const char * */
	struct dcm_list cors_origins; /* of const char * */
	const char *base_path;
	bool insecure;
	int64_t max_connections;
	int64_t query_timeout_ns;
	int64_t query_memory_bytes;
	int64_t max_queries;
};

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

#endif
