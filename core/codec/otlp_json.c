/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_json.c - an OTLP request as JSON, by way of protobuf
 *
 * Sources: protobuf.dev/programming-guides/json, and opentelemetry.io/docs/specs/otlp for what OTLP does otherwise: ids are
 * hexadecimal, keys that are not known are passed over. JSON has names where protobuf has numbers, and those of 1.8 to 1.11
 * mean one thing, so that what is made of them is always as of 1.10. Those of before 1.8 are refused: what they
 * name is no more.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/codec/json_text.h"
#include "core/codec/otlp.h"

enum { MAX_DEPTH = 48 };

enum kind { MESSAGE, TEXT, INT, INTS, FIXED, FIXEDS, BOOL, DOUBLE, BYTES, ID, BEFORE_1_8 };

struct message;
struct field {
	const char *name;
	uint8_t number, kind; /* enum kind */
	const struct message *of;
};
struct message {
	const char *name;
	const struct field *fields; /* up to a NULL name */
};

static const struct message any_value, key_value;

static const struct field array_fields[] = { { "values", 1, MESSAGE, &any_value }, { NULL, 0, 0, NULL } };
static const struct message array = { "ArrayValue", array_fields };
static const struct field key_values_fields[] = { { "values", 1, MESSAGE, &key_value },
						  { NULL, 0, 0, NULL } };
static const struct message key_values = { "KeyValueList", key_values_fields };
static const struct field any_value_fields[] = {
	{ "stringValue", 1, TEXT, NULL },
	{ "boolValue", 2, BOOL, NULL },
	{ "intValue", 3, INT, NULL },
	{ "doubleValue", 4, DOUBLE, NULL },
	{ "arrayValue", 5, MESSAGE, &array },
	{ "kvlistValue", 6, MESSAGE, &key_values },
	{ "bytesValue", 7, BYTES, NULL },
	{ "stringValueStrindex", 8, INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message any_value = { "AnyValue", any_value_fields };
static const struct field key_value_fields[] = {
	{ "key", 1, TEXT, NULL },
	{ "value", 2, MESSAGE, &any_value },
	{ "keyStrindex", 3, INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message key_value = { "KeyValue", key_value_fields };
static const struct field resource_fields[] = { { "attributes", 1, MESSAGE, &key_value },
						{ NULL, 0, 0, NULL } };
static const struct message resource = { "Resource", resource_fields };
static const struct field scope_fields[] = {
	{ "name", 1, TEXT, NULL },
	{ "version", 2, TEXT, NULL },
	{ "attributes", 3, MESSAGE, &key_value },
	{ NULL, 0, 0, NULL },
};
static const struct message scope = { "InstrumentationScope", scope_fields };
static const struct field value_type_fields[] = {
	{ "typeStrindex", 1, INT, NULL },
	{ "unitStrindex", 2, INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message value_type = { "ValueType", value_type_fields };
static const struct field sample_fields[] = {
	{ "stackIndex", 1, INT, NULL },
	{ "attributeIndices", 2, INTS, NULL },
	{ "linkIndex", 3, INT, NULL },
	{ "values", 4, INTS, NULL },
	{ "timestampsUnixNano", 5, FIXEDS, NULL },
	{ "locationsStartIndex", 0, BEFORE_1_8, NULL },
	{ "locationsLength", 0, BEFORE_1_8, NULL },
	{ "value", 0, BEFORE_1_8, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message sample = { "Sample", sample_fields };
static const struct field profile_fields[] = {
	{ "sampleType", 1, MESSAGE, &value_type },  { "samples", 2, MESSAGE, &sample },
	{ "sample", 2, MESSAGE, &sample }, /* 1.8 */
	{ "timeUnixNano", 3, FIXED, NULL },	    { "durationNano", 4, INT, NULL },
	{ "periodType", 5, MESSAGE, &value_type },  { "period", 6, INT, NULL },
	{ "originalPayloadFormat", 9, TEXT, NULL }, { "originalPayload", 10, BYTES, NULL },
	{ "attributeIndices", 11, INTS, NULL },	    { "locationIndices", 0, BEFORE_1_8, NULL },
	{ "stringTable", 0, BEFORE_1_8, NULL },	    { NULL, 0, 0, NULL },
};
static const struct message profile = { "Profile", profile_fields };
static const struct field scope_profiles_fields[] = {
	{ "scope", 1, MESSAGE, &scope },
	{ "profiles", 2, MESSAGE, &profile },
	{ NULL, 0, 0, NULL },
};
static const struct message scope_profiles = { "ScopeProfiles", scope_profiles_fields };
static const struct field resource_profiles_fields[] = {
	{ "resource", 1, MESSAGE, &resource },
	{ "scopeProfiles", 2, MESSAGE, &scope_profiles },
	{ NULL, 0, 0, NULL },
};
static const struct message resource_profiles = { "ResourceProfiles", resource_profiles_fields };
static const struct field mapping_fields[] = {
	{ "memoryStart", 1, INT, NULL },       { "memoryLimit", 2, INT, NULL },
	{ "fileOffset", 3, INT, NULL },	       { "filenameStrindex", 4, INT, NULL },
	{ "attributeIndices", 5, INTS, NULL }, { NULL, 0, 0, NULL },
};
static const struct message mapping = { "Mapping", mapping_fields };
static const struct field line_fields[] = {
	{ "functionIndex", 1, INT, NULL },
	{ "line", 2, INT, NULL },
	{ "column", 3, INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message line = { "Line", line_fields };
static const struct field location_fields[] = {
	{ "mappingIndex", 1, INT, NULL },      { "address", 2, INT, NULL },
	{ "lines", 3, MESSAGE, &line },	       { "line", 3, MESSAGE, &line }, /* 1.8 */
	{ "attributeIndices", 4, INTS, NULL }, { NULL, 0, 0, NULL },
};
static const struct message location = { "Location", location_fields };
static const struct field function_fields[] = {
	{ "nameStrindex", 1, INT, NULL },
	{ "systemNameStrindex", 2, INT, NULL },
	{ "filenameStrindex", 3, INT, NULL },
	{ "startLine", 4, INT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message function = { "Function", function_fields };
static const struct field link_fields[] = {
	{ "traceId", 1, ID, NULL },
	{ "spanId", 2, ID, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message link_message = { "Link", link_fields };
static const struct field attribute_fields[] = {
	{ "keyStrindex", 1, INT, NULL },
	{ "value", 2, MESSAGE, &any_value },
	{ "unitStrindex", 3, INT, NULL },
	{ "key", 0, BEFORE_1_8, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct message attribute = { "KeyValueAndUnit", attribute_fields };
static const struct field stack_fields[] = { { "locationIndices", 1, INTS, NULL }, { NULL, 0, 0, NULL } };
static const struct message stack = { "Stack", stack_fields };
static const struct field dictionary_fields[] = {
	{ "mappingTable", 1, MESSAGE, &mapping },   { "locationTable", 2, MESSAGE, &location },
	{ "functionTable", 3, MESSAGE, &function }, { "linkTable", 4, MESSAGE, &link_message },
	{ "stringTable", 5, TEXT, NULL },	    { "attributeTable", 6, MESSAGE, &attribute },
	{ "stackTable", 7, MESSAGE, &stack },	    { NULL, 0, 0, NULL },
};
static const struct message dictionary = { "ProfilesDictionary", dictionary_fields };
static const struct field request_fields[] = {
	{ "resourceProfiles", 1, MESSAGE, &resource_profiles },
	{ "dictionary", 2, MESSAGE, &dictionary },
	{ NULL, 0, 0, NULL },
};
static const struct message request = { "ExportProfilesServiceRequest", request_fields };

/* ---- values ---- */

struct place {
	const struct message *in;
	const struct field *field;
	struct dcm_error *err;
};

static int fault(struct place at, const char *what)
{
	return error__set(at.err, -EINVAL, "otlp: JSON: %s.%s %s", at.in->name, at.field->name, what);
}

/* A number as it is, or as text, which JSON has for those that are large; signed or not. */
static int number_of(struct place at, const json_t *v, uint64_t *ret)
{
	if (json_is_integer(v)) {
		*ret = (uint64_t)json_integer_value(v);
		return 0;
	}
	const char *text = json_string_value(v);
	if (!text || !*text || strspn(text, "-0123456789") != strlen(text))
		return fault(at, "is no whole number");
	char *end;
	errno = 0;
	*ret = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	return *end || errno ? fault(at, "is no number of 64 bits") : 0;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static int put_base64(struct place at, struct dcm_str s, struct buf *out)
{
	uint32_t bits = 0, n_bits = 0;

	while (s.n && s.p[s.n - 1] == '=')
		s.n--;
	for (uint32_t i = 0; i < s.n; i++) {
		int digit = base64_digit(s.p[i]);
		if (digit < 0)
			return fault(at, "is no base64");
		bits = bits << 6 | (uint32_t)digit;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			buf__byte(out, (uint8_t)(bits >> n_bits));
		}
	}
	return 0;
}

/* Hexadecimal, as OTLP has it, of 16 or 8 bytes; or base64, which is shorter, as protobuf's JSON has it. */
static int put_id(struct place at, struct dcm_str s, struct buf *out)
{
	if (s.n != 32 && s.n != 16)
		return put_base64(at, s, out);
	for (uint32_t i = 0; i < s.n; i += 2) {
		int high = str__hex_digit(s.p[i]), low = str__hex_digit(s.p[i + 1]);
		if (high < 0 || low < 0)
			return fault(at, "is not hexadecimal");
		buf__byte(out, (uint8_t)(high << 4 | low));
	}
	return 0;
}

static int put_text(struct place at, const json_t *v, struct buf *out)
{
	const struct dcm_str s = { json_string_value(v), (uint32_t)json_string_length(v) };
	struct buf bytes = { 0 };
	int e = 0;

	if (!s.p)
		return fault(at, "is no string");
	if (at.field->kind == TEXT) {
		pb__put_bytes(out, at.field->number, s.p, s.n);
		return 0;
	}
	e = at.field->kind == ID ? put_id(at, s, &bytes) : put_base64(at, s, &bytes);
	if (e == 0)
		pb__put_bytes(out, at.field->number, bytes.data, bytes.n);
	if (bytes.error)
		e = error__nomem(at.err);
	buf__fini(&bytes);
	return e;
}

static int put_number(struct place at, const json_t *v, struct buf *out)
{
	uint64_t n;
	int e = number_of(at, v, &n);

	if (e < 0)
		return e;
	pb__put_tag(out, at.field->number, at.field->kind == FIXED ? PB_FIXED64 : PB_VARINT);
	if (at.field->kind == FIXED)
		buf__le64(out, n);
	else
		buf__varint(out, n);
	return 0;
}

static int put_double(struct place at, const json_t *v, struct buf *out)
{
	double d = json_number_value(v);
	uint64_t bits;

	if (!json_is_number(v))
		return fault(at, "is no number");
	memcpy(&bits, &d, sizeof(bits));
	pb__put_tag(out, at.field->number, PB_FIXED64);
	buf__le64(out, bits);
	return 0;
}

static int put_list(struct place at, const json_t *list, struct buf *out)
{
	struct buf packed = { 0 };
	uint64_t n;
	int e = json_is_array(list) ? 0 : fault(at, "is no array");

	for (size_t i = 0; e == 0 && i < json_array_size(list); i++) {
		e = number_of(at, json_array_get(list, i), &n);
		if (at.field->kind == FIXEDS)
			buf__le64(&packed, n);
		else
			buf__varint(&packed, n);
	}
	if (e == 0 && packed.n)
		pb__put_bytes(out, at.field->number, packed.data, packed.n);
	if (e == 0 && packed.error)
		e = error__nomem(at.err);
	buf__fini(&packed);
	return e;
}

/* ---- messages ---- */

static int put_message(const json_t *object, const struct message *m, unsigned depth,
		       struct buf *out, struct dcm_error *err);

static int put_nested(struct place at, const json_t *v, unsigned depth, struct buf *out)
{
	struct buf inner = { 0 };
	int e = json_is_object(v) ? put_message(v, at.field->of, depth + 1, &inner, at.err)
				  : fault(at, "is no object");

	if (e == 0)
		pb__put_bytes(out, at.field->number, inner.data, inner.n);
	if (e == 0 && inner.error)
		e = error__nomem(at.err);
	buf__fini(&inner);
	return e;
}

static int put_one(struct place at, const json_t *v, unsigned depth, struct buf *out)
{
	switch ((enum kind)at.field->kind) {
	case MESSAGE:
		return put_nested(at, v, depth, out);
	case TEXT:
	case BYTES:
	case ID:
		return put_text(at, v, out);
	case INT:
	case FIXED:
		return put_number(at, v, out);
	case INTS:
	case FIXEDS:
		return put_list(at, v, out);
	case BOOL:
		pb__put_tag(out, at.field->number, PB_VARINT);
		buf__varint(out, json_is_true(v));
		return json_is_boolean(v) ? 0 : fault(at, "is neither true nor false");
	case DOUBLE:
		return put_double(at, v, out);
	case BEFORE_1_8:
		break;
	}
	return fault(at, "is of OTLP 1.7 or before, whose JSON is not read; send protobuf, or "
			 "update the sender to OTLP 1.10 or later");
}

static const struct field *find(const struct message *m, const char *name)
{
	for (const struct field *f = m->fields; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static int put_message(const json_t *object, const struct message *m, unsigned depth,
		       struct buf *out, struct dcm_error *err)
{
	const char *name;
	json_t *v;
	int e = 0;

	if (depth > MAX_DEPTH)
		return error__set(err, -E2BIG, "otlp: JSON: it is nested more than %d deep", MAX_DEPTH);
	json_object_foreach((json_t *)(uintptr_t)object, name, v)
	{
		struct place at = { m, find(m, name), err };
		if (!at.field || json_is_null(v))
			continue;
		bool is_repeated = json_is_array(v) &&
				   (at.field->kind == MESSAGE || at.field->kind == TEXT);
		for (size_t i = 0; e == 0 && is_repeated && i < json_array_size(v); i++)
			e = put_one(at, json_array_get(v, i), depth, out);
		if (!is_repeated)
			e = put_one(at, v, depth, out);
		if (e < 0)
			return e;
	}
	return 0;
}

int otlp__decode_json(const uint8_t *data, size_t n, const struct decode_options *o,
		      struct dcm_batch **ret, struct dcm_error *err)
{
	struct buf bytes = { 0 };
	json_t *root = NULL;
	int e = json_text__load("otlp", data, n, decode__max_bytes(o, DECODE_MAX_BYTES), &root, err);

	if (e == 0 && !json_is_object(root))
		e = error__set(err, -EINVAL, "otlp: JSON: it is no object");
	if (e == 0)
		e = put_message(root, &request, 0, &bytes, err);
	json_decref(root);
	if (e == 0 && bytes.error)
		e = error__nomem(err);
	if (e == 0)
		e = otlp__decode_current(bytes.data, bytes.n, o, ret, err);
	buf__fini(&bytes);
	return e;
}
