/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/generate.c - the manual page, from the verb tables
 */
#include "core/main/generate.h"

#include <stdio.h>
#include <string.h>

#include "config.h"

/* Text for roff: backslashes and dashes escaped, no line begins with a control character. */
static void roff(const char *text)
{
	bool at_start = true;

	for (; *text; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		at_start = *text == '\n';
		if (*text == '\n' && text[1] == '\n') {
			fputs("\n.PP\n", stdout);
			text++;
			at_start = true;
		} else if (*text == '\\') {
			fputs("\\e", stdout);
		} else if (*text == '-') {
			fputs("\\-", stdout);
		} else {
			fputc(*text, stdout);
		}
	}
}

static void roff_option(const struct args_option *o)
{
	fputs(".TP\n", stdout);
	if (o->letter)
		printf("\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", stdout);
	roff(o->name);
	fputs("\\fR", stdout);
	if (o->value)
		printf(" \\fI%s\\fR", o->value);
	fputc('\n', stdout);
	roff(o->doc);
	fputc('\n', stdout);
}

static void roff_verb(const struct args_verb *v)
{
	printf(".SS \"decima %s %s\"\n", v->name, v->operands);
	roff(v->summary);
	fputs(".\n", stdout);
	if (v->details) {
		fputs(".PP\n", stdout);
		roff(v->details);
		fputc('\n', stdout);
	}
	for (const struct args_option *const *table = v->options; *table; table++)
		for (const struct args_option *o = *table; o->name; o++)
			roff_option(o);
}

void generate__man(const struct args_verb *verbs)
{
	printf(".TH DECIMA 1 \"\" \"decima %s\" \"User Commands\"\n.ad l\n", PACKAGE_VERSION);
	fputs(".SH NAME\ndecima \\- continuous profiling for Linux\n.SH SYNOPSIS\n"
	      "\\fBdecima\\fR [\\fICOMMAND\\fR] [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
	      "Samples every stack on the host, keeps what it saw, and answers what ran when.\n"
	      "Without a command it runs the daemon.\n.SH COMMANDS\n",
	      stdout);
	for (const struct args_verb *v = verbs; v->name; v++)
		roff_verb(v);
	fputs(".SH TIMES, DURATIONS\n"
	      "A time is RFC 3339 (2026\\-01\\-31T12:00:00Z), Unix seconds, or relative: now, "
	      "now\\-15m.\n"
	      "A duration is 10s, 5m, 1h30m.\n.SH EXIT STATUS\n"
	      "0 success; 1 the answer is no, or the work failed; 2 wrong usage or configuration.\n"
	      ".SH SEE ALSO\n.BR decima.yaml (5)\n",
	      stdout);
}
