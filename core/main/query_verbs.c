/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/query_verbs.c - `decima query ...` and `decima targets`
 *
 * Each verb is a path of /api/v1 and the parameters that its options become. The server renders
 * text as well as JSON, so nothing is computed here, and `curl` sees what this prints.
 */
#include "core/main/query_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/api/api.h"
#include "core/base/str.h"
#include "core/main/ask.h"
#include "core/main/output_file.h"

static const char *const formats[] = { "text", "json", NULL };
static const char *const reports[] = { "tree", "functions", NULL };
static const char *const groups[] = { "function", "line", "file", "binary", "address", NULL };

const struct args_option query_verbs__range[] = {
	{ "from", 0, ARGS_TEXT, "T", NULL, false,
	  "first moment of the range (default: an hour before its end)" },
	{ "to", 0, ARGS_TEXT, "T", NULL, false, "first moment behind the range (default now)" },
	{ 0 },
};
const struct args_option query_verbs__filter[] = {
	{ "focus", 0, ARGS_TEXT, "RE", NULL, false,
	  "keep stacks through a function that matches, from there to the leaf" },
	{ "hide", 0, ARGS_TEXT, "RE", NULL, false, "leave out frames whose function matches" },
	{ "hide-stacks", 0, ARGS_TEXT, "RE", NULL, false, "leave out stacks with a function that matches" },
	{ "only-stacks", 0, ARGS_TEXT, "RE", NULL, false, "keep stacks with a function that matches" },
	{ 0 },
};
const struct args_option query_verbs__format[] = {
	{ "format", 0, ARGS_CHOICE, "FORMAT", formats, false, "text (default) or json" },
	{ 0 },
};
const struct args_option query_verbs__table[] = {
	{ "max-rows", 'n', ARGS_TEXT, "N", NULL, false, "at most this many rows (default 40)" },
	{ 0 },
};
const struct args_option query_verbs__tree[] = {
	{ "max-rows", 'n', ARGS_TEXT, "N", NULL, false,
	  "at most this many lines, the heaviest (default 60)" },
	{ "group", 0, ARGS_CHOICE, "BY", groups, false,
	  "what makes two frames one: function (default), line, file, binary, address" },
	{ "invert", 0, ARGS_FLAG, NULL, NULL, false, "leaves first: who is called, by whom" },
	{ 0 },
};
const struct args_option query_verbs__series[] = {
	{ "step", 0, ARGS_TEXT, "D", NULL, false, "width of a point (default: the range in 60 steps)" },
	{ "sum-by", 0, ARGS_TEXT, "L,..", NULL, false, "one line per value of these labels" },
	{ 0 },
};
const struct args_option query_verbs__stacks[] = {
	{ "group-by", 0, ARGS_TEXT, "L,..", NULL, false,
	  "each label leads the stack as a frame name=value" },
	{ 0 },
};
const struct args_option query_verbs__file[] = {
	{ "output", 'o', ARGS_FILE, "FILE", NULL, false, "file to write; - for standard output" },
	{ 0 },
};
const struct args_option query_verbs__sides[] = {
	{ "report", 0, ARGS_CHOICE, "REPORT", reports, false,
	  "tree (default), or functions: a table, what changed most first" },
	{ "a-from", 0, ARGS_TEXT, "T", NULL, false, "range of the first selection (default --from)" },
	{ "a-to", 0, ARGS_TEXT, "T", NULL, false, "its end (default --to)" },
	{ "b-from", 0, ARGS_TEXT, "T", NULL, false, "range of the second selection (default --from)" },
	{ "b-to", 0, ARGS_TEXT, "T", NULL, false, "its end (default --to)" },
	{ 0 },
};
const struct args_option query_verbs__match[] = {
	{ "match", 0, ARGS_TEXT, "SELECTOR", NULL, false, "only what this selects" },
	{ 0 },
};

/* Options whose API parameter has the same name, dashes turned to underscores. */
static void add_options(struct ask *q, const struct args *a)
{
	static const char *const same[] = { "from",	   "to",	  "focus",    "hide",
					    "hide-stacks", "only-stacks", "max-rows", "group",
					    "step",	   "sum-by",	  "group-by", "a-from",
					    "a-to",	   "b-from",	  "b-to",     "match",
					    "report" };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char name[24];

		snprintf(name, sizeof(name), "%s", same[i]);
		for (char *p = name; *p; p++)
			*p = *p == '-' ? '_' : *p;
		ask__param(q, name, args__get(a, same[i], NULL));
	}
	ask__param(q, "inv", args__has(a, "invert") ? "1" : NULL);
}

/* The terminal's width for the server's text; pipes get no bound. */
static void add_width(struct ask *q)
{
	struct winsize size;
	char text[16];

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return;
	snprintf(text, sizeof(text), "%u", size.ws_col);
	ask__param(q, "width", text);
}

static int write_out(const struct args *a, const char *path, const struct buf *body)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (output_file__write(path, body, &err) == 0)
		return EXIT_DONE;
	fprintf(stderr, "decima %s: %s\n", a->verb->name, err.text);
	return EXIT_NO;
}

/* What the store has lost of the answer, and names that nothing has; text says so itself. */
static void tell_beside(const struct args *a, const struct http_response *answer)
{
	struct dcm_str lost = http_response__find(answer, API_LEFT_OUT);
	struct dcm_str note = http_response__find(answer, API_NOTE);

	if (lost.n)
		fprintf(stderr, "decima %s: left out of the answer: %.*s\n", a->verb->name,
			STR_ARG(lost));
	if (note.n)
		fprintf(stderr, "decima %s: %.*s\n", a->verb->name, STR_ARG(note));
}

/* Adds the options, asks, and prints the body in `format`. */
static int ask_and_print(const struct args *a, struct ask *q, const char *format)
{
	struct http_response answer = { 0 };
	int status;

	add_options(q, a);
	if (strcmp(format, "text") == 0)
		add_width(q);
	ask__param(q, "format", format);
	status = ask__get(a, q, &answer);
	if (status == EXIT_DONE && answer.body.n == 0)
		fprintf(stderr,
			"decima %s: nothing is stored that the selector asks for in this range, or "
			"the filters leave nothing of it\n",
			a->verb->name);
	if (status == EXIT_DONE && strcmp(format, "text") != 0)
		tell_beside(a, &answer);
	if (status == EXIT_DONE)
		status = write_out(a, args__get(a, "output", "-"), &answer.body);
	http_response__fini(&answer);
	return status;
}

static int ask_listed(const struct args *a, struct ask *q)
{
	return ask_and_print(a, q, args__get(a, "format", "text"));
}

static int ask_selector(const struct args *a, const char *path)
{
	struct ask q = { 0 };

	ask__path(&q, path);
	ask__param(&q, "q", a->operands[0]);
	return ask_listed(a, &q);
}

int query_verbs__types(const struct args *a)
{
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/types");
	return ask_listed(a, &q);
}

int query_verbs__labels(const struct args *a)
{
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/labels");
	return ask_listed(a, &q);
}

int query_verbs__values(const struct args *a)
{
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/values");
	ask__param(&q, "label", a->operands[0]);
	return ask_listed(a, &q);
}

int query_verbs__time_series(const struct args *a)
{
	return ask_selector(a, "/api/v1/series");
}

int query_verbs__top(const struct args *a)
{
	return ask_selector(a, "/api/v1/functions");
}

int query_verbs__flame(const struct args *a)
{
	return ask_selector(a, "/api/v1/flame");
}

int query_verbs__folded(const struct args *a)
{
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/export");
	ask__param(&q, "q", a->operands[0]);
	return ask_and_print(a, &q, "folded");
}

int query_verbs__pprof(const struct args *a)
{
	struct ask q = { 0 };

	if (!args__has(a, "output")) {
		fprintf(stderr, "decima query pprof: needs -o FILE; pprof is binary (-o - writes "
				"it to a pipe)\n");
		return EXIT_USAGE;
	}
	if (strcmp(args__get(a, "output", ""), "-") == 0 && isatty(STDOUT_FILENO)) {
		fprintf(stderr, "decima query pprof: pprof is binary and standard output is a "
				"terminal; give -o FILE\n");
		return EXIT_USAGE;
	}
	ask__path(&q, "/api/v1/export");
	ask__param(&q, "q", a->operands[0]);
	return ask_and_print(a, &q, "pprof");
}

int query_verbs__diff(const struct args *a)
{
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/diff");
	ask__param(&q, "a_q", a->operands[0]);
	ask__param(&q, "b_q", a->operands[1]);
	return ask_listed(a, &q);
}

static int sandwich(const struct args *a, const char *path)
{
	struct ask q = { 0 };

	ask__path(&q, path);
	ask__param(&q, "function", a->operands[0]);
	ask__param(&q, "q", a->operands[1]);
	return ask_listed(a, &q);
}

int query_verbs__callers(const struct args *a)
{
	return sandwich(a, "/api/v1/callers");
}

int query_verbs__callees(const struct args *a)
{
	return sandwich(a, "/api/v1/callees");
}

int query_verbs__targets(const struct args *a)
{
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/targets");
	return ask_listed(a, &q);
}
