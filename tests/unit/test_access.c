/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_access.c - who gets which role, and who is sent away
 */
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/net/cors.h"

static const struct dcm_label_text bosses[] = { { STR("tenant"), STR("acme") } };
static const struct access_token tokens[] = {
	{ .token = "reader", .role = HTTP_ROLE_READ },
	{ .token = "boss", .role = HTTP_ROLE_ADMIN, .labels = bosses, .n_labels = 1 }
};
static const char *const hosts[] = { "profiles.example" };
static const struct access_rules local = {
	.tokens = tokens, .n_tokens = 2, .hosts = hosts, .n_hosts = 1, .anonymous = HTTP_ROLE_WRITE
};
static const char *const origins[] = { "https://apps.example" };
static const struct access_rules remote = { .tokens = tokens, .n_tokens = 2, .anonymous = HTTP_ROLE_NONE };

/* printf hashed | sha256sum */
static const char hashed[] = "1a06df824ed741b53c785079a6347f00eec5af82f9850775409ca69dff4068a6";
static const struct access_token hashed_tokens[] = { { .token = "reader", .role = HTTP_ROLE_READ },
						     { .sha256 = hashed, .role = HTTP_ROLE_ADMIN } };
static const struct access_rules with_hash = { .tokens = hashed_tokens, .n_tokens = 2 };

struct ask {
	const char *host, *authorization, *origin, *user, *user_again, *groups;
	enum http_method method;
};

/* The status of a refusal, or minus the role. */
static int check(const struct access_rules *rules, const struct access_peer *peer, struct ask a)
{
	struct dcm_field h[6];
	struct http_request req = { .method = a.method, .headers = h };
	struct http_response resp = { .status = 200 };
	int result;

	if (a.host)
		h[req.n_headers++] = (struct dcm_field){ STR("host"), str__of(a.host) };
	if (a.authorization)
		h[req.n_headers++] = (struct dcm_field){ STR("authorization"), str__of(a.authorization) };
	if (a.origin)
		h[req.n_headers++] = (struct dcm_field){ STR("origin"), str__of(a.origin) };
	if (a.user)
		h[req.n_headers++] = (struct dcm_field){ STR("x-forwarded-user"), str__of(a.user) };
	if (a.user_again)
		h[req.n_headers++] = (struct dcm_field){ STR("X-Forwarded-User"), str__of(a.user_again) };
	if (a.groups)
		h[req.n_headers++] = (struct dcm_field){ STR("remote-groups"), str__of(a.groups) };
	result = access__check(rules, peer, &req, &resp) ? -(int)req.role : resp.status;
	http_response__fini(&resp);
	return result;
}

static const struct access_peer tcp;

static void test_tokens(void **state)
{
	(void)state;
	assert_int_equal(check(&remote, &tcp,
			       (struct ask){ .host = "a.b", .authorization = "Bearer reader" }),
			 -HTTP_ROLE_READ);
	assert_int_equal(
		check(&remote, &tcp, (struct ask){ .host = "a.b", .authorization = "bearer boss" }),
		-HTTP_ROLE_ADMIN);
	assert_int_equal(
		check(&remote, &tcp, (struct ask){ .host = "a.b", .authorization = "Bearer bos" }), 401);
	assert_int_equal(check(&remote, &tcp,
			       (struct ask){ .host = "a.b", .authorization = "Bearer bossbossboss" }),
			 401);
	assert_int_equal(
		check(&remote, &tcp, (struct ask){ .host = "a.b", .authorization = "Bearer " }), 401);
	assert_int_equal(check(&remote, &tcp,
			       (struct ask){ .host = "127.0.0.1", .authorization = "Basic x" }),
			 401);
	assert_int_equal(check(&remote, &tcp, (struct ask){ .host = "127.0.0.1" }), -HTTP_ROLE_NONE);
}

static void test_hashed_tokens(void **state)
{
	static const struct {
		const char *authorization;
		int want;
	} cases[] = { { "Bearer hashed", -HTTP_ROLE_ADMIN },
		      { "Bearer reader", -HTTP_ROLE_READ },
		      { "Basic dTpoYXNoZWQ=", -HTTP_ROLE_ADMIN }, /* u:hashed */
		      { "Bearer hashe", 401 },
		      { "Bearer ", 401 } };
	char the_hash[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(
			check(&with_hash, &tcp,
			      (struct ask){ .host = "a.b", .authorization = cases[i].authorization }),
			cases[i].want);
	/* What stands in the configuration opens nothing. */
	snprintf(the_hash, sizeof(the_hash), "Bearer %s", hashed);
	assert_int_equal(
		check(&with_hash, &tcp, (struct ask){ .host = "a.b", .authorization = the_hash }), 401);
}

static void test_proxies(void **state)
{
	struct access_rules rules = { .tokens = tokens, .n_tokens = 2, .hosts = hosts, .n_hosts = 1 };
	struct network from[2];
	static const struct access_group groups[] = { { STR("sre"), HTTP_ROLE_ADMIN },
						      { STR("dev"), HTTP_ROLE_WRITE } };
	struct access_peer proxy = { .is_tls = false }, stranger = proxy, with_tls = { .is_tls = true };
	const struct access_peer user = { .is_unix = true, .uid = 4242 };

	(void)state;
	assert_true(network__read("10.1.0.0/16", &from[0]) && network__read("fd00::7", &from[1]));
	assert_true(address__read("10.1.2.3", &proxy.address));
	assert_true(address__read("10.1.2.3", &with_tls.address));
	assert_true(address__read("10.2.0.1", &stranger.address));
	rules.proxies = (struct access_proxies){ .from = from,
						 .n_from = 2,
						 .user_header = "X-Forwarded-User",
						 .groups_header = "Remote-Groups",
						 .role = HTTP_ROLE_READ,
						 .groups = groups,
						 .n_groups = 2 };
	const struct {
		const struct access_peer *peer;
		struct ask ask;
		int want;
	} cases[] = {
		{ &proxy, { .host = "10.1.0.1", .user = "alice" }, -HTTP_ROLE_READ },
		{ &proxy, { .host = "10.1.0.1", .user = "alice", .groups = "dev" }, -HTTP_ROLE_WRITE },
		{ &proxy, { .host = "10.1.0.1", .user = "alice", .groups = "others, sre ,dev" }, -HTTP_ROLE_ADMIN },
		{ &proxy, { .host = "10.1.0.1", .user = "alice", .groups = "sres,,de,sr e" }, -HTTP_ROLE_READ },
		/* Groups alone are nobody's. */
		{ &proxy, { .host = "10.1.0.1", .groups = "sre" }, -HTTP_ROLE_NONE },
		{ &proxy, { .host = "10.1.0.1", .user = "" }, -HTTP_ROLE_NONE },
		/* One of the two is what the caller sent. */
		{ &proxy, { .host = "10.1.0.1", .user = "alice", .user_again = "root" }, 400 },
		/* What the proxy itself has asked for goes on to here. */
		{ &proxy,
		  { .host = "10.1.0.1", .user = "alice", .authorization = "Basic YWxpY2U6cGFzcw==" },
		  -HTTP_ROLE_READ },
		{ &proxy,
		  { .host = "10.1.0.1", .user = "alice", .authorization = "Bearer boss" },
		  -HTTP_ROLE_ADMIN },
		{ &proxy, { .host = "10.1.0.1", .authorization = "Bearer wrong" }, 401 },
		/* Rebound: a browser sends what its page says, to an address that the page's name has now. */
		{ &proxy, { .host = "evil.example", .user = "alice", .groups = "sre" }, 421 },
		{ &proxy, { .user = "alice" }, 421 },
		{ &with_tls, { .host = "evil.example", .user = "alice" }, -HTTP_ROLE_READ },
		{ &stranger, { .host = "10.2.0.1", .user = "alice", .groups = "sre" }, -HTTP_ROLE_NONE },
		{ &user, { .user = "alice", .groups = "sre" }, -HTTP_ROLE_NONE },
		/* The session is a cookie, which other sites' pages have sent, too. */
		{ &proxy,
		  { .host = "profiles.example",
		    .user = "alice",
		    .groups = "dev",
		    .origin = "http://evil.example",
		    .method = HTTP_POST },
		  403 },
		{ &proxy,
		  { .host = "profiles.example",
		    .user = "alice",
		    .groups = "dev",
		    .origin = "https://profiles.example",
		    .method = HTTP_POST },
		  -HTTP_ROLE_WRITE },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (check(&rules, cases[i].peer, cases[i].ask) != cases[i].want)
			fail_msg("case %zu: %d", i, check(&rules, cases[i].peer, cases[i].ask));
}

/* What a proxy's certificate may do, nobody may who comes through it. */
static void test_proxies_with_certificates(void **state)
{
	struct access_rules rules = { .tokens = tokens, .n_tokens = 2, .hosts = hosts, .n_hosts = 1 };
	struct network from;
	struct access_peer proxy = { .is_tls = true, .role = HTTP_ROLE_ADMIN }, other = proxy;
	const struct ask alice = { .host = "10.1.0.1", .user = "alice" },
			 nobody = { .host = "10.1.0.1" },
			 boss = { .host = "10.1.0.1", .authorization = "Bearer boss" };

	(void)state;
	assert_true(network__read("10.1.0.0/16", &from));
	assert_true(address__read("10.1.2.3", &proxy.address));
	assert_true(address__read("10.2.2.3", &other.address));
	rules.proxies = (struct access_proxies){
		.from = &from, .n_from = 1, .user_header = "X-Forwarded-User", .role = HTTP_ROLE_READ
	};
	assert_int_equal(check(&rules, &proxy, alice), -HTTP_ROLE_READ);
	assert_int_equal(check(&rules, &proxy, nobody), -HTTP_ROLE_NONE);
	assert_int_equal(check(&rules, &proxy, boss), -HTTP_ROLE_ADMIN);
	assert_int_equal(check(&rules, &other, alice), -HTTP_ROLE_ADMIN);
	assert_int_equal(check(&rules, &other, nobody), -HTTP_ROLE_ADMIN);
}

static void test_proxies_of_ipv6(void **state)
{
	struct network from;
	struct access_rules rules = { .tokens = tokens, .n_tokens = 2 };
	struct access_peer proxy = { .is_tls = false };

	(void)state;
	assert_true(network__read("fd00::7", &from));
	rules.proxies = (struct access_proxies){
		.from = &from, .n_from = 1, .user_header = "X-Forwarded-User", .role = HTTP_ROLE_READ
	};
	assert_true(address__read("fd00::7", &proxy.address));
	assert_int_equal(check(&rules, &proxy, (struct ask){ .host = "[::1]", .user = "alice" }),
			 -HTTP_ROLE_READ);
	assert_true(address__read("fd00::8", &proxy.address));
	assert_int_equal(check(&rules, &proxy, (struct ask){ .host = "[::1]", .user = "alice" }),
			 -HTTP_ROLE_NONE);
}

/* Also of one on a unix socket, who is admin without. */
static void test_labels(void **state)
{
	static const struct access_peer root = { .is_unix = true, .uid = 0 };
	static const struct dcm_field boss = { STR("authorization"), STR("Bearer boss") },
				      reader = { STR("authorization"), STR("Bearer reader") };
	struct http_response resp = { .status = 200 };
	struct http_request req = { .headers = &boss, .n_headers = 1 };

	(void)state;
	assert_true(access__check(&remote, &tcp, &req, &resp));
	assert_ptr_equal(req.labels, bosses);
	assert_int_equal(req.n_labels, 1);
	assert_true(access__check(&remote, &root, &req, &resp));
	assert_int_equal(req.n_labels, 1);
	req.headers = &reader;
	assert_true(access__check(&remote, &tcp, &req, &resp));
	assert_int_equal(req.n_labels, 0);
	req.n_headers = 0;
	assert_true(access__check(&remote, &root, &req, &resp));
	assert_int_equal(req.n_labels, 0);
	http_response__fini(&resp);
}

/* What some token says of itself, nobody says without one: not by a certificate, through a proxy, or from this machine. */
static void test_claims(void **state)
{
	static const struct dcm_label_text claims[] = { { STR("tenant"), STR("") } };
	static const struct access_peer root = { .is_unix = true, .uid = 0 },
					other = { .is_unix = true, .uid = 4242 },
					certified = { .is_tls = true, .role = HTTP_ROLE_WRITE };
	static const struct dcm_field host[] = { { STR("host"), STR("localhost") },
						 { STR("authorization"), STR("Bearer writer") } },
				      reading[] = { { STR("host"), STR("localhost") },
						    { STR("authorization"),
						      STR("Bearer reader") } };
	static const struct access_token both[] = { { .token = "reader", .role = HTTP_ROLE_READ },
						    { .token = "writer", .role = HTTP_ROLE_WRITE } };
	const struct access_rules rules = {
		.tokens = both, .n_tokens = 2, .claims = claims, .n_claims = 1, .anonymous = HTTP_ROLE_WRITE
	};
	const struct access_peer *strangers[] = { &tcp, &other, &certified };
	struct http_response resp = { .status = 200 };
	struct http_request req = { .headers = host, .n_headers = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(strangers) / sizeof(*strangers); i++) {
		assert_true(access__check(&rules, strangers[i], &req, &resp));
		assert_int_equal(req.role, HTTP_ROLE_WRITE);
		assert_ptr_equal(req.labels, claims);
		assert_int_equal(req.n_labels, 1);
	}
	assert_true(access__check(&rules, &root, &req, &resp));
	assert_int_equal(req.n_labels, 0);
	/* A token without labels may say any: it is for relays. */
	req.n_headers = 2;
	assert_true(access__check(&rules, &certified, &req, &resp));
	assert_int_equal(req.n_labels, 0);
	/* One that only reads is for nothing that is sent, whoever else has let its caller in. */
	req.headers = reading;
	assert_true(access__check(&rules, &certified, &req, &resp));
	assert_int_equal(req.role, HTTP_ROLE_WRITE);
	assert_ptr_equal(req.labels, claims);
	assert_int_equal(req.n_labels, 1);
	http_response__fini(&resp);
}

static void test_hosts(void **state)
{
	static const char *const good[] = { "127.0.0.1:7070", "localhost", "LOCALHOST:1",
					    "[::1]:7070",     "10.1.2.3",  "profiles.example:80" };
	static const char *const bad[] = { "evil.example",	    "localhost.evil",
					   "127.0.0.1.evil",	    "",
					   "profiles.example.evil", "[zz]" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(check(&local, &tcp, (struct ask){ .host = good[i] }), -HTTP_ROLE_WRITE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(check(&local, &tcp, (struct ask){ .host = bad[i] }), 421);
	assert_int_equal(check(&local, &tcp, (struct ask){ 0 }), 421);
}

/* HTTP/1.0 may come without a host, which no server.hosts can mend. */
static void test_no_host_has_its_own_sentence(void **state)
{
	struct http_response resp = { .status = 200 };
	struct http_request req = { 0 };

	(void)state;
	assert_false(access__check(&local, &tcp, &req, &resp));
	assert_int_equal(resp.status, 421);
	assert_non_null(memmem(resp.body.data, resp.body.n, "send a Host header", 18));
	assert_null(memmem(resp.body.data, resp.body.n, "server.hosts", 12));
	http_response__fini(&resp);
}

static void test_cross_site(void **state)
{
	struct ask post = { .host = "localhost:7070", .method = HTTP_POST };

	(void)state;
	assert_int_equal(check(&local, &tcp, post), -HTTP_ROLE_WRITE);
	post.origin = "http://localhost:7070";
	assert_int_equal(check(&local, &tcp, post), -HTTP_ROLE_WRITE);
	post.origin = "http://evil.example";
	assert_int_equal(check(&local, &tcp, post), 403);
	post.origin = "null";
	assert_int_equal(check(&local, &tcp, post), 403);
	post.method = HTTP_GET;
	assert_int_equal(check(&local, &tcp, post), -HTTP_ROLE_WRITE);
}

static void test_unix(void **state)
{
	const struct access_peer root = { .is_unix = true, .uid = 0 },
				 me = { .is_unix = true, .uid = geteuid() };
	const struct access_peer other = { .is_unix = true, .uid = 4242 };

	(void)state;
	assert_int_equal(check(&local, &root, (struct ask){ 0 }), -HTTP_ROLE_ADMIN);
	assert_int_equal(check(&local, &me, (struct ask){ 0 }), -HTTP_ROLE_ADMIN);
	assert_int_equal(check(&local, &other, (struct ask){ 0 }), -HTTP_ROLE_WRITE);
	assert_int_equal(check(&remote, &other, (struct ask){ 0 }), -HTTP_ROLE_NONE);
}

/* Who has set tokens wants no strangers, not even on this machine. */
static void test_anonymous(void **state)
{
	(void)state;
	assert_int_equal(access__anonymous(true, false, false), HTTP_ROLE_WRITE);
	assert_int_equal(access__anonymous(true, true, false), HTTP_ROLE_NONE);
	assert_int_equal(access__anonymous(false, true, false), HTTP_ROLE_NONE);
	assert_int_equal(access__anonymous(false, false, false), HTTP_ROLE_NONE);
	assert_int_equal(access__anonymous(false, true, true), HTTP_ROLE_WRITE);
}

static void test_loopback(void **state)
{
	(void)state;
	assert_true(access__is_loopback(STR("127.8.9.1:80")));
	assert_true(access__is_loopback(STR("[::1]:80")));
	assert_true(access__is_loopback(STR("localhost:80")));
	assert_false(access__is_loopback(STR(":80")));
	assert_false(access__is_loopback(STR("0.0.0.0:80")));
	assert_false(access__is_loopback(STR("[::]:80")));
	assert_false(access__is_loopback(STR("127.0.0.1.example:80")));
}

/* What may stand in server.hosts is what a Host header can name. */
static void test_names_of_hosts(void **state)
{
	static const char *const good[] = { "x",	   "a.b-c.example", "UPPER",
					    "under_score", "10.0.0.1",	    "::1" };
	static const char *const bad[] = { "",	       "http://x", "x:80", "a b", "x/",
					   "[::1]:80", "*.a.b",	   "x\n",  "a@b" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(access__is_host(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(access__is_host(bad[i]));
}

/* printf 'USER:PASSWORD' | base64 */
static void test_passwords(void **state)
{
	char longest[6000] = "Basic ";
	struct ask a = { .host = "a.b" };
	static const struct {
		const char *authorization;
		int want;
	} rows[] = {
		{ "Basic eDpib3Nz", -HTTP_ROLE_ADMIN },		   /* x:boss */
		{ "basic OnJlYWRlcg==", -HTTP_ROLE_READ },	   /* :reader */
		{ "Basic dGVuYW50OnJlYWRlcg==", -HTTP_ROLE_READ }, /* tenant:reader */
		{ "Basic Ym9zczo=", 401 },			   /* boss: */
		{ "Basic Ym9zcw==", 401 },			   /* boss */
		{ "Basic eDp5OmJvc3M=", 401 }, /* x:y:boss, whose password is y:boss */
		{ "Basic eDpib3NzAA==", 401 }, /* with a NUL */
		{ "Basic eDpib3N", 401 },
		{ "Basic !!!!", 401 },
		{ "Basic ", 401 },
		{ "Basic", 401 },
		{ "Basice DpiYXNz", 401 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a.authorization = rows[i].authorization;
		if (check(&remote, &tcp, a) != rows[i].want)
			fail_msg("\"%s\" is not %d", a.authorization, rows[i].want);
	}
	memset(longest + 6, 'A', sizeof(longest) - 7);
	a.authorization = longest;
	assert_int_equal(check(&remote, &tcp, a), 401);
	/* A browser may have it from a URL: it is no word of the page that asks. */
	a = (struct ask){ .host = "a.b",
			  .authorization = "Basic eDpib3Nz",
			  .origin = "http://evil",
			  .method = HTTP_POST };
	assert_int_equal(check(&remote, &tcp, a), 403);
	a.origin = "http://a.b";
	assert_int_equal(check(&remote, &tcp, a), -HTTP_ROLE_ADMIN);
	a.authorization = "Bearer boss";
	a.origin = "http://evil";
	assert_int_equal(check(&remote, &tcp, a), -HTTP_ROLE_ADMIN);
}

static void test_named_origins(void **state)
{
	const struct access_rules named = { .origins = origins, .n_origins = 1, .anonymous = HTTP_ROLE_WRITE };
	struct ask a = { .host = "localhost", .origin = "https://apps.example", .method = HTTP_POST };

	(void)state;
	assert_int_equal(check(&named, &tcp, a), -HTTP_ROLE_WRITE);
	assert_int_equal(check(&local, &tcp, a), 403);
	a.origin = "https://apps.example.evil";
	assert_int_equal(check(&named, &tcp, a), 403);
	a.origin = "http://apps.example";
	assert_int_equal(check(&named, &tcp, a), 403);
	a.origin = "";
	assert_int_equal(check(&named, &tcp, a), 403);
	/* It is no key to another name of ours. */
	a = (struct ask){ .host = "rebound.example", .origin = "https://apps.example", .method = HTTP_POST };
	assert_int_equal(check(&named, &tcp, a), 421);
}

/* What may stand in server.cors_origins is what a browser sends, and nothing that is many. */
static void test_origins(void **state)
{
	static const char *const good[] = { "https://a.example", "http://localhost:8080",
					    "http://[::1]:80",	 "https://[2001:db8::1]",
					    "http://10.0.0.1",	 "http://x" };
	static const char *const bad[] = { "",
					   "*",
					   "null",
					   "https://",
					   "https://a.example/",
					   "a.example",
					   "//a",
					   "https://*.a.example",
					   "https://A.example",
					   "https://a:b",
					   "https://a:",
					   "https://u@a",
					   "http://[]",
					   "http://[::1",
					   "http://[::1]x",
					   "https://a:123456",
					   "https://a b",
					   "https://a\r\nx: y" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(cors__is_origin(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (cors__is_origin(bad[i]))
			fail_msg("\"%s\" is taken for an origin", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_hashed_tokens),
		cmocka_unit_test(test_proxies),
		cmocka_unit_test(test_proxies_with_certificates),
		cmocka_unit_test(test_proxies_of_ipv6),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_no_host_has_its_own_sentence),
		cmocka_unit_test(test_cross_site),
		cmocka_unit_test(test_unix),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_names_of_hosts),
		cmocka_unit_test(test_anonymous),
		cmocka_unit_test(test_passwords),
		cmocka_unit_test(test_named_origins),
		cmocka_unit_test(test_origins),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
