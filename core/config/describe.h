/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/describe.h - option tables for people and programs
 *
 * One walk over the rows, several forms: text for `decima describe`, Markdown, the OPTIONS section
 * of a man page, YAML with every option as a comment, JSON for the page of settings. Lines of text
 * are wrapped at 100 columns.
 */
#ifndef DECIMA_CONFIG_DESCRIBE_H
#define DECIMA_CONFIG_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/config/tree.h"

struct describe_subject {
	const char *title;		       /* "input/ebpf" */
	const char *summary;		       /* one sentence */
	const struct dcm_table *const *tables; /* [n_tables], shown one after the other */
	uint32_t n_tables;
	/*
	 * What DCM_OPT_RESTART asks for: of the whole program (its own settings, and the storage
	 * that answers questions), or of the instance, by the host itself.
	 */
	bool of_program;
};

/* A buffer that failed says so in out->error. */
void describe__text(const struct describe_subject *s, struct buf *out);
void describe__markdown(const struct describe_subject *s, struct buf *out);
/* man(7) macros, from ".SS TITLE" on. */
void describe__man(const struct describe_subject *s, struct buf *out);
/*
 * {"title":..,"summary":..,"options":[{"name":..,"type":..,"default":..,"doc":..,"options":[..]}]}
 */
void describe__json(const struct describe_subject *s, struct buf *out);

/*
 * The tables' options as the inside of a map, each line after `indent` spaces: "# doc" lines, then
 * "key: value" where `set` (may be NULL) has the key, else "#key: default". So a line that begins
 * with '#' and no space is an option; taking that '#' away leaves YAML that means the same.
 */
void describe__yaml(const struct describe_subject *s, const struct node *set, unsigned indent,
		    struct buf *out);

#endif
