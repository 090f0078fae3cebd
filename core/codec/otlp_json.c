/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_json.c - an OTLP request as JSON, by way of protobuf
 *
 * Sources: protobuf.dev/programming-guides/json, and opentelemetry.io/docs/specs/otlp for what OTLP does otherwise: ids are
 * hexadecimal, keys that are not known are passed over. JSON has names where protobuf has numbers, and those of 1.8 to 1.11
 * mean one thing, so that what is made of them is always as of 1.10. Those of before 1.8 are refused: what they
 * name is no more.
 */
#include "core/base/buf.h"
#include "core/codec/otlp.h"
#include "core/codec/pb_json.h"

static const struct pb_json_message any_value, key_value;

static const struct pb_json_field array_fields[] = { { "values", 1, PB_JSON_MESSAGE, &any_value },
						     { NULL, 0, 0, NULL } };
static const struct pb_json_message array = { "ArrayValue", array_fields };
static const struct pb_json_field key_values_fields[] = { { "values", 1, PB_JSON_MESSAGE, &key_value },
							  { NULL, 0, 0, NULL } };
static const struct pb_json_message key_values = { "KeyValueList", key_values_fields };
static const struct pb_json_field any_value_fields[] = {
	{ "stringValue", 1, PB_JSON_TEXT, NULL },
	{ "boolValue", 2, PB_JSON_BOOL, NULL },
	{ "intValue", 3, PB_JSON_INT, NULL },
	{ "doubleValue", 4, PB_JSON_DOUBLE, NULL },
	{ "arrayValue", 5, PB_JSON_MESSAGE, &array },
	{ "kvlistValue", 6, PB_JSON_MESSAGE, &key_values },
	{ "bytesValue", 7, PB_JSON_BYTES, NULL },
	{ "stringValueStrindex", 8, PB_JSON_INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message any_value = { "AnyValue", any_value_fields };
static const struct pb_json_field key_value_fields[] = {
	{ "key", 1, PB_JSON_TEXT, NULL },
	{ "value", 2, PB_JSON_MESSAGE, &any_value },
	{ "keyStrindex", 3, PB_JSON_INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message key_value = { "KeyValue", key_value_fields };
static const struct pb_json_field resource_fields[] = { { "attributes", 1, PB_JSON_MESSAGE, &key_value },
							{ NULL, 0, 0, NULL } };
static const struct pb_json_message resource = { "Resource", resource_fields };
static const struct pb_json_field scope_fields[] = {
	{ "name", 1, PB_JSON_TEXT, NULL },
	{ "version", 2, PB_JSON_TEXT, NULL },
	{ "attributes", 3, PB_JSON_MESSAGE, &key_value },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message scope = { "InstrumentationScope", scope_fields };
static const struct pb_json_field value_type_fields[] = {
	{ "typeStrindex", 1, PB_JSON_INT, NULL },
	{ "unitStrindex", 2, PB_JSON_INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message value_type = { "ValueType", value_type_fields };
static const struct pb_json_field sample_fields[] = {
	{ "stackIndex", 1, PB_JSON_INT, NULL },
	{ "attributeIndices", 2, PB_JSON_INTS, NULL },
	{ "linkIndex", 3, PB_JSON_INT, NULL },
	{ "values", 4, PB_JSON_INTS, NULL },
	{ "timestampsUnixNano", 5, PB_JSON_FIXEDS, NULL },
	{ "locationsStartIndex", 0, PB_JSON_REFUSED, NULL },
	{ "locationsLength", 0, PB_JSON_REFUSED, NULL },
	{ "value", 0, PB_JSON_REFUSED, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message sample = { "Sample", sample_fields };
static const struct pb_json_field profile_fields[] = {
	{ "sampleType", 1, PB_JSON_MESSAGE, &value_type },
	{ "samples", 2, PB_JSON_MESSAGE, &sample },
	{ "sample", 2, PB_JSON_MESSAGE, &sample }, /* 1.8 */
	{ "timeUnixNano", 3, PB_JSON_FIXED, NULL },
	{ "durationNano", 4, PB_JSON_INT, NULL },
	{ "periodType", 5, PB_JSON_MESSAGE, &value_type },
	{ "period", 6, PB_JSON_INT, NULL },
	{ "originalPayloadFormat", 9, PB_JSON_TEXT, NULL },
	{ "originalPayload", 10, PB_JSON_BYTES, NULL },
	{ "attributeIndices", 11, PB_JSON_INTS, NULL },
	{ "locationIndices", 0, PB_JSON_REFUSED, NULL },
	{ "stringTable", 0, PB_JSON_REFUSED, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message profile = { "Profile", profile_fields };
static const struct pb_json_field scope_profiles_fields[] = {
	{ "scope", 1, PB_JSON_MESSAGE, &scope },
	{ "profiles", 2, PB_JSON_MESSAGE, &profile },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message scope_profiles = { "ScopeProfiles", scope_profiles_fields };
static const struct pb_json_field resource_profiles_fields[] = {
	{ "resource", 1, PB_JSON_MESSAGE, &resource },
	{ "scopeProfiles", 2, PB_JSON_MESSAGE, &scope_profiles },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message resource_profiles = { "ResourceProfiles", resource_profiles_fields };
static const struct pb_json_field mapping_fields[] = {
	{ "memoryStart", 1, PB_JSON_INT, NULL },       { "memoryLimit", 2, PB_JSON_INT, NULL },
	{ "fileOffset", 3, PB_JSON_INT, NULL },	       { "filenameStrindex", 4, PB_JSON_INT, NULL },
	{ "attributeIndices", 5, PB_JSON_INTS, NULL }, { NULL, 0, 0, NULL },
};
static const struct pb_json_message mapping = { "Mapping", mapping_fields };
static const struct pb_json_field line_fields[] = {
	{ "functionIndex", 1, PB_JSON_INT, NULL },
	{ "line", 2, PB_JSON_INT, NULL },
	{ "column", 3, PB_JSON_INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message line = { "Line", line_fields };
static const struct pb_json_field location_fields[] = {
	{ "mappingIndex", 1, PB_JSON_INT, NULL },
	{ "address", 2, PB_JSON_INT, NULL },
	{ "lines", 3, PB_JSON_MESSAGE, &line },
	{ "line", 3, PB_JSON_MESSAGE, &line }, /* 1.8 */
	{ "attributeIndices", 4, PB_JSON_INTS, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message location = { "Location", location_fields };
static const struct pb_json_field function_fields[] = {
	{ "nameStrindex", 1, PB_JSON_INT, NULL },
	{ "systemNameStrindex", 2, PB_JSON_INT, NULL },
	{ "filenameStrindex", 3, PB_JSON_INT, NULL },
	{ "startLine", 4, PB_JSON_INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message function = { "Function", function_fields };
static const struct pb_json_field link_fields[] = {
	{ "traceId", 1, PB_JSON_ID, NULL },
	{ "spanId", 2, PB_JSON_ID, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message link_message = { "Link", link_fields };
static const struct pb_json_field attribute_fields[] = {
	{ "keyStrindex", 1, PB_JSON_INT, NULL },
	{ "value", 2, PB_JSON_MESSAGE, &any_value },
	{ "unitStrindex", 3, PB_JSON_INT, NULL },
	{ "key", 0, PB_JSON_REFUSED, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message attribute = { "KeyValueAndUnit", attribute_fields };
static const struct pb_json_field stack_fields[] = { { "locationIndices", 1, PB_JSON_INTS, NULL },
						     { NULL, 0, 0, NULL } };
static const struct pb_json_message stack = { "Stack", stack_fields };
static const struct pb_json_field dictionary_fields[] = {
	{ "mappingTable", 1, PB_JSON_MESSAGE, &mapping },
	{ "locationTable", 2, PB_JSON_MESSAGE, &location },
	{ "functionTable", 3, PB_JSON_MESSAGE, &function },
	{ "linkTable", 4, PB_JSON_MESSAGE, &link_message },
	{ "stringTable", 5, PB_JSON_TEXT, NULL },
	{ "attributeTable", 6, PB_JSON_MESSAGE, &attribute },
	{ "stackTable", 7, PB_JSON_MESSAGE, &stack },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message dictionary = { "ProfilesDictionary", dictionary_fields };
static const struct pb_json_field request_fields[] = {
	{ "resourceProfiles", 1, PB_JSON_MESSAGE, &resource_profiles },
	{ "dictionary", 2, PB_JSON_MESSAGE, &dictionary },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message request = { "ExportProfilesServiceRequest", request_fields };

static const struct pb_json otlp_json = {
	"otlp", &request, "is of OTLP 1.7 or before, whose JSON is not read; send protobuf, or update the sender to OTLP 1.10 or later"
};

int otlp__decode_json(const uint8_t *data, size_t n, const struct decode_options *o,
		      struct dcm_batch **ret, struct dcm_error *err)
{
	struct buf bytes = { 0 };
	int e = pb_json__read(&otlp_json, data, n, decode__max_bytes(o, DECODE_MAX_BYTES), &bytes, err);

	if (e == 0)
		e = otlp__decode_current(bytes.data, bytes.n, o, ret, err);
	buf__fini(&bytes);
	return e;
}
