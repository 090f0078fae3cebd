/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/numbering.c - how the versions of OTLP's v1development profiles number their fields
 */
#include "plugins/output/otlp/numbering.h"

/* clang-format off */
#define TABLES_1_7                                                                                  \
	[TABLE_MAPPINGS] = 1, [TABLE_LOCATIONS] = 2, [TABLE_FUNCTIONS] = 3, [TABLE_LINKS] = 4,      \
	[TABLE_STRINGS] = 5, [TABLE_ATTRIBUTES] = 6
#define TABLES_1_8 TABLES_1_7, [TABLE_STACKS] = 7

const struct numbering numberings[N_NUMBERINGS] = {
	{
		.name = "1.10",
		.is_development_1 = true,
		.tables = { TABLES_1_8 },
		.profile = { .time = 3, .duration = 4, .period_type = 5, .period = 6, .id = 7 },
		.sample = { .attributes = 2, .values = 4 },
		.location_attributes = 4,
	},
	{
		.name = "1.9",
		.tables = { TABLES_1_8 },
		.profile = { .time = 3, .duration = 4, .period_type = 5, .period = 6, .id = 7 },
		.sample = { .values = 2, .attributes = 3 },
		.location_attributes = 4,
	},
	{
		.name = "1.8",
		.has_temporality = true,
		.tables = { TABLES_1_8 },
		.profile = { .time = 3, .duration = 4, .period_type = 5, .period = 6, .id = 8 },
		.sample = { .values = 2, .attributes = 3 },
		.location_attributes = 4,
	},
	{
		.name = "1.7",
		.is_ranged = true,
		.has_temporality = true,
		.tables = { TABLES_1_7 },
		.profile = { .location_indices = 3, .time = 4, .duration = 5, .period_type = 6, .period = 7, .id = 10 },
		.sample = { .values = 3, .attributes = 4 },
		.location_attributes = 5,
	},
	{
		.name = "1.5",
		.is_ranged = true,
		.has_tables_in_profile = true,
		.has_temporality = true,
		.tables = { [TABLE_MAPPINGS] = 3, [TABLE_LOCATIONS] = 4, [TABLE_FUNCTIONS] = 6, [TABLE_ATTRIBUTES] = 7,
			    [TABLE_LINKS] = 9, [TABLE_STRINGS] = 10 },
		.profile = { .location_indices = 5, .time = 11, .duration = 12, .period_type = 13, .period = 14, .id = 17 },
		.sample = { .values = 3, .attributes = 4 },
		.location_attributes = 5,
	},
};
/* clang-format on */
