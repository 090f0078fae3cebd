/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/path.c - where in an object a walk stands
 */
#include "core/config/path.h"

#include <stdio.h>

static size_t add(struct path *p, int n)
{
	size_t mark = p->n;

	p->n += n > 0 ? (size_t)n : 0;
	return mark;
}

/* Where the next part goes; behind the end of the buffer nothing is written. */
static char *end_of(struct path *p, size_t *ret_room)
{
	size_t at = p->n < sizeof(p->text) ? p->n : sizeof(p->text) - 1;

	*ret_room = sizeof(p->text) - at;
	return p->text + at;
}

size_t path__push(struct path *p, const char *key)
{
	size_t room;
	char *to = end_of(p, &room);

	if (!key[0])
		return p->n;
	return add(p, snprintf(to, room, "%s%s", p->n ? "." : "", key));
}

size_t path__push_index(struct path *p, uint32_t i)
{
	size_t room;
	char *to = end_of(p, &room);

	return add(p, snprintf(to, room, "[%u]", i));
}

void path__pop(struct path *p, size_t mark)
{
	p->n = mark;
	if (mark < sizeof(p->text))
		p->text[mark] = '\0';
}

const char *path__text(const struct path *p)
{
	return p->text;
}
