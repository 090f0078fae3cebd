/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/yaml_error.c - libyaml's complaints as sentences with a remedy
 *
 * libyaml says what it met; people want to know what to change. The table maps the messages of
 * libyaml 0.2 (src/scanner.c, src/parser.c, src/reader.c) to that; one that is not in it gets a
 * general remedy.
 */
#include "core/config/yaml_error.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/config/tree_build.h"

static const struct remedy {
	const char *problem; /* libyaml's words, or the beginning of them */
	const char *remedy;
} remedies[] = {
	{ "mapping values are not allowed in this context",
	  "quote a value that contains \": \", and check the indentation" },
	{ "did not find expected key", "indent this line like the one above" },
	{ "did not find expected '-' indicator",
	  "indent this line like the list's other elements" },
	{ "did not find expected ',' or ']'", "close the list with ]" },
	{ "did not find expected ',' or '}'", "close the map with }" },
	{ "did not find expected node content", "give a value, or quote it" },
	{ "could not find expected ':'", "write \"key: value\"" },
	{ "found unexpected end of stream", "close the quote" },
	{ "found unknown escape character", "write \\\\ for a backslash, or use single quotes" },
	{ "found undefined tag handle", "quote a value that begins with !" },
	{ "found character that cannot start any token", "quote the value" },
	{ "block sequence entries are not allowed in this context",
	  "put the list on lines of its own" },
	{ "did not find expected <document start>",
	  "keep one document to a file, and check the indentation" },
	{ "did not find expected alphabetic or numeric character",
	  "quote a value that begins with * or &" },
	{ "found duplicate %YAML directive", "keep one" },
	{ "control characters are not allowed",
	  "take the character away, or write it as \\xNN in double quotes" },
	{ "invalid ", "save the file as UTF-8" },
	{ "incomplete ", "save the file as UTF-8" },
	{ "unexpected low surrogate area", "save the file as UTF-8" },
};

static const char *remedy_for(const char *problem)
{
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (str__starts(str__of(problem), str__of(remedies[i].problem)))
			return remedies[i].remedy;
	return "check the indentation, and quote text with special characters";
}

/* The reader knows the byte only. */
static void place_of_byte(struct dcm_str text, size_t offset, struct place *at)
{
	at->line = at->column = 1;
	for (size_t i = 0; i < offset && i < text.n; i++) {
		if (text.p[i] == '\n') {
			at->line++;
			at->column = 1;
		} else if (((unsigned char)text.p[i] & 0xc0) != 0x80) {
			at->column++;
		}
	}
}

/* The byte that a mark is at, which counts characters; text.n behind the end. */
static size_t byte_of_mark(struct dcm_str text, const yaml_mark_t *mark)
{
	size_t at = 0, n = 0;

	for (; at < text.n; at++)
		if (((unsigned char)text.p[at] & 0xc0) != 0x80 && n++ == mark->index)
			break;
	return at;
}

static bool is_tab(const yaml_parser_t *parser, struct dcm_str text)
{
	size_t at = byte_of_mark(text, &parser->problem_mark);

	return parser->error == YAML_SCANNER_ERROR && at < text.n && text.p[at] == '\t';
}

/* Within { } and [ ], a brace ends what is not quoted: ${NAME} comes apart behind its dollar. */
static bool is_variable(const yaml_parser_t *parser, struct dcm_str text)
{
	size_t at = byte_of_mark(text, &parser->problem_mark);

	return parser->error == YAML_PARSER_ERROR && at > 0 && at < text.n && text.p[at] == '{' &&
	       text.p[at - 1] == '$';
}

int yaml__error(const yaml_parser_t *parser, const char *file, struct dcm_str text, struct dcm_error *err)
{
	const char *problem = parser->problem ? parser->problem : "cannot be read";
	const char *remedy = is_variable(parser, text)
				     ? "put quotes around a value with ${NAME} within { } or [ ]"
				     : remedy_for(problem);
	struct place at = { file, (uint32_t)parser->problem_mark.line + 1,
			    (uint32_t)parser->problem_mark.column + 1 };

	if (parser->error == YAML_MEMORY_ERROR)
		return error__nomem(err);
	if (parser->error == YAML_READER_ERROR) {
		place_of_byte(text, parser->problem_offset, &at);
		return tree__fail(err, &at, "not YAML: %s; %s", problem, remedy);
	}
	if (is_tab(parser, text))
		return tree__fail(err, &at, "not YAML: a tab cannot indent; use spaces");
	if (!parser->context)
		return tree__fail(err, &at, "not YAML: %s; %s", problem, remedy);
	if (parser->context_mark.line == parser->problem_mark.line)
		return tree__fail(err, &at, "not YAML: %s %s; %s", parser->context, problem, remedy);
	return tree__fail(err, &at, "not YAML: %s that began on line %zu, %s; %s", parser->context,
			  parser->context_mark.line + 1, problem, remedy);
}
