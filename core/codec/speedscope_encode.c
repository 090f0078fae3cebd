/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/speedscope_encode.c - a batch as speedscope's JSON
 *
 * Frames are listed in the order of first use; one is a function, or the text of what has no name.
 * The frames and the profiles grow in two buffers, because the file has the frames first.
 */
#include "core/codec/speedscope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/intern.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/codec/encode.h"

struct writer {
	const struct dcm_batch *b;
	uint32_t *function_frames; /* [b->n_functions] frame + 1; 0: none yet */
	struct intern texts;	   /* of frames without a function */
	uint32_t *text_frames;	   /* [n_text_frames] by the text's id; frame + 1 */
	uint32_t n_text_frames;
	uint32_t n_frames;
	struct buf frames, profiles, name;
	bool nomem;
};

static void writer_fini(struct writer *w)
{
	free(w->function_frames);
	free(w->text_frames);
	intern__fini(&w->texts);
	buf__fini(&w->frames);
	buf__fini(&w->profiles);
	buf__fini(&w->name);
}

static uint32_t new_frame(struct writer *w, struct dcm_str name, struct dcm_str file, int64_t line)
{
	buf__text(&w->frames, w->n_frames ? ",{\"name\":" : "{\"name\":");
	buf__json(&w->frames, name);
	if (file.n) {
		buf__text(&w->frames, ",\"file\":");
		buf__json(&w->frames, file);
	}
	if (line > 0)
		buf__printf(&w->frames, ",\"line\":%" PRId64, line);
	buf__byte(&w->frames, '}');
	return ++w->n_frames;
}

/* The frame + 1 of something that is told by its text alone; 0 when memory ran out. */
static uint32_t text_frame(struct writer *w, uint32_t location, uint32_t line)
{
	const struct dcm_location *l = &w->b->locations[location];

	buf__reset(&w->name);
	encode__frame_name(w->b, location, line, &w->name);
	uint32_t id = w->name.error ? INTERN_NONE : intern__add(&w->texts, buf__view(&w->name));
	if (id == INTERN_NONE)
		return 0;
	if (id >= w->n_text_frames) {
		uint32_t n = (id + 1) * 2;
		uint32_t *p = mem__resize(w->text_frames, n, sizeof(*p));
		if (!p)
			return 0;
		memset(p + w->n_text_frames, 0, (n - w->n_text_frames) * sizeof(*p));
		w->text_frames = p;
		w->n_text_frames = n;
	}
	if (w->text_frames[id] == 0) {
		struct dcm_str file = STR("");
		if (line == DCM_NONE && l->mapping != DCM_NONE)
			file = w->b->strings[w->b->mappings[l->mapping].file];
		w->text_frames[id] = new_frame(w, buf__view(&w->name), file, 0);
	}
	return w->text_frames[id];
}

/* Appends the number of a line's frame; DCM_NONE: of a location without lines. */
static void put_frame(struct writer *w, uint32_t location, uint32_t line)
{
	const struct dcm_batch *b = w->b;
	uint32_t function = line == DCM_NONE ? DCM_NONE : b->lines[line].function, frame;

	if (function != DCM_NONE && b->strings[b->functions[function].name].n) {
		const struct dcm_function *f = &b->functions[function];
		if (w->function_frames[function] == 0)
			w->function_frames[function] = new_frame(w, b->strings[f->name],
								 b->strings[f->file], f->start_line);
		frame = w->function_frames[function];
	} else {
		frame = text_frame(w, location, line);
		w->nomem |= frame == 0;
	}
	buf__printf(&w->profiles, "%" PRIu32 ",", frame - 1);
}

/* Takes back the comma behind the last element of a list. */
static void end_list(struct buf *out)
{
	if (!out->error && out->n && out->data[out->n - 1] == ',')
		out->n--;
	buf__byte(out, ']');
}

static void put_sample(struct writer *w, uint32_t stack)
{
	const struct dcm_batch *b = w->b;
	struct dcm_span span = b->stacks[stack];

	buf__byte(&w->profiles, '[');
	for (uint32_t i = span.n; i-- > 0;) {
		uint32_t location = b->stack_locations[span.off + i];
		const struct dcm_location *l = &b->locations[location];
		if (l->n_lines == 0)
			put_frame(w, location, DCM_NONE);
		for (uint32_t k = l->n_lines; k-- > 0;)
			put_frame(w, location, l->line_off + k);
	}
	end_list(&w->profiles);
	buf__byte(&w->profiles, ',');
}

static const char *unit_of(struct dcm_str unit)
{
	static const char *const units[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str__eq(unit, str__of(units[i])))
			return units[i];
	return "none";
}

/* One type of one profile. */
static void put_profile(struct writer *w, uint32_t profile, uint32_t k)
{
	const struct dcm_batch *b = w->b;
	const struct dcm_profile *p = &b->profiles[profile];
	const int64_t *values = p->n_rows ? &b->values[p->value_off + k] : NULL;
	int64_t sum = 0;

	for (uint32_t r = 0; r < p->n_rows; r++)
		if (__builtin_add_overflow(sum, values[(uint64_t)r * p->n_types], &sum))
			sum = INT64_MAX;
	buf__reset(&w->name);
	encode__title(b, profile, k, &w->name);
	w->nomem |= w->name.error != 0;
	buf__text(&w->profiles, "{\"type\":\"sampled\",\"name\":");
	buf__json(&w->profiles, buf__view(&w->name));
	buf__printf(&w->profiles, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRId64,
		    unit_of(b->strings[b->types[p->type_off + k].sample_unit]), sum);
	buf__text(&w->profiles, ",\"samples\":[");
	for (uint32_t r = 0; r < p->n_rows && !w->nomem && !w->profiles.error; r++)
		if (values[(uint64_t)r * p->n_types])
			put_sample(w, b->row_stacks[p->row_off + r]);
	end_list(&w->profiles);
	buf__text(&w->profiles, ",\"weights\":[");
	for (uint32_t r = 0; r < p->n_rows; r++)
		if (values[(uint64_t)r * p->n_types])
			buf__printf(&w->profiles, "%" PRId64 ",", values[(uint64_t)r * p->n_types]);
	end_list(&w->profiles);
	buf__text(&w->profiles, "},");
}

int speedscope__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err)
{
	struct writer w = { .b = b };
	uint32_t first, end;

	int r = encode__range(b, profile, "speedscope", &first, &end, err);
	if (r < 0)
		return r;
	w.profiles.limit = w.frames.limit = out->limit;
	w.function_frames = mem__zalloc(b->n_functions, sizeof(uint32_t));
	w.nomem = !w.function_frames || intern__init(&w.texts) < 0;
	for (uint32_t p = first; !w.nomem && p < end; p++)
		for (uint32_t k = 0; k < b->profiles[p].n_types; k++)
			put_profile(&w, p, k);
	if (w.nomem) {
		r = error__nomem(err);
	} else {
		buf__text(out,
			  "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			  "\"exporter\":\"decima\",\"shared\":{\"frames\":[");
		buf__append(out, w.frames.data, w.frames.n);
		buf__printf(out, "]},\"activeProfileIndex\":%" PRIu32 ",\"profiles\":[",
			    b->profiles[first].n_types - 1);
		end_list(&w.profiles);
		buf__append(out, w.profiles.data, w.profiles.n);
		buf__text(out, "}\n");
		r = encode__end(w.profiles.error ? &w.profiles
				: w.frames.error ? &w.frames
						 : out,
				"speedscope", err);
	}
	writer_fini(&w);
	return r;
}
