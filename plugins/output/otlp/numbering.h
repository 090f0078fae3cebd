/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/numbering.h - how the versions of OTLP's v1development profiles number their fields
 *
 * Source: https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/profiles/v1development, as tagged. All
 * have one package and one path. Constants; any thread.
 */
#ifndef DECIMA_OUTPUT_OTLP_NUMBERING_H
#define DECIMA_OUTPUT_OTLP_NUMBERING_H

#include <stdbool.h>
#include <stdint.h>

/* Of the dictionary. Entry 0 of each is the zero value. */
enum table {
	TABLE_MAPPINGS,
	TABLE_LOCATIONS,
	TABLE_FUNCTIONS,
	TABLE_LINKS, /* the zero value alone */
	TABLE_STRINGS,
	TABLE_ATTRIBUTES,
	TABLE_STACKS, /* from 1.8 on */
	N_TABLES
};

/* Numbers of fields; 0: there is no such field. */
struct numbering {
	const char *name;
	bool is_development_1; /* what the header OTLP-Profiles-Development-Version calls 1 */
	/*
	 * Until 1.7: stacks are ranges of the profile's location_indices, a profile has several types, attributes have their
	 * key as text and no unit, references may be absent, and times are varints.
	 */
	bool is_ranged;
	bool has_tables_in_profile; /* until 1.5 */
	bool has_temporality;	    /* of a type, until 1.8 */
	uint8_t tables[N_TABLES];
	struct {
		uint8_t location_indices, time, duration, period_type, period, id;
	} profile;
	struct {
		uint8_t values, attributes;
	} sample;
	uint8_t location_attributes;
};

enum { N_NUMBERINGS = 5 };
extern const struct numbering numberings[N_NUMBERINGS]; /* the newest first */

#endif
