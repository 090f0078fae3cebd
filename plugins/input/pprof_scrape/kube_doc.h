/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_doc.h - an object of a Kubernetes cluster: what labels are made of, in few bytes
 *
 * Of the JSON of an object only those members are kept that a mask names, parsed once: 16 bytes each,
 * in the order of the JSON, with texts that all objects share (texts.h). Numbers and booleans are
 * their text. On the loop's thread.
 */
#ifndef DECIMA_PPROF_SCRAPE_KUBE_DOC_H
#define DECIMA_PPROF_SCRAPE_KUBE_DOC_H

#include <jansson.h>
#include <stdbool.h>

#include "plugins/input/pprof_scrape/texts.h"

/* Members that are kept, up to one without a name; each of them whole, or what its own mask names. */
struct kube_mask {
	const char *name;
	const struct kube_mask *inner; /* NULL: all of it. Of a list, in each element */
};

/* A text, or members or elements, which stand behind it. */
struct kube_value {
	struct text *name; /* NULL: an element, or the object itself */
	uintptr_t what;	   /* a struct text *; odd: twice the number of all values inside, and 1 */
};

struct kube_doc {
	struct texts *texts;
	size_t n_bytes; /* what it takes, with texts that nobody else had when it came */
	uint32_t n;
	struct kube_value v[]; /* [n], the object first */
};

/* NULL: out of memory. */
struct kube_doc *kube_doc__new(struct texts *texts, json_t *object, const struct kube_mask *mask);
void kube_doc__free(struct kube_doc *d); /* NULL is fine */
bool kube_doc__are_same(const struct kube_doc *a, const struct kube_doc *b);

/* Of NULL, and of what is not there, all of these are nothing: NULL, or a text whose p is NULL. */
const struct kube_value *kube_value__get(const struct kube_value *of, const char *name);
const struct kube_value *kube_value__first(const struct kube_value *of);
const struct kube_value *kube_value__next(const struct kube_value *of, const struct kube_value *at);
struct dcm_str kube_value__text(const struct kube_value *v);

/* Each member or element in turn. */
#define kube_each(at, of)                                                                          \
	for (const struct kube_value *inside_##at = (of), *at = kube_value__first(inside_##at);    \
	     at; at = kube_value__next(inside_##at, at))

#endif
