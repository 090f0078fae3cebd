/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_fault.c - what curl says of a call that failed, as a sentence with its remedy
 */
#include "core/net/http_fault.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
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

/*
 * What matters in what OpenSSL and curl say: behind the number and the routines of "error:0A00045C:SSL routines::alert ..,
 * errno 0", before what curl guesses of it.
 */
static struct dcm_str plain(const char *detail)
{
	static const char *const beginnings[] = { "routines::", "certificate problem: " };
	static const char *const ends[] = { ", errno ", ", (" };
	struct dcm_str s;

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		const char *at = strstr(detail, beginnings[i]);

		detail = at ? at + strlen(beginnings[i]) : detail;
	}
	s = str__of(detail);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *at = strstr(detail, ends[i]);

		if (at && (uint32_t)(at - detail) < s.n)
			s.n = (uint32_t)(at - detail);
	}
	return s;
}

/* Of a file that the configuration has put into memory the name says nothing. */
static bool is_of_memory(struct dcm_str what)
{
	return memmem(what.p, what.n, "/proc/self/fd", 13) != NULL;
}

static bool is_tls_alert(const char *detail)
{
	return (strstr(detail, "TLS") || strstr(detail, "SSL")) && strstr(detail, "alert");
}

/* That a server wants to know who asks, or does not like who it is. */
static bool is_alert_of_certificate(const char *detail)
{
	static const char *const words[] = { "certificate", "unknown ca", "handshake failure",
					     "access denied", "decrypt error" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(detail, words[i]))
			return true;
	return false;
}

static int refused_by_alert(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	if (is_alert_of_certificate(detail))
		return error__set(err, -EACCES,
				  "%s: the server ended the connection: %.*s; does it want another "
				  "certificate of ours?",
				  f->url, STR_ARG(plain(detail)));
	return error__set(err, -EPROTO, "%s: the server ended the connection: %.*s; %s", f->url,
			  STR_ARG(plain(detail)),
			  strstr(detail, "protocol version")
				  ? "does it speak the versions of TLS that are wanted "
				    "(min_version, max_version)?"
				  : "what does its log say?");
}

/* The faults of what came, and of the bytes between. */
static int broken(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	const bool is_alert = is_tls_alert(f->detail);
	struct dcm_str what;
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
			return refused_by_alert(f, detail, err);
		if (strstr(detail, "CONNECT tunnel failed"))
			return error__set(err, -ECONNREFUSED,
					  "%s: the proxy does not connect: %s; may we go there?",
					  f->url, detail);
		what = strstr(detail, "getpeername") ? STR("the server closed it") : plain(detail);
		return error__set(err, -ECONNRESET,
				  "%s: the connection broke: %.*s; does the server fail there%s?",
				  f->url, STR_ARG(what), certificate);
	default:
		return error__set(err, -EIO, "%s: %s", f->url, detail);
	}
}

/* What is wrong with a certificate whose authority is known, by OpenSSL's number; NULL: nothing that is known. */
static const char *flaw_of(long verdict)
{
	/* X509_V_ERR_..: openssl/x509_vfy.h. */
	static const char *const flaws[] = {
		[9] = "is not valid yet; which of the two clocks is wrong?",
		[10] = "has expired; renew it there",
		[23] = "was revoked; what has become of the server?",
		[66] = "has a key that is too small; renew it there",
		[67] = "has an authority whose key is too small; renew it there",
		[68] = "is signed by a digest that is too weak; renew it there",
	};

	return verdict >= 0 && (size_t)verdict < sizeof(flaws) / sizeof(flaws[0]) ? flaws[verdict] : NULL;
}

static int not_shaken(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	const struct dcm_str what = plain(detail);

	if (f->remedy && is_tls_alert(detail))
		return refused_by_alert(f, detail, err);
	/* What is sent is behind a handshake that the server has taken back. */
	if (f->remedy && (strstr(detail, "Connection reset") || strstr(detail, "Send failure")))
		return error__set(err, -ECONNRESET,
				  "%s: the connection broke: %.*s; does the server speak TLS "
				  "there, or want another "
				  "certificate of ours?",
				  f->url, STR_ARG(what));
	return error__set(err, -EPROTO, "%s: %.*s; %s", f->url, STR_ARG(what),
			  f->remedy ? "does the server speak TLS there?"
				    : "without server.tls decima speaks no TLS; write "
				      "http://HOST:PORT, or ask what "
				      "stands before it");
}

/* "cannot be used: WHY", or without why where it says nothing. */
static int not_used(const struct http_fault *f, const char *object, struct dcm_str why,
		    const char *remedy, struct dcm_error *err)
{
	if (is_of_memory(why))
		why = STR("");
	return error__set(err, -EACCES, "%s: %s cannot be used%s%.*s; %s", f->url, object,
			  why.n ? ": " : "", STR_ARG(why), remedy);
}

static int not_trusted(const struct http_fault *f, const char *detail, struct dcm_error *err)
{
	const char *flaw = flaw_of(f->verdict);
	const bool is_another = strstr(detail, "does not match") ||
				strstr(detail, "subject name matches");
	const struct dcm_str what = plain(detail);

	switch (f->code) {
	case CURLE_SSL_CERTPROBLEM:
		return not_used(f, "our certificate", what,
				"do certificate and key belong together?", err);
	case CURLE_SSL_CACERT_BADFILE:
		return not_used(f, "the authorities", what,
				is_of_memory(what)
					? "is tls_config: ca_file whole?"
					: "is the file whole, or ca-certificates not installed?",
				err);
	case CURLE_SSL_CONNECT_ERROR:
		return not_shaken(f, detail, err);
	default:
		if (flaw)
			return error__set(err, -EACCES, "%s: the server's certificate %s", f->url, flaw);
		return error__set(err, -EACCES, "%s: the server's certificate is not trusted: %.*s; %s",
				  f->url, STR_ARG(what),
				  is_another ? "is it the right server?" : "name its authority");
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
