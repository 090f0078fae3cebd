/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/generate.c - manual page and completions for bash, zsh and fish, from the verb tables
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
	printf(".TH DECIMA 1 \"\" \"decima %s\" \"User Commands\"\n", PACKAGE_VERSION);
	fputs(".SH NAME\ndecima \\- continuous profiling for Linux\n.SH SYNOPSIS\n"
	      "\\fBdecima\\fR [\\fICOMMAND\\fR] [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
	      "Samples every stack on the host, takes profiles from others, keeps them, and "
	      "answers what ran when.\n"
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

/* First words of all verbs, each once. */
static void print_first_words(const struct args_verb *verbs, const char *separator)
{
	const char *last = "";

	for (const struct args_verb *v = verbs; v->name; v++) {
		size_t n = strcspn(v->name, " ");

		if (strlen(last) >= n && strncmp(last, v->name, n) == 0 && (last[n] == ' ' || !last[n]))
			continue;
		printf("%s%.*s", v == verbs ? "" : separator, (int)n, v->name);
		last = v->name;
	}
}

/* Second words of the verbs that begin with FIRST (n bytes). */
static void print_second_words(const struct args_verb *verbs, const char *first, size_t n)
{
	for (const struct args_verb *v = verbs; v->name; v++)
		if (strncmp(v->name, first, n) == 0 && v->name[n] == ' ')
			printf(" %s", v->name + n + 1);
}

static void bash_options(const struct args_verb *v)
{
	for (const struct args_option *const *table = v->options; *table; table++)
		for (const struct args_option *o = *table; o->name; o++)
			printf("--%s ", o->name);
	fputs("--help", stdout);
}

static void bash_values(const struct args_verb *verbs)
{
	for (const struct args_verb *v = verbs; v->name; v++)
		for (const struct args_option *const *table = v->options; *table; table++)
			for (const struct args_option *o = *table; o->name; o++) {
				if (o->kind != ARGS_CHOICE)
					continue;
				printf("\t\"%s --%s\") COMPREPLY=($(compgen -W \"", v->name, o->name);
				for (const char *const *c = o->choices; *c; c++)
					printf("%s%s", c == o->choices ? "" : " ", *c);
				fputs("\" -- \"$cur\")); return ;;\n", stdout);
			}
}

void generate__bash(const struct args_verb *verbs)
{
	fputs("# bash completion for decima; made by `decima generate bash`\n_decima()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal verb=${COMP_WORDS[1]}\n\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W \"",
	      stdout);
	print_first_words(verbs, " ");
	fputs("\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $verb in\n", stdout);
	fputs("\tquery)\n\t\tif ((COMP_CWORD == 2)); then\n\t\t\tCOMPREPLY=($(compgen -W \"", stdout);
	print_second_words(verbs, "query", 5);
	fputs("\" -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n\t\tverb=\"$verb ${COMP_WORDS[2]}\" "
	      ";;\n\tesac\n",
	      stdout);
	fputs("\tcase \"$verb $prev\" in\n", stdout);
	bash_values(verbs);
	fputs("\tesac\n\tcase $verb in\n", stdout);
	for (const struct args_verb *v = verbs; v->name; v++) {
		printf("\t\"%s\") COMPREPLY=($(compgen -W \"", v->name);
		bash_options(v);
		fputs("\" -- \"$cur\")) ;;\n", stdout);
	}
	fputs("\tesac\n\t[[ $cur == -* ]] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n}\ncomplete "
	      "-o filenames -F _decima decima\n",
	      stdout);
}

/* Text inside single quotes of a shell; brackets and colons escaped for zsh's specs. */
static void quoted(const char *text, bool zsh)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (zsh && strchr("[]:", *text))
			printf("\\%c", *text);
		else
			fputc(*text, stdout);
	}
}

static void zsh_option(const struct args_option *o)
{
	printf("\t\t'%s--%s%s[", o->many ? "*" : "", o->name, o->value ? "=" : "");
	quoted(o->doc, true);
	fputc(']', stdout);
	if (o->kind == ARGS_CHOICE) {
		printf(":%s:(", o->value);
		for (const char *const *c = o->choices; *c; c++)
			printf("%s%s", c == o->choices ? "" : " ", *c);
		fputc(')', stdout);
	} else if (o->value) {
		printf(":%s:%s", o->value,
		       o->kind == ARGS_FILE  ? "_files"
		       : o->kind == ARGS_DIR ? "_files -/"
					     : " ");
	}
	fputs("' \\\n", stdout);
}

void generate__zsh(const struct args_verb *verbs)
{
	fputs("#compdef decima\n# zsh completion for decima; made by `decima generate "
	      "zsh`\n_decima()\n{\n"
	      "\tlocal verb=$words[2] skip=2\n\tif ((CURRENT == 2)); then\n\t\tcompadd -- ",
	      stdout);
	print_first_words(verbs, " ");
	fputs("\n\t\treturn\n\tfi\n\tif [[ $verb == query ]]; then\n\t\tif ((CURRENT == 3)); "
	      "then\n\t\t\tcompadd --",
	      stdout);
	print_second_words(verbs, "query", 5);
	fputs("\n\t\t\treturn\n\t\tfi\n\t\tverb=\"query $words[3]\" skip=3\n\tfi\n"
	      "\tshift $((skip - 1)) words\n\t((CURRENT -= skip - 1))\n\tcase $verb in\n",
	      stdout);
	for (const struct args_verb *v = verbs; v->name; v++) {
		printf("\t'%s') _arguments \\\n", v->name);
		for (const struct args_option *const *table = v->options; *table; table++)
			for (const struct args_option *o = *table; o->name; o++)
				zsh_option(o);
		fputs("\t\t'--help[what the command does]' '*:operand:_files' ;;\n", stdout);
	}
	fputs("\tesac\n}\n_decima \"$@\"\n", stdout);
}

static void fish_condition(const struct args_verb *v)
{
	const char *space = strchr(v->name, ' ');

	if (space)
		printf("'__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s'",
		       (int)(space - v->name), v->name, space + 1);
	else
		printf("'__fish_seen_subcommand_from %s'", v->name);
}

void generate__fish(const struct args_verb *verbs)
{
	fputs("# fish completion for decima; made by `decima generate fish`\n"
	      "complete -c decima -n __fish_use_subcommand -f -a '",
	      stdout);
	print_first_words(verbs, " ");
	fputs("'\ncomplete -c decima -n '__fish_seen_subcommand_from query' -f -a '", stdout);
	print_second_words(verbs, "query", 5);
	fputs("'\n", stdout);
	for (const struct args_verb *v = verbs; v->name; v++)
		for (const struct args_option *const *table = v->options; *table; table++)
			for (const struct args_option *o = *table; o->name; o++) {
				fputs("complete -c decima -n ", stdout);
				fish_condition(v);
				printf(" -l %s", o->name);
				if (o->letter)
					printf(" -s %c", o->letter);
				if (o->value)
					fputs(" -r", stdout);
				if (o->kind == ARGS_CHOICE) {
					fputs(" -f -a '", stdout);
					for (const char *const *c = o->choices; *c; c++)
						printf("%s ", *c);
					fputs("'", stdout);
				}
				fputs(" -d '", stdout);
				quoted(o->doc, false);
				fputs("'\n", stdout);
			}
}
