/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/shared_http.h - the options of an HTTP client, as Prometheus has them (DCM_SHARED_HTTP_CLIENT)
 *
 * Keys, defaults and refusals are those of Prometheus' package "common/config" (HTTPClientConfig,
 * Validate), of which tests/data/config/http is the table. Stricter: a header's name or value that no
 * request could carry, a proxy of a kind that there is not, and TLS versions that leave none are
 * refused here already. More lenient: an empty basic_auth, or an authorization without credentials, counts as absent.
 */
#ifndef DECIMA_CONFIG_SHARED_HTTP_H
#define DECIMA_CONFIG_SHARED_HTTP_H

#include <stdbool.h>

#include <decima/plugin.h>

/* struct dcm_http_options. */
extern const struct dcm_table shared_http__options;

/* The options' fault that a file would be refused for, of options that come from elsewhere. -EINVAL. */
int shared_http__check(const struct dcm_http_options *options, struct dcm_error *err);

/* Is it the address of a proxy that curl can go through? */
bool shared_http__is_proxy(const char *url);

/* Can it stand in a request's header: the name (RFC 9110 section 5.1), the value (5.5)? */
bool shared_http__is_header_name(const char *name);
bool shared_http__is_header_value(const char *value);

#endif
