/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/describe_walk.h - the one walk over option tables that every form of description
 * shares
 *
 * A form is three callbacks. Rows named "" are gone: their sub-table's rows come in their place.
 */
#ifndef DECIMA_CONFIG_DESCRIBE_WALK_H
#define DECIMA_CONFIG_DESCRIBE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

struct describe_row {
	const struct dcm_option *row;
	const char *facts; /* "integer, 1Hz to 1000Hz, default 19Hz" */
	unsigned depth;	   /* 0 for the subject's own rows */
	bool has_inner;	   /* enter() follows */
	bool first;	   /* of its level */
};

struct describe_form {
	void (*row)(void *ctx, const struct describe_row *r);
	/*
	 * The rows inside the last one follow; intro: "Each element:", "One of:", "". NULL: not
	 * walked.
	 */
	void (*enter)(void *ctx, const struct describe_row *r, const char *intro);
	void (*leave)(void *ctx, const struct describe_row *r);
	void *ctx;
	struct buf *out; /* gets the error when memory for something between runs out */
	bool of_program; /* as in struct describe_subject */
};

void describe__walk(const struct dcm_table *table, const struct describe_form *form);

/* The sub-table that a row's value, element or kinds have; NULL: none. */
const struct dcm_table *describe__inner(const struct dcm_option *row);

/* What begins the rows inside: "Each element:", "Each value:", "One of:", "". */
const char *describe__intro(const struct dcm_option *row);

/*
 * The row's facts, without its default and doc: "integer in Hz, 1Hz to 1000Hz"; then that default,
 * and what a change of it takes.
 */
void describe__facts(const struct dcm_option *row, bool with_default, bool of_program, struct buf *out);

/* The text so far, "" when there is none; hands its error on. Valid until the buffer changes. */
const char *describe__line(const struct buf *line, struct buf *out);

/* Words of the text in lines of at most 100 columns, each after `indent` spaces and `mark`. */
void describe__wrap(const char *text, unsigned indent, const char *mark, struct buf *out);

#endif
