/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pb_json.c - JSON of protobuf's messages into their bytes
 */
#include "core/codec/pb_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/codec/json_text.h"

enum { MAX_DEPTH = 48 };

/* ---- values ---- */

struct place {
	const struct pb_json *how;
	const struct pb_json_message *in;
	const struct pb_json_field *field;
	struct dcm_error *err;
};

static int fault(struct place at, const char *what)
{
	return error__set(at.err, -EINVAL, "%s: JSON: %s.%s %s", at.how->format, at.in->name,
			  at.field->name, what);
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
	if (at.field->kind == PB_JSON_TEXT) {
		pb__put_bytes(out, at.field->number, s.p, s.n);
		return 0;
	}
	e = at.field->kind == PB_JSON_ID ? put_id(at, s, &bytes) : put_base64(at, s, &bytes);
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
	pb__put_tag(out, at.field->number, at.field->kind == PB_JSON_FIXED ? PB_FIXED64 : PB_VARINT);
	if (at.field->kind == PB_JSON_FIXED)
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
		if (at.field->kind == PB_JSON_FIXEDS)
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

static int put_message(const struct pb_json *how, const json_t *object, const struct pb_json_message *m,
		       unsigned depth, struct buf *out, struct dcm_error *err);

static int put_nested(struct place at, const json_t *v, unsigned depth, struct buf *out)
{
	struct buf inner = { 0 };
	int e = json_is_object(v) ? put_message(at.how, v, at.field->of, depth + 1, &inner, at.err)
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
	switch ((enum pb_json_kind)at.field->kind) {
	case PB_JSON_MESSAGE:
		return put_nested(at, v, depth, out);
	case PB_JSON_TEXT:
	case PB_JSON_BYTES:
	case PB_JSON_ID:
		return put_text(at, v, out);
	case PB_JSON_INT:
	case PB_JSON_FIXED:
		return put_number(at, v, out);
	case PB_JSON_INTS:
	case PB_JSON_FIXEDS:
		return put_list(at, v, out);
	case PB_JSON_BOOL:
		pb__put_tag(out, at.field->number, PB_VARINT);
		buf__varint(out, json_is_true(v));
		return json_is_boolean(v) ? 0 : fault(at, "is neither true nor false");
	case PB_JSON_DOUBLE:
		return put_double(at, v, out);
	case PB_JSON_REFUSED:
		break;
	}
	return fault(at, at.how->refusal);
}

static const struct pb_json_field *find(const struct pb_json_message *m, const char *name)
{
	for (const struct pb_json_field *f = m->fields; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static int put_message(const struct pb_json *how, const json_t *object, const struct pb_json_message *m,
		       unsigned depth, struct buf *out, struct dcm_error *err)
{
	const char *name;
	json_t *v;
	int e = 0;

	if (depth > MAX_DEPTH)
		return error__set(err, -E2BIG, "%s: JSON: it is nested more than %d deep",
				  how->format, MAX_DEPTH);
	json_object_foreach((json_t *)(uintptr_t)object, name, v)
	{
		struct place at = { how, m, find(m, name), err };
		if (!at.field || json_is_null(v))
			continue;
		bool is_repeated = json_is_array(v) && (at.field->kind == PB_JSON_MESSAGE ||
							at.field->kind == PB_JSON_TEXT);
		for (size_t i = 0; e == 0 && is_repeated && i < json_array_size(v); i++)
			e = put_one(at, json_array_get(v, i), depth, out);
		if (!is_repeated)
			e = put_one(at, v, depth, out);
		if (e < 0)
			return e;
	}
	return 0;
}

int pb_json__read(const struct pb_json *how, const uint8_t *data, size_t n, uint64_t max_bytes,
		  struct buf *out, struct dcm_error *err)
{
	json_t *root = NULL;
	int e = json_text__load(how->format, data, n, max_bytes, &root, err);

	if (e == 0 && !json_is_object(root))
		e = error__set(err, -EINVAL, "%s: JSON: it is no object", how->format);
	if (e == 0)
		e = put_message(how, root, how->root, 0, out, err);
	json_decref(root);
	return e == 0 && out->error ? error__nomem(err) : e;
}
