/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/filter.c - rules, their verdicts over a table of frames, and the paths that are left
 *
 * A pattern runs once a text and rule: verdicts about functions, files and binaries are remembered
 * by string id; only lines, addresses and kinds are judged slot by slot.
 */
#include "core/query/filter.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/regex.h"
#include "core/config/suggest.h"

struct rule {
	enum filter_kind kind;
	enum filter_field field;
	bool equal;
	char *text; /* of an equal rule, [n] */
	uint32_t n;
	struct dcm_regex *regex; /* of the others */
};

struct filter {
	struct rule rules[FILTER_MAX_RULES];
	uint32_t n;
};

static const char *const field_names[FILTER_N_FIELDS] = {
	[FILTER_FUNCTION] = "fn", [FILTER_FILE] = "file",    [FILTER_BINARY] = "bin",
	[FILTER_LINE] = "line",	  [FILTER_ADDRESS] = "addr", [FILTER_FRAME_KIND] = "kind",
};

struct filter *filter__new(void)
{
	return NEW(struct filter);
}

void filter__free(struct filter *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n; i++) {
		regex__free(f->rules[i].regex);
		free(f->rules[i].text);
	}
	free(f);
}

bool filter__is_empty(const struct filter *f)
{
	return !f || f->n == 0;
}

uint64_t filter__n_undecided(const struct filter *f)
{
	uint64_t n = 0;

	for (uint32_t i = 0; f && i < f->n; i++)
		if (f->rules[i].regex)
			n += regex__n_failed(f->rules[i].regex);
	return n;
}

int filter__add(struct filter *f, enum filter_kind kind, enum filter_field field, bool equal,
		struct dcm_str pattern, struct dcm_error *err)
{
	struct rule rule = { .kind = kind, .field = field, .equal = equal, .n = pattern.n };

	if (f->n == FILTER_MAX_RULES)
		return error__set(err, -E2BIG, "more than %u filters", FILTER_MAX_RULES);
	if (equal) {
		rule.text = mem__dup_str(pattern.p ? pattern.p : "", pattern.n);
		if (!rule.text)
			return error__nomem(err);
	} else {
		int r = regex__new(pattern, REGEX_SEARCH, &rule.regex, err);
		if (r < 0)
			return r;
	}
	f->rules[f->n++] = rule;
	return 0;
}

/* "bni:~libc": "bni" was meant to be a field. "std::~x" is a function's name. */
static int refuse_field(struct dcm_str text, struct dcm_error *err)
{
	struct suggest nearest;
	struct dcm_str word = { text.p, 0 };
	char hint[128];

	while (word.n < text.n && (isalnum((unsigned char)text.p[word.n]) || text.p[word.n] == '_'))
		word.n++;
	if (word.n == 0 || text.n < word.n + 2 || text.p[word.n] != ':' ||
	    (text.p[word.n + 1] != '=' && text.p[word.n + 1] != '~'))
		return 0;
	nearest = suggest__begin(word);
	for (unsigned i = 0; i < FILTER_N_FIELDS; i++)
		suggest__offer(&nearest, field_names[i]);
	return error__set(err, -EINVAL, "\"%.*s\" is no field of a frame%s; the fields are fn, file, bin, line, addr and kind",
			  STR_ARG(word), suggest__text(&nearest, hint));
}

int filter__add_text(struct filter *f, enum filter_kind kind, struct dcm_str text, struct dcm_error *err)
{
	int r;

	for (unsigned i = 0; i < FILTER_N_FIELDS; i++) {
		uint32_t n = (uint32_t)strlen(field_names[i]);

		/* "fn:=main", "bin:~^libc" */
		if (text.n < n + 2 || memcmp(text.p, field_names[i], n) != 0 || text.p[n] != ':' ||
		    (text.p[n + 1] != '=' && text.p[n + 1] != '~'))
			continue;
		return filter__add(f, kind, (enum filter_field)i, text.p[n + 1] == '=',
				   (struct dcm_str){ text.p + n + 2, text.n - n - 2 }, err);
	}
	r = refuse_field(text, err);
	return r < 0 ? r : filter__add(f, kind, FILTER_FUNCTION, false, text, err);
}

/* -------------------------------------------------------------------------------------------------
 * Verdicts
 */

static bool rule_accepts(const struct rule *r, struct dcm_str text)
{
	return r->equal ? str__eq(text, (struct dcm_str){ r->text, r->n })
			: regex__matches(r->regex, text);
}

/* Bits of the rules that accept a string in a field; the highest bit says that they were asked. */
struct judge {
	const struct filter *filter;
	const struct dcm_batch *batch;
	uint64_t *strings[FILTER_BINARY + 1]; /* by field: [n_strings] */
};
#define JUDGED ((uint64_t)1 << 63)

static uint32_t judge_text(const struct filter *f, enum filter_field field, struct dcm_str text)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < f->n; i++)
		if (f->rules[i].field == field && rule_accepts(&f->rules[i], text))
			bits |= 1u << i;
	return bits;
}

static uint32_t judge_string(struct judge *j, enum filter_field field, uint32_t string)
{
	uint64_t *memo = &j->strings[field][string];

	if (!*memo) {
		struct dcm_str text = j->batch->strings[string];

		*memo = JUDGED | judge_text(j->filter, field,
					    field == FILTER_BINARY ? frames__base_name(text) : text);
	}
	return (uint32_t)*memo;
}

/* The name of an unnamed frame is in no table of strings; a function's two names both count. */
static uint32_t judge_function(struct judge *j, const struct frames *frames, const struct frame_slot *s)
{
	uint32_t fn = s->line == DCM_NONE ? DCM_NONE : j->batch->lines[s->line].function;

	if (fn == DCM_NONE || j->batch->strings[j->batch->functions[fn].name].n == 0) {
		/*
		 * Grouped by binary or file the frame's name is another one, and then nothing is
		 * known here.
		 */
		if (frames__group_is_coarse(frames->group) && frames->v[s->frame].kind != DCM_FRAME_NOTE)
			return judge_text(j->filter, FILTER_FUNCTION, STR(""));
		return judge_text(j->filter, FILTER_FUNCTION, frames->v[s->frame].name);
	}
	uint32_t bits = judge_string(j, FILTER_FUNCTION, j->batch->functions[fn].name);
	if (j->batch->strings[j->batch->functions[fn].system_name].n)
		bits |= judge_string(j, FILTER_FUNCTION, j->batch->functions[fn].system_name);
	return bits;
}

static uint32_t judge_slot(struct judge *j, const struct frames *frames, const struct frame_slot *s,
			   uint32_t fields)
{
	const struct dcm_batch *b = j->batch;
	const struct dcm_location *l = &b->locations[s->location];
	uint32_t fn = s->line == DCM_NONE ? DCM_NONE : b->lines[s->line].function;
	uint32_t bits = 0;
	char text[32];
	int n;

	if (fields & 1u << FILTER_FUNCTION)
		bits |= judge_function(j, frames, s);
	if (fields & 1u << FILTER_FILE)
		bits |= judge_string(j, FILTER_FILE, fn == DCM_NONE ? 0 : b->functions[fn].file);
	if (fields & 1u << FILTER_BINARY)
		bits |= judge_string(j, FILTER_BINARY,
				     l->mapping == DCM_NONE ? 0 : b->mappings[l->mapping].file);
	if (fields & 1u << FILTER_LINE) {
		n = snprintf(text, sizeof(text), "%" PRId64,
			     s->line == DCM_NONE ? 0 : b->lines[s->line].line);
		bits |= judge_text(j->filter, FILTER_LINE, (struct dcm_str){ text, (uint32_t)n });
	}
	if (fields & 1u << FILTER_ADDRESS) {
		n = snprintf(text, sizeof(text), "0x%" PRIx64, l->address);
		bits |= judge_text(j->filter, FILTER_ADDRESS, (struct dcm_str){ text, (uint32_t)n });
	}
	if (fields & 1u << FILTER_FRAME_KIND)
		bits |= judge_text(j->filter, FILTER_FRAME_KIND, str__of(frames__kind_name(l->kind)));
	return bits;
}

static void judge__fini(struct judge *j)
{
	for (unsigned i = 0; i <= FILTER_BINARY; i++)
		free(j->strings[i]);
}

static int judge__init(struct judge *j, const struct filter *f, const struct dcm_batch *b, uint32_t fields)
{
	*j = (struct judge){ .filter = f, .batch = b };
	for (unsigned i = 0; i <= FILTER_BINARY; i++) {
		if (!(fields & 1u << i))
			continue;
		j->strings[i] = mem__zalloc(b->n_strings, sizeof(uint64_t));
		if (!j->strings[i]) {
			judge__fini(j);
			return -ENOMEM;
		}
	}
	return 0;
}

int filter__mark(const struct filter *f, const struct frames *frames, struct filter_marks *ret,
		 struct dcm_error *err)
{
	struct filter_marks m = { .frames = frames };
	uint32_t fields = 0;
	struct judge j;

	if (filter__is_empty(f)) {
		*ret = m;
		return 0;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t *masks[] = {
			[FILTER_ONLY_STACKS] = &m.only,
			[FILTER_HIDE_STACKS] = &m.hide_stacks,
			[FILTER_FOCUS] = &m.focus,
			[FILTER_HIDE] = &m.hide,
		};

		*masks[f->rules[i].kind] |= 1u << i;
		fields |= 1u << f->rules[i].field;
	}
	m.slots = mem__zalloc(frames->n_slots, sizeof(*m.slots));
	if (!m.slots || judge__init(&j, f, frames->batch, fields) < 0) {
		free(m.slots);
		return error__nomem(err);
	}
	for (uint32_t i = 0; i < frames->n_slots; i++)
		m.slots[i] = judge_slot(&j, frames, &frames->slots[i], fields);
	judge__fini(&j);
	*ret = m;
	return 0;
}

void filter_marks__fini(struct filter_marks *m)
{
	free(m->slots);
	*m = (struct filter_marks){ 0 };
}

/* -------------------------------------------------------------------------------------------------
 * Paths
 */

void filter_path__fini(struct filter_path *p)
{
	vec__fini(p);
}

/* The whole stack, outermost first; ret_bits: of all its slots. */
static int unfold(const struct filter_marks *m, uint32_t stack, struct filter_path *path, uint32_t *ret_bits)
{
	const struct dcm_batch *b = m->frames->batch;
	struct dcm_span span = b->stacks[stack];
	uint32_t bits = 0;

	path->n = 0;
	for (uint32_t i = span.n; i > 0; i--) {
		struct dcm_span slots = m->frames->locations[b->stack_locations[span.off + i - 1]];

		if (!vec__reserve(path, slots.n))
			return -ENOMEM;
		for (uint32_t k = slots.n; k > 0; k--) {
			uint32_t slot = slots.off + k - 1;

			path->v[path->n++] = slot;
			if (m->slots)
				bits |= m->slots[slot];
		}
	}
	*ret_bits = bits;
	return 0;
}

int filter__path(const struct filter_marks *m, uint32_t stack, struct filter_path *path)
{
	uint32_t bits;
	size_t from = 0, n = 0;

	if (unfold(m, stack, path, &bits) < 0)
		return -ENOMEM;
	if (!m->slots)
		return 1;
	if ((bits & m->only) != m->only || (bits & m->hide_stacks))
		return 0;
	for (uint32_t left = m->focus; left; left &= left - 1) {
		uint32_t rule = left & -left;

		while (from < path->n && !(m->slots[path->v[from]] & rule))
			from++;
		if (from == path->n)
			return 0;
	}
	for (size_t i = from; i < path->n; i++)
		if (!(m->slots[path->v[i]] & m->hide))
			path->v[n++] = path->v[i];
	path->n = n;
	return 1;
}
