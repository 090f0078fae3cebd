/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/form.c - the parts of a multipart/form-data body
 *
 *	--BOUNDARY CRLF headers CRLF CRLF data CRLF --BOUNDARY CRLF .. CRLF --BOUNDARY--
 *
 * Each byte is looked at once for the boundary, and headers once more for the name.
 */
#include "plugins/input/receive/form.h"

#include <string.h>
#include <strings.h>

#include "core/base/str.h"

enum { MAX_BOUNDARY = 70 }; /* RFC 2046, 5.1.1 */

static bool starts_anycase(struct dcm_str s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && strncasecmp(s.p, with, n) == 0;
}

static struct dcm_str behind(struct dcm_str s, uint32_t n)
{
	return (struct dcm_str){ s.p + n, s.n - n };
}

/* The value of "; NAME=VALUE" or "; NAME=\"VALUE\"" in a header; "" when it is not there. */
static struct dcm_str parameter(struct dcm_str header, const char *name)
{
	while (header.n) {
		const char *semicolon = memchr(header.p, ';', header.n);

		if (!semicolon)
			break;
		header = behind(header, (uint32_t)(semicolon + 1 - header.p));
		while (header.n && (*header.p == ' ' || *header.p == '\t'))
			header = behind(header, 1);
		if (!starts_anycase(header, name) || header.n <= strlen(name) ||
		    header.p[strlen(name)] != '=')
			continue;
		header = behind(header, (uint32_t)strlen(name) + 1);
		const bool quoted = header.n && *header.p == '"';
		if (quoted)
			header = behind(header, 1);
		uint32_t n = 0;
		while (n < header.n &&
		       (quoted ? header.p[n] != '"' : header.p[n] != ';' && header.p[n] != ' '))
			n++;
		return (struct dcm_str){ header.p, n };
	}
	return STR("");
}

bool form__begin(struct form *f, struct dcm_str content_type, const uint8_t *body, size_t n)
{
	*f = (struct form){ .p = body, .end = n ? body + n : body };
	if (!starts_anycase(content_type, "multipart/form-data"))
		return false;
	f->boundary = parameter(content_type, "boundary");
	return true;
}

static bool fail(struct form *f, const char *fault)
{
	f->fault = fault;
	f->p = f->end;
	return false;
}

/* Where "--BOUNDARY" stands from p on, at the beginning of a line; NULL: nowhere. */
static const uint8_t *find_boundary(const struct form *f, const uint8_t *from)
{
	char mark[2 + MAX_BOUNDARY];
	size_t n = 2 + (size_t)f->boundary.n;

	memcpy(mark, "--", 2);
	memcpy(mark + 2, f->boundary.p, f->boundary.n);
	for (const uint8_t *p = from; p < f->end; p++) {
		p = memmem(p, (size_t)(f->end - p), mark, n);
		if (!p)
			return NULL;
		if (p == from || (p - from >= 2 && p[-2] == '\r' && p[-1] == '\n'))
			return p;
	}
	return NULL;
}

/* Behind the boundary's line at p; NULL: it was the last, or there is no line's end (a fault). */
static const uint8_t *pass_boundary(struct form *f, const uint8_t *p)
{
	p += 2 + f->boundary.n;
	if (f->end - p >= 2 && memcmp(p, "--", 2) == 0)
		return NULL;
	while (p < f->end && (*p == ' ' || *p == '\t'))
		p++;
	if (f->end - p >= 2 && memcmp(p, "\r\n", 2) == 0)
		return p + 2;
	fail(f, "there is no line's end behind a boundary");
	return NULL;
}

/* Takes headers [n] and their name=".." into the part. */
static void read_headers(struct dcm_str headers, struct form_part *ret)
{
	while (headers.n) {
		const char *end = memchr(headers.p, '\n', headers.n);
		uint32_t n = end ? (uint32_t)(end + 1 - headers.p) : headers.n;
		struct dcm_str line = { headers.p, n };

		while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
			line.n--;
		if (starts_anycase(line, "content-disposition:"))
			ret->name = parameter(line, "name");
		headers = behind(headers, n);
	}
}

bool form__next(struct form *f, struct form_part *ret)
{
	const uint8_t *p, *data, *stop;

	if (f->p == f->end)
		return false;
	if (f->boundary.n == 0 || f->boundary.n > MAX_BOUNDARY)
		return fail(f, "its Content-Type has no boundary of 1 to 70 characters");
	p = find_boundary(f, f->p);
	if (!p)
		return fail(f, "it does not end with its boundary");
	p = pass_boundary(f, p);
	if (!p) {
		f->p = f->end;
		return false;
	}
	*ret = (struct form_part){ .name = STR("") };
	if (f->end - p >= 2 && memcmp(p, "\r\n", 2) == 0) { /* no header at all */
		data = p + 2;
	} else {
		data = memmem(p, (size_t)(f->end - p), "\r\n\r\n", 4);
		if (!data)
			return fail(f, "there is no empty line behind a part's headers");
		read_headers((struct dcm_str){ (const char *)p, (uint32_t)(data - p) }, ret);
		data += 4;
	}
	stop = find_boundary(f, data);
	if (!stop)
		return fail(f, "it does not end with its boundary");
	ret->data = data;
	ret->n = stop - data >= 2 ? (size_t)(stop - data) - 2 : 0;
	f->p = stop;
	return true;
}
