/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/type_text.h - profile types, written as a question writes them
 */
#ifndef DECIMA_TESTS_UNIT_TYPE_TEXT_H
#define DECIMA_TESTS_UNIT_TYPE_TEXT_H

#include <string.h>

#include <decima/plugin.h>

#include "core/batch/builder.h"

/* "name:sample_type:sample_unit:period_type:period_unit" as a type of that temporality. */
static inline struct dcm_type type_text__read(struct dcm_builder *b, const char *text, uint32_t temporality)
{
	uint32_t part[5];

	for (unsigned i = 0; i < 5; i++) {
		size_t n = strcspn(text, ":");

		part[i] = builder__string(b, (struct dcm_str){ text, (uint32_t)n });
		text += n + (text[n] == ':');
	}
	return (struct dcm_type){ part[0], part[1], part[2], part[3], part[4], temporality };
}

#endif
