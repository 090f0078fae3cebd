/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/main.c - decima-plugin-check: is this shared object a good plugin?
 *
 *	decima-plugin-check [--config YAML] [--seconds N] [--verbose] FILE.so
 *
 * Loads the plugin with a host made for tests and asks it the questions of cases.h, each in a
 * process of its own. Prints a line for each, `ok NAME`, `not ok NAME: why`, `skip NAME: why`. Exit
 * status: 0 when none is `not ok`, 1 when one is, 2 for wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/codec/session.h"
#include "core/deflate/deflate.h"
#include "core/plugin_check/cases.h"
#include "core/plugin_check/silence.h"

enum {
	CASE_SECONDS = 60,  /* without what --seconds allows */
	SWEEP_SECONDS = 20, /* the default of --seconds, and its largest value */
	SWEEP_SECONDS_MAX = 3600,
	VERDICT_MAX = 2048,
};

static const char purpose[] =
	"Checks that a shared object is a good plugin of Decima: its description "
	"and options, its life,\nchanges of configuration, some work, no memory, "
	"leaks. Prints a line for each question.\n";

enum option { OPTION_CONFIG, OPTION_SECONDS, OPTION_VERBOSE, OPTION_MAN, OPTION_HELP, N_OPTIONS };

static const struct {
	const char *name, *value, *doc;
} options[N_OPTIONS] = {
	[OPTION_CONFIG] = { "--config", "YAML",
			    "its options, as they would stand under its name: '{ path: /tmp/x }'" },
	[OPTION_SECONDS] = { "--seconds", "N",
			     "time for making one allocation after the other fail, 1 to 3600 "
			     "(default 20); what is not "
			     "tried then is skipped" },
	[OPTION_VERBOSE] = { "--verbose", "", "show what the plugin logs, on standard error" },
	[OPTION_MAN] = { "--man", "", "print the manual page" },
	[OPTION_HELP] = { "--help", "", "this" },
};

static void print_usage(FILE *to)
{
	fprintf(to, "usage: decima-plugin-check [--config YAML] [--seconds N] [--verbose] FILE.so\n\n%s\n",
		purpose);
	for (int i = 0; i < N_OPTIONS; i++)
		fprintf(to, "  %-9s %-5s %s\n", options[i].name, options[i].value, options[i].doc);
}

/* man(7); a dash is escaped, so that it can be copied from the page. */
static void print_roff(const char *text)
{
	for (; *text; text++)
		fputs(*text == '-' ? "\\-" : (char[]){ *text, '\0' }, stdout);
}

static void print_man(void)
{
	printf(".TH DECIMA\\-PLUGIN\\-CHECK 1 \"\" \"decima %s\" \"User Commands\"\n.ad l\n"
	       ".SH NAME\ndecima\\-plugin\\-check \\- check a plugin of decima\n.SH SYNOPSIS\n"
	       "\\fBdecima\\-plugin\\-check\\fR [\\fIOPTION\\fR]... \\fIFILE.so\\fR\n"
	       ".SH DESCRIPTION\n%s.SH OPTIONS\n",
	       PACKAGE_VERSION, purpose);
	for (int i = 0; i < N_OPTIONS; i++) {
		fputs(".TP\n\\fB", stdout);
		print_roff(options[i].name);
		printf("\\fR \\fI%s\\fR\n", options[i].value);
		print_roff(options[i].doc);
		fputc('\n', stdout);
	}
	fputs(".SH EXIT STATUS\n0 every answer is right or skipped; 1 one is not; 2 wrong usage.\n"
	      ".SH SEE ALSO\n.BR decima (1),\n.BR decima.yaml (5)\n",
	      stdout);
}

/* ---- verdicts: from the child to the parent ---- */

static noreturn void say(const struct check *c, const char *verdict, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static noreturn void say(const struct check *c, const char *verdict, const char *fmt, va_list ap)
{
	char line[VERDICT_MAX];
	int n = snprintf(line, sizeof(line), "%s", verdict);

	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ';';
	_exit(fd__write_all(c->verdict_fd, line, strlen(line)) == 0 ? 0 : 1);
}

#define VERDICT(name, verdict)                                                                     \
	void verdict__##name(const struct check *c, const char *fmt, ...)                          \
	{                                                                                          \
		va_list ap;                                                                        \
		va_start(ap, fmt);                                                                 \
		say(c, verdict, fmt, ap);                                                          \
	}
VERDICT(fail, "F")
VERDICT(skip, "S")
VERDICT(pass, "P")

/* ---- the host's services ---- */

static int emit(void *ctx, const struct dcm_host *from, struct dcm_batch *batch, dcm_done_fn done,
		void *done_ctx)
{
	(void)ctx;
	(void)from;
	(void)batch;
	if (done)
		done(done_ctx, 0);
	return 0;
}

static int resolved(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
		    struct dcm_error *err)
{
	(void)ctx;
	(void)err;
	*ret_batch = batch__ref(batch);
	return 0;
}

static int encode(void *ctx, const struct dcm_batch *batch, uint32_t profile, const char *format,
		  uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	(void)ctx;
	return codec__encode_bytes(batch, profile, format, ret_data, ret_n, err);
}

static int decode(void *ctx, const char *format, const uint8_t *data, size_t n,
		  struct dcm_batch **ret_batch, struct dcm_error *err)
{
	(void)ctx;
	return codec__decode(format, data, n, ret_batch, err);
}

/* ---- running a case ---- */

struct checker {
	struct check check;
	struct plugin *plugin;
	unsigned n_failed;
};

static void report(struct checker *k, const char *name, char verdict, const char *text)
{
	if (verdict == 'F')
		printf("not ok %s: %s\n", name, text);
	else if (verdict == 'S')
		printf("skip %s: %s\n", name, text);
	else
		printf("ok %s%s%s\n", name, *text ? ": " : "", text);
	fflush(stdout);
	k->n_failed += verdict == 'F';
}

/* What the child wrote, or how it ended without a word. */
static void judge(struct checker *k, const char *name, int status, const char *said)
{
	char why[128];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(why, sizeof(why), "not done after %u s", CASE_SECONDS + k->check.sweep_seconds);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "it died: %s", strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		snprintf(why, sizeof(why), "it ended the process with status %d", WEXITSTATUS(status));
	else if (!*said)
		snprintf(why, sizeof(why), "it ended the process");
	else
		why[0] = '\0';
	if (why[0])
		report(k, name, 'F', why);
	else
		report(k, name, said[0], said + 1);
}

static void run(struct checker *k, const char *name, void (*ask)(const struct check *c))
{
	struct buf said = { 0 };
	int fds[2], status = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		report(k, name, 'F', "no process for the check");
		return;
	}
	if (pid == 0) {
		fd__close(fds[0]);
		k->check.verdict_fd = fds[1];
		alarm(CASE_SECONDS + k->check.sweep_seconds);
		ask(&k->check);
		verdict__pass(&k->check, "%s", "");
	}
	fd__close(fds[1]);
	fd__read_all(fds[0], VERDICT_MAX, &said);
	fd__close(fds[0]);
	waitpid(pid, &status, 0);
	judge(k, name, status, said.n > 0 ? (const char *)said.data : "");
	buf__fini(&said);
}

static void run_all(struct checker *k)
{
	static const struct {
		const char *name;
		void (*ask)(const struct check *c);
	} cases[] = {
		{ "unknown_key", case__unknown_key },
		{ "bad_values", case__bad_values },
		{ "lifecycle", case__lifecycle },
		{ "stop_without_drain", case__stop_without_drain },
		{ "change", case__change },
		{ "work", case__work },
		{ "no_memory", case__no_memory },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run(k, cases[i].name, cases[i].ask);
}

static int take_page(void *ctx, const struct dcm_host *from, const struct dcm_page *page,
		     struct dcm_error *err)
{
	(void)ctx;
	(void)from;
	if (!DCM_HAS(page, immutable) || !page->path || page->path[0] != '/' || !page->type ||
	    (!page->data && page->n))
		return error__set(
			err, -EINVAL,
			"page(): a page lacks its size, a path from \"/\" on, a type or its bytes");
	if (DCM_HAS(page, flags) && page->flags & DCM_PAGE_GZIP && !deflate__is_gzip(page->data, page->n))
		return error__set(err, -EINVAL, "page(): %s is said to be gzip and is none", page->path);
	return 0;
}

/* ---- the program ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* Loads in this process: what the constructors of the object do is then the same for every case. */
static bool load(struct checker *k, const char *file)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (loader__load_file(file, false, &k->plugin, &err) < 0) {
		report(k, "description", 'F', err.text);
		return false;
	}
	k->check.plugin = k->plugin;
	snprintf(err.text, sizeof(err.text), "%s %s %s, interface %u.%u",
		 plugin__kind_name((enum dcm_kind)k->check.plugin->info.kind),
		 k->check.plugin->info.name, k->check.plugin->info.version,
		 k->check.plugin->info.abi_major, k->check.plugin->info.abi_minor);
	report(k, "description", 'P', err.text);
	return true;
}

static int check_file(const char *file, const char *yaml, unsigned sweep_seconds, bool verbose)
{
	static const struct log to_stderr = { .fd = STDERR_FILENO, .level = DCM_LOG_DEBUG };
	struct checker k = { .check.sweep_seconds = sweep_seconds,
			     .check.services = { .log = verbose ? &to_stderr : NULL,
						 .node = "check",
						 .emit = emit,
						 .resolved = resolved,
						 .encode = encode,
						 .decode = decode,
						 .session_new = session__new,
						 .session_free = session__free,
						 .session_anew = session__anew,
						 .session_encode = session__encode_bytes,
						 .sessions_new = sessions__new,
						 .sessions_free = sessions__free,
						 .sessions_stat = sessions__stat,
						 .http_client_new = silence__new,
						 .http_client_free = silence__free,
						 .http_start = silence__start,
						 .http_cancel = silence__cancel,
						 .http_client_sign = silence__sign,
						 .page = take_page } };
	const char *tmp = getenv("TMPDIR");
	CLEANUP(tree__freep) struct tree *tree = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	char dir[4096];

	if (yaml && tree__load_text("--config", str__of(yaml), &tree, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	k.check.config = tree ? tree->root : NULL;
	snprintf(dir, sizeof(dir), "%s/decima-plugin-check-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir)) {
		fprintf(stderr, "%s: cannot be made: %s\n", dir, strerror(errno));
		return 2;
	}
	k.check.services.data_root = dir;
	k.check.services.sources = sources__new();
	if (load(&k, file))
		run_all(&k);
	plugin__free(k.plugin);
	sources__free(k.check.services.sources);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return k.n_failed > 0;
}

static int wrong_usage(const char *what)
{
	fprintf(stderr, "decima-plugin-check: %s\n", what);
	print_usage(stderr);
	return 2;
}

static bool is_option(const char *word, enum option option)
{
	return strcmp(word, options[option].name) == 0;
}

/* 0: no number from 1 to the largest. */
static unsigned seconds_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n <= SWEEP_SECONDS_MAX ? (unsigned)n : 0;
}

int main(int argc, char **argv)
{
	const char *file = NULL, *yaml = NULL;
	unsigned sweep_seconds = SWEEP_SECONDS;
	bool verbose = false;

	signal(SIGPIPE, SIG_IGN); /* as in the daemon */
	for (int i = 1; i < argc; i++) {
		if (is_option(argv[i], OPTION_HELP)) {
			print_usage(stdout);
			return 0;
		} else if (is_option(argv[i], OPTION_MAN)) {
			print_man();
			return 0;
		} else if (is_option(argv[i], OPTION_VERBOSE)) {
			verbose = true;
		} else if (is_option(argv[i], OPTION_CONFIG) && i + 1 < argc) {
			yaml = argv[++i];
		} else if (strncmp(argv[i], "--config=", 9) == 0) {
			yaml = argv[i] + 9;
		} else if (is_option(argv[i], OPTION_SECONDS) && i + 1 < argc) {
			sweep_seconds = seconds_of(argv[++i]);
			if (!sweep_seconds)
				return wrong_usage("--seconds takes a number from 1 to 3600");
		} else if (argv[i][0] == '-' || file) {
			return wrong_usage(file ? "one file at a time" : "unknown option");
		} else {
			file = argv[i];
		}
	}
	return file ? check_file(file, yaml, sweep_seconds, verbose)
		    : wrong_usage("name the file to check");
}
