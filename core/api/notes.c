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

void api_grouped__saw_frame(struct api_grouped *g, const struct question *q, struct dcm_str text)
{
	for (uint32_t i = 0; i < q->n_group_by; i++) {
		struct dcm_str name = q->group_by[i];

		if (str__starts(text, name) && text.n > name.n && text.p[name.n] == '=')
			api_grouped__saw(g, q, name,
					 (struct dcm_str){ text.p + name.n + 1, text.n - name.n - 1 });
	}
}

void api_grouped__saw_frames(struct api_grouped *g, const struct question *q, const struct frames *f)
{
	for (uint64_t i = 0; i < (uint64_t)f->batch->n_profiles * f->n_by; i++)
		api_grouped__saw_frame(g, q, f->v[f->labels[i]].name);
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
