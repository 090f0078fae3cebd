/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/settings.c - the table behind the top of decima.yaml
 */
#include "core/main/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "core/config/shared.h"
#include "core/net/access.h"
#include "core/net/cors.h"
#include "core/net/sockets.h"

static const char *const roles[] = { "read", "write", "admin", NULL };
static const char *const levels[] = { "error", "warning", "info", "debug", NULL };
static const char *const formats[] = { "auto", "text", "json", "journal", NULL };

static const struct dcm_option token_rows[] = {
	{ .name = "token",
	  .type = DCM_OPT_SECRET,
	  .offset = offsetof(struct token_settings, token),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "What the caller sends as Authorization: Bearer TOKEN; token_file reads it from a "
		 "file." },
	{ .name = "role",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct token_settings, role),
	  .def = "read",
	  .choices = roles,
	  .doc = "What it may do; each role includes the one before it. admin: reload; back "
		 "up, check and remove from the store." },
	{ .name = "labels",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct token_settings, labels),
	  .doc = "Labels of all profiles that come with it, like { tenant: shop }, in place of "
		 "what "
		 "their sender says by these names. What the token may read is not bounded by "
		 "them." },
};
static const struct dcm_table token_table = DCM_TABLE(struct token_settings, token_rows);

static const char *const client_auths[] = { "required", "optional", NULL };

static const struct dcm_option tls_rows[] = {
	{ .name = "cert_file",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .offset = offsetof(struct tls_settings, cert_file),
	  .def = "",
	  .doc = "PEM file of the server's certificate, and of those between it and its authority. "
		 "With it, "
		 "all addresses but unix sockets speak TLS (1.2, 1.3). Read again when it has "
		 "changed; "
		 "the user that the daemon becomes has to be able to." },
	{ .name = "key_file",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .offset = offsetof(struct tls_settings, key_file),
	  .def = "",
	  .doc = "PEM file of its key, without a password. Read again when it has changed." },
	{ .name = "client_ca_file",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .offset = offsetof(struct tls_settings, client_ca_file),
	  .def = "",
	  .doc = "PEM file of the authorities that sign clients' certificates. Without it clients "
		 "are not "
		 "asked for one. Read again when it has changed." },
	{ .name = "client_auth",
	  .type = DCM_OPT_CHOICE,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct tls_settings, client_auth),
	  .def = "required",
	  .choices = client_auths,
	  .doc = "With client_ca_file: whether a client has to come with a certificate." },
	{ .name = "client_role",
	  .type = DCM_OPT_CHOICE,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct tls_settings, client_role),
	  .def = "write",
	  .choices = roles,
	  .doc = "What a client with a certificate may do; with a token, too, the greater of the "
		 "two counts." },
};
static const struct dcm_table tls_table = DCM_TABLE(struct tls_settings, tls_rows);

static const struct dcm_option server_rows[] = {
	{ .name = "listen",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct server_settings, listen),
	  .def = "[\"127.0.0.1:7070\"]",
	  .doc = "Addresses to serve on: HOST:PORT, [IPV6]:PORT or unix:/PATH. On a unix socket, "
		 "root and the daemon's user are admin." },
	{ .name = "tokens",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRUCT,
	  .table = &token_table,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct server_settings, tokens),
	  .doc = "Bearer tokens and their roles. Needed to administer over TCP, and to do anything "
		 "from another machine. Where there is one, nobody reads or writes without, but "
		 "root and the daemon's user on a unix socket. No two are the same; 1000 "
		 "at most." },
	{ .name = "tls",
	  .type = DCM_OPT_STRUCT,
	  .table = &tls_table,
	  .offset = offsetof(struct server_settings, tls),
	  .doc = "The server's certificate, and whom it lets in by theirs." },
	{ .name = "hosts",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct server_settings, hosts),
	  .doc = "Names by which browsers may call this server beside its addresses and localhost; "
		 "others are refused (DNS rebinding)." },
	{ .name = "cors_origins",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct server_settings, cors_origins),
	  .doc = "Origins of other sites, like https://apps.example.org, whose pages may call this "
		 "server from a "
		 "browser (CORS) and read its answers, with a token or as any caller without. "
		 "None by default, and there is no sign for all." },
	{ .name = "base_path",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct server_settings, base_path),
	  .def = "",
	  .doc = "A path, like /profiles, below which everything is answered, too: for a proxy "
		 "that hands "
		 "its requests on as they are." },
	{ .name = "insecure",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct server_settings, insecure),
	  .def = "false",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Lets callers without a token read and write from other machines. Only for "
		 "networks where everyone may." },
	{ .name = "max_connections",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct server_settings, max_connections),
	  .def = "512",
	  .min = "1",
	  .max = "65536",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Open connections at once, and 16 more over unix sockets; further ones are "
		 "closed. Each costs up to 64 KiB." },
	{ .name = "query_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct server_settings, query_timeout_ns),
	  .def = "60s",
	  .min = "100ms",
	  .max = "1h",
	  .flags = DCM_OPT_RESTART,
	  .doc = "A question that takes longer is given up." },
	{ .name = "query_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct server_settings, query_memory_bytes),
	  .def = "1GiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "A question that needs more memory, or whose answer is longer, is refused." },
	{ .name = "max_queries",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct server_settings, max_queries),
	  .def = "4",
	  .min = "1",
	  .max = "256",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Questions answered at once; the others wait their turn." },
};
static const struct dcm_table server_table = DCM_TABLE(struct server_settings, server_rows);

static const struct dcm_option log_rows[] = {
	{ .name = "level",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct log_settings, level),
	  .def = "info",
	  .choices = levels,
	  .flags = DCM_OPT_RESTART,
	  .doc = "The least important lines that are written." },
	{ .name = "format",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct log_settings, format),
	  .def = "auto",
	  .choices = formats,
	  .flags = DCM_OPT_RESTART,
	  .doc = "auto: text on a terminal, journald's prefixes under systemd, text otherwise." },
	{ .name = "areas",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_CHOICE,
	  .choices = levels,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct log_settings, areas),
	  .doc = "Other levels for single areas: an instance's name, \"server\", \"config\", ..." },
};
static const struct dcm_table log_table = DCM_TABLE(struct log_settings, log_rows);

static const struct dcm_option pipeline_rows[] = {
	{ .name = "intake",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct pipeline_settings, intake_bytes),
	  .def = "32MiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory for what inputs have handed in and nobody has routed yet." },
	{ .name = "shared",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct pipeline_settings, shared_bytes),
	  .def = "128MiB",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory that the destinations' queues share beyond their own reserves, when one "
		 "is slow." },
	{ .name = "drain_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct pipeline_settings, drain_timeout_ns),
	  .def = "10s",
	  .min = "0",
	  .max = "10m",
	  .doc = "How long a stop waits for what is queued; the rest is counted as lost." },
};
static const struct dcm_table pipeline_table = DCM_TABLE(struct pipeline_settings, pipeline_rows);

static const struct dcm_option symbols_rows[] = {
	{ .name = "tables",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, table_bytes),
	  .def = "64MiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory for symbol tables; the least used go first." },
	{ .name = "names",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, learned_bytes),
	  .def = "32MiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory for names of addresses that were sampled, which outlive their tables." },
	{ .name = "files",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct symbols_settings, files),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Read the symbols of the programs and libraries that are sampled. Without, their "
		 "frames keep build id and address, to be named by whoever receives them, and "
		 "decima takes less memory." },
	{ .name = "lines",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct symbols_settings, lines),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Look up source lines, in Go's own tables and in DWARF, for the addresses that "
		 "were sampled. Costs some 10 to 100 microseconds of CPU for each address, once." },
	{ .name = "inlines",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct symbols_settings, inlines),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Show functions that the compiler inlined as frames of their own. Needs lines." },
	{ .name = "lines_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct symbols_settings, lines_timeout_ns),
	  .def = "5s",
	  .min = "100ms",
	  .max = "5m",
	  .flags = DCM_OPT_RESTART,
	  .doc = "How long one file may take for one question (of up to 256 addresses). A file "
		 "that takes longer is asked no more for lines; its symbols still count." },
	{ .name = "lines_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, lines_bytes),
	  .def = "1GiB",
	  .min = "16MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Debug sections that one file may have, once decompressed; of larger ones no "
		 "lines are "
		 "read." },
	{ .name = "open_files",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct symbols_settings, open_files),
	  .def = "128",
	  .min = "1",
	  .max = "65536",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Files with debug information that stay open, so that lines can be asked of them; "
		 "the least used is closed first." },
	{ .name = "debuginfo",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct symbols_settings, debuginfo),
	  .def = "[\"/usr/lib/debug\"]",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Directories with separate debug information, as .build-id/ab/cdef.debug or by "
		 "debug link; a file counts only if its build id, or else its checksum, is the "
		 "right one." },
	{ .name = "debuginfod",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct symbols_settings, debuginfod),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Servers that are asked for debug information that is not here, in this order: "
		 "[https://debuginfod.debian.net]. They learn the build ids of what runs here, so "
		 "nobody is asked unless you say so. What comes is kept in the data directory, in "
		 "debuginfo/." },
	{ .name = "debuginfod_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct symbols_settings, debuginfod_timeout_ns),
	  .def = "90s",
	  .min = "1s",
	  .max = "1h",
	  .flags = DCM_OPT_RESTART,
	  .doc = "How long one answer of a debuginfod server may take. Nobody waits for it." },
	{ .name = "debuginfod_size",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, debuginfod_bytes),
	  .def = "2GiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Room on disk for what debuginfod servers sent; the oldest files go first. Also "
		 "the most that one file may have." },
	{ .name = "max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct symbols_settings, max_bytes),
	  .def = "1GiB",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Room on disk, in the data directory in symbols/, for what names addresses: the "
		 "programs and libraries that were sampled, reduced to their symbols and lines, so "
		 "that profiles of programs that are gone keep their names. What was not used for "
		 "the longest time goes first; 0 keeps nothing there. Also the most that one file "
		 "may have that is sent (`decima debuginfo upload`)." },
	{ .name = "retention",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct symbols_settings, retention_ns),
	  .def = "720h",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "What of symbols/ was not used for so long is removed; 0 keeps it as long as "
		 "max_bytes lasts. Longer than the profiles are kept, or their names go first." },
};
static const struct dcm_table symbols_table = DCM_TABLE(struct symbols_settings, symbols_rows);

static const struct dcm_option rows[] = {
	{ .name = "server",
	  .type = DCM_OPT_STRUCT,
	  .table = &server_table,
	  .offset = offsetof(struct main_settings, server),
	  .doc = "The one port: pages, questions, metrics, administration." },
	{ .name = "labels",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, labels),
	  .doc = "Labels for every series that has none of that name: env: production. Names of "
		 "letters, digits and _; 64 at most, 16 KiB with their values." },
	{ .name = "relabel_configs",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_RELABEL_RULES,
	  .flags = DCM_OPT_NO_ENV,
	  .offset = offsetof(struct main_settings, relabel_configs),
	  .doc = "Prometheus' relabelling for everything, before it is routed. Sample labels are "
		 "__sample_NAME." },
	{ .name = "node",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, node),
	  .flags = DCM_OPT_RESTART,
	  .doc = "This machine's name in the label node. Default: the host name." },
	{ .name = "data",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, data),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Directory for what outlives the process. Default: /var/lib/decima as root, else "
		 "the XDG state directory." },
	{ .name = "plugin_path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, plugin_path),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Directories with plugins, between colons. Default: where they were installed." },
	{ .name = "user",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct main_settings, user),
	  .flags = DCM_OPT_RESTART,
	  .doc = "Started as root, the daemon becomes this user, to whom the data directory is "
		 "given. Without it, it stays root without capabilities, who can still write "
		 "root's files." },
	{ .name = "pipeline",
	  .type = DCM_OPT_STRUCT,
	  .table = &pipeline_table,
	  .offset = offsetof(struct main_settings, pipeline),
	  .doc = "Queues between inputs and destinations." },
	{ .name = "symbols",
	  .type = DCM_OPT_STRUCT,
	  .table = &symbols_table,
	  .offset = offsetof(struct main_settings, symbols),
	  .doc = "The symbol store." },
	{ .name = "log",
	  .type = DCM_OPT_STRUCT,
	  .table = &log_table,
	  .offset = offsetof(struct main_settings, log),
	  .doc = "What is written on standard error." },
};

/* Every series has these beside its own, of 256 and 64 KiB in all (core/pipeline/outcome.c). */
enum { LABELS_MAX_N = 64, LABELS_MAX_BYTES = 16384, NODE_MAX_BYTES = 255 };

/* Each request is compared with all. */
enum { TOKENS_MAX_N = 1000 };

/* `place` is the option. */
static int check_labels(const struct dcm_map *labels, const char *place, struct dcm_error *err)
{
	const char *const *values = labels->items;
	size_t bytes = 0;

	if (labels->n > LABELS_MAX_N)
		return error__set(err, -EINVAL, "%s: are %u; give at most %d", place, labels->n,
				  LABELS_MAX_N);
	for (uint32_t i = 0; i < labels->n; i++) {
		const char *name = labels->keys[i];

		/* The environment of another machine has it. */
		if (!values[i])
			continue;
		bytes += strlen(name) + strlen(values[i]);
		if (bytes > LABELS_MAX_BYTES)
			return error__set(err, -EINVAL,
					  "%s: \"%.64s\" makes them longer than %d bytes together; "
					  "shorten its value",
					  place, name, LABELS_MAX_BYTES);
		if (!shared__is_label_name(name))
			return error__set(
				err, -EINVAL,
				"%s: \"%.64s\" is not a label's name; use letters, digits "
				"and _, not a digit first",
				place, name);
		if (str__starts(str__of(name), STR("__")))
			return error__set(
				err, -EINVAL,
				"%s: \"%.64s\" would be gone after relabelling, as all that "
				"begin with __; choose another name",
				place, name);
	}
	return 0;
}

static int check_node(const char *node, struct dcm_error *err)
{
	if (!node || strlen(node) <= NODE_MAX_BYTES)
		return 0;
	return error__set(err, -EINVAL, "node: has %zu bytes; give a name of at most %d",
			  strlen(node), NODE_MAX_BYTES);
}

/* In each list an element that is NULL comes from a variable of another machine. */
static int check_hosts(const struct dcm_list *hosts, struct dcm_error *err)
{
	const char *const *v = hosts->items;

	for (uint32_t i = 0; i < hosts->n; i++)
		if (v[i] && !access__is_host(v[i]))
			return error__set(
				err, -EINVAL,
				"server.hosts[%u]: \"%.200s\" is no host's name; write it "
				"without scheme, port and path: profiles.example.org",
				i, v[i]);
	return 0;
}

static int check_origins(const struct dcm_list *origins, struct dcm_error *err)
{
	const char *const *v = origins->items;

	for (uint32_t i = 0; i < origins->n; i++)
		if (v[i] && !cors__is_origin(v[i]))
			return error__set(err, -EINVAL,
					  "server.cors_origins[%u]: \"%.200s\" is no origin of "
					  "pages; write it "
					  "as browsers do, in lower case and without a path: "
					  "https://apps.example.org",
					  i, v[i]);
	return 0;
}

static int check_token_labels(const struct token_settings *t, uint32_t i, struct dcm_error *err)
{
	const char *const *values = t->labels.items;
	char place[48];

	snprintf(place, sizeof(place), "server.tokens[%u].labels", i);
	if (t->labels.n > 0 && t->role + HTTP_ROLE_READ < HTTP_ROLE_WRITE)
		return error__set(
			err, -EINVAL,
			"%s: are for profiles that come with the token, and its role sends "
			"none; they do not bound what it reads. Give it the role write, or no "
			"labels",
			place);
	for (uint32_t k = 0; k < t->labels.n; k++)
		if (values[k] && !*values[k])
			return error__set(err, -EINVAL, "%s: \"%.64s\" is empty; give it a value, or leave it out",
					  place, t->labels.keys[k]);
	return check_labels(&t->labels, place, err);
}

/* The sentences show no token. */
static int check_tokens(const struct dcm_list *tokens, struct dcm_error *err)
{
	const struct token_settings *v = tokens->items;
	int r;

	if (tokens->n > TOKENS_MAX_N)
		return error__set(err, -EINVAL, "server.tokens: are %u; give at most %d", tokens->n,
				  TOKENS_MAX_N);
	for (uint32_t i = 0; i < tokens->n; i++) {
		if (v[i].token && !*v[i].token)
			return error__set(err, -EINVAL,
					  "server.tokens[%u].token: is empty, which no caller can "
					  "send; write one",
					  i);
		for (uint32_t k = 0; k < i; k++)
			if (v[i].token && v[k].token && strcmp(v[i].token, v[k].token) == 0)
				return error__set(err, -EINVAL,
						  "server.tokens[%u]: is the token of "
						  "server.tokens[%u] again; give each role a token "
						  "of its own, or keep one",
						  i, k);
		r = check_token_labels(&v[i], i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_symbols(const struct symbols_settings *s, struct dcm_error *err)
{
	const char *const *dirs = s->debuginfo.items, *const *urls = s->debuginfod.items;

	for (uint32_t i = 0; i < s->debuginfo.n; i++)
		if (dirs[i] && dirs[i][0] != '/')
			return error__set(err, -EINVAL,
					  "symbols.debuginfo[%u]: \"%.200s\" is not absolute; "
					  "begin it with /",
					  i, dirs[i]);
	for (uint32_t i = 0; i < s->debuginfod.n; i++)
		if (urls[i] && !url__is_askable(urls[i]))
			return error__set(err, -EINVAL,
					  "symbols.debuginfod[%u]: \"%.200s\" is no URL; write "
					  "https://HOST or http://HOST:PORT",
					  i, urls[i]);
	return 0;
}

static bool is_unix(const char *address)
{
	return strncmp(address, "unix:", 5) == 0;
}

/* Whether they are what they say is seen when the server is made. */
static int check_tls(const struct tls_settings *t, struct dcm_error *err)
{
	bool has_cert = t->cert_file && *t->cert_file, has_key = t->key_file && *t->key_file;

	if (has_cert != has_key)
		return error__set(
			err, -EINVAL,
			"server.tls.%s: is missing; give the certificate and its key, or neither",
			has_cert ? "key_file" : "cert_file");
	if (!has_cert && t->client_ca_file && *t->client_ca_file)
		return error__set(err, -EINVAL,
				  "server.tls.client_ca_file: clients show no certificate where "
				  "there is no TLS; "
				  "give server.tls.cert_file and key_file, too");
	return 0;
}

/* Everybody who comes over the network is asked who he is, in one way or another. */
static bool asks_who(const struct server_settings *s)
{
	const char *ca = s->tls.client_ca_file;

	return s->tokens.n > 0 || (ca && *ca && s->tls.client_auth == 0);
}

/* A port that anyone can reach, and nobody is asked who he is: only when the operator says so. */
static int check_listen(const struct server_settings *s, struct dcm_error *err)
{
	const char *const *listen = s->listen.items;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->listen.n; i++) {
		if (!listen[i])
			continue;
		r = sockets__check(listen[i], err);
		if (r < 0)
			return r;
		if (is_unix(listen[i]) || access__is_loopback(str__of(listen[i])))
			continue;
		if (!asks_who(s) && !s->insecure)
			return error__set(err, -EINVAL,
					  "server.listen: %s can be reached from other machines "
					  "and nobody needs a token or a certificate; set "
					  "server.tokens or server.tls.client_ca_file, or "
					  "server.insecure: true if everyone "
					  "there may read and write",
					  listen[i]);
	}
	return r;
}

/* Of plain characters, so that nothing needs an escape in an address or a header. */
static int check_base_path(const char *path, struct dcm_error *err)
{
	size_t n = path ? strlen(path) : 0;

	if (n == 0)
		return 0;
	if (path[0] == '/' && path[n - 1] != '/' && n <= 256 && !strstr(path, "//") &&
	    strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/") == n)
		return 0;
	return error__set(err, -EINVAL,
			  "server.base_path: \"%s\" is no path like /profiles: a slash first and "
			  "none last, and "
			  "letters, digits, - . _ ~ between",
			  path);
}

static int check(const void *config, struct dcm_error *err)
{
	const struct main_settings *m = config;
	int r = check_node(m->node, err);

	if (r == 0)
		r = check_labels(&m->labels, "labels", err);
	if (r == 0)
		r = check_hosts(&m->server.hosts, err);
	if (r == 0)
		r = check_origins(&m->server.cors_origins, err);
	if (r == 0)
		r = check_tokens(&m->server.tokens, err);
	if (r == 0)
		r = check_tls(&m->server.tls, err);
	if (r == 0)
		r = check_base_path(m->server.base_path, err);
	if (r == 0)
		r = check_symbols(&m->symbols, err);
	return r ? r : check_listen(&m->server, err);
}

const struct dcm_table settings__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct main_settings),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check,
};
