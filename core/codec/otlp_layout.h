/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_layout.h - how the versions of OTLP's v1development profiles number their fields
 *
 * Pure functions and constants; any thread.
 */
#ifndef DECIMA_CODEC_OTLP_LAYOUT_H
#define DECIMA_CODEC_OTLP_LAYOUT_H

#include <stdbool.h>

#include <decima/plugin.h>

enum otlp_table {
	OTLP_MAPPINGS,
	OTLP_LOCATIONS,
	OTLP_FUNCTIONS,
	OTLP_LINKS,
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_STACKS, /* from 1.8; before that, [location_indices] of a profile */
	OTLP_TABLES
};

/* Numbers of fields; 0: there is no such field. */
struct otlp_layout {
	const char *name;
	/*
	 * Until 1.7: stacks are ranges of the profile's location_indices, a sample has a value for each of several types,
	 * attributes have their key as text, references may be absent, and timestamps are varints.
	 */
	bool is_ranged;
	bool has_tables_in_profile; /* until 1.5: each profile has its own */
	uint8_t tables[OTLP_TABLES];
	struct {
		uint8_t location_indices, time, duration, period_type, period, format, payload,
			attribute_indices, attributes;
	} profile;
	struct {
		uint8_t values, attributes, link, timestamps;
	} sample;
	uint8_t location_attributes;
};

extern const struct otlp_layout otlp_layout__current;

/*
 * What the bytes look like; where nothing tells, `likely`, by its name, or (NULL, or none that could be) the current one. NULL with
 * -EINVAL's sentence: a version that cannot be read. Bytes that are no protobuf are the decoder's to refuse.
 */
const struct otlp_layout *otlp_layout__of(const uint8_t *data, size_t n, const char *likely,
					  bool *ret_told, struct dcm_error *err);

#endif
