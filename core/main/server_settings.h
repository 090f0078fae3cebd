/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/server_settings.h - the options of the one port: where it listens, and who may do what
 */
#ifndef DECIMA_MAIN_SERVER_SETTINGS_H
#define DECIMA_MAIN_SERVER_SETTINGS_H

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

struct proxy_settings {
	struct dcm_list from; /* of const char *: addresses and networks; none: nobody is believed */
	const char *user_header, *groups_header; /* "": none */
	int32_t role;				 /* as a token's */
	struct dcm_map groups;			 /* of int32_t: such roles */
};

struct server_settings {
	struct dcm_list listen; /* of const char * */
	struct dcm_list tokens; /* of struct token_settings */
	struct tls_settings tls;
	struct proxy_settings proxy;
	struct dcm_list hosts;	      /* of const char * */
	struct dcm_list cors_origins; /* of const char * */
	const char *base_path;
	bool insecure;
	int64_t max_connections, max_client_connections;
	int64_t query_timeout_ns;
	int64_t query_memory_bytes;
	int64_t max_queries;
};

extern const struct dcm_table server_settings__table;

/* What tables cannot say: 0, or -EINVAL with the option that is wrong. Texts may be NULL: the environment of another machine has them. */
int server_settings__check(const struct server_settings *s, struct dcm_error *err);

/* Of a token that stands as "sha256:HEX", the HEX; NULL: it is the token itself. */
const char *server_settings__token_hash(const char *token);

#endif
