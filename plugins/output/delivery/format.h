/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/format.h - what profiles are written as: files and objects alike
 */
#ifndef DECIMA_OUTPUT_DELIVERY_FORMAT_H
#define DECIMA_OUTPUT_DELIVERY_FORMAT_H

#include <decima/plugin.h>

enum { N_FORMATS = 4 };

/* As the option `format` and the host's encode() name them: its choices, NULL behind them. */
extern const char *const format_names[N_FORMATS + 1];

struct format_kind {
	const char *extension;
	struct dcm_str type; /* Content-Type */
};
/* By the index into format_names. */
extern const struct format_kind formats[N_FORMATS];

#endif
