/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/path.c - where in an object a walk stands
 */
#include "core/config/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

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

/* What is quoted there, of a list or map: the element that is it, or the member of that key. */
static const struct place *place_of_quoted(const struct node *n, const char *sentence)
{
	const char *begin = sentence + strspn(sentence, ": ");
	const char *end = *begin == '"' ? strchr(begin + 1, '"') : NULL;

	if (!end)
		return NULL;
	struct dcm_str quoted = { begin + 1, (uint32_t)(end - begin - 1) };
	const struct member *m = tree__member(n, quoted);
	for (uint32_t i = 0; n->kind == NODE_LIST && i < n->n; i++)
		if (n->items[i]->kind == NODE_SCALAR && str__eq(n->items[i]->text, quoted))
			return &n->items[i]->at;
	return m ? &m->at : NULL;
}

/* The node below n that the path at *at leads to ("key", ".key", "[1]"), or n where it ends. */
static const struct node *follow_path(const struct node *n, const char **at)
{
	for (;;) {
		const char *key = *at + (**at == '.');
		size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");
		const struct member *m = tree__member(n, (struct dcm_str){ key, (uint32_t)length });
		char *end = NULL;

		/* Its end is a separator too. */
		if (m && strchr(" :.[,;", key[length])) {
			n = m->value;
			*at = key + length;
		} else if (**at == '[' && n->kind == NODE_LIST) {
			unsigned long i = strtoul(*at + 1, &end, 10);

			if (i >= n->n || *end != ']')
				return n;
			n = n->items[i];
			*at = end + 1;
		} else {
			return n;
		}
		if (**at != '.' && **at != '[')
			return n;
	}
}

const struct place *path__place(const struct node *n, const char *sentence)
{
	const char *rest = sentence;
	const struct node *to = n ? follow_path(n, &rest) : NULL;
	const struct place *quoted = to && to != n ? place_of_quoted(to, rest) : NULL;

	if (quoted)
		return quoted;
	return to && to != n && to->at.file ? &to->at : NULL;
}
