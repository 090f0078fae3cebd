/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_page.c - the objects of a page of a list, one after the other
 *
 * Only the outermost braces and brackets are read here; jansson reads each value between them, and
 * says where it ended.
 */
#include "plugins/input/pprof_scrape/kube_page.h"

#include <stdbool.h>
#include <string.h>

struct page {
	const char *at, *end;
	kube_item_fn item;
	void *ctx;
	json_t *meta;
	bool has_items;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* '\0' at the end. */
static char next(struct page *p)
{
	while (p->at < p->end && is_space(*p->at))
		p->at++;
	return p->at < p->end ? *p->at : '\0';
}

static bool take(struct page *p, char c)
{
	if (next(p) != c)
		return false;
	p->at++;
	return true;
}

/* NULL: it is not JSON, or there is no memory for it. */
static json_t *take_value(struct page *p)
{
	json_error_t why;
	json_t *value = json_loadb(p->at, (size_t)(p->end - p->at),
				   JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &why);

	if (value)
		p->at += why.position;
	return value;
}

/* Whether there is another after what stands before, in a list that ends with `end`. */
static bool take_comma(struct page *p, char end, bool *ret_is_end)
{
	*ret_is_end = take(p, end);
	return *ret_is_end || take(p, ',');
}

static bool take_items(struct page *p)
{
	bool is_end = take(p, ']');

	while (!is_end) {
		json_t *object = take_value(p);

		if (!object)
			return false;
		p->item(p->ctx, object);
		json_decref(object);
		if (!take_comma(p, ']', &is_end))
			return false;
	}
	return true;
}

static bool take_member(struct page *p, const char *name)
{
	bool is_items = strcmp(name, "items") == 0;
	json_t *value;

	if (is_items && take(p, '[')) {
		p->has_items = true;
		return take_items(p);
	}
	value = take_value(p);
	/* null is how a list of nothing may come. */
	p->has_items |= is_items && json_is_null(value);
	if (strcmp(name, "metadata") == 0) {
		json_decref(p->meta);
		p->meta = json_incref(value);
	}
	json_decref(value);
	return value != NULL;
}

static bool take_page(struct page *p)
{
	bool is_end;

	if (!take(p, '{'))
		return false;
	is_end = take(p, '}');
	while (!is_end) {
		json_t *name = next(p) == '"' ? take_value(p) : NULL;
		bool is_well = name && take(p, ':') && take_member(p, json_string_value(name));

		json_decref(name);
		if (!is_well || !take_comma(p, '}', &is_end))
			return false;
	}
	next(p);
	return p->at == p->end;
}

const char *kube_page__read(const char *text, size_t n, kube_item_fn item, void *ctx, json_t **ret_meta)
{
	struct page p = { .at = text, .end = text + n, .item = item, .ctx = ctx };
	const char *fault = NULL;

	if (!take_page(&p))
		fault = "the answer is not JSON";
	else if (!p.has_items || !json_is_object(p.meta))
		fault = "the answer is no list of objects";
	if (fault)
		json_decref(p.meta);
	else
		*ret_meta = p.meta;
	return fault;
}
