/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/http.h - asking HTTP servers: how they are reached, calls, and answers; a part of <decima/plugin.h>
 *
 * A client is made of a filled option table (DCM_SHARED_HTTP_CLIENT: the keys of Prometheus' scrape
 * configurations, service discovery and remote writes), keeps its connections, and takes any number
 * of calls at once. The host's one client thread drives them all.
 */
#ifndef DECIMA_HTTP_H
#define DECIMA_HTTP_H

#include <stdbool.h>

#include <decima/base.h>
#include <decima/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * DCM_SHARED_HTTP_CLIENT (prometheus.io: configuration, http_config). Secrets that come from a file
 * are read again when the file has changed, at a call and at most once a second, so that tokens that
 * are renewed on disk need no reload.
 */
struct dcm_http_secret {
	const char *text; /* as the configuration has it; NULL: none */
	const char *file; /* path of a file that has it; NULL: none. At most one of the two */
};

enum dcm_tls_version { DCM_TLS_ANY, DCM_TLS_1_0, DCM_TLS_1_1, DCM_TLS_1_2, DCM_TLS_1_3 };

struct dcm_http_tls {
	const char *ca, *cert;		 /* PEM; NULL: none */
	const char *ca_file, *cert_file; /* the same in files, which are read again when they change */
	struct dcm_http_secret key;
	const char *server_name; /* of the certificate; NULL: the URL's */
	bool insecure_skip_verify;
	int32_t min_version, max_version; /* enum dcm_tls_version */
};

struct dcm_http_proxy {
	const char *url;		/* NULL: none */
	const char *no_proxy;		/* hosts that are reached without; NULL: none */
	bool from_environment;		/* HTTP_PROXY, HTTPS_PROXY, NO_PROXY count */
	struct dcm_map connect_headers; /* of struct dcm_list of const char *: values, sent to the proxy */
};

struct dcm_http_basic {
	const char *username, *username_file; /* both empty and no password: no basic auth */
	struct dcm_http_secret password;
};

struct dcm_http_authorization {
	const char *type; /* "Bearer" when NULL; counts only with credentials */
	struct dcm_http_secret credentials;
};

enum dcm_oauth2_grant { DCM_OAUTH2_CLIENT_CREDENTIALS, DCM_OAUTH2_JWT_BEARER };
enum dcm_oauth2_algorithm { DCM_OAUTH2_RS256, DCM_OAUTH2_RS384, DCM_OAUTH2_RS512 };

/* A statement that the client signs (RFC 7523, 2.1): instead of its secret. */
struct dcm_http_assertion {
	struct dcm_http_secret key; /* an RSA key in PEM */
	const char *key_id;	    /* NULL: none is named */
	int32_t algorithm;	    /* enum dcm_oauth2_algorithm */
	const char *issuer;	    /* NULL: the client's id */
	const char *audience;	    /* NULL: token_url */
	const char *claims; /* a map in JSON: further ones, and others in the place of the usual; NULL: none */
};

struct dcm_http_oauth2 {
	const char *client_id; /* NULL: no OAuth 2 */
	struct dcm_http_secret client_secret;
	int32_t grant; /* enum dcm_oauth2_grant */
	struct dcm_http_assertion assertion;
	struct dcm_list scopes; /* of const char * */
	const char *token_url;
	struct dcm_map endpoint_params; /* of const char * */
	struct dcm_http_tls tls;
	struct dcm_http_proxy proxy;
};

/* Values of one header beyond the usual: of http_headers. */
struct dcm_http_values {
	struct dcm_list values, secrets, files; /* of const char * */
};

struct dcm_http_options {
	struct dcm_http_basic basic;
	struct dcm_http_authorization authorization;
	struct dcm_http_secret bearer; /* the old spelling of an authorization of type Bearer */
	struct dcm_http_oauth2 oauth2;
	struct dcm_http_tls tls;
	struct dcm_http_proxy proxy;
	bool follow_redirects; /* at most 10 of them; credentials stay with their host */
	bool enable_http2;
	struct dcm_map http_headers; /* of struct dcm_http_values */
};

/*
 * How requests are signed: AWS's Signature Version 4 (docs.aws.amazon.com: "Authenticating Requests"), which
 * servers of objects other than Amazon's take too. The path of an URL is signed as it stands: there shall be nothing
 * in it but [A-Za-z0-9-._~/] and %XX in capitals.
 */
struct dcm_http_signature {
	uint32_t size;
	const char *region, *service; /* "eu-central-1", "s3" */
	struct dcm_http_secret access_key, secret_key;
	struct dcm_http_secret token; /* of a session; or none */
};

struct dcm_http_client; /* the host's */

struct dcm_http_header {
	struct dcm_str name, value;
};

/* What a call came to. Everything in it is borrowed for the callback. */
struct dcm_http_reply {
	uint32_t size;
	/*
	 * 0: an answer came, of whatever status. -ETIMEDOUT, -ECONNREFUSED, -EFBIG (the body is
	 * larger than max_bytes; also when it grew so when it was unpacked), -EACCES (the server's
	 * certificate or ours, a file of the options', a token), -ENOENT (no such host), -ELOOP (redirects),
	 * -ECANCELED, -ECONNRESET, -EPROTO, -EIO, ...: none, or not whole; `sentence` says what, where, and
	 * what to do, without user, password or any secret.
	 */
	int fault;
	int status;			       /* HTTP's; 0 when none came */
	const char *sentence;		       /* "" without a fault */
	const struct dcm_http_header *headers; /* [n_headers] of the last answer; names in lower case */
	uint32_t n_headers;
	const uint8_t *data; /* [n] body, unpacked; with dcm_http_call.take only of what is no 2xx: its first 16 KiB */
	size_t n;
	uint64_t wire_bytes; /* of the body as it was sent */
	int64_t duration_ns; /* from http_start() on */
};

struct dcm_http_file {
	int fd; /* read with pread */
	uint64_t n;
};

struct dcm_http_call {
	uint32_t size;
	const char *method; /* NULL: GET */
	const char *url;    /* http://, https://, or unix:/PATH/TO/SOCKET:/PATH?QUERY */
	const struct dcm_http_header *headers; /* [n_headers] */
	uint32_t n_headers;
	const void *body; /* [n_body]; copied */
	size_t n_body;
	int64_t timeout_ns; /* of the whole, with redirects and tokens; 0: none, for answers that do not end */
	int64_t silence_ns; /* ends it when not a byte came for that long; 0: never */
	uint64_t max_bytes; /* of the body, unpacked; 0: 64 MiB. With `take`: no bound when 0 */
	/*
	 * The body of a 2xx in pieces as they come, unpacked. False ends the call (-ECANCELED). NULL:
	 * all of it in the reply.
	 */
	bool (*take)(void *ctx, const uint8_t *data, size_t n);
	/* Once, after the last take(). Never inside http_start(); *ret_id is set before. */
	void (*done)(void *ctx, const struct dcm_http_reply *reply);
	void *ctx;
	bool grpc; /* by HTTP/2, in the clear too; trailers are told with the headers, behind them */
	/* The body in a file, from its begin on, in the place of `body`; borrowed until done(). NULL: none. */
	const struct dcm_http_file *file;
	bool keeps_method; /* a redirect that would make a GET of it (301, 302 or 303 of a POST) is not followed, but the answer */
};

#ifdef __cplusplus
}
#endif

#endif
