/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/check.c - the rules that every entry of a sealed batch keeps
 *
 * Pure functions over the tables. Only new entries come here, so nothing of this is on the path of
 * a sample whose stack is known.
 */
#include "core/batch/check.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/type.h"

/* An entry and its index, for sentences. */
struct entry {
	const char *what;
	size_t i;
	struct dcm_error *err;
};

static int bad_id(struct entry e, const char *field, uint32_t id, size_t n)
{
	return error__set(e.err, -EINVAL, "%s %zu: %s %u is not one of the %zu added", e.what, e.i,
			  field, id, n);
}

static int bad_choice(struct entry e, const char *field, uint32_t v, uint32_t last)
{
	return error__set(e.err, -EINVAL, "%s %zu: %s is %u, above the last known one, %u", e.what,
			  e.i, field, v, last);
}

static int too_many(struct entry e, const char *what, uint32_t n, uint32_t max)
{
	return error__set(e.err, -E2BIG, "%s %zu: %u %s, more than the limit of %u", e.what, e.i, n,
			  what, max);
}

static int fault(struct entry e, const char *what)
{
	return error__set(e.err, -EINVAL, "%s %zu: %s", e.what, e.i, what);
}

/* 0 when every id of [n] fields is a string's. */
struct string_field {
	const char *name;
	uint32_t id;
};
static int check_strings(const struct tables *t, struct entry e, const struct string_field *fields,
			 size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].id >= t->strings.n)
			return bad_id(e, fields[i].name, fields[i].id, t->strings.n);
	return 0;
}
#define CHECK_STRINGS(t, e, ...)                                                                   \
	check_strings(t, e, (const struct string_field[]){ __VA_ARGS__ },                          \
		      sizeof((const struct string_field[]){ __VA_ARGS__ }) / sizeof(struct string_field))

/*
 * Build ids become file names and addresses of requests: nothing but hex may be trusted to be
 * harmless. A stand-in (plugin.h) has a '~' before its 16 digits.
 */
static int check_build_id(struct entry e, struct dcm_str id)
{
	if (id.n > BUILD_ID_MAX_CHARS)
		return too_many(e, "characters in build_id", id.n, BUILD_ID_MAX_CHARS);
	bool is_stand_in = id.n == BUILD_ID_STAND_IN_CHARS && id.p[0] == '~';
	for (uint32_t i = is_stand_in; i < id.n; i++)
		if (!((id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'f')))
			return fault(e, "build_id is not lower-case hex");
	return 0;
}

int check__mapping(const struct tables *t, const struct dcm_mapping *m, struct dcm_error *err)
{
	struct entry e = { "mapping", t->mappings.n, err };
	int r = CHECK_STRINGS(t, e, { "file", m->file }, { "build_id", m->build_id });
	if (r < 0)
		return r;
	if (m->kind > DCM_MAPPING_ANON)
		return bad_choice(e, "kind", m->kind, DCM_MAPPING_ANON);
	if (m->start > m->limit)
		return fault(e, "start is above limit");

	return check_build_id(e, tables__str(t, m->build_id));
}

int check__function(const struct tables *t, const struct dcm_function *f, struct dcm_error *err)
{
	return CHECK_STRINGS(t, ((struct entry){ "function", t->functions.n, err }), { "name", f->name },
			     { "system_name", f->system_name }, { "file", f->file });
}

static int check_lines(const struct tables *t, struct entry e, const struct dcm_line *lines,
		       uint32_t n_lines)
{
	for (uint32_t i = 0; i < n_lines; i++)
		if (lines[i].function != DCM_NONE && lines[i].function >= t->functions.n)
			return error__set(e.err,
					  -EINVAL, "%s %zu: line %u: function %u is not one of the %zu added",
					  e.what, e.i, i, lines[i].function, t->functions.n);
	return 0;
}

int check__location(const struct tables *t, const struct dcm_location *l,
		    const struct dcm_line *lines, uint32_t n_lines, struct dcm_error *err)
{
	struct entry e = { "location", t->locations.n, err };

	if (l->mapping != DCM_NONE && l->mapping >= t->mappings.n)
		return bad_id(e, "mapping", l->mapping, t->mappings.n);
	if (l->process != DCM_NONE && l->process >= t->processes.n)
		return bad_id(e, "process", l->process, t->processes.n);
	if (l->addr_kind > DCM_ADDR_RUNTIME)
		return bad_choice(e, "addr_kind", l->addr_kind, DCM_ADDR_RUNTIME);
	if (l->kind > DCM_FRAME_NOTE)
		return bad_choice(e, "kind", l->kind, DCM_FRAME_NOTE);
	if (l->unnamed >= DCM_UNNAMED_N)
		return bad_choice(e, "unnamed", l->unnamed, DCM_UNNAMED_N - 1);
	if (l->reserved)
		return fault(e, "reserved is not 0");
	if (l->process != DCM_NONE && l->addr_kind != DCM_ADDR_RUNTIME)
		return fault(e, "process is set, but addr_kind is not runtime");
	if (l->address && l->addr_kind == DCM_ADDR_NONE)
		return fault(e, "address is set, but addr_kind is none");
	if (n_lines > LOCATION_MAX_LINES)
		return too_many(e, "lines", n_lines, LOCATION_MAX_LINES);
	return check_lines(t, e, lines, n_lines);
}

/*
 * Are all of the ids below max, which is at most 2^31? Then no subtraction from max - 1 borrows.
 * Eight at a time and without a way out, so that the compiler takes a vector for them.
 */
static bool all_below(const uint32_t *ids, uint32_t n, uint32_t max)
{
	uint32_t bits = 0, last = max - 1, i = 0;

	for (; n - i >= 8; i += 8)
		for (uint32_t k = 0; k < 8; k++)
			bits |= ids[i + k] | (last - ids[i + k]);
	for (; i < n; i++)
		bits |= ids[i] | (last - ids[i]);
	return n == 0 || (max > 0 && bits >> 31 == 0);
}

int check__stack(const struct tables *t, const uint32_t *locations, uint32_t n, struct dcm_error *err)
{
	struct entry e = { "stack", t->stacks.n, err };

	if (n > STACK_MAX_DEPTH)
		return too_many(e, "locations", n, STACK_MAX_DEPTH);
	if (all_below(locations, n, (uint32_t)t->locations.n))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (locations[i] >= t->locations.n)
			return error__set(
				err, -EINVAL,
				"stack %zu: location %u at depth %u is not one of the %zu added",
				e.i, locations[i], i, t->locations.n);
	return 0;
}

int check__pair_ids(const struct tables *t, const struct dcm_pair *pairs, uint32_t n,
		    struct dcm_error *err)
{
	struct entry e = { "series", t->series.n, err };

	if (n > LABELS_MAX)
		return too_many(e, "labels", n, LABELS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		int r = CHECK_STRINGS(t, e, { "label name", pairs[i].name },
				      { "label value", pairs[i].value });
		if (r < 0)
			return r;
	}
	return 0;
}

int check__label_ids(const struct tables *t, const struct dcm_label *labels, uint32_t n,
		     struct dcm_error *err)
{
	struct entry e = { "label set", t->label_sets.n, err };

	if (n > LABELS_MAX)
		return too_many(e, "labels", n, LABELS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		bool is_number = labels[i].unit != DCM_NONE;
		int r = CHECK_STRINGS(t, e, { "label name", labels[i].name },
				      { "label str", labels[i].str },
				      { "label unit", is_number ? labels[i].unit : 0 });
		if (r < 0)
			return r;
		if (is_number && labels[i].str)
			return fault(e, "a label has a unit, so it is a number, but str is set");
		if (!is_number && labels[i].num)
			return fault(e, "a label has no unit, so it is a string, but num is set");
	}
	return 0;
}

int check__label_name(const struct tables *t, const char *entry, size_t i, uint32_t name,
		      uint32_t previous, struct dcm_error *err)
{
	struct entry e = { entry, i, err };
	struct dcm_str text = tables__str(t, name);

	if (text.n == 0)
		return fault(e, "a label has no name");
	if (name == previous)
		return error__set(err, -EINVAL, "%s %zu: label \"%.*s\" comes twice", entry, i,
				  STR_ARG(text));
	for (uint32_t k = 0; k < text.n; k++)
		if ((uint8_t)text.p[k] < 0x20 || text.p[k] == 0x7f)
			return error__set(err, -EINVAL,
					  "%s %zu: label name \"%.*s\" has a control character",
					  entry, i, STR_ARG(text));
	return 0;
}

/* `need`: it may not be empty. */
static int check_part(const struct tables *t, struct entry e, uint32_t k, const char *field,
		      uint32_t id, bool need)
{
	if (id >= t->strings.n)
		return error__set(e.err, -EINVAL, "%s %zu: type %u: %s %u is not one of the %u added",
				  e.what, e.i, k, field, id, t->strings.n);
	struct dcm_str text = tables__str(t, id);
	if (text.n == 0 && need)
		return error__set(e.err, -EINVAL, "%s %zu: type %u: %s is empty", e.what, e.i, k, field);
	if (!type__is_part(text))
		return error__set(e.err, -EINVAL,
				  "%s %zu: type %u: %s \"%.*s\" is too long, or has a character "
				  "outside A-Z a-z 0-9 and %s",
				  e.what, e.i, k, field, STR_ARG(text), TYPE_PART_PUNCTUATION);
	return 0;
}

static int check_type(const struct tables *t, struct entry e, uint32_t k, const struct dcm_type *ty)
{
	int r = check_part(t, e, k, "name", ty->name, true);
	if (r == 0)
		r = check_part(t, e, k, "sample_type", ty->sample_type, true);
	if (r == 0)
		r = check_part(t, e, k, "sample_unit", ty->sample_unit, false);
	if (r == 0)
		r = check_part(t, e, k, "period_type", ty->period_type, false);
	if (r == 0)
		r = check_part(t, e, k, "period_unit", ty->period_unit, false);
	if (r == 0 && ty->temporality > DCM_CUMULATIVE)
		r = bad_choice(e, "temporality", ty->temporality, DCM_CUMULATIVE);
	return r;
}

int check__profile(const struct tables *t, const struct dcm_profile *head,
		   const struct dcm_type *types, uint32_t n_types, struct dcm_error *err)
{
	struct entry e = { "profile", t->profiles.n, err };

	if (head->series >= t->series.n)
		return bad_id(e, "series", head->series, t->series.n);
	if (head->time_ns < 0)
		return fault(e, "time_ns is negative");
	if (head->duration_ns < 0)
		return fault(e, "duration_ns is negative");
	if (head->duration_ns > INT64_MAX - head->time_ns)
		return fault(e, "time_ns and duration_ns add up to more than 63 bits hold");
	if (head->period < 0)
		return fault(e, "period is negative");
	if (n_types == 0)
		return fault(e, "it has no types");
	if (n_types > TYPES_MAX)
		return too_many(e, "types", n_types, TYPES_MAX);
	/* A type may come twice: the two columns of a diff are of one type. */
	for (uint32_t k = 0; k < n_types; k++) {
		int r = check_type(t, e, k, &types[k]);
		if (r < 0)
			return r;
	}
	return 0;
}

int check__row(const struct tables *t, uint32_t stack, uint32_t label_set, struct dcm_error *err)
{
	struct entry e = { "row", t->row_stacks.n, err };

	if (t->profiles.n == 0)
		return fault(e, "there is no profile that it could belong to");
	if (stack >= t->stacks.n)
		return bad_id(e, "stack", stack, t->stacks.n);
	if (label_set >= t->label_sets.n)
		return bad_id(e, "label set", label_set, t->label_sets.n);
	return 0;
}
