/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_tables.c - the columns of the wire format, table by table
 *
 * Constants. The order of columns is the order of the bytes: a change is a new version.
 */
#include "core/codec/wire_tables.h"

const struct wire_header wire__batch_header = { "DCMB", 1, "batch" };
const struct wire_header wire__session_header = { "DCMS", 1, "session" };

const struct wire_table wire__mappings = {
	WIRE_TABLE("mappings", struct dcm_mapping, 6),
	.columns = { { offsetof(struct dcm_mapping, start), WIRE_U64 },
		     { offsetof(struct dcm_mapping, limit), WIRE_U64 },
		     { offsetof(struct dcm_mapping, offset), WIRE_U64 },
		     { offsetof(struct dcm_mapping, file), WIRE_U32 },
		     { offsetof(struct dcm_mapping, build_id), WIRE_U32 },
		     { offsetof(struct dcm_mapping, kind), WIRE_U32 } },
};

const struct wire_table wire__functions = {
	WIRE_TABLE("functions", struct dcm_function, 4),
	.columns = { { offsetof(struct dcm_function, name), WIRE_U32 },
		     { offsetof(struct dcm_function, system_name), WIRE_U32 },
		     { offsetof(struct dcm_function, file), WIRE_U32 },
		     { offsetof(struct dcm_function, start_line), WIRE_I64 } },
};

const struct wire_table wire__processes = {
	WIRE_TABLE("processes", struct dcm_process, 3),
	.columns = { { offsetof(struct dcm_process, pid), WIRE_U32 },
		     { offsetof(struct dcm_process, generation), WIRE_U32 },
		     { offsetof(struct dcm_process, start_ns), WIRE_U64 } },
};

const struct wire_table wire__locations = {
	WIRE_TABLE("locations", struct dcm_location, 7),
	.columns = { { offsetof(struct dcm_location, mapping), WIRE_ID },
		     { offsetof(struct dcm_location, process), WIRE_ID },
		     { offsetof(struct dcm_location, address), WIRE_U64 },
		     { offsetof(struct dcm_location, addr_kind), WIRE_U8 },
		     { offsetof(struct dcm_location, kind), WIRE_U8 },
		     { offsetof(struct dcm_location, unnamed), WIRE_U8 },
		     { offsetof(struct dcm_location, n_lines), WIRE_U32 } },
};

const struct wire_table wire__lines = {
	WIRE_TABLE("lines", struct dcm_line, 3),
	.columns = { { offsetof(struct dcm_line, function), WIRE_ID },
		     { offsetof(struct dcm_line, line), WIRE_I64 },
		     { offsetof(struct dcm_line, column), WIRE_U32 } },
};

const struct wire_table wire__stack_locations = {
	WIRE_TABLE("stacks", uint32_t, 1),
	.columns = { { 0, WIRE_U32 } },
};

const struct wire_table wire__pairs = {
	WIRE_TABLE("series", struct dcm_pair, 2),
	.columns = { { offsetof(struct dcm_pair, name), WIRE_U32 },
		     { offsetof(struct dcm_pair, value), WIRE_U32 } },
};

const struct wire_table wire__labels = {
	WIRE_TABLE("label sets", struct dcm_label, 4),
	.columns = { { offsetof(struct dcm_label, name), WIRE_U32 },
		     { offsetof(struct dcm_label, str), WIRE_U32 },
		     { offsetof(struct dcm_label, num), WIRE_I64 },
		     { offsetof(struct dcm_label, unit), WIRE_ID } },
};

const struct wire_table wire__types = {
	WIRE_TABLE("types", struct dcm_type, 6),
	.columns = { { offsetof(struct dcm_type, name), WIRE_U32 },
		     { offsetof(struct dcm_type, sample_type), WIRE_U32 },
		     { offsetof(struct dcm_type, sample_unit), WIRE_U32 },
		     { offsetof(struct dcm_type, period_type), WIRE_U32 },
		     { offsetof(struct dcm_type, period_unit), WIRE_U32 },
		     { offsetof(struct dcm_type, temporality), WIRE_U32 } },
};

const struct wire_table wire__profiles = {
	WIRE_TABLE("profiles", struct dcm_profile, 7),
	.columns = { { offsetof(struct dcm_profile, series), WIRE_U32 },
		     { offsetof(struct dcm_profile, type_off), WIRE_U32 },
		     { offsetof(struct dcm_profile, n_types), WIRE_U32 },
		     { offsetof(struct dcm_profile, time_ns), WIRE_I64 },
		     { offsetof(struct dcm_profile, duration_ns), WIRE_I64 },
		     { offsetof(struct dcm_profile, period), WIRE_I64 },
		     { offsetof(struct dcm_profile, n_rows), WIRE_U32 } },
};
