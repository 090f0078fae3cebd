/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/pages.c - files that plugins offer to browsers
 *
 * A few files: found by looking at one after the other, under a lock that nobody holds for longer than a copy takes.
 */
#include "core/net/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/deflate/deflate.h"

enum { PACK_LEVEL = 9, MAX_PAGE_BYTES = 16 << 20 };

struct page {
	const void *owner;
	char *path, *type, *headers;
	struct buf packed;
	size_t n; /* unpacked */
	uint64_t hash;
	bool immutable;
};

struct pages {
	pthread_rwlock_t lock;
	VEC(struct page *) v;
};

static void free_page(struct page *p)
{
	if (!p)
		return;
	buf__fini(&p->packed);
	free(p->path);
	free(p->type);
	free(p->headers);
	free(p);
}

struct pages *pages__new(void)
{
	struct pages *p = NEW(struct pages);

	if (p)
		pthread_rwlock_init(&p->lock, NULL);
	return p;
}

void pages__free(struct pages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->v.n; i++)
		free_page(p->v.v[i]);
	vec__fini(&p->v);
	pthread_rwlock_destroy(&p->lock);
	free(p);
}

/* ------------------------------------------------------------------------------------------------
 * Offers
 */

static bool is_gzip(const struct dcm_page *page)
{
	return DCM_HAS(page, flags) && page->flags & DCM_PAGE_GZIP;
}

/* The content, packed, and what is to be known of it unpacked. */
static int take_content(struct page *p, const struct dcm_page *from, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf plain = { 0 };

	if (!is_gzip(from)) {
		p->n = from->n;
		p->hash = hash__bytes(from->data, from->n, 0);
		return deflate__pack(from->data, from->n, PACK_LEVEL, &p->packed) < 0
			       ? error__nomem(err)
			       : 0;
	}
	int r = deflate__unpack(from->data, from->n, MAX_PAGE_BYTES, &plain, err);
	if (r < 0)
		return error__prefix(err, "page: %s", from->path), r;
	p->n = plain.n;
	p->hash = hash__bytes(plain.data, plain.n, 0);
	buf__append(&p->packed, from->data, from->n);
	return p->packed.error ? error__nomem(err) : 0;
}

static int copy_of(const void *owner, const struct dcm_page *from, struct page **ret,
		   struct dcm_error *err)
{
	struct page *p = NEW(struct page);

	if (!p)
		return error__nomem(err);
	p->owner = owner;
	p->path = strdup(from->path);
	p->type = strdup(from->type);
	p->headers = strdup(from->headers ? from->headers : "");
	p->immutable = from->immutable;
	int r = p->path && p->type && p->headers ? take_content(p, from, err) : error__nomem(err);
	if (r < 0)
		free_page(p);
	else
		*ret = p;
	return r;
}

static struct page *find(struct pages *p, struct dcm_str path)
{
	for (size_t i = 0; i < p->v.n; i++)
		if (str__eq(path, str__of(p->v.v[i]->path)))
			return p->v.v[i];
	return NULL;
}

static int check(const struct dcm_page *page, struct dcm_error *err)
{
	if (DCM_HAS(page, flags) && page->flags & ~(uint64_t)DCM_PAGE_GZIP)
		return error__set(err, -EINVAL, "page: its flags have bits that mean nothing");
	if (!DCM_HAS(page, immutable) || !page->path || page->path[0] != '/' || !page->type ||
	    (!page->data && page->n))
		return error__set(
			err, -EINVAL,
			"page: it lacks its size, a path from \"/\" on, a type or its bytes");
	if (page->n > MAX_PAGE_BYTES)
		return error__set(err, -EINVAL, "page: %s has %zu bytes; %d are the most",
				  page->path, page->n, MAX_PAGE_BYTES);
	return 0;
}

int pages__offer(struct pages *p, const void *owner, const struct dcm_page *page, struct dcm_error *err)
{
	struct page *copy = NULL;
	int r = check(page, err);

	if (r == 0)
		r = copy_of(owner, page, &copy, err);
	if (r < 0)
		return r;
	pthread_rwlock_wrlock(&p->lock);
	if (find(p, str__of(page->path)))
		r = error__set(err, -EEXIST, "page: %s is offered by another instance already; one of them is enough",
			       page->path);
	else if (!vec__push(&p->v, copy))
		r = error__nomem(err);
	pthread_rwlock_unlock(&p->lock);
	if (r < 0)
		free_page(copy);
	return r;
}

void pages__withdraw(struct pages *p, const void *owner)
{
	size_t n = 0;

	pthread_rwlock_wrlock(&p->lock);
	for (size_t i = 0; i < p->v.n; i++) {
		if (p->v.v[i]->owner == owner)
			free_page(p->v.v[i]);
		else
			p->v.v[n++] = p->v.v[i];
	}
	p->v.n = n;
	pthread_rwlock_unlock(&p->lock);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

/* "/compare": what the application has no file for, and calls a place of its own. */
static bool is_of_application(struct dcm_str path)
{
	return path.n > 1 && !memchr(path.p + 1, '/', path.n - 1) && !memchr(path.p, '.', path.n) &&
	       !str__eq(path, STR("/api")) && !str__eq(path, STR("/-"));
}

/* "/compare/", whose relative links would lead nowhere: *ret is the place without the slash. */
static bool is_misspelt(struct pages *p, struct dcm_str path, struct dcm_str *ret)
{
	*ret = (struct dcm_str){ path.p, path.n - (path.n > 0) };
	return path.n > 0 && path.p[path.n - 1] == '/' && is_of_application(*ret) && find(p, STR("/"));
}

static struct page *page_for(struct pages *p, struct dcm_str path)
{
	struct page *page = find(p, path);

	return page || !is_of_application(path) ? page : find(p, STR("/"));
}

bool pages__have(struct pages *p, struct dcm_str path)
{
	struct dcm_str place;
	bool have;

	pthread_rwlock_rdlock(&p->lock);
	have = page_for(p, path) != NULL || is_misspelt(p, path, &place);
	pthread_rwlock_unlock(&p->lock);
	return have;
}

static void put_headers(const struct page *page, const char *tag, struct http_response *resp)
{
	snprintf(resp->content_type, sizeof(resp->content_type), "%s", page->type);
	http_response__header(resp, "ETag", "%s", tag);
	http_response__header(resp, "Vary", "Accept-Encoding");
	http_response__header(resp, "Cache-Control", "%s",
			      page->immutable ? "public, max-age=31536000, immutable" : "no-cache");
	buf__text(&resp->headers, page->headers);
}

static void put_body(const struct page *page, bool gzip, struct http_response *resp)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (gzip) {
		http_response__header(resp, "Content-Encoding", "gzip");
		buf__append(&resp->body, page->packed.data, page->packed.n);
	} else if (deflate__unpack(page->packed.data, page->packed.n, page->n, &resp->body, &err) < 0) {
		http_response__problem(resp, 503, "%s", err.text);
	}
}

void pages__answer(struct pages *p, const struct http_request *req, struct http_response *resp)
{
	bool gzip = http_request__takes_gzip(req);
	const struct page *page;
	struct dcm_str place;
	bool is_elsewhere;
	char tag[32];

	pthread_rwlock_rdlock(&p->lock);
	page = page_for(p, req->path);
	if (page) {
		snprintf(tag, sizeof(tag), "\"%016" PRIx64 "%s\"", page->hash, gzip ? "-g" : "");
		put_headers(page, tag, resp);
		if (http_request__knows(req, tag))
			resp->status = 304;
		else
			put_body(page, gzip, resp);
	}
	is_elsewhere = !page && is_misspelt(p, req->path, &place);
	pthread_rwlock_unlock(&p->lock);
	/* From where it was asked for, so that it is right below the base path, and behind a proxy that has cut off one. */
	if (is_elsewhere)
		http_response__lead_to(resp, "..", place, req->query);
	else if (!page)
		http_response__problem(resp, 404, "%.*s is not there any more", STR_ARG(req->path));
}
