/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_doc.c - an object of a Kubernetes cluster: what labels are made of, in few bytes
 *
 * Values stand in preorder, and one with others inside says how many there are, so that whoever does
 * not look for them steps over. Two objects are the same when their bytes are, because texts are.
 */
#include "plugins/input/pprof_scrape/kube_doc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/json_str.h"

/* ---- making one ---- */

struct packing {
	struct texts *texts;
	VEC(struct kube_value) v;
	bool is_out_of_memory;
};

static bool is_kept(const struct kube_mask *mask, const char *name, const struct kube_mask **ret_inner)
{
	*ret_inner = NULL;
	for (; mask && mask->name; mask++)
		if (strcmp(mask->name, name) == 0) {
			*ret_inner = mask->inner;
			return true;
		}
	return !mask;
}

static struct text *hold(struct packing *p, struct dcm_str s)
{
	struct text *x = texts__hold(p->texts, s);

	p->is_out_of_memory |= !x;
	return x;
}

static struct text *text_of(struct packing *p, const json_t *value)
{
	char number[24];

	if (json_is_string(value))
		return hold(p, json_str__of(value));
	if (json_is_boolean(value))
		return hold(p, json_is_true(value) ? STR("true") : STR("false"));
	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return hold(p, str__of(number));
}

static void add(struct packing *p, const char *name, json_t *value, const struct kube_mask *mask);

static void add_inner(struct packing *p, json_t *of, const struct kube_mask *mask)
{
	const struct kube_mask *inner;
	const char *name;
	json_t *value;
	size_t i;

	json_array_foreach(of, i, value) add(p, NULL, value, mask);
	json_object_foreach(of, name, value) if (is_kept(mask, name, &inner)) add(p, name, value, inner);
}

/* Nothing is made of null, and of a number with a fraction neither. */
static void add(struct packing *p, const char *name, json_t *value, const struct kube_mask *mask)
{
	bool is_nested = json_is_object(value) || json_is_array(value);
	struct kube_value new = { 0 };
	size_t at = p->v.n;

	if (p->is_out_of_memory || json_is_null(value) || json_is_real(value))
		return;
	new.name = name ? hold(p, str__of(name)) : NULL;
	new.what = is_nested ? 1 : (uintptr_t)text_of(p, value);
	if (!vec__push(&p->v, new)) {
		texts__release(p->texts, new.name);
		texts__release(p->texts, is_nested ? NULL : (struct text *)new.what);
		p->is_out_of_memory = true;
	} else if (is_nested) {
		add_inner(p, value, mask);
		p->v.v[at].what = (uintptr_t)(p->v.n - at - 1) << 1 | 1;
	}
}

static void release(struct texts *texts, const struct kube_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		texts__release(texts, v[i].name);
		if (!(v[i].what & 1))
			texts__release(texts, (struct text *)v[i].what);
	}
}

struct kube_doc *kube_doc__new(struct texts *texts, json_t *object, const struct kube_mask *mask)
{
	struct packing p = { .texts = texts };
	const size_t before = texts->n_bytes;
	struct kube_doc *d = NULL;
	size_t n_bytes;

	add(&p, NULL, object, mask);
	n_bytes = sizeof(*d) + p.v.n * sizeof(*d->v);
	if (!p.is_out_of_memory && p.v.n)
		d = malloc(n_bytes);
	if (d) {
		*d = (struct kube_doc){ .texts = texts, .n = (uint32_t)p.v.n };
		d->n_bytes = n_bytes + texts->n_bytes - before;
		memcpy(d->v, p.v.v, p.v.n * sizeof(*d->v));
	} else {
		release(texts, p.v.v, p.v.n);
	}
	vec__fini(&p.v);
	return d;
}

void kube_doc__free(struct kube_doc *d)
{
	if (!d)
		return;
	release(d->texts, d->v, d->n);
	free(d);
}

bool kube_doc__are_same(const struct kube_doc *a, const struct kube_doc *b)
{
	return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0;
}

/* ---- looking at one ---- */

/* Of all values inside. */
static size_t n_inside(const struct kube_value *v)
{
	return v && v->what & 1 ? v->what >> 1 : 0;
}

const struct kube_value *kube_value__first(const struct kube_value *of)
{
	return n_inside(of) ? of + 1 : NULL;
}

const struct kube_value *kube_value__next(const struct kube_value *of, const struct kube_value *at)
{
	const struct kube_value *next = at + 1 + n_inside(at);

	return next <= of + n_inside(of) ? next : NULL;
}

const struct kube_value *kube_value__get(const struct kube_value *of, const char *name)
{
	kube_each (v, of) {
		if (v->name && strcmp(v->name->p, name) == 0)
			return v;
	}
	return NULL;
}

struct dcm_str kube_value__text(const struct kube_value *v)
{
	return v && !(v->what & 1) ? text__str((const struct text *)v->what) : (struct dcm_str){ 0 };
}
