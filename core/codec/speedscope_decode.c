/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/speedscope_decode.c - speedscope's JSON into a builder
 *
 * jansson reads the text, after a look at it has told what its tree would cost. The stacks of an
 * evented profile are nodes of a call tree that grows with the events: each event costs the same,
 * however deep it stands, and each node that was the innermost one for a while becomes a row.
 */
#include "core/codec/speedscope.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/builder.h"
#include "core/batch/limits.h"
#include "core/codec/json_text.h"

struct reader {
	const struct decode_options *o;
	struct dcm_builder *b;
	struct dcm_error *err;
	uint32_t *locations; /* [n_frames] */
	size_t n_frames;
	size_t profile; /* which one, for sentences */
	uint32_t stack[STACK_MAX_DEPTH];
};

static int fault(const struct reader *r, const char *what)
{
	return error__set(r->err, -EINVAL, "speedscope: profiles[%zu]: %s", r->profile, what);
}

static int entry_fault(const struct reader *r, const char *list, size_t i, const char *what)
{
	return error__set(r->err, -EINVAL, "speedscope: profiles[%zu].%s[%zu]: %s", r->profile,
			  list, i, what);
}

/* ------------------------------------------------------------------------------------------------
 * The text
 */

static struct dcm_str text_of(const json_t *string)
{
	return string ? (struct dcm_str){ json_string_value(string), (uint32_t)json_string_length(string) }
		      : STR("");
}

/* A number in whole units; false when it is none, or out of range. */
static bool whole(const json_t *number, double scale, int64_t *ret)
{
	if (json_is_integer(number) && scale == 1) {
		*ret = json_integer_value(number);
		return true;
	}
	double v = json_number_value(number) * scale;
	if (!json_is_number(number) || !(v > -9.2e18 && v < 9.2e18))
		return false;
	*ret = (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Frames
 */

/* A positive number, or 0. */
static int64_t number_of(const json_t *frame, const char *key)
{
	int64_t v = 0;
	const json_t *number = json_object_get(frame, key);

	return number && whole(number, 1, &v) && v > 0 ? v : 0;
}

static int read_frames(struct reader *r, const json_t *root)
{
	const json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");

	if (!json_is_array(frames))
		return error__set(r->err, -EINVAL, "speedscope: it has no list shared.frames");
	r->n_frames = json_array_size(frames);
	r->locations = mem__zalloc(r->n_frames, sizeof(*r->locations));
	if (!r->locations)
		return error__nomem(r->err);
	for (size_t i = 0; i < r->n_frames; i++) {
		const json_t *frame = json_array_get(frames, i),
			     *file = json_object_get(frame, "file");
		const json_t *name = json_object_get(frame, "name");
		if (!json_is_string(name) || (file && !json_is_string(file) && !json_is_null(file)))
			return error__set(
				r->err, -EINVAL,
				"speedscope: shared.frames[%zu]: its name or file is no text", i);
		struct dcm_str text = text_of(name);
		if (text.n == 0)
			text = STR("[unknown]");
		struct dcm_function f = { .name = builder__string(r->b, text),
					  .file = builder__string(
						  r->b, text_of(json_is_string(file) ? file : NULL)) };
		int64_t column = number_of(frame, "col");
		struct dcm_line line = { .function = builder__function(r->b, &f),
					 .line = number_of(frame, "line"),
					 .column = column <= UINT32_MAX ? (uint32_t)column : 0 };
		struct dcm_location l = { .mapping = DCM_NONE,
					  .process = DCM_NONE,
					  .kind = decode__is_note(text) ? DCM_FRAME_NOTE
									: DCM_FRAME_NATIVE };
		r->locations[i] = builder__location(r->b, &l, &line, 1);
	}
	return 0;
}

/* False when it is not the number of a frame. */
static bool frame_of(const struct reader *r, const json_t *number, uint32_t *ret)
{
	json_int_t i = json_integer_value(number);

	if (!json_is_integer(number) || i < 0 || (uint64_t)i >= r->n_frames)
		return false;
	*ret = (uint32_t)i;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Sampled profiles
 */

static int read_sample(struct reader *r, const json_t *sample, size_t i, int64_t weight)
{
	size_t n = json_array_size(sample);

	if (!json_is_array(sample))
		return entry_fault(r, "samples", i, "it is no list");
	if (n > STACK_MAX_DEPTH)
		return error__set(r->err,
				  -E2BIG, "speedscope: profiles[%zu].samples[%zu]: %zu frames, more than %d",
				  r->profile, i, n, STACK_MAX_DEPTH);
	for (size_t k = 0; k < n; k++) {
		uint32_t frame;
		if (!frame_of(r, json_array_get(sample, k), &frame))
			return entry_fault(r, "samples", i, "it names a frame that does not exist");
		r->stack[n - 1 - k] = r->locations[frame];
	}
	if (weight)
		builder__row(r->b, builder__stack(r->b, r->stack, (uint32_t)n), 0, &weight);
	return 0;
}

static int read_sampled(struct reader *r, const json_t *profile, double scale)
{
	const json_t *samples = json_object_get(profile, "samples");
	const json_t *weights = json_object_get(profile, "weights");
	size_t n = json_array_size(samples);

	if (!json_is_array(samples) || !json_is_array(weights) || json_array_size(weights) != n)
		return fault(r, "samples and weights are not two lists of one length");
	for (size_t i = 0; i < n; i++) {
		int64_t weight;
		if (!whole(json_array_get(weights, i), scale, &weight))
			return entry_fault(r, "weights", i, "it is no number, or too large");
		int e = read_sample(r, json_array_get(samples, i), i, weight);
		if (e < 0)
			return e;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Evented profiles
 */

struct node {
	uint32_t parent, frame, depth; /* node 0 is the root, and no frame */
	int64_t self;
};

struct tree {
	VEC(struct node) nodes;
	struct hindex index; /* by parent and frame */
	uint32_t at;	     /* the innermost open one */
};

static uint64_t hash_of(const struct tree *t, uint32_t parent, uint32_t frame)
{
	const uint32_t key[] = { parent, frame };

	return hash__bytes(key, sizeof(key), (uint64_t)(uintptr_t)t);
}

/* Opens a frame within the innermost one. */
static int open_frame(struct reader *r, struct tree *t, uint32_t frame)
{
	uint64_t h = hash_of(t, t->at, frame);
	uint32_t row, at = hindex__first(&t->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&t->index, h, at, &row))
		if (t->nodes.v[row].parent == t->at && t->nodes.v[row].frame == frame) {
			t->at = row;
			return 0;
		}
	struct node new = { t->at, frame, t->nodes.v[t->at].depth + 1, 0 };
	if (new.depth > STACK_MAX_DEPTH)
		return error__set(r->err, -E2BIG,
				  "speedscope: profiles[%zu]: more than %d frames are open",
				  r->profile, STACK_MAX_DEPTH);
	if (!vec__push(&t->nodes, new) || hindex__insert(&t->index, h, (uint32_t)(t->nodes.n - 1)) < 0)
		return error__nomem(r->err);
	t->at = (uint32_t)(t->nodes.n - 1);
	return 0;
}

static int read_event(struct reader *r, struct tree *t, const json_t *event, size_t i)
{
	const json_t *type = json_object_get(event, "type");
	const char *kind = json_is_string(type) ? json_string_value(type) : "";
	uint32_t frame;

	if (!frame_of(r, json_object_get(event, "frame"), &frame))
		return entry_fault(r, "events", i, "it names a frame that does not exist");
	if (strcmp(kind, "O") == 0)
		return open_frame(r, t, frame);
	if (strcmp(kind, "C") != 0)
		return entry_fault(r, "events", i, "its type is neither \"O\" nor \"C\"");
	if (t->at == 0 || t->nodes.v[t->at].frame != frame)
		return entry_fault(r, "events", i, "it closes a frame that is not the innermost one");
	t->at = t->nodes.v[t->at].parent;
	return 0;
}

static int read_events(struct reader *r, struct tree *t, const json_t *events, double scale)
{
	int64_t last = 0;

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);
		int64_t at, passed;
		if (!whole(json_object_get(event, "at"), scale, &at))
			return entry_fault(r, "events", i, "its time is no number, or too large");
		if (i > 0 && (at < last || __builtin_sub_overflow(at, last, &passed)))
			return entry_fault(r, "events", i, "it is before the one before it");
		if (i > 0)
			t->nodes.v[t->at].self += at - last;
		last = at;
		int e = read_event(r, t, event, i);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_evented(struct reader *r, const json_t *profile, double scale)
{
	const json_t *events = json_object_get(profile, "events");
	struct tree t = { 0 };
	int e = 0;

	if (!json_is_array(events))
		return fault(r, "it has no list of events");
	if (!vec__push(&t.nodes, (struct node){ 0 }))
		e = error__nomem(r->err);
	if (e == 0)
		e = read_events(r, &t, events, scale);
	for (uint32_t i = 1; e == 0 && i < t.nodes.n && builder__error(r->b) == 0; i++) {
		uint32_t n = 0;
		if (t.nodes.v[i].self == 0)
			continue;
		for (uint32_t at = i; at; at = t.nodes.v[at].parent)
			r->stack[n++] = r->locations[t.nodes.v[at].frame];
		builder__row(r->b, builder__stack(r->b, r->stack, n), 0, &t.nodes.v[i].self);
	}
	vec__fini(&t.nodes);
	hindex__fini(&t.index);
	return e;
}

/* ------------------------------------------------------------------------------------------------
 * Profiles
 */

/* speedscope's units, and what they are for us. */
static const struct unit {
	const char *name;
	double scale;
	const char *sample_type, *sample_unit;
} units[] = {
	{ "none", 1, "samples", "count" },
	{ "nanoseconds", 1, "time", "nanoseconds" },
	{ "microseconds", 1e3, "time", "nanoseconds" },
	{ "milliseconds", 1e6, "time", "nanoseconds" },
	{ "seconds", 1e9, "time", "nanoseconds" },
	{ "bytes", 1, "space", "bytes" },
};

static const struct unit *unit_of(const json_t *profile)
{
	const json_t *unit = json_object_get(profile, "unit");

	for (size_t i = 0; json_is_string(unit) && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, json_string_value(unit)) == 0)
			return &units[i];
	return NULL;
}

/* The caller's labels and the profile's name, unless he gave a label `profile` himself. */
static int add_series(struct reader *r, struct dcm_str name, uint32_t *ret)
{
	CLEANUP(mem__freep)
	struct dcm_label_text *labels = mem__zalloc(r->o->n_labels + 1, sizeof(*labels));
	struct decode_options o = { .labels = labels, .n_labels = r->o->n_labels };
	bool given = false;

	if (!labels)
		return error__nomem(r->err);
	for (uint32_t i = 0; i < o.n_labels; i++) {
		labels[i] = r->o->labels[i];
		given |= str__eq(labels[i].name, STR("profile"));
	}
	if (!given)
		labels[o.n_labels++] = (struct dcm_label_text){ STR("profile"), name };
	*ret = decode__series(&o, r->b);
	return 0;
}

static int add_profile(struct reader *r, const json_t *profile, const struct unit *unit)
{
	const json_t *name = json_object_get(profile, "name");
	const struct dcm_type type = {
		.name = decode__type_part(r->b, r->o->name.n ? r->o->name : STR("speedscope")),
		.sample_type = builder__string(r->b, str__of(unit->sample_type)),
		.sample_unit = builder__string(r->b, str__of(unit->sample_unit)),
		.temporality = r->o->has_temporality ? r->o->temporality : DCM_DELTA,
	};
	struct dcm_profile head = { .time_ns = r->o->time_ns };
	int64_t start, end;

	if (strcmp(unit->sample_type, "time") == 0 &&
	    whole(json_object_get(profile, "startValue"), unit->scale, &start) &&
	    whole(json_object_get(profile, "endValue"), unit->scale, &end) && start >= 0 && end > start)
		head.duration_ns = end - start;
	int e = add_series(r, text_of(json_is_string(name) ? name : NULL), &head.series);
	if (e == 0)
		builder__profile(r->b, &head, &type, 1);
	return e;
}

static int read_profile(struct reader *r, const json_t *profile)
{
	const json_t *type = json_object_get(profile, "type");
	const struct unit *unit = unit_of(profile);
	const char *kind = json_is_string(type) ? json_string_value(type) : "";
	bool sampled = strcmp(kind, "sampled") == 0;

	if (!unit)
		return fault(r, "its unit is none of speedscope's");
	if (!sampled && strcmp(kind, "evented") != 0)
		return fault(r, "its type is neither \"sampled\" nor \"evented\"");
	int e = add_profile(r, profile, unit);
	if (e < 0)
		return e;
	return sampled ? read_sampled(r, profile, unit->scale) : read_evented(r, profile, unit->scale);
}

static int read_document(const uint8_t *data, size_t n, const struct decode_options *o,
			 struct dcm_builder *b, struct dcm_error *err)
{
	CLEANUP(json_decrefp) json_t *root = NULL;

	int e = json_text__load("speedscope", data, n, decode__max_bytes(o, SPEEDSCOPE_MAX_BYTES),
				&root, err);
	if (e < 0)
		return e;
	struct reader *r = NEW(struct reader);
	if (!r)
		return error__nomem(err);
	r->o = o;
	r->b = b;
	r->err = err;
	const json_t *profiles = json_object_get(root, "profiles");
	if (json_is_array(profiles))
		e = read_frames(r, root);
	else
		e = error__set(err, -EINVAL, "speedscope: it has no list of profiles");
	for (size_t i = 0; e == 0 && i < json_array_size(profiles); i++) {
		r->profile = i;
		e = read_profile(r, json_array_get(profiles, i));
	}
	free(r->locations);
	free(r);
	return e;
}

int speedscope__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_document, data, n, o, ret, err);
}
