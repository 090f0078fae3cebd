/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/complete.h - what the last word of a command line may become
 *
 * The shells' completions (conf/completion) hand the words typed so far to `decima complete` and
 * show what it prints. Verbs, options and choices come from the verb tables (args.h); what no table
 * knows, as the names of plugins, is looked up by whoever asks. Single-threaded.
 */
#ifndef DECIMA_MAIN_COMPLETE_H
#define DECIMA_MAIN_COMPLETE_H

#include "core/base/buf.h"
#include "core/main/args.h"

struct complete {
	const struct args_verb *verbs;
	const char *otherwise; /* the verb of a line that names none */
	/*
	 * Adds what may stand for a placeholder of the tables ("SELECTOR", "LABEL", "KIND/NAME") by
	 * complete__add(). `line` holds the verb and the options given so far. NULL: adds nothing.
	 */
	void (*lookup)(struct complete *c, const struct args *line, struct dcm_str placeholder);
	void *ctx; /* the lookup's */

	struct buf out;	     /* the answer; caller frees. Its `error` says whether memory ran out */
	struct dcm_str last; /* internal: what every candidate has to begin with */
	struct dcm_str head; /* internal: the part of it that stays, as "--format=" or "a,b," */
	bool listed;	     /* internal: candidates are names in a list */
};

/*
 * Writes into c->out what words[n - 1] may become, the words before it given (those behind
 * "decima"); n >= 1. A line is "WORD\tMEANING\n", or one of ":files", ":dirs" and ":commands", for
 * which the shell puts what it knows.
 */
void complete__words(struct complete *c, int n, const char *const *words);

/*
 * One candidate, if the last word can become it. meaning: its first line is taken; NULL or "" for
 * none.
 */
void complete__add(struct complete *c, const char *word, const char *meaning);

#endif
