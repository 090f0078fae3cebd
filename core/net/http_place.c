/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_place.c - where a call goes
 *
 * curl's own reader of URLs takes them apart, so that we and the transfer mean the same host.
 */
#include "core/net/http_place.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/url.h"

static void url_freep(CURLU **u)
{
	curl_url_cleanup(*u);
}

void http_place__fini(struct http_place *p)
{
	free(p->url);
	free(p->shown);
	free(p->socket);
	free(p->host);
	free(p->port);
	free(p->authority);
	*p = (struct http_place){ 0 };
}

bool http_place__is_unix(const char *url)
{
	return strncmp(url, "unix:", 5) == 0;
}

int http_place__split_unix(const char *url, struct buf *socket, struct buf *http)
{
	const char *path = strchr(url + 5, ':');

	if (!path)
		return -EINVAL;
	buf__append(socket, url + 5, (size_t)(path - url - 5));
	buf__text(http, "http://localhost");
	buf__text(http, path + 1);
	return socket->error ? socket->error : http->error;
}

/* A copy that our free() frees. */
static int part(CURLU *u, CURLUPart which, unsigned flags, char **ret)
{
	char *text = NULL;
	CURLUcode r = curl_url_get(u, which, &text, flags);

	if (r == CURLUE_OUT_OF_MEMORY)
		return -ENOMEM;
	if (r)
		return -EINVAL;
	*ret = mem__dup_str(text, strlen(text));
	curl_free(text);
	return *ret ? 0 : -ENOMEM;
}

static int make_authority(struct http_place *p)
{
	bool usual = strcmp(p->port, p->tls ? "443" : "80") == 0;
	struct buf b = { 0 };

	buf__printf(&b, "%s%s%s", p->host, usual ? "" : ":", usual ? "" : p->port);
	p->authority = (char *)b.data;
	return b.error;
}

/* Without the parts that nobody shall see. */
static int make_shown(CURLU *u, struct http_place *p)
{
	if (curl_url_set(u, CURLUPART_USER, NULL, 0) || curl_url_set(u, CURLUPART_PASSWORD, NULL, 0) ||
	    curl_url_set(u, CURLUPART_OPTIONS, NULL, 0))
		return -ENOMEM;
	return part(u, CURLUPART_URL, 0, &p->shown);
}

static int take_apart(CURLU *u, struct http_place *p)
{
	CLEANUP(mem__freep) char *scheme = NULL;
	int r;

	curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
	r = part(u, CURLUPART_SCHEME, 0, &scheme);
	if (r == 0 && strcasecmp(scheme, "http") != 0 && strcasecmp(scheme, "https") != 0)
		r = -EINVAL;
	if (r == 0)
		r = part(u, CURLUPART_URL, 0, &p->url);
	if (r == 0)
		r = part(u, CURLUPART_HOST, 0, &p->host);
	if (r == 0)
		r = part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, &p->port);
	if (r < 0)
		return r;
	p->tls = strcasecmp(scheme, "https") == 0;
	if (!url__is_askable(p->url))
		return -EINVAL;
	r = make_authority(p);
	return r < 0 || p->shown ? r : make_shown(u, p);
}

int http_place__of(const char *url, struct http_place *ret)
{
	CLEANUP(url_freep) CURLU *u = curl_url();
	struct buf socket = { 0 }, http = { 0 };
	struct http_place p = { 0 };
	int r = u ? 0 : -ENOMEM;

	if (r == 0 && !url__is_askable(url))
		r = -EINVAL;
	if (r == 0 && http_place__is_unix(url)) {
		r = http_place__split_unix(url, &socket, &http);
		p.socket = (char *)buf__take(&socket, &(size_t){ 0 });
		p.shown = mem__dup_str(url, strlen(url));
		if (r == 0 && (!p.socket || !p.shown))
			r = -ENOMEM;
	}
	if (r == 0)
		r = curl_url_set(u, CURLUPART_URL, http.data ? (const char *)http.data : url, 0) ? -EINVAL
												 : 0;
	if (r == 0)
		r = take_apart(u, &p);
	buf__fini(&socket);
	buf__fini(&http);
	if (r < 0)
		http_place__fini(&p);
	else
		*ret = p;
	return r;
}

/* A server behind a socket is called localhost: what it names beneath that is itself. */
static int stay_at_socket(const struct http_place *from, struct http_place *p)
{
	struct buf shown = { 0 };
	const char *path;

	if (!from->socket || p->tls || strcmp(p->authority, "localhost") != 0)
		return 0;
	p->socket = mem__dup_str(from->socket, strlen(from->socket));
	path = strchr(p->url + strlen("http://"), '/');
	buf__printf(&shown, "unix:%s:%s", from->socket, path ? path : "");
	free(p->shown);
	p->shown = (char *)shown.data;
	return p->socket ? shown.error : -ENOMEM;
}

int http_place__redirected(const struct http_place *from, const char *location, struct http_place *ret)
{
	CLEANUP(url_freep) CURLU *u = curl_url();
	struct http_place p = { 0 };
	int r = u ? 0 : -ENOMEM;

	if (r == 0 && (curl_url_set(u, CURLUPART_URL, from->url, 0) ||
		       curl_url_set(u, CURLUPART_URL, location, CURLU_URLENCODE)))
		r = -EINVAL;
	if (r == 0)
		r = take_apart(u, &p);
	if (r == 0)
		r = stay_at_socket(from, &p);
	if (r < 0)
		http_place__fini(&p);
	else
		*ret = p;
	return r;
}

bool http_place__trusts(const struct http_place *a, const struct http_place *b)
{
	if (!a->socket != !b->socket || (a->socket && strcmp(a->socket, b->socket) != 0) ||
	    strcasecmp(a->host, b->host) != 0)
		return false;
	return a->tls == b->tls ? strcmp(a->port, b->port) == 0 : b->tls;
}
