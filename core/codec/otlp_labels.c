/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_labels.c - attributes of OTLP become labels of series and samples
 *
 * Each name once, in a series and in a label set: one that comes again, because two keys become one name or the caller gave it,
 * gets a number behind it. There are at most LABELS_MAX names in either, so that this looks at few.
 */
#include "core/codec/otlp_input.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

enum { NAME_MAX_BYTES = OTLP_MAX_KEY + 64 };

/* What Decima's own inputs call otherwise. */
static const struct {
	const char *key, *name;
} known[] = {
	{ "k8s.pod.name", "pod" },
	{ "k8s.namespace.name", "namespace" },
	{ "k8s.container.name", "container" },
	{ "container.name", "container" },
	{ "k8s.node.name", "node" },
	{ "service.instance.id", "instance" },
	{ "process.pid", "pid" },
	{ "thread.id", "tid" },
	{ "process.executable.name", "comm" },
	{ "process.executable.path", "exe" },
	{ "cpu.logical_number", "cpu" },
};

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The label's name in `to`; "" for a key that is nothing but what a name may not begin with. */
static struct dcm_str name_of(const char *prefix, struct dcm_str key, char to[static NAME_MAX_BYTES])
{
	uint32_t n = (uint32_t)strlen(prefix);

	for (size_t i = 0; n == 0 && i < sizeof(known) / sizeof(known[0]); i++)
		if (str__eq(key, str__of(known[i].key)))
			return str__of(known[i].name);
	memcpy(to, prefix, n);
	/* Names with two of them before are Decima's own affair. */
	while (n == 0 && key.n > 0 && !is_name_char(key.p[0]))
		key = (struct dcm_str){ key.p + 1, key.n - 1 };
	while (n == 0 && key.n > 1 && key.p[0] == '_' && !(is_name_char(key.p[1]) && key.p[1] != '_'))
		key = (struct dcm_str){ key.p + 1, key.n - 1 };
	if (n == 0 && key.n && key.p[0] >= '0' && key.p[0] <= '9')
		to[n++] = '_';
	for (uint32_t i = 0; i < key.n; i++)
		to[n++] = is_name_char(key.p[i]) ? key.p[i] : '_';
	return (struct dcm_str){ to, n };
}

/* ---- series ---- */

static const struct otlp_pair *find_pair(const struct otlp_input *in, struct dcm_str name)
{
	for (size_t i = 0; i < in->labels.n; i++)
		if (str__eq(in->labels.v[i].text.name, name))
			return &in->labels.v[i];
	return NULL;
}

static int put_pair(struct otlp_input *in, struct dcm_str name, uint32_t value, struct dcm_str text)
{
	struct otlp_pair pair = { .ids = { builder__string(in->b, name), value },
				  .text = { arena__str(&in->arena, name), text } };

	if (in->labels.n == LABELS_MAX)
		return otlp_input__excess(in, "more than %d attributes of resource, scope and profile",
					  LABELS_MAX);
	return pair.text.name.p && vec__push(&in->labels, pair) ? 0 : error__nomem(in->err);
}

static int put(struct otlp_input *in, struct dcm_str name, const struct otlp_value *v)
{
	char other[NAME_MAX_BYTES + 16];
	struct dcm_str text = v->text, free_name = name;
	uint32_t value = otlp_values__string(in, v);

	if (name.n == 0 || v->kind == OTLP_NOTHING || (v->kind == OTLP_TEXT && v->text.n == 0))
		return 0;
	if (v->kind == OTLP_NUMBER) {
		char *digits = arena__printf(&in->arena, "%lld", (long long)v->number);
		if (!digits)
			return error__nomem(in->err);
		text = str__of(digits);
	}
	for (unsigned k = 2; find_pair(in, free_name); k++) {
		/* What the caller says of the same, or another layer, needs no second label. */
		if (str__eq(find_pair(in, free_name)->text.value, text))
			return 0;
		int n = snprintf(other, sizeof(other), "%.*s_%u", STR_ARG(name), k);
		free_name = (struct dcm_str){ other, (uint32_t)n };
	}
	return put_pair(in, free_name, value, text);
}

/* process.pid of a resource: a process would be a series. */
static int share(struct otlp_input *in, struct dcm_str name, const struct otlp_value *v)
{
	struct dcm_label label = { .name = builder__string(in->b, name), .unit = DCM_NONE };

	if (v->kind == OTLP_NUMBER) {
		label.num = v->number;
		label.unit = 0;
	} else {
		label.str = otlp_values__string(in, v);
	}
	for (size_t i = 0; i < in->shared.n; i++)
		if (in->shared.v[i].name == label.name)
			return 0;
	return vec__push(&in->shared, label) ? 0 : error__nomem(in->err);
}

int otlp_labels__key_value(struct otlp_input *in, const char *prefix, const struct pb_field *f)
{
	char to[NAME_MAX_BYTES];
	struct otlp_value value;
	struct dcm_str key;
	int e = otlp_values__key_value(in, f, &key, &value);

	if (e < 0)
		return e;
	struct dcm_str name = name_of(prefix, key, to);
	if (str__eq(name, STR("pid")))
		return share(in, name, &value);
	return put(in, name, &value);
}

int otlp_labels__attribute(struct otlp_input *in, uint64_t index)
{
	char to[NAME_MAX_BYTES];
	struct otlp_attribute *a;
	int e = otlp_values__attribute(in, index, &a);

	return e == 0 ? put(in, name_of("", a->key, to), &a->value) : e;
}

int otlp_labels__text(struct otlp_input *in, const char *name, struct dcm_str text)
{
	const struct otlp_value value = { .kind = OTLP_TEXT, .text = text, .string = DCM_NONE };

	return put(in, str__of(name), &value);
}

int otlp_labels__callers(struct otlp_input *in)
{
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < in->o->n_labels; i++) {
		const struct dcm_label_text *l = &in->o->labels[i];
		if (l->value.n)
			e = put_pair(in, l->name, builder__string(in->b, l->value), l->value);
	}
	return e;
}

/* What a series lacks, from the first that it has of some others. */
static int fall_back(struct otlp_input *in, const char *name, const char *const *others)
{
	if (find_pair(in, str__of(name)))
		return 0;
	for (; *others; others++) {
		const struct otlp_pair *other = find_pair(in, str__of(*others));
		if (other)
			return put_pair(in, str__of(name), other->ids.value, other->text.value);
	}
	return 0;
}

int otlp_labels__series(struct otlp_input *in, uint32_t *ret)
{
	static const char *const services[] = { "container", "comm", "container_id", NULL };
	static const char *const nodes[] = { "host_name", NULL };
	struct dcm_pair pairs[LABELS_MAX];
	int e = fall_back(in, "service_name", services);
	if (e == 0)
		e = fall_back(in, "node", nodes);
	if (e < 0)
		return e;
	for (size_t i = 0; i < in->labels.n; i++)
		pairs[i] = in->labels.v[i].ids;
	*ret = builder__series(in->b, pairs, (uint32_t)in->labels.n);
	return 0;
}

/* ---- samples ---- */

/* The attribute as a label, whose name is the builder's. */
static int make_label(struct otlp_input *in, struct otlp_attribute *a)
{
	char to[NAME_MAX_BYTES];
	struct dcm_str name = name_of("", a->key, to);

	if (name.n == 0)
		return 0;
	a->label.name = builder__string(in->b, name);
	if (a->value.kind == OTLP_NUMBER) {
		a->label.num = a->value.number;
	} else {
		a->label.str = otlp_values__string(in, &a->value);
		a->label.unit = DCM_NONE;
	}
	return 0;
}

struct set {
	uint32_t n;
	struct dcm_label v[LABELS_MAX];
};

static bool has_name(const struct otlp_input *in, uint32_t name)
{
	for (size_t i = 0; i < in->labels.n; i++)
		if (in->labels.v[i].ids.name == name)
			return true;
	return false;
}

static const struct dcm_label *find_label(const struct set *s, uint32_t name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i].name == name)
			return &s->v[i];
	return NULL;
}

/* `text` is the name as it was asked for. */
static int put_label(struct otlp_input *in, struct set *s, struct dcm_label label, struct dcm_str text)
{
	char other[NAME_MAX_BYTES + 32];
	const char *prefix = "";
	const struct dcm_label *same;

	if (label.name == 0 || (label.unit == DCM_NONE && label.str == 0))
		return 0;
	if (s->n == LABELS_MAX)
		return otlp_input__excess(in, "a sample has more than %d labels", LABELS_MAX);
	if (has_name(in, label.name)) {
		prefix = "exported_";
		int n = snprintf(other, sizeof(other), "%s%.*s", prefix, STR_ARG(text));
		label.name = builder__string(in->b, (struct dcm_str){ other, (uint32_t)n });
	}
	for (unsigned k = 2; (same = find_label(s, label.name)) && builder__error(in->b) == 0; k++) {
		if (same->str == label.str && same->num == label.num && same->unit == label.unit)
			return 0;
		int n = snprintf(other, sizeof(other), "%s%.*s_%u", prefix, STR_ARG(text), k);
		label.name = builder__string(in->b, (struct dcm_str){ other, (uint32_t)n });
	}
	s->v[s->n++] = label;
	return 0;
}

static int put_attribute(struct otlp_input *in, struct set *s, uint32_t index)
{
	char to[NAME_MAX_BYTES];
	struct otlp_attribute *a;
	int e = otlp_values__attribute(in, index, &a);

	if (e == 0 && a->label.name == 0 && a->value.kind != OTLP_NOTHING)
		e = make_label(in, a);
	return e == 0 ? put_label(in, s, a->label, name_of("", a->key, to)) : e;
}

int otlp_labels__set(struct otlp_input *in, const struct otlp_labels *labels, uint32_t *ret)
{
	struct set s;
	struct otlp_link *link;
	int e = 0;

	s.n = 0; /* and not all of its room */
	for (uint32_t i = 0; e == 0 && i < labels->n; i++)
		e = put_attribute(in, &s, labels->attributes[i]);
	if (e == 0 && labels->link != DCM_NONE) {
		e = otlp_tables__link(in, labels->link, &link);
		if (e == 0)
			e = put_label(in, &s, link->trace, STR("trace_id"));
		if (e == 0)
			e = put_label(in, &s, link->span, STR("span_id"));
	}
	/* What the sample says itself is nearer to it. */
	for (size_t i = 0; e == 0 && i < in->shared.n; i++)
		if (!has_name(in, in->shared.v[i].name) && !find_label(&s, in->shared.v[i].name) &&
		    s.n < LABELS_MAX)
			s.v[s.n++] = in->shared.v[i];
	if (e == 0)
		*ret = builder__label_set(in->b, s.v, s.n);
	return e;
}
