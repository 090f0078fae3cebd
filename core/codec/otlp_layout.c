/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_layout.c - which version of OTLP's v1development profiles a request is of
 *
 * A field's wire type, and what it may hold, differ between versions where its meaning does. Some say for sure: where tables
 * stand, what time and a profile's id look like. What 1.9 and 1.10 have changed are the fields of a sample, and one with few of
 * them may be of either: so many are looked at, and each that is of one only has a voice. Their wire types alone do not tell,
 * as async-profiler writes a list of one as a number; whether they are indices of the tables does. Without a majority it is what
 * its sender's requests were before, where that is known, and else the current one.
 *
 *	           1.4, 1.5          1.7               1.8               1.9               from 1.10
 *	Profile 3  mappings          location_indices  time, fixed64     time, fixed64     time, fixed64
 *	        4  locations         time, varint      duration, varint  duration          duration
 *	        8  attribute_units   comments          profile_id        dropped, varint   dropped, varint
 *	Sample  2  locations_length  locations_length  values            values            attribute_indices
 *	        3  values            values            attribute_indices attribute_indices link_index
 *	        4  attribute_indices attribute_indices link_index        link_index        values
 *
 * 1.6 has its tables in ProfilesData, which a request is not: there it has none, and says nothing.
 */
#include "core/codec/otlp_layout.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/protobuf.h"

enum { LOOKED_AT = 4096 /* samples */, LISTS_N = 5 /* by the number of the field */ };

/* clang-format off */
#define DICTIONARY                                                                                 \
	{ [OTLP_MAPPINGS] = 1, [OTLP_LOCATIONS] = 2, [OTLP_FUNCTIONS] = 3, [OTLP_LINKS] = 4,       \
	  [OTLP_STRINGS] = 5, [OTLP_ATTRIBUTES] = 6, [OTLP_STACKS] = 7 }
/* From 1.8 on; the last three moved once. */
#define PROFILE(first_of_three)                                                                    \
	{ .time = 3, .duration = 4, .period_type = 5, .period = 6, .format = (first_of_three),     \
	  .payload = (first_of_three) + 1, .attribute_indices = (first_of_three) + 2 }
/* clang-format on */

const struct otlp_layout otlp_layout__current = {
	.name = "1.10",
	.tables = DICTIONARY,
	.profile = PROFILE(9),
	.sample = { .attributes = 2, .link = 3, .values = 4, .timestamps = 5 },
	.location_attributes = 4,
};
static const struct otlp_layout layout_1_9 = {
	.name = "1.9",
	.tables = DICTIONARY,
	.profile = PROFILE(9),
	.sample = { .values = 2, .attributes = 3, .link = 4, .timestamps = 5 },
	.location_attributes = 4,
};
static const struct otlp_layout layout_1_8 = {
	.name = "1.8",
	.tables = DICTIONARY,
	.profile = PROFILE(10),
	.sample = { .values = 2, .attributes = 3, .link = 4, .timestamps = 5 },
	.location_attributes = 4,
};
static const struct otlp_layout layout_1_7 = {
	.name = "1.7",
	.is_ranged = true,
	.tables = { [OTLP_MAPPINGS] = 1, [OTLP_LOCATIONS] = 2, [OTLP_FUNCTIONS] = 3, [OTLP_LINKS] = 4, [OTLP_STRINGS] = 5, [OTLP_ATTRIBUTES] = 6 },
	.profile = { .location_indices = 3,
		     .time = 4,
		     .duration = 5,
		     .period_type = 6,
		     .period = 7,
		     .format = 12,
		     .payload = 13,
		     .attribute_indices = 14 },
	.sample = { .values = 3, .attributes = 4, .link = 5, .timestamps = 6 },
	.location_attributes = 5,
};
static const struct otlp_layout layout_1_5 = {
	.name = "1.5",
	.is_ranged = true,
	.has_tables_in_profile = true,
	.tables = { [OTLP_MAPPINGS] = 3, [OTLP_LOCATIONS] = 4, [OTLP_FUNCTIONS] = 6, [OTLP_LINKS] = 9, [OTLP_STRINGS] = 10, [OTLP_ATTRIBUTES] = 7 },
	.profile = { .location_indices = 5,
		     .time = 11,
		     .duration = 12,
		     .period_type = 13,
		     .period = 14,
		     .format = 20,
		     .payload = 21,
		     .attribute_indices = 22,
		     .attributes = 18 }, /* of 1.4 */
	.sample = { .values = 3, .attributes = 4, .link = 5, .timestamps = 6 },
	.location_attributes = 5,
};

/* What was seen. */
struct look {
	bool has_dictionary, has_tables, has_ranges, has_text_keys, has_number_keys;
	uint64_t n_attributes, n_links;
	uint32_t n_samples;
	uint32_t is_1_8, is_later;	  /* voices of profiles */
	uint32_t is_before_1_10, is_1_10; /* of samples */
};

static bool is_message(const struct pb_field *f, uint32_t number)
{
	return f->number == number && f->type == PB_BYTES;
}

static void look_at_dictionary(struct look *l, const struct pb_field *dictionary)
{
	struct pb_reader r = pb__reader(dictionary->p, dictionary->n);
	struct pb_field f, key;

	l->has_dictionary = true;
	while (pb__next(&r, &f)) {
		l->n_links += is_message(&f, 4);
		if (!is_message(&f, 6))
			continue;
		struct pb_reader attribute = pb__reader(f.p, f.n);
		l->n_attributes++;
		while (pb__next(&attribute, &key)) {
			l->has_text_keys |= is_message(&key, 1);
			l->has_number_keys |= key.number == 1 && key.type == PB_VARINT;
		}
	}
}

/* A field of a sample, of whatever meaning: numbers, packed or one by one. */
struct numbers {
	uint64_t n, last;
	bool is_packed, is_broken;
	bool may_be_attributes; /* each an index of the table */
	bool may_be_of_1_10; /* none of them the zero value, which its tables begin with, or the one before */
};

static void take_number(const struct look *l, struct numbers *s, uint64_t v)
{
	s->may_be_attributes &= v < l->n_attributes;
	s->may_be_of_1_10 &= v != 0 && (s->n == 0 || v != s->last);
	s->last = v;
	s->n++;
}

static void take_numbers(const struct look *l, struct numbers *s, const struct pb_field *f)
{
	const uint8_t *p = f->p, *end = p + f->n;
	uint64_t v;

	if (f->type == PB_VARINT) {
		take_number(l, s, f->value);
		return;
	}
	s->is_packed = f->type == PB_BYTES;
	s->is_broken |= !s->is_packed;
	while (s->is_packed && p < end && (p = pb__varint(p, end, &v)))
		take_number(l, s, v);
	s->is_broken |= !p;
}

/* One is never packed, and an index of the table of links; some tables miss the zero value that each should begin with. */
static bool may_be_link(const struct look *l, const struct numbers *s)
{
	return s->n == 0 || (s->n == 1 && !s->is_packed && (s->last == 0 || s->last < l->n_links));
}

/* Is there but one way to read it? The timestamps are as many as the values, where there are both. */
static int voice_of(const struct look *l, const struct numbers *list, uint64_t n_timestamps)
{
	const struct numbers *two = &list[2], *three = &list[3], *four = &list[4];
	bool until_1_9 = (two->n || n_timestamps) && three->may_be_attributes && may_be_link(l, four);
	bool from_1_10 = (four->n || n_timestamps) && two->may_be_attributes &&
			 two->may_be_of_1_10 && may_be_link(l, three);

	if (until_1_9 != from_1_10 || !until_1_9)
		return from_1_10 - until_1_9;
	/* Who packs his lists has written a link. */
	bool packs = two->n == 0 || two->is_packed;
	bool three_is_link = packs && three->n && !three->is_packed;
	bool four_is_link = packs && four->n && !four->is_packed;
	if (three_is_link != four_is_link)
		return three_is_link - four_is_link;
	if (!n_timestamps)
		return 0;
	return (two->n && two->n != n_timestamps) - (four->n && four->n != n_timestamps);
}

static void look_at_sample(struct look *l, const struct pb_field *sample)
{
	struct pb_reader r = pb__reader(sample->p, sample->n);
	struct pb_field f;
	struct numbers list[LISTS_N];
	uint64_t n_timestamps = 0;
	int voice;

	for (size_t i = 0; i < LISTS_N; i++)
		list[i] = (struct numbers){ .may_be_attributes = true, .may_be_of_1_10 = true };
	while (pb__next(&r, &f)) {
		if (f.number == 5)
			n_timestamps += f.type == PB_BYTES ? f.n / sizeof(uint64_t) : 1;
		else if (f.number >= 2 && f.number < LISTS_N)
			take_numbers(l, &list[f.number], &f);
	}
	if (list[2].is_broken || list[3].is_broken || list[4].is_broken)
		return;
	voice = voice_of(l, list, n_timestamps);
	l->is_1_10 += voice > 0;
	l->is_before_1_10 += voice < 0;
}

/* Has ValueType what 1.8 was the last to have, aggregation_temporality? */
static bool has_temporality(const struct pb_field *type)
{
	struct pb_reader r = pb__reader(type->p, type->n);
	struct pb_field f;

	while (pb__next(&r, &f))
		if (f.number == 3 && f.type == PB_VARINT)
			return true;
	return false;
}

static void look_at_field(struct look *l, const struct pb_field *f)
{
	bool is_bytes = f->type == PB_BYTES;

	switch (f->number) {
	case 1:
		l->is_1_8 += is_bytes && has_temporality(f);
		break;
	case 3:
		l->has_ranges |= is_bytes;
		break;
	case 4:
		l->has_tables |= is_bytes;
		break;
	case 7:
		l->is_later += is_bytes && f->n == 16;
		break;
	case 8:
		l->is_1_8 += is_bytes;
		break;
	case 9:
		l->is_1_8 += !is_bytes;
		break;
	case 10: /* strings begin with ""; a format or a payload is never that */
		l->has_tables |= is_bytes && f->n == 0;
		break;
	case 12:
		l->is_1_8++;
		break;
	default:
		break;
	}
}

static void look_at_profile(struct look *l, const struct pb_field *profile)
{
	struct pb_reader r = pb__reader(profile->p, profile->n);
	struct pb_field f;

	while (pb__next(&r, &f)) {
		look_at_field(l, &f);
		if (is_message(&f, 2) && l->n_samples++ < LOOKED_AT)
			look_at_sample(l, &f);
	}
}

/* Profiles are the fields 2 of the fields 2 of a resource. */
static void look_at_resource(struct look *l, const struct pb_field *resource)
{
	struct pb_reader r = pb__reader(resource->p, resource->n);
	struct pb_field scope, profile;

	while (pb__next(&r, &scope)) {
		if (!is_message(&scope, 2))
			continue;
		struct pb_reader in_scope = pb__reader(scope.p, scope.n);
		while (pb__next(&in_scope, &profile))
			if (is_message(&profile, 2))
				look_at_profile(l, &profile);
	}
}

static struct look look_at(const uint8_t *data, size_t n)
{
	struct look l = { 0 };
	struct pb_field f;

	for (struct pb_reader r = pb__reader(data, n); pb__next(&r, &f);)
		if (is_message(&f, 2))
			look_at_dictionary(&l, &f);
	for (struct pb_reader r = pb__reader(data, n); pb__next(&r, &f);)
		if (is_message(&f, 1))
			look_at_resource(&l, &f);
	return l;
}

/* Between 1.8 and later ones no sample had a majority. The voices of profiles count for the rest. */
static const struct otlp_layout *likeliest(const struct look *l, const char *likely)
{
	bool is_1_8 = likely && strcmp(likely, layout_1_8.name) == 0;

	if (!is_1_8 && !(likely && strcmp(likely, layout_1_9.name) == 0))
		return &otlp_layout__current;
	if (l->is_1_8 != l->is_later)
		is_1_8 = l->is_1_8 > l->is_later;
	return is_1_8 ? &layout_1_8 : &layout_1_9;
}

const struct otlp_layout *otlp_layout__of(const uint8_t *data, size_t n, const char *likely,
					  bool *ret_told, struct dcm_error *err)
{
	const struct look l = look_at(data, n);

	*ret_told = true;
	if (!l.has_dictionary && l.has_tables)
		return &layout_1_5;
	if (!l.has_dictionary && l.n_samples) {
		error__set(
			err, -EINVAL,
			"otlp: the request has samples and no dictionary, as those of OTLP 1.6 and "
			"before 1.4, which cannot be read; update the sender to OTLP 1.10 or "
			"later");
		return NULL;
	}
	if (l.has_text_keys || (l.has_ranges && !l.has_number_keys))
		return &layout_1_7;
	*ret_told = l.is_before_1_10 != l.is_1_10;
	if (!*ret_told)
		return likeliest(&l, likely);
	if (l.is_before_1_10 < l.is_1_10)
		return &otlp_layout__current;
	return l.is_1_8 > l.is_later ? &layout_1_8 : &layout_1_9;
}
