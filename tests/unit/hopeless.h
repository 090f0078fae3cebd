/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/hopeless.h - a regular expression that cannot tell whether it matches a text
 *
 * Backtracking has too many ways to divide the a's, and text times pattern is more than the
 * breadth-first matcher is let loose on (core/config/regex.h). The text fits into a label.
 */
#ifndef DECIMA_TESTS_UNIT_HOPELESS_H
#define DECIMA_TESTS_UNIT_HOPELESS_H

#include <string.h>

#define HOPELESS_START "(?:a|aa)+b|"
enum { HOPELESS_TEXT = 60000, HOPELESS_PATTERN = sizeof(HOPELESS_START) - 1 + 1200 };

struct hopeless {
	char text[HOPELESS_TEXT + 1], pattern[HOPELESS_PATTERN + 1];
};

static inline void hopeless__init(struct hopeless *h)
{
	memset(h->text, 'a', HOPELESS_TEXT);
	h->text[HOPELESS_TEXT] = '\0';
	memcpy(h->pattern, HOPELESS_START, sizeof(HOPELESS_START) - 1);
	memset(h->pattern + sizeof(HOPELESS_START) - 1, 'z', 1200);
	h->pattern[HOPELESS_PATTERN] = '\0';
}

#endif
