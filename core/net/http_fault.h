/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_fault.h - what curl says of a call that failed, as a sentence with its remedy
 */
#ifndef DECIMA_NET_HTTP_FAULT_H
#define DECIMA_NET_HTTP_FAULT_H

#include <stdint.h>

#include <decima/plugin.h>

struct http_fault {
	const char *url;    /* as it may be shown */
	int code;	    /* CURLcode, not CURLE_OK */
	const char *detail; /* curl's words; "": its general ones */
	const char *remedy; /* what to say when nobody listens; NULL: a decima is asked, which may not run */
	uint64_t max_bytes; /* of the answer */
	int os_error;	    /* errno of the connection; 0: not known */
	long verdict;	    /* CURLINFO_SSL_VERIFYRESULT: on a certificate that is not trusted */
};

/* Returns the negative errno. */
int http_fault__explain(const struct http_fault *f, struct dcm_error *err);

#endif
