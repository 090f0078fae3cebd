/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/legacy_name.c - names of labels for servers that know none but [a-zA-Z_][a-zA-Z0-9_]*
 */
#include "plugins/output/delivery/legacy_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

#define ENCODED STR("U__")

/* ---- one name ---- */

static bool fits(char c, uint32_t at)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (at > 0 && c >= '0' && c <= '9');
}

/* With a dot as '_'. */
static char folded(char c)
{
	return c == '.' ? '_' : c;
}

static bool is_legacy(struct dcm_str name)
{
	for (uint32_t i = 0; i < name.n; i++)
		if (!fits(name.p[i], i))
			return false;
	return name.n > 0 && !str__starts(name, ENCODED);
}

static bool same_but_for_dots(struct dcm_str a, struct dcm_str b)
{
	uint32_t i = 0;

	while (a.n == b.n && i < a.n && folded(a.p[i]) == folded(b.p[i]))
		i++;
	return a.n == b.n && i == a.n;
}

static void put_encoded(struct buf *out, struct dcm_str name)
{
	buf__str(out, ENCODED);
	for (uint32_t i = 0; i < name.n;) {
		unsigned n = str__utf8_len(name.p + i, name.n - i);

		if (name.p[i] == '_')
			buf__text(out, "__");
		else if (fits(name.p[i], i))
			buf__byte(out, (uint8_t)name.p[i]);
		else
			buf__printf(out, "_%x_", n ? str__utf8_char(name.p + i, n) : 0xfffdu);
		i += n ? n : 1;
	}
}

/* is_alone: no other label beside it is called the same but for dots. */
static void put(struct buf *out, struct dcm_str name, bool is_alone)
{
	const uint32_t before = (uint32_t)out->n;
	struct dcm_str text;

	if (is_legacy(name)) {
		buf__str(out, name);
		return;
	}
	for (uint32_t i = 0; i < name.n; i++)
		buf__byte(out, (uint8_t)folded(name.p[i]));
	text = buf__view(out);
	text = (struct dcm_str){ text.p + before, text.n - before };
	/* Neither of those that are encoded, nor of those that are nobody's labels. */
	if (out->error || (is_alone && is_legacy(text) && !str__starts(text, STR("__"))))
		return;
	out->n = before;
	put_encoded(out, name);
}

/* ---- of a series ---- */

void legacy_name__put_pair(struct buf *out, const struct dcm_batch *b, struct dcm_span series, uint32_t i)
{
	const struct dcm_pair *pairs = &b->pairs[series.off];
	const struct dcm_str name = b->strings[pairs[i].name];
	bool is_alone = true;

	for (uint32_t k = 0; k < series.n && !is_legacy(name); k++)
		is_alone &= k == i || !same_but_for_dots(b->strings[pairs[k].name], name);
	put(out, name, is_alone);
}

/* ---- of samples ---- */

static bool is_alone_in(const struct dcm_batch *b, struct dcm_span set, uint32_t i)
{
	const struct dcm_label *labels = &b->labels[set.off];
	const struct dcm_str name = b->strings[labels[i].name];

	for (uint32_t k = 0; k < set.n; k++)
		if (k != i && same_but_for_dots(b->strings[labels[k].name], name))
			return false;
	return true;
}

/* The id of the name's string, among those of the view; 0: no memory. made: by the name, and whether it is alone. */
static uint32_t rename_to(struct legacy_labels *l, uint32_t name, bool is_alone, uint32_t (*made)[2])
{
	struct buf text = { 0 };
	struct dcm_str kept;

	if (made[name][is_alone])
		return made[name][is_alone];
	put(&text, l->view.strings[name], is_alone);
	kept = text.error ? STR("") : arena__str(&l->text, buf__view(&text));
	buf__fini(&text);
	if (!kept.p || !kept.n || !vec__push(&l->strings, kept))
		return 0;
	return made[name][is_alone] = (uint32_t)l->strings.n - 1;
}

static int rename_set(struct legacy_labels *l, struct dcm_span set, uint32_t (*made)[2])
{
	const struct dcm_batch *b = l->of;

	for (uint32_t i = 0; i < set.n; i++) {
		uint32_t *name = &l->labels[set.off + i].name;

		if (is_legacy(b->strings[*name]))
			continue;
		*name = rename_to(l, *name, is_alone_in(b, set, i), made);
		if (!*name)
			return -ENOMEM;
	}
	return 0;
}

static int make_view(struct legacy_labels *l)
{
	const struct dcm_batch *b = l->of;
	uint32_t(*made)[2] = mem__zalloc(b->n_strings, sizeof(*made));
	int r = made && vec__reserve(&l->strings, b->n_strings) ? 0 : -ENOMEM;

	l->labels = r == 0 ? mem__dup(b->labels, b->n_labels * sizeof(*b->labels)) : NULL;
	if (!l->labels)
		r = -ENOMEM;
	if (r == 0) {
		memcpy(l->strings.v, b->strings, b->n_strings * sizeof(*b->strings));
		l->strings.n = b->n_strings;
	}
	for (uint32_t i = 0; r == 0 && i < b->n_label_sets; i++)
		r = rename_set(l, b->label_sets[i], made);
	free(made);
	l->view.strings = l->strings.v;
	l->view.n_strings = (uint32_t)l->strings.n;
	l->view.labels = l->labels;
	return r;
}

int legacy_labels__of(struct legacy_labels *l, const struct dcm_batch *b, const struct dcm_batch **ret)
{
	bool all = true;
	int r;

	if (l->of != b) {
		legacy_labels__fini(l);
		for (uint32_t i = 0; i < b->n_labels && all; i++)
			all = is_legacy(b->strings[b->labels[i].name]);
		l->of = b;
		l->view = *b;
		r = all ? 0 : make_view(l);
		if (r < 0) {
			legacy_labels__fini(l);
			return r;
		}
	}
	*ret = l->labels ? &l->view : b;
	return 0;
}

void legacy_labels__fini(struct legacy_labels *l)
{
	vec__fini(&l->strings);
	free(l->labels);
	arena__fini(&l->text);
	*l = (struct legacy_labels){ 0 };
}
