/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http_pool_tls.c - whom clients trust, and what they show of themselves
 */
#include <errno.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "tests/unit/http_asking.h"

static void speaks_tls(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = trusting();
	struct answer a = { 0 };
	struct buf pem = { 0 };

	ask_once(&o, &a, "https", "/echo");
	expect(&a, 200);
	assert_true(answer__has(&a, "GET HTTP/2.0 127.0.0.1:"));
	o.enable_http2 = false;
	ask_once(&o, &a, "https", "/echo");
	assert_true(answer__has(&a, "GET HTTP/1.1 127.0.0.1:"));
	o.tls.ca_file = NULL;
	assert_int_equal(fd__read_path(-100, peer__file("ca.pem"), 1 << 16, &pem), 0);
	o.tls.ca = (const char *)pem.data;
	ask_once(&o, &a, "https", "/echo");
	expect(&a, 200);
	buf__fini(&pem);
	answer__fini(&a);
}

static void trusts_nobody_else(void **state)
{
	NEEDS_PEER;
	static const char *const bad[][2] = {
		{ "expired", "the server's certificate has expired; renew it there" },
		{ "selfsigned", "the server's certificate is not trusted" },
		{ "wrongname", "is it the right server?" },
	};
	struct dcm_http_options o = trusting();
	struct answer a = { 0 };

	for (size_t i = 0; i < 3; i++) {
		o = trusting();
		ask_once(&o, &a, bad[i][0], "/echo");
		expect_fault(&a, -EACCES, bad[i][1]);
		o.tls.insecure_skip_verify = true;
		ask_once(&o, &a, bad[i][0], "/echo");
		expect(&a, 200);
	}
	o = plain;
	ask_once(&o, &a, "https", "/echo");
	expect_fault(&a, -EACCES, "name its authority");
	o.tls.ca_file = peer__file("other_ca.pem");
	ask_once(&o, &a, "https", "/echo");
	expect_fault(&a, -EACCES, "not trusted");
	answer__fini(&a);
}

/* So many copies of a file of one authority that what was read of it is kept. */
static void write_many(const char *from, const char *to)
{
	struct buf one = { 0 }, all = { 0 };

	assert_int_equal(fd__read_path(-100, peer__file(from), 1 << 16, &one), 0);
	while (all.n < 64 * 1024)
		buf__str(&all, buf__view(&one));
	buf__byte(&all, '\0');
	write_file(to, (const char *)all.data);
	buf__fini(&one);
	buf__fini(&all);
}

/* What was kept for one client's connections is not used for another's, whoever came first, nor after the file has changed. */
static void keeps_many_authorities_apart(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = trusting();
	struct dcm_http_client *ours, *others;
	struct answer a = { 0 };

	write_many("ca.pem", "many.pem");
	write_many("other_ca.pem", "other_many.pem");
	o.enable_http2 = false;
	o.tls.ca_file = peer__file("many.pem");
	ours = client_of(&o);
	o.tls.ca_file = peer__file("other_many.pem");
	others = client_of(&o);
	for (int round = 0; round < 2; round++) {
		ask(ours, &a, "https", "/echo");
		expect(&a, 200);
		ask(others, &a, "https", "/echo");
		expect_fault(&a, -EACCES, "not trusted");
		o = plain;
		ask_once(&o, &a, "https", "/echo");
		expect_fault(&a, -EACCES, "name its authority");
		o.tls.insecure_skip_verify = true;
		ask_once(&o, &a, "https", "/echo");
		expect(&a, 200);
		ask(ours, &a, "tls12", "/echo");
		expect(&a, 200);
	}
	write_many("other_ca.pem", "many.pem");
	usleep(1100000);
	ask(ours, &a, "https", "/echo");
	expect_fault(&a, -EACCES, "not trusted");
	http_pool__client_free(ours);
	http_pool__client_free(others);
	answer__fini(&a);
}

static void takes_another_name(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = trusting();
	struct answer a = { 0 };
	const char *port = strrchr(peer__url("wrongname"), ':');
	char host[64];

	o.tls.server_name = "special.name";
	snprintf(host, sizeof(host), " 127.0.0.1%s /echo?x\n", port);
	for (int http2 = 1; http2 >= 0; http2--) {
		o.enable_http2 = http2;
		ask_once(&o, &a, "wrongname", "/echo?x");
		expect(&a, 200);
		assert_true(answer__has(&a, "name=special.name"));
		assert_true(answer__has(&a, host));
		assert_true(answer__has(&a, http2 ? "HTTP/2.0" : "HTTP/1.1"));
	}
	ask_once(&o, &a, "https", "/echo");
	expect_fault(&a, -EACCES, "not trusted");
	/* A redirect is meant from where the server is, not from its name. */
	ask_once(&o, &a, "wrongname", "/redirect?to=/echo");
	expect(&a, 200);
	answer__fini(&a);
}

static void keeps_to_versions(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = trusting();
	struct answer a = { 0 };

	ask_once(&o, &a, "tls12", "/echo");
	assert_true(answer__has(&a, "tls 303"));
	ask_once(&o, &a, "tls13", "/echo");
	assert_true(answer__has(&a, "tls 304"));
	o.tls.min_version = DCM_TLS_1_3;
	ask_once(&o, &a, "tls12", "/echo");
	assert_true(a.fault < 0);
	ask_once(&o, &a, "tls13", "/echo");
	expect(&a, 200);
	o.tls.min_version = DCM_TLS_ANY;
	o.tls.max_version = DCM_TLS_1_2;
	ask_once(&o, &a, "tls13", "/echo");
	assert_true(a.fault < 0);
	ask_once(&o, &a, "https", "/echo");
	assert_true(answer__has(&a, "tls 303"));
	/* What is older than 1.2 is spoken to who wants it. */
	o = trusting();
	ask_once(&o, &a, "tls10", "/echo");
	expect_fault(&a, -EPROTO, "min_version");
	o.enable_http2 = false; /* which wants 1.2 */
	o.tls.min_version = DCM_TLS_1_0;
	ask_once(&o, &a, "tls10", "/echo");
	expect(&a, 200);
	assert_true(answer__has(&a, "tls 301"));
	answer__fini(&a);
}

static void copy_file(const char *from, const char *to)
{
	struct buf b = { 0 };

	assert_int_equal(fd__read_path(-100, peer__file(from), 1 << 16, &b), 0);
	write_file(to, (const char *)b.data);
	buf__fini(&b);
}

/* Whether its word or its silence comes first is the server's affair. */
static void expect_refused(const struct answer *a)
{
	if ((a->fault != -EACCES && a->fault != -ECONNRESET) || !strstr(a->sentence, "certificate"))
		fail_msg("fault %d, status %d: %s", a->fault, a->status, a->sentence);
}

static void shows_certificates(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = trusting();
	struct answer a = { 0 };
	struct dcm_http_client *c;
	struct dcm_error err = DCM_ERROR_INIT;

	ask_once(&o, &a, "mutual", "/echo");
	expect_refused(&a);
	o.tls.cert_file = peer__file("mine.pem");
	o.tls.key.file = peer__file("mine.key");
	copy_file("client.pem", "mine.pem");
	copy_file("client.key", "mine.key");
	c = client_of(&o);
	ask(c, &a, "mutual", "/echo");
	expect(&a, 200);
	assert_true(answer__has(&a, "client client\n"));
	/* Renewed on disk: the next call shows the new one, on a new connection. */
	copy_file("second.pem", "mine.pem");
	copy_file("second.key", "mine.key");
	usleep(1100000);
	ask(c, &a, "mutual", "/echo");
	expect(&a, 200);
	assert_true(answer__has(&a, "client second\n"));
	http_pool__client_free(c);
	static const char *const refused[] = { "stranger", "late" };
	for (size_t i = 0; i < 2; i++) {
		char cert[32], key[32];
		snprintf(cert, sizeof(cert), "%s.pem", refused[i]);
		snprintf(key, sizeof(key), "%s.key", refused[i]);
		o.tls.cert_file = peer__file(cert);
		o.tls.key.file = peer__file(key);
		ask_once(&o, &a, "mutual", "/echo");
		expect_refused(&a);
	}
	/* A key of another certificate; files that are none. */
	o.tls.cert_file = peer__file("client.pem");
	o.tls.key.file = peer__file("second.key");
	ask_once(&o, &a, "mutual", "/echo");
	expect_fault(&a, -EACCES, "certificate");
	o.tls.ca_file = "/nowhere/ca";
	assert_int_equal(http_pool__client_new(pool, NULL, &o, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ca_file /nowhere/ca: No such file"));
	o.tls.ca_file = peer__file("client.key");
	assert_int_equal(http_pool__client_new(pool, NULL, &o, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "holds no certificate in PEM"));
	/* There is nobody to ask for a passphrase. */
	o = trusting();
	o.tls.cert_file = peer__file("client.pem");
	o.tls.key.text = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n";
	assert_int_equal(http_pool__client_new(pool, NULL, &o, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "tls_config: key: is encrypted"));
	o = plain;
	o.tls.cert = "x";
	assert_int_equal(http_pool__client_new(pool, NULL, &o, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "needs its key"));
	answer__fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speaks_tls),
		cmocka_unit_test(trusts_nobody_else),
		cmocka_unit_test(keeps_many_authorities_apart),
		cmocka_unit_test(takes_another_name),
		cmocka_unit_test(keeps_to_versions),
		cmocka_unit_test(shows_certificates),
	};

	return cmocka_run_group_tests_name("http_pool_tls", tests, begin, end);
}
