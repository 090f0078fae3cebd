/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/verbs.c - the table of commands
 */
#include "core/main/verbs.h"

#include "core/main/ask.h"
#include "core/main/query_verbs.h"

#define SELECTOR_HELP                                                                              \
	"SELECTOR is a profile type and label matchers, as in "                                    \
	"'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{comm=\"nginx\",instance=~\"web.*\"}';" \
	" "                                                                                        \
	"`decima query types` and `decima query labels` list what there is."

#define OPTIONS(...)                                                                               \
	(const struct args_option *const[])                                                        \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static const struct args_option *const no_options[] = { NULL };

static const char *const levels[] = { "error", "warning", "info", "debug", NULL };
static const char *const describe_formats[] = { "text", "json", "yaml", "markdown", "man", NULL };
static const char *const codec_formats[] = { "pprof", "folded", "speedscope", "html",
					     "perf",  "batch",	NULL };

const struct args_option verb__config_options[] = {
	{ "config", 'c', ARGS_FILE, "FILE", NULL, false,
	  "configuration (default: the built-in one, which conf/decima.yaml spells out)" },
	{ "set", 0, ARGS_TEXT, "KEY=VALUE", NULL, true,
	  "override one option: --set outputs.file.enabled=false" },
	{ "data", 0, ARGS_DIR, "DIR", NULL, false,
	  "data directory (default: /var/lib/decima as root, else the XDG state directory)" },
	{ "listen", 0, ARGS_TEXT, "ADDR", NULL, false, "address to serve on (default 127.0.0.1:7070)" },
	{ "plugin-path", 0, ARGS_DIR, "DIR[:DIR]", NULL, false, "where plugins are looked for" },
	{ "log-level", 0, ARGS_CHOICE, "LEVEL", levels, false, "error, warning, info (default) or debug" },
	{ 0 },
};

static const struct args_option check_options[] = {
	{ "config-only", 0, ARGS_FLAG, NULL, NULL, false,
	  "look at the file alone, not at this machine (for CI): what it has not (plugins, "
	  "variables, files of secrets) is a warning" },
	{ "print", 0, ARGS_FLAG, NULL, NULL, false,
	  "print the configuration that holds, with every default and without secrets; findings go "
	  "to standard error" },
	{ 0 },
};
static const struct args_option describe_options[] = {
	{ "format", 0, ARGS_CHOICE, "FORMAT", describe_formats, false,
	  "text (default), json, yaml, markdown or man" },
	{ 0 },
};
static const struct args_option record_options[] = {
	{ "frequency", 'F', ARGS_TEXT, "HZ", NULL, false, "samples per second and CPU (default 99)" },
	{ "duration", 'd', ARGS_TEXT, "SEC", NULL, false, "stop after this long (10, 10s, 5m)" },
	{ "pid", 'p', ARGS_TEXT, "PID,..", NULL, false,
	  "only these processes and what they have started or will start" },
	{ "all", 'a', ARGS_FLAG, NULL, NULL, false, "the whole machine (default without PID and CMD)" },
	{ "output", 'o', ARGS_FILE, "FILE", NULL, false,
	  "write .pb.gz (pprof), .folded, .speedscope.json or .html (a page with the flame graph) "
	  "by the name's end; - is folded on standard output; without it, a flame tree as text" },
	{ "max-rows", 'n', ARGS_TEXT, "N", NULL, false, "lines of the text tree (default 60)" },
	{ "group-by", 0, ARGS_TEXT, "L,..", NULL, false,
	  "the values of these labels (comm, pid, tid, thread_name, cpu, exe, ..) as the first "
	  "frames; in pprof as labels of the samples" },
	{ "set", 0, ARGS_TEXT, "KEY=VALUE", NULL, true,
	  "set one option of what samples: --set inputs.ebpf.max_depth=50 "
	  "(`decima describe input/ebpf`)" },
	{ "plugin-path", 0, ARGS_DIR, "DIR[:DIR]", NULL, false, "where plugins are looked for" },
	{ 0 },
};
static const struct args_option convert_options[] = {
	{ "from-format", 0, ARGS_CHOICE, "FORMAT", codec_formats,
	  false, "what IN is, in gzip or not (default: found out from its bytes, then from its name's end)" },
	{ "to-format", 0, ARGS_CHOICE, "FORMAT", codec_formats, false,
	  "what OUT shall be (default: by its name's end)" },
	{ 0 },
};
static const struct args_option extract_options[] = {
	{ "output", 'o', ARGS_FILE, "FILE|DIR", NULL, false,
	  "where to write: a file, or a directory (which is there, or whose name ends in /) that "
	  "gets .build-id/ab/cdef.debug; default: NAME.debug here" },
	{ 0 },
};
static const struct args_option upload_options[] = {
	{ "url", 0, ARGS_TEXT, "URL", NULL, false,
	  "daemon to send to: http://HOST:PORT, https://HOST:PORT or unix:/PATH (default "
	  "$DECIMA_URL, else "
	  "http://127.0.0.1:7070)" },
	{ "token-file", 0, ARGS_FILE, "FILE", NULL, false, "file with the bearer token to send" },
	{ "ca-file", 0, ARGS_FILE, "FILE", NULL, false,
	  "PEM file of the authorities to trust, for https:// (default $DECIMA_CA_FILE, else the "
	  "system's)" },
	{ "cert-file", 0, ARGS_FILE, "FILE", NULL, false,
	  "PEM file of the certificate to show, where the server wants one (default "
	  "$DECIMA_CERT_FILE)" },
	{ "key-file", 0, ARGS_FILE, "FILE", NULL, false, "PEM file of its key (default $DECIMA_KEY_FILE)" },
	{ "timeout", 0, ARGS_TEXT, "D", NULL, false, "give up on a file after this long (default 10m)" },
	{ "parallel", 0, ARGS_TEXT, "N", NULL, false, "how many files go at once, 1 to 16 (default 4)" },
	{ "replace", 0, ARGS_FLAG, NULL, NULL, false,
	  "in the place of another file of the same build id, whatever that tells" },
	{ 0 },
};
static const struct args_option removal_options[] = {
	{ "from", 0, ARGS_TEXT, "T", NULL, false, "first moment of what goes; has to be given" },
	{ "to", 0, ARGS_TEXT, "T", NULL, false, "first moment behind it; has to be given" },
	{ 0 },
};
static const struct args_option restore_options[] = {
	{ "timeout", 0, ARGS_TEXT, "D", NULL, false, "give up after this long (default 60s)" },
	{ 0 },
};
/* For verbs that look at plugins and at no configuration. */
static const struct args_option plugin_options[] = {
	{ "plugin-path", 0, ARGS_DIR, "DIR[:DIR]", NULL, false,
	  "where plugins are looked for (default: where they were installed)" },
	{ 0 },
};

const struct args_verb verbs[] = {
	{ "run", "", 0, 0, false, OPTIONS(verb__config_options), "run the daemon",
	  "Loads the plugins that the configuration names, stores what their inputs sample, sends "
	  "it to their outputs, and serves questions. SIGHUP reloads the configuration: all of it, "
	  "or "
	  "nothing when it has a fault. SIGTERM and SIGINT drain and stop.",
	  verb__run },
	{ "check", "", 0, 0, false, OPTIONS(verb__config_options, check_options, query_verbs__format),
	  "check the configuration and this machine; each finding has its one remedy", NULL, verb__check },
	{ "plugins", "", 0, 0, false, OPTIONS(plugin_options, query_verbs__format),
	  "what can be loaded, and from where", NULL, verb__plugins },
	{ "describe", "[KIND/NAME]", 0, 1, false, OPTIONS(plugin_options, describe_options),
	  "every option of a plugin (input/ebpf, output/file, ...), or of the file itself", NULL,
	  verb__describe },
	{ "record", "[-- CMD ARG..]", 0, -1, true, OPTIONS(record_options),
	  "sample once, without a daemon, and write the profile",
	  "Samples CMD and its children, or PIDs, or the machine, until CMD or the last of PIDs "
	  "ends, the duration is over, or Ctrl-C. When the duration is over before CMD is, the "
	  "profile is written, and CMD runs on until it ends. Ends with CMD's exit status. SIGTERM "
	  "and SIGHUP go to CMD, too.",
	  verb__record },
	{ "query types", "", 0, 0, false, OPTIONS(query_verbs__range, query_verbs__format, ask__options),
	  "profile types that are stored", NULL, query_verbs__types },
	{ "query labels", "", 0, 0, false,
	  OPTIONS(query_verbs__match, query_verbs__range, query_verbs__format, ask__options),
	  "label names", NULL, query_verbs__labels },
	{ "query values", "LABEL", 1, 1, false,
	  OPTIONS(query_verbs__match, query_verbs__range, query_verbs__format, ask__options),
	  "values of a label", NULL, query_verbs__values },
	{ "query series", "SELECTOR", 1, 1, false,
	  OPTIONS(query_verbs__series, query_verbs__range, query_verbs__format, ask__options),
	  "totals over time", SELECTOR_HELP, query_verbs__time_series },
	{ "query top", "SELECTOR", 1, 1, false,
	  OPTIONS(query_verbs__table, query_verbs__filter, query_verbs__range, query_verbs__format,
		  ask__options),
	  "functions by their own and total share", SELECTOR_HELP, query_verbs__top },
	{ "query flame", "SELECTOR", 1, 1, false,
	  OPTIONS(query_verbs__tree, query_verbs__filter, query_verbs__range, query_verbs__format,
		  ask__options),
	  "the call tree, indented, with shares", SELECTOR_HELP, query_verbs__flame },
	{ "query stacks", "SELECTOR", 1, 1, false,
	  OPTIONS(query_verbs__stacks, query_verbs__filter, query_verbs__range, ask__options),
	  "folded stacks: root;..;leaf VALUE", SELECTOR_HELP, query_verbs__folded },
	{ "query pprof", "SELECTOR", 1, 1, false,
	  OPTIONS(query_verbs__file, query_verbs__filter, query_verbs__range, ask__options),
	  "one merged profile for `go tool pprof` and others", SELECTOR_HELP, query_verbs__pprof },
	{ "query diff", "SELECTOR_A SELECTOR_B", 2, 2, false,
	  OPTIONS(query_verbs__sides, query_verbs__tree, query_verbs__filter, query_verbs__range,
		  query_verbs__format, ask__options),
	  "two selections, by time: what grew, what shrank, and what of it chance explains",
	  SELECTOR_HELP, query_verbs__diff },
	{ "query callers", "FUNCTION SELECTOR", 2, 2, false,
	  OPTIONS(query_verbs__tree, query_verbs__filter, query_verbs__range, query_verbs__format,
		  ask__options),
	  "who calls a function, as a tree upwards", SELECTOR_HELP, query_verbs__callers },
	{ "query callees", "FUNCTION SELECTOR", 2, 2, false,
	  OPTIONS(query_verbs__tree, query_verbs__filter, query_verbs__range, query_verbs__format,
		  ask__options),
	  "what a function calls, as a tree downwards", SELECTOR_HELP, query_verbs__callees },
	{ "targets", "", 0, 0, false, OPTIONS(query_verbs__format, ask__options),
	  "what is collected, from where, and how it goes", NULL, query_verbs__targets },
	{ "store stat", "[DIR]", 0, 1, false, OPTIONS(query_verbs__format, ask__options),
	  "how much a store holds: the daemon's, or the one in DIR", NULL, verb__store_stat },
	{ "store check", "[DIR]", 0, 1, false, OPTIONS(query_verbs__format, ask__options),
	  "look for damage in a store: the daemon's, or the one in DIR",
	  "Prints what it finds, and exits 1 when that is damage. It takes as long as it takes to "
	  "read the store (--timeout: 24h unless given); of a directory Ctrl-C ends it with what "
	  "it "
	  "has found, and how far it has come. Asking a daemon takes the role admin: over "
	  "the unix socket as root or the daemon's user, or with a token of that role.",
	  verb__store_check },
	{ "store backup", "DIR", 1, 1, false, OPTIONS(ask__options),
	  "copy a store into a new directory: the daemon's, or the one that --data names",
	  "DIR must not exist yet; `decima query ... --data DIR` then answers from it. It has all "
	  "that was stored when the copy began; a daemon goes on meanwhile. Blocks of the store "
	  "`local` take no room where DIR is on the same file system. What names the profiles is "
	  "copied into DIR/symbols. Asking a daemon takes the role admin: over the unix socket as "
	  "root or the daemon's user, or with a token of that role.",
	  verb__store_backup },
	{ "store restore", "BACKUP DIR", 2, 2, false, OPTIONS(restore_options),
	  "make a store's directory of a backup",
	  "Checks BACKUP first, and copies nothing of a damaged one. DIR must not exist yet; then "
	  "the configuration's `path` of the storage may name it, and DIR/symbols belongs into the "
	  "daemon's data directory. BACKUP stays as it is.",
	  verb__store_restore },
	{ "store remove", "SELECTOR", 1, 1, false,
	  OPTIONS(removal_options, query_verbs__format, ask__options),
	  "remove for good what a selector matches, from the daemon's store",
	  "SELECTOR is as of `decima query`, and may leave the type out: {service_name=\"x\"} are "
	  "all "
	  "of them, {} is everything. No answer has what was removed from then on; the disk gives "
	  "the room back when the store writes that part anew. Texts (names of functions, values "
	  "of labels) stay in a file of eras/ until all profiles of its three days have gone; "
	  "backups, and files that outputs wrote, keep what they have. Takes the role admin: over "
	  "the unix socket as root or the daemon's user, or with a token of that role.",
	  verb__store_remove },
	{ "convert", "IN OUT", 2, 2, false, OPTIONS(convert_options),
	  "between pprof, folded, speedscope, (out only) a page of HTML and (in only) perf "
	  "script's text; - is standard input or output",
	  NULL, verb__convert },
	{ "debuginfo extract", "FILE..", 1, -1, false, OPTIONS(extract_options),
	  "reduce programs and libraries to what names their addresses",
	  "Keeps build id, symbols, Go's tables, and of DWARF what functions, inlined functions "
	  "and lines need, compressed; drops code and data. What is written answers eu-addr2line "
	  "and addr2line as the file did.",
	  verb__debuginfo_extract },
	{ "debuginfo upload", "FILE..", 1, -1, false, OPTIONS(upload_options, query_verbs__format),
	  "send programs, libraries or separate debuginfo to a server, which names addresses by "
	  "them",
	  "The server, Decima's or Parca's, is asked by build id first: what it has is not sent. "
	  "The others are reduced, as `decima debuginfo extract` does it, and sent by gRPC; a line "
	  "says what became of each: stored, known or replaced. In directories all that is ELF is "
	  "looked at, and what has no build id or names nothing passed over. Profiles that are "
	  "stored already have the names from then on. What a server keeps it keeps: --replace "
	  "sends all the same, and has it replaced, which Decima lets the role admin do. Exits 1 "
	  "when a file could not be sent or was refused; the others are sent.",
	  verb__debuginfo_upload },
	{ "generate", "KIND [FILE]", 1, 2, false, OPTIONS(plugin_options),
	  "print the manual (man: decima(1), man5: decima.yaml(5)), or FILE with every option as a "
	  "comment (conf)",
	  NULL, verb__generate },
	{ "complete", "WORD..", 1, -1, true, no_options,
	  "print what the last WORD of a command line may become (the shells' completions ask it)",
	  "A line for each: the word, a tab, and what it means. Plugins come from where plugins "
	  "are, profile types and labels from the daemon that the line asks. :files, :dirs and "
	  ":commands stand for what the shell itself knows.",
	  verb__complete },
	{ 0 },
};
