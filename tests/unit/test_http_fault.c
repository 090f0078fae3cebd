/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http_fault.c - sentences for what curl and OpenSSL say of calls that failed
 *
 * That they say it so is seen by others: test_http_pool.c, tests/e2e/tls.sh.
 */
#include "core/net/http_fault.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static const struct {
	int code;
	long verdict;
	const char *detail;
	int fault;
	const char *sentence;
} cases[] = {
	{ CURLE_PEER_FAILED_VERIFICATION, 20,
	  "SSL certificate problem: unable to get local issuer certificate",
	  -EACCES, "the server's certificate is not trusted: unable to get local issuer certificate; name its authority" },
	{ CURLE_PEER_FAILED_VERIFICATION, 10, "SSL certificate problem: certificate has expired",
	  -EACCES, "the server's certificate has expired; renew it there" },
	{ CURLE_PEER_FAILED_VERIFICATION, 9, "SSL certificate problem: certificate is not yet valid",
	  -EACCES, "the server's certificate is not valid yet; which of the two clocks is wrong?" },
	{ CURLE_PEER_FAILED_VERIFICATION, 23, "SSL certificate problem: certificate revoked",
	  -EACCES, "the server's certificate was revoked; what has become of the server?" },
	{ CURLE_PEER_FAILED_VERIFICATION, 0,
	  "SSL: no alternative certificate subject name matches target host name 'x'", -EACCES,
	  "the server's certificate is not trusted: SSL: no alternative certificate "
	  "subject name matches "
	  "target host name 'x'; is it the right server?" },
	{ CURLE_SSL_CERTPROBLEM, 0, "unable to set private key file: '/proc/self/fd/7' type PEM",
	  -EACCES, "our certificate cannot be used; do certificate and key belong together?" },
	{ CURLE_SSL_CACERT_BADFILE, 0, "error adding trust anchors from file: /proc/self/fd/7",
	  -EACCES, "the authorities cannot be used; is tls_config: ca_file whole?" },
	{ CURLE_SSL_CONNECT_ERROR, 0, "OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number",
	  -EPROTO, "wrong version number; does the server speak TLS there?" },
	{ CURLE_SSL_CONNECT_ERROR, 0,
	  "OpenSSL/3.0.19: error:0A000410:SSL routines::sslv3 alert handshake failure", -EACCES,
	  "the server ended the connection: sslv3 alert handshake failure; does it want "
	  "another certificate of "
	  "ours?" },
	{ CURLE_RECV_ERROR, 0, "OpenSSL SSL_read: Connection reset by peer, errno 104", -ECONNRESET,
	  "the connection broke: OpenSSL SSL_read: Connection reset by peer; "
	  "does the server fail "
	  "there, or want another certificate of ours?" },
	{ CURLE_SSL_CERTPROBLEM, 0,
	  "could not load PEM client certificate, OpenSSL error error:0A00018F:SSL "
	  "routines::ee key too small, (no "
	  "key found, wrong pass phrase, or wrong file format?)",
	  -EACCES, "our certificate cannot be used: ee key too small; do certificate and key belong together?" },
	{ CURLE_SSL_CACERT_BADFILE, 0,
	  "error adding trust anchors from file: /etc/ssl/certs/ca-certificates.crt", -EACCES,
	  "the authorities cannot be used: error adding trust anchors from file: "
	  "/etc/ssl/certs/ca-certificates.crt; is the file whole, or ca-certificates not "
	  "installed?" },
	{ CURLE_PEER_FAILED_VERIFICATION, 66, "SSL certificate problem: EE certificate key too weak",
	  -EACCES, "the server's certificate has a key that is too small; renew it there" },
	{ CURLE_SSL_CONNECT_ERROR, 0, "error:0A00042E:SSL routines::tlsv1 alert protocol version", -EPROTO,
	  "the server ended the connection: tlsv1 alert protocol version; does it speak "
	  "the versions of TLS that "
	  "are wanted (min_version, max_version)?" },
	{ CURLE_SSL_CONNECT_ERROR, 0, "error:0A000438:SSL routines::tlsv1 alert internal error", -EPROTO,
	  "the server ended the connection: tlsv1 alert internal error; what does its log say?" },
	{ CURLE_SSL_CONNECT_ERROR, 0,
	  "OpenSSL SSL_connect: Connection reset by peer in connection to x:443", -ECONNRESET,
	  "the connection broke: OpenSSL SSL_connect: Connection reset by peer in "
	  "connection to x:443; does the "
	  "server speak TLS there, or want another certificate of ours?" },
	{ CURLE_PARTIAL_FILE, 0, "transfer closed with 5 bytes remaining to read",
	  -EPROTO, "no whole answer: transfer closed with 5 bytes remaining to read; does the server fail there?" },
	{ CURLE_COULDNT_RESOLVE_HOST, 0, "Could not resolve host: x", -ENOENT,
	  "Could not resolve host: x; is the name right?" },
	{ CURLE_OPERATION_TIMEDOUT, 0, "Connection timed out after 3000 milliseconds", -ETIMEDOUT,
	  "no answer in time: Connection timed out after 3000 milliseconds" },
};

static void faults_have_sentences(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct http_fault f = {
			.url = "https://x/",
			.code = cases[i].code,
			.verdict = cases[i].verdict,
			.detail = cases[i].detail,
			.remedy = "",
		};
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(http_fault__explain(&f, &err), cases[i].fault);
		assert_memory_equal(err.text, "https://x/: ", 12);
		assert_string_equal(err.text + 12, cases[i].sentence);
	}
}

/* It comes while curl reads for HTTP/1.1, or for HTTP/2, which calls it something else: which one comes is the server's affair. */
static void an_alert_refuses_a_certificate(void **state)
{
	static const int codes[] = { CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		const struct http_fault f = {
			.url = "https://x/",
			.code = codes[i],
			.detail = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert "
				  "certificate required, errno 0",
			.remedy = "",
		};
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(http_fault__explain(&f, &err), -EACCES);
		assert_string_equal(err.text, "https://x/: the server ended the connection: tlsv13 "
					      "alert certificate required; does "
					      "it want another certificate of ours?");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_have_sentences),
		cmocka_unit_test(an_alert_refuses_a_certificate),
	};

	return cmocka_run_group_tests_name("http_fault", tests, NULL, NULL);
}
