/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_values.c - attributes of OTLP: keys, and values of any kind
 *
 *	AnyValue { string = 1, bool = 2, int = 3, double = 4, array = 5, list of KeyValue = 6, bytes = 7, index of a string = 8 }
 *
 * Strings and integers stay what they are. A label has no room for the others, which become text: bytes in hexadecimal, lists as
 * JSON, within limits of length and depth.
 */
#include "core/codec/otlp_input.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

enum any_field { STRING = 1, BOOL, INT, DOUBLE, ARRAY, KEY_VALUES, BYTES, STRING_INDEX };

static int write_any(struct otlp_input *in, struct otlp_piece at, unsigned depth, struct buf *out);

static int write_hex(struct buf *out, const struct pb_field *f)
{
	for (size_t i = 0; i < f->n && i <= OTLP_MAX_TEXT; i++)
		buf__printf(out, "%02x", f->p[i]);
	return 0;
}

static int write_array(struct otlp_input *in, struct otlp_piece at, unsigned depth, struct buf *out)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f;
	const char *before = "[";
	int e = 0;

	while (e == 0 && pb__next(&r, &f)) {
		if (f.number != 1)
			continue;
		buf__text(out, before);
		before = ",";
		e = otlp_input__message(in, "a value of an array", &f);
		if (e == 0)
			e = write_any(in, otlp_input__piece(in, &f), depth + 1, out);
	}
	buf__text(out, *before == '[' ? "[]" : "]");
	return e == 0 ? otlp_input__check(in, "an array", &r) : e;
}

/* A KeyValue's key, and where its value is. */
static int read_pair(struct otlp_input *in, const struct pb_field *pair, struct dcm_str *ret_key,
		     struct otlp_piece *ret_value)
{
	struct pb_reader r = otlp_input__within(pair);
	struct pb_field f;
	int e = otlp_input__message(in, "an attribute", pair);

	*ret_key = STR("");
	*ret_value = (struct otlp_piece){ 0, 0 };
	while (e == 0 && pb__next(&r, &f)) {
		if (f.number == 1 && f.type == PB_BYTES)
			*ret_key = otlp_input__view(&f);
		else if (f.number == 2 && f.type == PB_BYTES)
			*ret_value = otlp_input__piece(in, &f);
		else if (f.number == 3 && f.type == PB_VARINT && !in->layout->is_ranged)
			e = otlp_tables__text(in, "key_strindex of an attribute", f.value, ret_key);
	}
	return e == 0 ? otlp_input__check(in, "an attribute", &r) : e;
}

static int write_pairs(struct otlp_input *in, struct otlp_piece at, unsigned depth, struct buf *out)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f;
	const char *before = "{";
	int e = 0;

	while (e == 0 && pb__next(&r, &f)) {
		struct otlp_piece value;
		struct dcm_str key;
		if (f.number != 1)
			continue;
		e = read_pair(in, &f, &key, &value);
		if (e < 0)
			break;
		buf__text(out, before);
		before = ",";
		buf__json(out, key);
		buf__text(out, ":");
		e = write_any(in, value, depth + 1, out);
	}
	buf__text(out, *before == '{' ? "{}" : "}");
	return e == 0 ? otlp_input__check(in, "a list of attributes", &r) : e;
}

static int write_string(struct buf *out, struct dcm_str s, bool is_json)
{
	if (is_json)
		buf__json(out, s);
	else
		buf__str(out, s);
	return 0;
}

static int write_double(struct buf *out, uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	buf__printf(out, "%.17g", v);
	return 0;
}

static int write_field(struct otlp_input *in, const struct pb_field *f, unsigned depth, struct buf *out)
{
	struct dcm_str s;
	int e;

	if ((f->number == BOOL || f->number == INT || f->number == STRING_INDEX) && f->type != PB_VARINT)
		return otlp_input__fault(in, "a value of an attribute is no number");
	switch (f->number) {
	case BOOL:
		buf__text(out, f->value ? "true" : "false");
		return 0;
	case INT:
		buf__printf(out, "%lld", (long long)f->value);
		return 0;
	case DOUBLE:
		return f->type == PB_FIXED64
			       ? write_double(out, f->value)
			       : otlp_input__fault(in, "a value of an attribute is no double");
	case STRING_INDEX:
		e = otlp_tables__text(in, "string_value_strindex of an attribute", f->value, &s);
		return e < 0 ? e : write_string(out, s, depth > 0);
	default:
		break;
	}
	e = otlp_input__message(in, "a value of an attribute", f);
	if (e < 0)
		return e;
	switch (f->number) {
	case STRING:
		return write_string(out, otlp_input__view(f), depth > 0);
	case ARRAY:
		return write_array(in, otlp_input__piece(in, f), depth, out);
	case KEY_VALUES:
		return write_pairs(in, otlp_input__piece(in, f), depth, out);
	default:
		return write_hex(out, f);
	}
}

/* An AnyValue as text, as JSON within another. */
static int write_any(struct otlp_input *in, struct otlp_piece at, unsigned depth, struct buf *out)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f, last = { 0 };

	if (depth > OTLP_MAX_DEPTH)
		return otlp_input__excess(in, "a value of an attribute is nested more than %d deep",
					  OTLP_MAX_DEPTH);
	if (out->n > OTLP_MAX_TEXT)
		return otlp_input__excess(in, "a list in an attribute takes more than %d bytes as text",
					  OTLP_MAX_TEXT);
	while (pb__next(&r, &f))
		if (f.number >= STRING && f.number <= STRING_INDEX)
			last = f;
	int e = otlp_input__check(in, "a value of an attribute", &r);
	if (e < 0)
		return e;
	if (last.number)
		return write_field(in, &last, depth, out);
	buf__text(out, depth ? "null" : "");
	return 0;
}

static int make_text(struct otlp_input *in, struct otlp_piece at, struct otlp_value *ret)
{
	struct buf out = { 0 };
	int e = write_any(in, at, 0, &out);

	if (e == 0 && out.n > OTLP_MAX_TEXT)
		e = otlp_input__excess(in, "a list or bytes in an attribute take more than %d bytes as text",
				       OTLP_MAX_TEXT);
	if (e == 0) {
		ret->text = arena__str(&in->arena, buf__view(&out));
		if (out.error || (out.n && !ret->text.p))
			e = error__nomem(in->err);
		ret->kind = out.n ? OTLP_TEXT : OTLP_NOTHING;
	}
	buf__fini(&out);
	return e;
}

static int read_value(struct otlp_input *in, struct otlp_piece at, struct otlp_value *ret)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f, last = { 0 };

	*ret = (struct otlp_value){ .string = DCM_NONE, .text = STR("") };
	while (pb__next(&r, &f))
		if (f.number >= STRING && f.number <= STRING_INDEX)
			last = f;
	int e = otlp_input__check(in, "a value of an attribute", &r);
	if (e < 0 || last.number == 0)
		return e;
	if (last.number == INT && last.type == PB_VARINT) {
		ret->kind = OTLP_NUMBER;
		ret->number = (int64_t)last.value;
	} else if (last.number == STRING && last.type == PB_BYTES) {
		ret->kind = OTLP_TEXT;
		ret->text = otlp_input__view(&last);
	} else if (last.number == STRING_INDEX && last.type == PB_VARINT) {
		ret->kind = OTLP_TEXT;
		e = otlp_tables__text(in, "string_value_strindex of an attribute", last.value,
				      &ret->text);
		ret->string = e == 0 ? (uint32_t)last.value : DCM_NONE;
	} else {
		e = make_text(in, at, ret);
	}
	return e;
}

static int check_key(struct otlp_input *in, struct dcm_str key)
{
	if (key.n > OTLP_MAX_KEY)
		return otlp_input__excess(in, "an attribute's key has %u bytes, more than the limit of %d",
					  key.n, OTLP_MAX_KEY);
	return 0;
}

int otlp_values__key_value(struct otlp_input *in, const struct pb_field *f, struct dcm_str *ret_key,
			   struct otlp_value *ret)
{
	struct otlp_piece value;
	int e = read_pair(in, f, ret_key, &value);

	if (e == 0)
		e = check_key(in, *ret_key);
	return e == 0 ? read_value(in, value, ret) : e;
}

/* KeyValueAndUnit { key_strindex = 1, value = 2, unit_strindex = 3 } */
static int read_indexed(struct otlp_input *in, struct otlp_piece at, struct otlp_attribute *a)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct otlp_piece value = { 0, 0 };
	struct pb_field f;
	int e = 0;

	a->label.unit = 0;
	while (e == 0 && pb__next(&r, &f)) {
		if (f.number == 1 && f.type == PB_VARINT)
			e = otlp_tables__text(in, "key_strindex of an attribute", f.value, &a->key);
		else if (f.number == 2 && f.type == PB_BYTES)
			value = otlp_input__piece(in, &f);
		else if (f.number == 3 && f.type == PB_VARINT)
			e = otlp_tables__string(in, "unit_strindex of an attribute", f.value,
						&a->label.unit);
	}
	if (e == 0)
		e = otlp_input__check(in, "an attribute", &r);
	if (e == 0)
		e = check_key(in, a->key);
	return e == 0 ? read_value(in, value, &a->value) : e;
}

int otlp_values__attribute(struct otlp_input *in, uint64_t index, struct otlp_attribute **ret)
{
	if (index >= in->tables[OTLP_ATTRIBUTES].n)
		return otlp_input__fault(in, "attribute %lld of an attribute_table of %zu",
					 (long long)index, in->tables[OTLP_ATTRIBUTES].n);
	struct otlp_attribute *a = &in->attributes[index];
	struct otlp_piece at = in->tables[OTLP_ATTRIBUTES].v[index];
	int e = 0;

	if (!a->is_read) {
		const struct pb_field f = { .type = PB_BYTES, .p = in->data + at.off, .n = at.n };
		a->key = STR("");
		e = in->layout->is_ranged ? otlp_values__key_value(in, &f, &a->key, &a->value)
					  : read_indexed(in, at, a);
		a->is_read = e == 0;
	}
	if (e == 0)
		*ret = a;
	return e;
}

uint32_t otlp_values__string(struct otlp_input *in, const struct otlp_value *v)
{
	char digits[24];

	if (v->kind == OTLP_NUMBER) {
		snprintf(digits, sizeof(digits), "%lld", (long long)v->number);
		return builder__string(in->b, str__of(digits));
	}
	if (v->string == DCM_NONE)
		return builder__string(in->b, v->text);
	if (in->string_ids[v->string] == DCM_NONE)
		in->string_ids[v->string] = builder__string(in->b, v->text);
	return in->string_ids[v->string];
}
