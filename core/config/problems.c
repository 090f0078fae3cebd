/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/problems.c - everything that is wrong with a configuration, each with its place
 *
 * Sentences are formatted through struct dcm_error, which cuts them at 1 KiB and takes control
 * characters of the input out.
 */
#include "core/config/problems.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

void problems__fini(struct problems *p)
{
	arena__fini(&p->arena);
	*p = (struct problems){ 0 };
}

int problems__nomem(struct problems *p)
{
	p->no_memory = true;
	return -ENOMEM;
}

/* The file's name in the list's own arena; the last problem's, which is the same file as a rule. */
static const char *own_file(struct problems *p, const char *file)
{
	if (!file)
		return NULL;
	if (p->n > 0 && p->v[p->n - 1].at.file && strcmp(p->v[p->n - 1].at.file, file) == 0)
		return p->v[p->n - 1].at.file;

	const char *own = arena__str(&p->arena, str__of(file)).p;
	if (!own)
		problems__nomem(p);
	return own;
}

static bool same_file(const struct place *a, const struct place *b)
{
	return a->file && b->file && strcmp(a->file, b->file) == 0;
}

/* Behind what was found before, but in front of later lines of the same file. */
static void insert(struct problems *p, const struct problem *new)
{
	uint32_t at = p->n++;

	for (; at > 0; at--) {
		const struct place *before = &p->v[at - 1].at;
		if (!same_file(before, &new->at) || before->line < new->at.line ||
		    (before->line == new->at.line && before->column <= new->at.column))
			break;
		p->v[at] = p->v[at - 1];
	}
	p->v[at] = *new;
}

/* The last warning makes way for an error, which nobody may miss. False: there are only errors. */
static bool make_way(struct problems *p)
{
	for (uint32_t i = p->n; i-- > 0;) {
		if (p->v[i].severity == PROBLEM_ERROR)
			continue;
		memmove(&p->v[i], &p->v[i + 1], (p->n - i - 1) * sizeof(*p->v));
		p->n--;
		return true;
	}
	return false;
}

int problems__add(struct problems *p, enum problem_severity severity, const struct place *at,
		  const char *fmt, ...)
{
	int code = severity == PROBLEM_ERROR ? -EINVAL : 0;
	*(severity == PROBLEM_ERROR ? &p->n_errors : &p->n_warnings) += 1;
	if (p->n == PROBLEMS_MAX && (severity != PROBLEM_ERROR || !make_way(p)))
		return code;

	char line[sizeof(((struct dcm_error *)NULL)->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	struct dcm_error clean = DCM_ERROR_INIT;
	error__set(&clean, code, "%s", line);

	struct problem new = { .severity = severity };
	new.at.file = own_file(p, at ? at->file : NULL);
	if (at && new.at.file) {
		new.at.line = at->line;
		new.at.column = at->column;
	}
	new.text = arena__str(&p->arena, str__of(clean.text)).p;
	if (!new.text) {
		problems__nomem(p);
		return code;
	}
	insert(p, &new);
	return code;
}

int problems__code(const struct problems *p)
{
	if (p->no_memory)
		return -ENOMEM;
	return p->n_errors ? -EINVAL : 0;
}

const char *place__text(const struct place *at, char buf[static 300])
{
	if (!at || !at->file)
		buf[0] = '\0';
	else if (at->line == 0)
		snprintf(buf, 300, "%.255s", at->file);
	else
		snprintf(buf, 300, "%.255s:%u:%u", at->file, at->line, at->column);
	return buf;
}

static const char *colon(const char *place)
{
	return place[0] ? ": " : "";
}

int problems__first(const struct problems *p, struct dcm_error *err)
{
	char at[300];

	if (p->no_memory)
		return error__nomem(err);
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->v[i].severity != PROBLEM_ERROR)
			continue;
		place__text(&p->v[i].at, at);
		if (p->n_errors == 1)
			return error__set(err, -EINVAL, "%s%s%s", at, colon(at), p->v[i].text);
		return error__set(err, -EINVAL, "%s%s%s (and %u more)", at, colon(at), p->v[i].text,
				  p->n_errors - 1);
	}
	return 0;
}

void problems__text(const struct problems *p, struct buf *out)
{
	char at[300];

	for (uint32_t i = 0; i < p->n; i++) {
		place__text(&p->v[i].at, at);
		buf__printf(out, "%s%s%s%s\n", at, colon(at),
			    p->v[i].severity == PROBLEM_WARNING ? "warning: " : "", p->v[i].text);
	}
	if (p->n_errors + p->n_warnings > p->n)
		buf__printf(out, "... and %u more\n", p->n_errors + p->n_warnings - p->n);
}

void problems__json(const struct problems *p, struct buf *out)
{
	buf__byte(out, '[');
	for (uint32_t i = 0; i < p->n; i++) {
		const struct problem *problem = &p->v[i];

		buf__printf(out, "%s{\"severity\":\"%s\"", i ? "," : "",
			    problem->severity == PROBLEM_WARNING ? "warning" : "error");
		if (problem->at.file) {
			buf__text(out, ",\"file\":");
			buf__json(out, str__of(problem->at.file));
		}
		if (problem->at.line)
			buf__printf(out, ",\"line\":%u,\"column\":%u", problem->at.line,
				    problem->at.column);
		buf__text(out, ",\"message\":");
		buf__json(out, str__of(problem->text));
		buf__byte(out, '}');
	}
	buf__byte(out, ']');
}
