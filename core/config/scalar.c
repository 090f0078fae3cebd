/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/scalar.c - one text as the value of a row
 *
 * The grammar of numbers, durations and sizes is core/base/units.h; this adds units from the table,
 * bounds, and the sentences. Pure functions.
 */
#include "core/config/scalar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/config/suggest.h"

/* How much of a wrong value a sentence shows. */
#define SHOWN "\"%.80s\""

static const char *unit_of(const struct dcm_option *row)
{
	return row->unit ? row->unit : "";
}

static int parse_bool(struct dcm_str s, bool *ret, struct dcm_error *err)
{
	/* The others are YAML 1.1's, which people write in the files of other programs. */
	static const char *const words[][2] = {
		{ "false", "true" }, { "False", "True" }, { "FALSE", "TRUE" },
		{ "no", "yes" },     { "No", "Yes" },	  { "NO", "YES" },
		{ "off", "on" },     { "Off", "On" },	  { "OFF", "ON" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (int truth = 0; truth < 2; truth++)
			if (str__eq(s, str__of(words[i][truth]))) {
				*ret = truth;
				return 0;
			}
	return error__set(err, -EINVAL, SHOWN " is neither true nor false", s.p);
}

static int parse_int(const struct dcm_option *row, struct dcm_str s, int64_t *ret, struct dcm_error *err)
{
	int r = units__parse_int(s, unit_of(row), ret);

	if (r == -ERANGE)
		return error__set(err, -EINVAL, SHOWN " is too large a number", s.p);
	if (r && unit_of(row)[0])
		return error__set(err, -EINVAL, SHOWN " is not an integer in %s; write 19 or 19%s",
				  s.p, unit_of(row), unit_of(row));
	return r ? error__set(err, -EINVAL, SHOWN " is not an integer", s.p) : 0;
}

static int parse_float(const struct dcm_option *row, struct dcm_str s, double *ret, struct dcm_error *err)
{
	struct dcm_str unit = str__of(unit_of(row)), digits = s;

	if (unit.n && str__ends(s, unit))
		digits.n -= unit.n;
	int r = units__parse_float(digits, ret);
	if (r == -ERANGE)
		return error__set(err, -EINVAL, SHOWN " is too large a number", s.p);
	if (r && unit.n)
		return error__set(err, -EINVAL, SHOWN " is not a number in %s; write 0.5 or 0.5%s",
				  s.p, unit.p, unit.p);
	return r ? error__set(err, -EINVAL, SHOWN " is not a number", s.p) : 0;
}

static int parse_duration(struct dcm_str s, int64_t *ret, struct dcm_error *err)
{
	int64_t bare;
	int r = units__parse_duration(s, ret);

	if (r == -ERANGE)
		return error__set(err, -EINVAL, SHOWN " is longer than 292 years", s.p);
	if (r && units__parse_int(s, "", &bare) == 0)
		return error__set(err, -EINVAL, SHOWN " has no unit; write %.20ss, %.20sm or %.20sh",
				  s.p, s.p, s.p, s.p);
	return r ? error__set(err, -EINVAL, SHOWN " is not a duration; write 500ms, 10s or 1h30m", s.p)
		 : 0;
}

static int parse_size(const struct dcm_option *row, struct dcm_str s, int64_t *ret, struct dcm_error *err)
{
	int r = row->flags & DCM_OPT_BINARY ? units__parse_binary_size(s, ret)
					    : units__parse_size(s, ret);

	if (r == -ERANGE)
		return error__set(err, -EINVAL, SHOWN " is more than 8EiB", s.p);
	return r ? error__set(err, -EINVAL, SHOWN " is not a size; write 512, 64KiB, 20GiB", s.p) : 0;
}

/* "a, b or c" into buf, cut at its end. */
static void list_choices(const char *const *choices, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; choices[i] && n < size; i++) {
		const char *before = i == 0 ? "" : choices[i + 1] ? ", " : " or ";
		int add = snprintf(buf + n, size - n, "%s%s", before, choices[i]);
		n += add > 0 ? (size_t)add : 0;
	}
}

static int parse_choice(const struct dcm_option *row, struct dcm_str s, int32_t *ret,
			struct dcm_error *err)
{
	struct suggest near = suggest__begin(s);
	char hint[128], all[400];

	for (int32_t i = 0; row->choices && row->choices[i]; i++) {
		if (strcasecmp(row->choices[i], s.p) == 0) {
			*ret = i;
			return 0;
		}
		suggest__offer(&near, row->choices[i]);
	}
	if (near.best)
		return error__set(err, -EINVAL, SHOWN " is not a choice%s", s.p,
				  suggest__text(&near, hint));
	list_choices(row->choices, all, sizeof(all));
	return error__set(err, -EINVAL, SHOWN " is not a choice; write %s", s.p, all);
}

int scalar__parse_any(const struct dcm_option *row, struct dcm_str text, union scalar *ret,
		      struct dcm_error *err)
{
	switch (row->type) {
	case DCM_OPT_BOOL:
		return parse_bool(text, &ret->boolean, err);
	case DCM_OPT_INT:
		return parse_int(row, text, &ret->integer, err);
	case DCM_OPT_FLOAT:
		return parse_float(row, text, &ret->number, err);
	case DCM_OPT_DURATION:
		return parse_duration(text, &ret->integer, err);
	case DCM_OPT_SIZE:
		return parse_size(row, text, &ret->integer, err);
	case DCM_OPT_CHOICE:
		return parse_choice(row, text, &ret->choice, err);
	case DCM_OPT_STRING:
	case DCM_OPT_SECRET:
	case DCM_OPT_REGEX:
	case DCM_OPT_SELECTOR:
		ret->text = text.p;
		return 0;
	default:
		return error__set(err, -EINVAL, "the option's type %d is not a known one",
				  (int)row->type);
	}
}

int scalar__compare(const struct dcm_option *row, const union scalar *a, const union scalar *b)
{
	switch (row->type) {
	case DCM_OPT_FLOAT:
		return (a->number > b->number) - (a->number < b->number);
	case DCM_OPT_INT:
	case DCM_OPT_DURATION:
	case DCM_OPT_SIZE:
		return (a->integer > b->integer) - (a->integer < b->integer);
	default:
		return 0;
	}
}

/* sign 1: bound is the maximum, -1: the minimum. */
static int check_bound(const struct dcm_option *row, struct dcm_str text, const union scalar *v,
		       const char *bound, int sign, struct dcm_error *err)
{
	union scalar limit;

	if (!bound || scalar__parse_any(row, str__of(bound), &limit, NULL))
		return 0;
	if (scalar__compare(row, v, &limit) * sign <= 0)
		return 0;
	return error__set(err, -EINVAL, "%.80s is %s of %s", text.p,
			  sign > 0 ? "above the maximum" : "below the minimum", bound);
}

int scalar__parse(const struct dcm_option *row, struct dcm_str text, union scalar *ret,
		  struct dcm_error *err)
{
	union scalar v;
	int r = scalar__parse_any(row, text, &v, err);

	if (!r)
		r = check_bound(row, text, &v, row->min, -1, err);
	if (!r)
		r = check_bound(row, text, &v, row->max, 1, err);
	if (!r)
		*ret = v;
	return r;
}

static const char *text_at(const void *at)
{
	const char *s = *(const char *const *)at;
	return s ? s : "";
}

bool scalar__equal(const struct dcm_option *row, const void *a, const void *b)
{
	switch (row->type) {
	case DCM_OPT_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case DCM_OPT_FLOAT:
		return *(const double *)a == *(const double *)b;
	case DCM_OPT_CHOICE:
		return *(const int32_t *)a == *(const int32_t *)b;
	case DCM_OPT_INT:
	case DCM_OPT_DURATION:
	case DCM_OPT_SIZE:
		return *(const int64_t *)a == *(const int64_t *)b;
	default:
		return strcmp(text_at(a), text_at(b)) == 0 &&
		       !*(const char *const *)a == !*(const char *const *)b;
	}
}

void scalar__store(const struct dcm_option *row, const union scalar *v, void *at)
{
	switch (row->type) {
	case DCM_OPT_BOOL:
		memcpy(at, &v->boolean, sizeof(v->boolean));
		break;
	case DCM_OPT_FLOAT:
		memcpy(at, &v->number, sizeof(v->number));
		break;
	case DCM_OPT_CHOICE:
		memcpy(at, &v->choice, sizeof(v->choice));
		break;
	case DCM_OPT_INT:
	case DCM_OPT_DURATION:
	case DCM_OPT_SIZE:
		memcpy(at, &v->integer, sizeof(v->integer));
		break;
	default:
		memcpy(at, &v->text, sizeof(v->text));
		break;
	}
}
