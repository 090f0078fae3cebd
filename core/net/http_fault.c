/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_fault.c - what curl says of a call that failed, as a sentence with its remedy
 */
#include "core/net/http_fault.h"

#include <curl/curl.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/net/http_place.h"

static int not_connected(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	bool known = f->os_error == EHOSTUNREACH || f->os_error == ENETUNREACH || f->os_error == ETIMEDOUT;

	/* curl speaks of the host in the URL, which no socket has. */
	if (http_place__is_unix(f->url))
		detail = "nothing listens on the socket";
	return error__set(err, known ? -f->os_error : -ECONNREFUSED, "%s: cannot connect: %s; %s",
			  f->url, detail, f->remedy ? f->remedy : "is decima running there?");
}

/* The faults of what came, and of the bytes between. */
static int broken(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	const bool is_alert = strstr(detail, "TLS") && strstr(detail, "alert");
	const char *certificate = strncmp(f->url, "https:", 6) == 0
					  ? ", or want another certificate of ours"
					  : "";
	/* HTTP/2 has a code of its own for what happens to the connection. */
	const bool is_connection = is_alert || strstr(detail, "Send failure") ||
				   strstr(detail, "Recv failure");

	switch (is_connection ? (int)CURLE_SEND_ERROR : f->code) {
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_HTTP3:
		return error__set(err, -EPROTO, "%s: no whole answer: %s; does the server fail there%s?",
				  f->url, detail,
				  strstr(detail, "end of the underlying stream") ? certificate : "");
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		/* With TLS 1.3 a server refuses our certificate when the handshake is over, if it says a word. */
		if (is_alert)
			return error__set(
				err, -EACCES,
				"%s: the server ended the connection: %s; does it want another "
				"certificate of ours?",
				f->url, detail);
		if (strstr(detail, "CONNECT tunnel failed"))
			return error__set(err, -ECONNREFUSED,
					  "%s: the proxy does not connect: %s; may we go there?",
					  f->url, detail);
		return error__set(err, -ECONNRESET,
				  "%s: the connection broke: %s; does the server fail there%s?", f->url,
				  strstr(detail, "getpeername") ? "the server closed it" : detail,
				  certificate);
	default:
		return error__set(err, -EIO, "%s: %s", f->url, detail);
	}
}

/* What is wrong with a certificate whose authority is known, by the bits that GnuTLS gives; NULL: nothing that is known. */
static const char *flaw_of(long verdict)
{
	const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;

	if (!library || strncmp(library, "GnuTLS", 6) != 0 || verdict & GNUTLS_CERT_SIGNER_NOT_FOUND)
		return NULL;
	if (verdict & GNUTLS_CERT_EXPIRED)
		return "has expired; renew it there";
	if (verdict & GNUTLS_CERT_NOT_ACTIVATED)
		return "is not valid yet; which of the two clocks is wrong?";
	return verdict & GNUTLS_CERT_REVOKED ? "was revoked; what has become of the server?" : NULL;
}

static int not_trusted(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	const char *end, *flaw;

	/* GnuTLS has no code of its own for files that it cannot use. */
	switch (strstr(detail, "X.509 key or certificate") ? (int)CURLE_SSL_CERTPROBLEM : f->code) {
	case CURLE_SSL_CERTPROBLEM:
		return error__set(err, -EACCES, "%s: our certificate cannot be used: %s; do certificate and key belong together?",
				  f->url, detail);
	case CURLE_SSL_CONNECT_ERROR:
		/* What is read or sent is behind a handshake that the server has taken back. */
		if (f->remedy && (strstr(detail, "ertificate") || strstr(detail, "recv error") ||
				  strstr(detail, "Send failure")))
			return error__set(
				err, -EACCES,
				"%s: the server ended the connection: %s; does it want another "
				"certificate of ours?",
				f->url, detail);
		return error__set(err, -EPROTO, "%s: %s; %s", f->url, detail,
				  f->remedy ? "does the server speak TLS there?"
					    : "without server.tls decima speaks no TLS; write "
					      "http://HOST:PORT, or ask what "
					      "stands before it");
	default:
		flaw = flaw_of(f->verdict);
		if (flaw)
			return error__set(err, -EACCES, "%s: the server's certificate %s", f->url, flaw);
		/* Which file curl took authorities from is our own matter: it may be a descriptor. */
		end = strstr(detail, ". CAfile: ");
		return error__set(err, -EACCES, "%s: the server's certificate is not trusted: %.*s; %s",
				  f->url, (int)(end ? (size_t)(end - detail) : strlen(detail)), detail,
				  strstr(detail, "does not match") ? "is it the right server?"
								   : "name its authority");
	}
}

int http_fault__explain(const struct http_fault *f, struct dcm_error *err)
{
	const char *detail = f->detail[0] ? f->detail : curl_easy_strerror((CURLcode)f->code);

	/* Whatever is no answer of HTTP's is one of HTTP/0.9 to curl. */
	if (f->code == CURLE_UNSUPPORTED_PROTOCOL && strstr(detail, "HTTP/0.9"))
		return error__set(
			err, -EPROTO,
			"%s: what answers there is not HTTP; if it speaks TLS, write https://", f->url);
	switch (f->code) {
	case CURLE_COULDNT_CONNECT:
		return not_connected(f, detail, err);
	case CURLE_OPERATION_TIMEDOUT:
		return error__set(err, -ETIMEDOUT, "%s: no answer in time: %s", f->url, detail);
	case CURLE_OUT_OF_MEMORY:
		return error__nomem(err);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return error__set(
			err, -EINVAL,
			"%s: not a URL this can ask; write http://HOST:PORT or unix:/PATH", f->url);
	case CURLE_COULDNT_RESOLVE_PROXY:
		return error__set(err, -ENOENT, "%s: the proxy is not found: %s; is its name right?",
				  f->url, detail);
	case CURLE_COULDNT_RESOLVE_HOST:
		return error__set(err, -ENOENT, "%s: %s; %s", f->url, detail,
				  f->remedy ? "is the name right?"
					    : "write http://HOST:PORT or unix:/PATH");
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return not_trusted(f, detail, err);
	case CURLE_WRITE_ERROR:
		return error__set(err, -EFBIG,
				  "%s: the answer is larger than %" PRIu64
				  " bytes; narrow the question",
				  f->url, f->max_bytes);
	default:
		return broken(f, detail, err);
	}
}
