/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/suggest.h - "did you mean": the nearest of the names that would have been right
 *
 * Near is an edit distance (core/base/str.h) of at most a third of the longer text, at least 1 and
 * at most 4, without regard to upper case, `-` and `_`; and NAME_size is near to NAME_bytes, as
 * options of sizes are called here. Of equally near ones the first offered wins.
 */
#ifndef DECIMA_CONFIG_SUGGEST_H
#define DECIMA_CONFIG_SUGGEST_H

#include <stdint.h>

#include <decima/plugin.h>

struct suggest {
	struct dcm_str wrong;
	const char *best; /* NULL: none is near */
	unsigned distance;
};

static inline struct suggest suggest__begin(struct dcm_str wrong)
{
	return (struct suggest){ .wrong = wrong };
}

/* candidate must outlive the struct. */
void suggest__offer(struct suggest *s, const char *candidate);

/* The nearest of names[n] or NULL. */
const char *suggest__nearest(struct dcm_str wrong, const char *const *names, uint32_t n);

/* `; did you mean "NAME"?` or "" into buf, cut if need be. Returns buf. */
const char *suggest__text(const struct suggest *s, char buf[static 128]);

#endif
