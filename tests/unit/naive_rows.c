/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/naive_rows.c - expands every row, asks every rule of every frame
 */
#include "tests/unit/naive_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"

static char *copy_of(struct dcm_str s)
{
	char *p = malloc(s.n + 1u);

	if (!p)
		abort();
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

static char *decimal(int64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, v);
	return copy_of(str__of(text));
}

static char *hex(uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	return copy_of(str__of(text));
}

static char *join(const char *const *parts, unsigned n)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i < n; i++) {
		buf__text(&b, parts[i]);
		buf__byte(&b, 1);
	}
	char *text = copy_of(buf__view(&b));
	buf__fini(&b);
	return text;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *make_key(const char *name, const char *file, const char *binary, const char *kind,
		      const char *line, const char *address, enum frames_group group)
{
	const char *parts[6] = { name, file, binary, kind, "", "" };

	if (group == FRAMES_LINE || group == FRAMES_ADDRESS)
		parts[4] = line;
	if (group == FRAMES_ADDRESS)
		parts[5] = address;
	return join(parts, 6);
}

char *naive_rows__key_of(const struct frame *f, enum frames_group group)
{
	char *name = copy_of(f->name), *file = copy_of(f->file), *binary = copy_of(f->binary);
	char *line = decimal(f->line), *address = hex(f->address);
	char *key = make_key(name, file, binary, frames__kind_name(f->kind), line, address, group);

	free(name);
	free(file);
	free(binary);
	free(line);
	free(address);
	return key;
}

static struct naive_frame make_frame(const struct dcm_batch *b, uint32_t location, uint32_t line,
				     enum frames_group group)
{
	const struct dcm_location *l = &b->locations[location];
	uint32_t fn = line == DCM_NONE ? DCM_NONE : b->lines[line].function;
	struct dcm_str name = fn == DCM_NONE ? STR("") : b->strings[b->functions[fn].name];
	struct naive_frame f = {
		.file = copy_of(fn == DCM_NONE ? STR("") : b->strings[b->functions[fn].file]),
		.system_name = copy_of(fn == DCM_NONE ? STR("") : b->strings[b->functions[fn].system_name]),
		.binary = copy_of(l->mapping == DCM_NONE ? STR("")
							 : b->strings[b->mappings[l->mapping].file]),
		.line = decimal(line == DCM_NONE ? 0 : b->lines[line].line),
		.address = hex(l->address),
		.kind = copy_of(str__of(frames__kind_name(l->kind))),
	};
	bool named = name.n > 0;
	char fallback[512];

	if (named) {
		f.name = copy_of(name);
	} else {
		uint32_t n = symbols__fallback_name(b, location, fallback, sizeof(fallback));
		f.name = copy_of((struct dcm_str){ fallback, n });
	}
	if (group == FRAMES_FILE && l->kind != DCM_FRAME_NOTE && named && *f.file) {
		f.key = make_key(*base(f.file) ? base(f.file) : f.file, f.file, f.binary, f.kind,
				 "", "", group);
	} else if ((group == FRAMES_BINARY || group == FRAMES_FILE) && l->kind != DCM_FRAME_NOTE) {
		const char *what = base(f.binary);

		if (!*what)
			what = l->kind == DCM_FRAME_JIT		  ? "[jit]"
			       : l->kind == DCM_FRAME_INTERPRETED ? "[interpreted]"
			       : l->kind == DCM_FRAME_KERNEL	  ? "[kernel]"
								  : "[unknown]";
		f.key = make_key(what, "", f.binary, f.kind, "", "", group);
		if (!named) { /* then there is nothing that a rule about functions could see */
			free(f.name);
			f.name = copy_of(STR(""));
		}
	} else if (named) {
		f.key = make_key(f.name, f.file, f.binary, f.kind, f.line, f.address, group);
	} else {
		f.key = make_key(f.name, "", f.binary, f.kind, "0", f.address, group);
	}
	return f;
}

static void free_frame(struct naive_frame *f)
{
	free(f->key);
	free(f->name);
	free(f->system_name);
	free(f->file);
	free(f->binary);
	free(f->line);
	free(f->address);
	free(f->kind);
}

static bool says(const struct naive_rule *r, const char *text)
{
	return r->equal ? strcmp(text, r->text) == 0 : strstr(text, r->text) != NULL;
}

static bool rule_fits(const struct naive_rule *r, const struct naive_frame *f)
{
	switch (r->field) {
	case FILTER_FUNCTION:
		return says(r, f->name) || (*f->system_name && says(r, f->system_name));
	case FILTER_FILE:
		return says(r, f->file);
	case FILTER_BINARY:
		return says(r, base(f->binary));
	case FILTER_LINE:
		return says(r, f->line);
	case FILTER_ADDRESS:
		return says(r, f->address);
	case FILTER_FRAME_KIND:
		return says(r, f->kind);
	default:
		abort();
	}
}

static bool any_fits(const struct naive_rule *r, const struct naive_row *row)
{
	for (uint32_t i = 0; i < row->n; i++)
		if (rule_fits(r, &row->frames[i]))
			return true;
	return false;
}

static void drop_frames(struct naive_row *row, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++)
		free_frame(&row->frames[i]);
	memmove(&row->frames[from], &row->frames[from + n],
		(row->n - from - n) * sizeof(row->frames[0]));
	row->n -= n;
}

static void apply_rules(struct naive_row *row, const struct naive_rule *rules, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if ((rules[i].kind == FILTER_ONLY_STACKS && !any_fits(&rules[i], row)) ||
		    (rules[i].kind == FILTER_HIDE_STACKS && any_fits(&rules[i], row)))
			row->filtered = true;
	for (uint32_t i = 0; i < n && !row->filtered; i++) {
		uint32_t at = 0;

		if (rules[i].kind != FILTER_FOCUS)
			continue;
		while (at < row->n && !rule_fits(&rules[i], &row->frames[at]))
			at++;
		if (at == row->n)
			row->filtered = true;
		else
			drop_frames(row, 0, at);
	}
	for (uint32_t i = 0; i < n && !row->filtered; i++)
		for (uint32_t k = row->n; rules[i].kind == FILTER_HIDE && k > 0; k--)
			if (rule_fits(&rules[i], &row->frames[k - 1]))
				drop_frames(row, k - 1, 1);
}

static struct naive_row make_row(const struct dcm_batch *b, uint32_t stack, enum frames_group group,
				 const struct naive_rule *rules, uint32_t n_rules)
{
	struct dcm_span span = b->stacks[stack];
	struct naive_row row = { 0 };
	uint32_t cap = 0;

	for (uint32_t i = 0; i < span.n; i++) {
		uint32_t n = b->locations[b->stack_locations[span.off + i]].n_lines;
		cap += n ? n : 1;
	}
	row.frames = calloc(cap + 1, sizeof(row.frames[0]));
	if (!row.frames)
		abort();
	for (uint32_t i = span.n; i > 0; i--) {
		uint32_t location = b->stack_locations[span.off + i - 1];
		const struct dcm_location *l = &b->locations[location];

		if (l->n_lines == 0)
			row.frames[row.n++] = make_frame(b, location, DCM_NONE, group);
		for (uint32_t k = l->n_lines; k > 0; k--)
			row.frames[row.n++] = make_frame(b, location, l->line_off + k - 1, group);
	}
	apply_rules(&row, rules, n_rules);
	for (uint32_t i = row.n; (group == FRAMES_BINARY || group == FRAMES_FILE) && i > 1; i--)
		if (strcmp(row.frames[i - 1].key, row.frames[i - 2].key) == 0)
			drop_frames(&row, i - 1, 1);
	return row;
}

struct naive_rows naive_rows__make(const struct dcm_batch *b, enum frames_group group,
				   const struct naive_rule *rules, uint32_t n_rules)
{
	struct naive_rows rows = { .v = calloc(b->n_rows + 1, sizeof(rows.v[0])) };

	if (!rows.v)
		abort();
	for (uint32_t i = 0; i < b->n_profiles; i++)
		for (uint32_t r = 0; r < b->profiles[i].n_rows; r++) {
			const struct dcm_profile *p = &b->profiles[i];
			struct naive_row row = make_row(b, b->row_stacks[p->row_off + r], group,
							rules, n_rules);

			for (uint32_t k = 0; k < p->n_types && k < 2; k++)
				row.values[k] = b->values[p->value_off + (uint64_t)r * p->n_types + k];
			rows.v[rows.n++] = row;
		}
	return rows;
}

void naive_rows__free(struct naive_rows *rows)
{
	for (uint32_t i = 0; i < rows->n; i++) {
		drop_frames(&rows->v[i], 0, rows->v[i].n);
		free(rows->v[i].frames);
	}
	free(rows->v);
}

struct dcm_batch *naive_rows__answer(uint64_t seed, unsigned random_flags, uint32_t n_profiles,
				     uint32_t n_types)
{
	CLEANUP(builder__freep) struct dcm_builder *source = builder__new(0);
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *all = NULL;
	struct dcm_batch *answer = NULL;
	struct random r = { seed };
	struct dcm_type types[2];

	random_batch__fill(source, seed, random_flags, RANDOM_BASE_NS);
	if (builder__seal(source, &all, NULL) < 0)
		abort();
	CLEANUP(copier__freep) struct copier *c = copier__new(all, b);
	for (uint32_t k = 0; k < n_types; k++)
		types[k] = (struct dcm_type){ .name = builder__string(b, STR("process_cpu")),
					      .sample_type = builder__string(b, STR("cpu")),
					      .sample_unit = builder__string(b, STR("nanoseconds")),
					      .period_type = builder__string(b, k ? STR("b") : STR("a")) };
	for (uint32_t i = 0; i < n_profiles; i++) {
		char pod[16];
		snprintf(pod, sizeof(pod), "p%u", i);
		struct dcm_pair pair = { builder__string(b, STR("pod")),
					 builder__string(b, str__of(pod)) };
		struct dcm_profile head = { .series = builder__series(b, &pair, 1), .duration_ns = 1 };

		builder__profile(b, &head, types, n_types);
		for (uint32_t s = 0; s < all->n_stacks; s++) {
			int64_t values[2] = { (int64_t)random__below(&r, 1000),
					      (int64_t)random__below(&r, 1000) };

			if (random__below(&r, 4))
				builder__row(b, copier__stack(c, s), 0, values);
		}
	}
	if (builder__seal(b, &answer, NULL) < 0)
		abort();
	return answer;
}
