/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_shared_http.c - the options of an HTTP client: what Prometheus takes, and nothing else
 *
 * The cases and Prometheus' verdicts are in tests/data/config/http.
 */
#include "core/config/shared_http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/config/describe.h"
#include "core/config/effective.h"
#include "core/config/options.h"
#include "core/config/table.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define DATA TEST_SRCDIR "/tests/data/config/http"

/* As a plugin has it: among options of its own. */
struct job {
	const char *name;
	struct dcm_http_options http;
};

static const struct dcm_option job_rows[] = {
	{ .name = "job_name", .type = DCM_OPT_STRING, .offset = offsetof(struct job, name), .doc = "d" },
	{ .name = "",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_HTTP_CLIENT,
	  .offset = offsetof(struct job, http) },
};
static const struct dcm_table job_table = DCM_TABLE(struct job, job_rows);

struct fixture {
	struct arena arena;
	struct problems problems;
	struct options_env env;
	struct tree *tree;
	struct job *job; /* NULL: refused */
};

static void fill_as(struct fixture *f, const char *file, struct dcm_str yaml)
{
	struct dcm_error err = DCM_ERROR_INIT;

	*f = (struct fixture){ 0 };
	f->env = (struct options_env){ .arena = &f->arena, .problems = &f->problems };
	if (tree__load_text(file, yaml, &f->tree, &err) < 0)
		fail_msg("%s", err.text);
	f->job = options__fill_one(&f->env, "", f->tree->root, &job_table);
}

static void fini(struct fixture *f)
{
	tree__free(f->tree);
	problems__fini(&f->problems);
	arena__fini(&f->arena);
}

static void says(const char *yaml, unsigned line, const char *sentence)
{
	struct fixture f;
	struct buf text = { 0 };
	unsigned at = 0, column = 0;
	int n = 0;

	fill_as(&f, "t.yaml", str__of(yaml));
	assert_null(f.job);
	problems__text(&f.problems, &text);
	assert_int_equal(sscanf((const char *)text.data, "t.yaml:%u:%u: %n", &at, &column, &n), 2);
	assert_int_equal(at, line);
	assert_string_equal((const char *)text.data + n, sentence);
	buf__fini(&text);
	fini(&f);
}

/* The verdict's line of a case, "NAME\tok"; NULL: the oracle knows no such case. */
static bool prometheus_takes(const char *oracle, const char *name, size_t n)
{
	for (const char *line = oracle; line && *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, name, n) == 0 && line[n] == '\t')
			return strncmp(line + n + 1, "ok\n", 3) == 0;
	fail_msg("%.*s has no verdict: run oracle.go", (int)n, name);
	return false;
}

static void takes_what_prometheus_takes(void **state)
{
	struct buf cases = { 0 }, oracle = { 0 };
	unsigned n = 0;

	(void)state;
	assert_int_equal(fd__read_path(AT_FDCWD, DATA "/cases.txt", 1 << 20, &cases), 0);
	assert_int_equal(fd__read_path(AT_FDCWD, DATA "/oracle.txt", 1 << 20, &oracle), 0);
	for (char *at = strstr((char *)cases.data, "### "); at; n++) {
		char *name = at + 4, *yaml = strchr(name, '\n') + 1, *next = strstr(yaml, "### ");
		size_t n_name = (size_t)(yaml - 1 - name),
		       n_yaml = next ? (size_t)(next - yaml) : strlen(yaml);
		bool wanted = prometheus_takes((const char *)oracle.data, name, n_name);
		struct fixture f;
		struct buf text = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;

		fill_as(&f, "t.yaml", (struct dcm_str){ yaml, (uint32_t)n_yaml });
		problems__text(&f.problems, &text);
		if ((f.job != NULL) != wanted)
			fail_msg("%.*s: Prometheus %s it; we say: %s", (int)n_name, name,
				 wanted ? "takes" : "refuses",
				 text.data ? (const char *)text.data : "nothing");
		/* What a file is taken for, options from elsewhere are taken for. */
		if (f.job && shared_http__check(&f.job->http, &err) < 0)
			fail_msg("%.*s: %s", (int)n_name, name, err.text);
		buf__fini(&text);
		fini(&f);
		at = next;
	}
	assert_true(n > 60);
	buf__fini(&cases);
	buf__fini(&oracle);
}

static void fills_every_member(void **state)
{
	static const char yaml[] =
		"job_name: j\n"
		"basic_auth: { username: u, password_file: sub/p }\n"
		"tls_config: { ca_file: /abs/ca, cert: C, key_file: k, server_name: s, "
		"insecure_skip_verify: true, "
		"min_version: TLS12, max_version: TLS13 }\n"
		"proxy_url: http://u:secret@proxy:1\n"
		"no_proxy: a\n"
		"proxy_connect_header: { X: [one, two] }\n"
		"follow_redirects: false\n"
		"http_headers: { A: { values: [v], secrets: [s], files: [f, /g] } }\n";
	const struct dcm_http_options *o;
	struct fixture f;

	(void)state;
	fill_as(&f, "/etc/decima/decima.yaml", str__of(yaml));
	assert_non_null(f.job);
	o = &f.job->http;
	assert_string_equal(o->basic.username, "u");
	assert_null(o->basic.password.text);
	assert_string_equal(o->basic.password.file, "/etc/decima/sub/p");
	assert_string_equal(o->tls.ca_file, "/abs/ca");
	assert_string_equal(o->tls.cert, "C");
	assert_string_equal(o->tls.key.file, "/etc/decima/k");
	assert_string_equal(o->tls.server_name, "s");
	assert_true(o->tls.insecure_skip_verify);
	assert_int_equal(o->tls.min_version, DCM_TLS_1_2);
	assert_int_equal(o->tls.max_version, DCM_TLS_1_3);
	assert_string_equal(o->proxy.url, "http://u:secret@proxy:1");
	assert_string_equal(o->proxy.no_proxy, "a");
	assert_int_equal(o->proxy.connect_headers.n, 1);
	assert_string_equal(o->proxy.connect_headers.keys[0], "X");
	const struct dcm_list *connect = o->proxy.connect_headers.items;
	assert_int_equal(connect->n, 2);
	assert_string_equal(((const char **)connect->items)[1], "two");
	assert_false(o->follow_redirects);
	assert_true(o->enable_http2);
	assert_int_equal(o->http_headers.n, 1);
	const struct dcm_http_values *v = o->http_headers.items;
	assert_string_equal(((const char **)v->values.items)[0], "v");
	assert_string_equal(((const char **)v->secrets.items)[0], "s");
	assert_int_equal(v->files.n, 2);
	assert_string_equal(((const char **)v->files.items)[0], "/etc/decima/f");
	assert_string_equal(((const char **)v->files.items)[1], "/g");
	fini(&f);
	fill_as(&f, "/etc/decima/decima.yaml",
		STR("oauth2: { client_id: a, client_secret_file: x, token_url: http://t/, "
		    "scopes: [s], endpoint_params: { k: v }, proxy_url: p:1 }"));
	assert_non_null(f.job);
	o = &f.job->http;
	assert_true(o->follow_redirects);
	assert_string_equal(o->oauth2.client_id, "a");
	assert_string_equal(o->oauth2.client_secret.file, "/etc/decima/x");
	assert_string_equal(o->oauth2.proxy.url, "p:1");
	assert_int_equal(o->oauth2.scopes.n, 1);
	assert_string_equal(o->oauth2.endpoint_params.keys[0], "k");
	fini(&f);
}

static void fills_what_is_signed(void **state)
{
	const struct dcm_http_options *o;
	struct fixture f;

	(void)state;
	fill_as(&f, "/etc/decima/decima.yaml",
		STR("oauth2: { client_id: a, token_url: http://t/, grant_type: "
		    "'urn:ietf:params:oauth:grant-type:jwt-bearer',\n"
		    "client_certificate_key_file: x, client_certificate_key_id: k, "
		    "signature_algorithm: RS384, iss: i, audience: u,\n"
		    "claims: { integer: 1, text: '1', e: -1.5e3, yes: true, no: null, hex: 0x10, "
		    "list: [a, { b: 01 }] } }"));
	assert_non_null(f.job);
	o = &f.job->http;
	assert_int_equal(o->oauth2.grant, DCM_OAUTH2_JWT_BEARER);
	assert_int_equal(o->oauth2.assertion.algorithm, DCM_OAUTH2_RS384);
	assert_string_equal(o->oauth2.assertion.key.file, "/etc/decima/x");
	assert_string_equal(o->oauth2.assertion.key_id, "k");
	assert_string_equal(o->oauth2.assertion.issuer, "i");
	assert_string_equal(o->oauth2.assertion.audience, "u");
	assert_string_equal(
		o->oauth2.assertion.claims,
		"{\"integer\": 1, \"text\": \"1\", \"e\": -1.5e3, \"yes\": true, \"no\": null, "
		"\"hex\": \"0x10\", \"list\": [\"a\", {\"b\": \"01\"}]}");
	fini(&f);
}

static void sentences_name_the_place(void **state)
{
	(void)state;
	says("tls_config:\n  key: k\n", 2,
	     "tls_config: key: needs its certificate; add cert or cert_file\n");
	says("job_name: j\nbearer_token: t\nbasic_auth: { username: u }\n", 2,
	     "bearer_token: stands beside basic_auth; keep one of the two\n");
	says("proxy_url: 'ftp://secret@x'\n", 1,
	     "proxy_url: is not the address of a proxy; write http://HOST:PORT, "
	     "https://HOST:PORT or socks5://HOST:PORT\n");
	says("http_headers: { 'a b': { values: [x] } }\n", 1,
	     "http_headers: \"a b\" is not a header's name\n");
	says("http_headers: { X: { secrets: [\"a\\r\\nb\"] } }\n", 1,
	     "http_headers: X has a value with control characters\n");
	says("proxy_url: p:1\nproxy_connect_header: { X: [\"a\\nb\"] }\n", 2,
	     "proxy_connect_header: X has a value with control characters\n");
	says("tls_config: { min_version: TLS13, max_version: TLS12 }\n", 1,
	     "tls_config: max_version: is below min_version; raise it\n");
	says("tls_config: { max_version: TLS11 }\n",
	     1, "tls_config: max_version: is below the usual minimum, TLS12; set min_version as well\n");
	says("tls_config: { server_name: 'a/b' }\n", 1,
	     "tls_config: server_name: is not the name of a host\n");
	says("oauth2: { client_id: a, token_url: nowhere }\n", 1,
	     "oauth2: token_url: is not a URL; write https://HOST/PATH\n");
	says("oauth2: { client_id: a, token_url: 'http://t', grant_type: password }\n", 1,
	     "oauth2.grant_type: \"password\" is not a choice; write client_credentials or "
	     "urn:ietf:params:oauth:grant-type:jwt-bearer\n");
	says("oauth2: { client_id: a, token_url: 'http://t', grant_type: "
	     "'urn:ietf:params:oauth:grant-type:jwt-bearer' }\n",
	     1, "oauth2: client_certificate_key: is missing; add it, or client_certificate_key_file\n");
	says("oauth2: { client_id: a, token_url: 'http://t', client_certificate_key: k,\n"
	     " grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', claims: [x] }\n",
	     2, "oauth2: claims: is not a map\n");
	says("basic_auth: { usrname: x }\n", 1,
	     "basic_auth: unknown option \"usrname\"; did you mean \"username\"?\n");
}

static void secrets_are_not_shown(void **state)
{
	static const char yaml[] = "basic_auth: { username: u, password: HIDDEN }\n"
				   "tls_config: { cert: c, key: HIDDEN }\n"
				   "proxy_url: http://u:HIDDEN@p:1\n"
				   "proxy_connect_header: { X: [HIDDEN] }\n"
				   "http_headers: { X: { values: [seen], secrets: [HIDDEN] } }\n";
	struct buf out = { 0 };
	struct fixture f;

	(void)state;
	fill_as(&f, "t.yaml", str__of(yaml));
	assert_non_null(f.job);
	effective__yaml(&job_table, f.job, f.tree->root, EFFECTIVE_HIDE, 0, &out);
	assert_null(strstr((const char *)out.data, "HIDDEN"));
	assert_non_null(strstr((const char *)out.data, "seen"));
	buf__fini(&out);
	fini(&f);
}

static void table_is_sound_and_described(void **state)
{
	const struct dcm_table *tables[] = { &job_table };
	struct describe_subject subject = { .title = "t", .tables = tables, .n_tables = 1 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };

	(void)state;
	if (table__check(&job_table, &err) < 0)
		fail_msg("%s", err.text);
	describe__text(&subject, &out);
	/* A file that is read again is no secret that is read at load. */
	assert_non_null(strstr((const char *)out.data, "password (secret)\n"));
	assert_non_null(strstr((const char *)out.data, "password_file (text, the path of a file)"));
	assert_non_null(
		strstr((const char *)out.data, "files (list of texts, each the path of a file)"));
	assert_non_null(strstr((const char *)out.data, "follow_redirects (boolean, default true)"));
	buf__fini(&out);
}

static void only_strings_are_paths(void **state)
{
	static const struct dcm_option rows[] = {
		{ .name = "a", .type = DCM_OPT_INT, .flags = DCM_OPT_PATH, .doc = "d" },
	};
	struct dcm_table t = { .size = sizeof(t),
			       .option_size = sizeof(rows[0]),
			       .struct_size = 8,
			       .n_options = 1,
			       .options = rows };
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(table__check(&t, &err), -EINVAL);
	assert_string_equal(err.text, "option \"a\": only a string can be the path of a file");
}

static void options_from_elsewhere_are_checked(void **state)
{
	struct dcm_http_options o = { .tls = { .cert = "x" } };
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(shared_http__check(&o, &err), -EINVAL);
	assert_string_equal(err.text, "tls_config: cert: needs its key; add key or key_file");
	o = (struct dcm_http_options){ .proxy = { .no_proxy = "x" } };
	assert_int_equal(shared_http__check(&o, &err), -EINVAL);
	o = (struct dcm_http_options){ .basic = { .username = "u" }, .bearer = { .text = "x" } };
	assert_int_equal(shared_http__check(&o, &err), -EINVAL);
	o = (struct dcm_http_options){ .oauth2 = { .client_id = "x" } };
	assert_int_equal(shared_http__check(&o, &err), -EINVAL);
	o = (struct dcm_http_options){ 0 };
	assert_int_equal(shared_http__check(&o, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_prometheus_takes),
		cmocka_unit_test(fills_every_member),
		cmocka_unit_test(fills_what_is_signed),
		cmocka_unit_test(sentences_name_the_place),
		cmocka_unit_test(secrets_are_not_shown),
		cmocka_unit_test(table_is_sound_and_described),
		cmocka_unit_test(only_strings_are_paths),
		cmocka_unit_test(options_from_elsewhere_are_checked),
	};
	return cmocka_run_group_tests_name("shared_http", tests, NULL, NULL);
}
