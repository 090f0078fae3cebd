/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/args.h - the command line as tables
 *
 * Each verb is a row: name, what stands behind it, its options, and the function that does it. The
 * same rows parse the arguments, print --help, make the manual page (generate.h) and complete what
 * is typed in a shell (complete.h). Options are written `--name VALUE`, `--name=VALUE` or `-n
 * VALUE`; `--` ends them.
 */
#ifndef DECIMA_MAIN_ARGS_H
#define DECIMA_MAIN_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

/* What a value is, for the completions. */
enum args_value { ARGS_FLAG, ARGS_TEXT, ARGS_FILE, ARGS_DIR, ARGS_CHOICE };

struct args_option {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter;	  /* short one, or 0 */
	enum args_value kind;
	const char *value;	    /* how the value is called in help; NULL for a flag */
	const char *const *choices; /* ARGS_CHOICE: NULL-terminated */
	bool many;		    /* may come several times */
	const char *doc;
};

struct args;

struct args_verb {
	const char *name;		/* "run", "query top"; NULL ends the table */
	const char *operands;		/* "SELECTOR", "-- CMD ARG.."; "" for none */
	int min_operands, max_operands; /* max -1: any number */
	bool stops_at_operand; /* what follows the first operand belongs to it, dashes or not */
	const struct args_option *const *options; /* NULL-terminated list of option tables */
	const char *summary;			  /* one line, no full stop */
	const char *details;			  /* paragraphs for --help and the manual */
	int (*run)(const struct args *a);	  /* the exit status */
};

/* Exit statuses of every verb (docs: README, "Exit status"). */
enum { EXIT_DONE = 0, EXIT_NO = 1, EXIT_USAGE = 2 };

/* The parsed line: option values in order, and operands. */
struct args {
	const struct args_verb *verb;
	struct args_given {
		const struct args_option *option;
		const char *value;
	} * given;
	uint32_t n_given;
	const char *const *operands; /* [n_operands], and a NULL behind them */
	int n_operands;
	bool has_dashes; /* "--" was there, with or without operands behind it */
};

/* The last value given, or `otherwise`. */
const char *args__get(const struct args *a, const char *name, const char *otherwise);
bool args__has(const struct args *a, const char *name);
/* The i-th value of an option that may come many times; NULL past the last. */
const char *args__nth(const struct args *a, const char *name, uint32_t i);

/*
 * Finds the verb (the longest that fits; `otherwise` when the line names none), parses and runs it.
 * Wrong usage gets a sentence on stderr and EXIT_USAGE. `--help` and `--version` are answered here.
 */
int args__main(const struct args_verb *verbs, const char *otherwise, int argc, char **argv);

/*
 * The verb that the line begins with, the longest that fits, and in *ret_words of how many words it
 * is; NULL and 0 when it begins with none.
 */
const struct args_verb *args__find_verb(const struct args_verb *verbs, int argc,
					const char *const *argv, int *ret_words);
/* The verb of this name, or NULL. */
const struct args_verb *args__verb_named(const struct args_verb *verbs, const char *name);
/* Is WORD the first of the verb's two, as "query" of "query top"? */
bool args__in_group(const struct args_verb *v, const char *word);
/*
 * The option that a word names ("--name", "--name=VALUE", "-n", "-nVALUE"), and the value in that
 * word or NULL. NULL when the verb has no such option.
 */
const struct args_option *args__option_of(const struct args_verb *v, const char *word,
					  const char **ret_value);

/* Writes the help of a verb to stdout. */
void args__help(const struct args_verb *verb);
/* The verbs of two words whose first is `group`. */
void args__group_help(const struct args_verb *verbs, const char *group);
void args__overview(const struct args_verb *verbs);

#endif
