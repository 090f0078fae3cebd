/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/regex_syntax.h - reads RE2's syntax and writes PCRE2's
 *
 * One pass over the pattern. Everything that is passed on was recognised; what RE2 has not is
 * refused by name and offset. On the way the pattern's shape is noted when it is simple enough to
 * be matched by comparing bytes. Groups become plain ones: their names stay with us, so PCRE2's
 * rules for names do not matter.
 */
#ifndef DECIMA_CONFIG_REGEX_SYNTAX_H
#define DECIMA_CONFIG_REGEX_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/vec.h"

enum regex_any {
	REGEX_NOTHING,
	REGEX_STAR, /* .* */
	REGEX_PLUS, /* .+ */
};

/* before, then the literal, then after. An empty literal with anything before has nothing after. */
struct regex_branch {
	enum regex_any before, after;
	uint32_t off, n; /* the literal: literals[off .. off + n) */
};

struct regex_name {
	uint32_t group;
	uint32_t off, n; /* in the pattern that was read */
};

struct regex_syntax {
	struct buf pattern; /* for PCRE2 */
	uint32_t n_groups;
	VEC(struct regex_name) names;
	bool is_simple; /* one of the branches, and nothing else */
	VEC(struct regex_branch) branches;
	struct buf literals;
};

/*
 * 0, -EINVAL, -ENOMEM. s is zeroed before; fini() in either case. search: ^ and $ keep their
 * meaning.
 */
int regex_syntax__read(struct regex_syntax *s, struct dcm_str pattern, bool search,
		       struct dcm_error *err);
void regex_syntax__fini(struct regex_syntax *s);

#endif
