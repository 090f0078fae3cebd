/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/notes.c - what was asked for by a name that nothing has
 *
 * A misspelt label or function is no error: it selects nothing, as in other languages of its kind. But
 * an answer that looks like one of something leaves people alone with it, so it comes with a sentence: a
 * line under a text, and the header Decima-Note in every format.
 */
#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/query/render.h"
#include "core/query/selector.h"

enum { NAME_MAX_CELLS = 80, LABELS_MAX = 32 };

/* One line of ASCII in the header, whatever a name has in it. */
static void put_note(struct http_response *resp, enum api_note_place place, const struct buf *note)
{
	char line[256];
	size_t n = note->n < sizeof(line) - 1 ? note->n : sizeof(line) - 1;

	for (size_t i = 0; i < n; i++)
		line[i] = (char)(note->data[i] < ' ' || note->data[i] > '~' ? '?' : note->data[i]);
	line[n] = '\0';
	http_response__header(resp, API_NOTE, "%s", line);
	if (place == API_NOTE_BELOW) {
		buf__append(&resp->body, note->data, note->n);
		buf__byte(&resp->body, '\n');
	}
}

static void note_name(struct http_response *resp, enum api_note_place place, const char *before,
		      struct dcm_str name, const char *behind)
{
	struct buf note = { 0 };

	buf__text(&note, before);
	buf__text(&note, " \"");
	render__text(name, NAME_MAX_CELLS, &note);
	buf__text(&note, "\"; ");
	buf__text(&note, behind);
	if (!note.error)
		put_note(resp, place, &note);
	buf__fini(&note);
}

void api_note__no_label(struct http_response *resp, enum api_note_place place, struct dcm_str name)
{
	note_name(resp, place, "nothing that is selected has the label", name,
		  "`decima query labels` says which there are");
}

void api_note__no_function(struct http_response *resp, enum api_note_place place, struct dcm_str name)
{
	note_name(resp, place, "no stack that is selected has the function", name,
		  "`decima query top` shows names, which have to be exact");
}

void api_grouped__saw(struct api_grouped *g, const struct question *q, struct dcm_str name,
		      struct dcm_str value)
{
	g->n_groups++;
	for (uint32_t i = 0; value.n > 0 && i < q->n_group_by && i < LABELS_MAX; i++)
		if (str__eq(q->group_by[i], name))
			g->has |= UINT32_C(1) << i;
}

/* Each is NAME=VALUE, with the name as a selector writes it. */
void api_grouped__saw_frames(struct api_grouped *g, const struct question *q, const struct frames *f)
{
	struct buf name = { 0 };

	for (uint32_t k = 0; k < f->n_by; k++) {
		buf__reset(&name);
		selector__put_name(q->group_by[k], &name);
		/* Without memory for a name nothing is said of it. */
		for (uint32_t p = 0; !name.error && p < f->batch->n_profiles; p++) {
			const struct dcm_str text = f->v[f->labels[(size_t)p * f->n_by + k]].name;
			const uint32_t at = (uint32_t)name.n + 1;

			api_grouped__saw(g, q, q->group_by[k],
					 (struct dcm_str){ text.p + at, text.n - at });
		}
	}
	buf__fini(&name);
}

void api_grouped__note(const struct api_grouped *g, const struct question *q,
		       struct http_response *resp, enum api_note_place place)
{
	for (uint32_t i = 0; g->n_groups && i < q->n_group_by && i < LABELS_MAX; i++)
		if (!(g->has >> i & 1)) {
			api_note__no_label(resp, place, q->group_by[i]);
			return;
		}
}
