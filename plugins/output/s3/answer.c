/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/s3/answer.c - what a server of objects means that did not take one
 *
 * Two elements are looked for in the text; a parser of XML would read no more of it.
 */
#include "plugins/output/s3/answer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/str.h"

#define WORDS_MAX 160 /* bytes of an element that are told on */

static const struct meaning {
	const char *code;
	bool is_refused; /* the object is at fault */
	const char *remedy;
} meanings[] = {
	{ "SignatureDoesNotMatch", false, "is secret_key right?" },
	{ "InvalidAccessKeyId", false, "is access_key right?" },
	{ "AccessDenied", false, "may this key put objects there?" },
	{ "ExpiredToken", false, "renew session_token and its keys" },
	{ "InvalidToken", false, "renew session_token and its keys" },
	{ "TokenRefreshRequired", false, "renew session_token and its keys" },
	{ "RequestTimeTooSkewed", false, "set the clock of this machine" },
	{ "NoSuchBucket", false, "make it, or set bucket" },
	{ "AuthorizationHeaderMalformed", false, "set region to the bucket's" },
	{ "PermanentRedirect", false, "set region, and endpoint, to the bucket's" },
	{ "QuotaExceeded", false, "make room there" },
	{ "RequestTimeout", false, NULL },
	{ "IncompleteBody", false, NULL },
	{ "BadDigest", false, NULL },
	{ "XAmzContentSHA256Mismatch", false, NULL },
	{ "EntityTooLarge", true, NULL },
	{ "KeyTooLongError", true, "shorten object_name" },
	{ "InvalidURI", true, "change object_name" },
	{ "XMinioInvalidObjectName", true, "change object_name" },
};

/* What stands in the first <name>; "" where there is none, or it has no end. */
static struct dcm_str element(struct dcm_str xml, const char *begin, const char *end)
{
	const char *from = xml.n ? memmem(xml.p, xml.n, begin, strlen(begin)) : NULL, *to;

	if (!from)
		return STR("");
	from += strlen(begin);
	to = memmem(from, (size_t)(xml.p + xml.n - from), end, strlen(end));
	return to ? (struct dcm_str){ from, (uint32_t)(to - from) } : STR("");
}

/* Appends a text with the five names that XML itself has for characters put back. */
static void put_text(struct buf *out, struct dcm_str text)
{
	static const struct {
		struct dcm_str name;
		char c;
	} names[] = { { { "&amp;", 5 }, '&' },
		      { { "&lt;", 4 }, '<' },
		      { { "&gt;", 4 }, '>' },
		      { { "&quot;", 6 }, '"' },
		      { { "&apos;", 6 }, '\'' } };
	size_t end = out->n + WORDS_MAX;

	for (uint32_t i = 0; i < text.n && out->n < end && !out->error; i++) {
		struct dcm_str rest = { text.p + i, text.n - i };
		char c = text.p[i];

		for (size_t k = 0; c == '&' && k < sizeof(names) / sizeof(names[0]); k++)
			if (str__starts(rest, names[k].name)) {
				c = names[k].c;
				i += names[k].name.n - 1;
				break;
			}
		buf__byte(out, (uint8_t)c);
	}
	if (!out->error && out->n)
		out->n = str__utf8_cut((const char *)out->data, out->n);
}

static const struct meaning *meaning_of(struct dcm_str code)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (str__eq(code, str__of(meanings[i].code)))
			return &meanings[i];
	return NULL;
}

int s3_answer__judge(int status, struct dcm_str body, struct buf *ret_words)
{
	const struct dcm_str code = element(body, "<Code>", "</Code>");
	const struct dcm_str message = element(body, "<Message>", "</Message>");
	const struct meaning *m = meaning_of(code);
	bool moved = status >= 300 && status < 400;

	put_text(ret_words, code);
	if (message.n) {
		buf__text(ret_words, code.n ? ": " : "");
		put_text(ret_words, message);
	}
	if (m && m->remedy)
		buf__printf(ret_words, "; %s", m->remedy);
	else if (moved)
		buf__printf(ret_words, "%sthe bucket is elsewhere: set region, and endpoint, to its own",
			    ret_words->n ? "; " : "");
	if (m)
		return m->is_refused ? -EBADMSG : -EAGAIN;
	/* What is wrong stays wrong; a proxy before the server has no code. */
	return (code.n ? status == 400 : status == 413 || status == 414) ? -EBADMSG : -EAGAIN;
}
