/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/series_label.h - what a label of a series says
 */
#ifndef DECIMA_OUTPUT_DELIVERY_SERIES_LABEL_H
#define DECIMA_OUTPUT_DELIVERY_SERIES_LABEL_H

#include <decima/plugin.h>

#include "core/base/str.h"

/* The value of that name, within the batch; "": the series has none. */
static inline struct dcm_str series_label__of(const struct dcm_batch *b, struct dcm_span series,
					      struct dcm_str name)
{
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];

		if (str__eq(b->strings[pair->name], name))
			return b->strings[pair->value];
	}
	return STR("");
}

#endif
