/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/labelset.c - the labels of a target while a discovery puts them together
 *
 * Few enough that a name is looked for by walking.
 */
#include "plugins/input/pprof_scrape/labelset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

enum { MAX_LABELS = 4096 };

void labelset__fini(struct labelset *s)
{
	vec__fini(&s->v);
	vec__fini(&s->shared);
}

static void fail(struct labelset *s, int error)
{
	if (!s->error)
		s->error = error;
}

static void put(struct labelset *s, struct dcm_str name, struct dcm_str value)
{
	struct dcm_label_text label = { name, arena__str(&s->to->arena, value) };
	size_t i = 0;

	while (i < s->v.n && !str__eq(s->v.v[i].name, name))
		i++;
	if (value.n == 0) {
		if (i < s->v.n)
			s->v.v[i] = s->v.v[--s->v.n];
	} else if (!label.value.p) {
		fail(s, -ENOMEM);
	} else if (i < s->v.n) {
		s->v.v[i] = label;
	} else if (s->v.n == MAX_LABELS) {
		fail(s, -E2BIG);
	} else if (!vec__push(&s->v, label)) {
		fail(s, -ENOMEM);
	}
}

void labelset__put(struct labelset *s, const char *name, struct dcm_str value)
{
	put(s, str__of(name), value);
}

void labelset__put_int(struct labelset *s, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put(s, str__of(name), str__of(text));
}

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Of a character of several bytes, as Prometheus' regular expression, one '_'. */
void labelset__put_key(struct labelset *s, const char *prefix, struct dcm_str key, struct dcm_str value)
{
	size_t n = strlen(prefix);
	char *name = arena__alloc(&s->to->arena, n + key.n + 1);

	if (!name) {
		fail(s, -ENOMEM);
		return;
	}
	memcpy(name, prefix, n);
	for (uint32_t i = 0; i < key.n;) {
		unsigned length = str__utf8_len(key.p + i, key.n - i);

		name[n++] = is_of_name(key.p[i]) ? key.p[i] : '_';
		i += length ? length : 1;
	}
	name[n] = '\0';
	put(s, (struct dcm_str){ name, (uint32_t)n }, value);
}

void labelset__share(struct labelset *s)
{
	s->shared.n = 0;
	if (!vec__reserve(&s->shared, s->v.n)) {
		fail(s, -ENOMEM);
		return;
	}
	if (s->v.n)
		memcpy(s->shared.v, s->v.v, s->v.n * sizeof(*s->v.v));
	s->shared.n = s->v.n;
}

void labelset__add(struct labelset *s, struct dcm_str address)
{
	int r = s->error ? 0 : groups__add(s->to, address, s->v.v, (uint32_t)s->v.n);

	if (r < 0)
		fail(s, r);
	/* It had room for them before. */
	if (s->shared.n)
		memcpy(s->v.v, s->shared.v, s->shared.n * sizeof(*s->v.v));
	s->v.n = s->shared.n;
}

void labelset__add_port(struct labelset *s, struct dcm_str host, int64_t port)
{
	bool is_ipv6 = host.n && memchr(host.p, ':', host.n);
	char text[400];
	int n = snprintf(text, sizeof(text), "%s%.*s%s:%" PRId64, is_ipv6 ? "[" : "", STR_ARG(host),
			 is_ipv6 ? "]" : "", port);

	if ((size_t)n >= sizeof(text))
		fail(s, -E2BIG);
	else
		labelset__add(s, (struct dcm_str){ text, (uint32_t)n });
}
