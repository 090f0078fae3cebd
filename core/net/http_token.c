/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_token.c - a token of OAuth 2: by client credentials, or by a signed JWT
 *
 * Sources: RFC 6749 (4.4, 5.1, 5.2, 2.3.1); RFC 7523 (2.1); golang.org/x/oauth2 for what servers do in its place.
 */
#include "core/net/http_token.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/shared_http.h"
#include "core/net/http_assertion.h"

#define EARLY_NS    INT64_C(10000000000)
#define LIFE_MAX_S  (INT64_C(10) * 366 * 86400)
#define FOR_EVER_NS INT64_MAX

struct http_token {
	struct arena arena;
	struct http_setup *setup; /* its basic auth is ours to set */
	const char *url, *id;
	struct secret secret; /* the client's; or the key that signs */
	bool signs;
	struct http_assertion assertion;
	struct buf fields;	   /* of the form, those that stay: "scope=a&..." */
	bool in_form, is_known;	   /* how the client shows who it is, and whether that has worked */
	struct buf user, password; /* escaped, for basic auth */

	char *header; /* NULL: none */
	uint64_t version, secret_version;
	int64_t end_mono_ns;
};

/* As in a form (RFC 6749 appendix B). */
static void escape(struct buf *out, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("-_.~", c)) {
			buf__byte(out, c);
		} else if (c == ' ') {
			buf__byte(out, '+');
		} else {
			buf__byte(out, '%');
			buf__byte(out, (uint8_t)digits[c >> 4]);
			buf__byte(out, (uint8_t)digits[c & 15]);
		}
	}
}

static void field(struct buf *form, const char *name, const char *value)
{
	if (form->n)
		buf__byte(form, '&');
	escape(form, name);
	buf__byte(form, '=');
	escape(form, value);
}

static void make_fields(struct http_token *t, const struct dcm_http_oauth2 *o)
{
	const char *const *values = o->endpoint_params.items;
	struct buf scopes = { 0 };
	bool has_grant = false;

	for (uint32_t i = 0; i < o->endpoint_params.n; i++) {
		has_grant |= strcmp(o->endpoint_params.keys[i], "grant_type") == 0;
		field(&t->fields, o->endpoint_params.keys[i], values[i]);
	}
	if (!has_grant)
		field(&t->fields, "grant_type",
		      t->signs ? "urn:ietf:params:oauth:grant-type:jwt-bearer" : "client_credentials");
	for (uint32_t i = 0; i < o->scopes.n; i++)
		buf__printf(&scopes, "%s%s", i ? " " : "", ((const char *const *)o->scopes.items)[i]);
	if (scopes.n) {
		field(&t->fields, "scope", (const char *)scopes.data);
		t->assertion.scope = arena__str(&t->arena, buf__view(&scopes)).p;
	}
	if (scopes.error || (scopes.n && !t->assertion.scope))
		t->fields.error = -ENOMEM;
	buf__fini(&scopes);
}

/* What is empty is not there. */
static const char *keep(struct http_token *t, const char *text, bool *ret_is_well)
{
	const char *kept = text && text[0] ? arena__str(&t->arena, str__of(text)).p : NULL;

	*ret_is_well &= !(text && text[0]) == !kept;
	return kept;
}

static struct secret keep_secret(struct http_token *t, const char *key,
				 const struct dcm_http_secret *s, bool *ret_is_well)
{
	return secret__of(key, keep(t, s->text, ret_is_well), keep(t, s->file, ret_is_well));
}

static bool keep_assertion(struct http_token *t, const struct dcm_http_assertion *a)
{
	bool is_well = true;

	t->assertion.algorithm = (enum dcm_oauth2_algorithm)a->algorithm;
	t->assertion.subject = t->id;
	t->assertion.key_id = keep(t, a->key_id, &is_well);
	t->assertion.issuer = keep(t, a->issuer, &is_well);
	if (!t->assertion.issuer)
		t->assertion.issuer = t->id;
	t->assertion.audience = keep(t, a->audience, &is_well);
	if (!t->assertion.audience)
		t->assertion.audience = t->url;
	t->assertion.claims = keep(t, a->claims, &is_well);
	t->secret = keep_secret(t, "oauth2: client_certificate_key_file", &a->key, &is_well);
	return is_well;
}

/* A key that stands in the configuration is tried when that is read. */
static int try_key(const struct http_token *t, struct dcm_error *err)
{
	struct buf unused = { 0 };
	int r = 0;

	if (t->signs && t->secret.text)
		r = http_assertion__make(&t->assertion, t->secret.text, 0, &unused, err);
	buf__fini(&unused);
	return r;
}

int http_token__new(const struct dcm_http_oauth2 *o, struct http_token **ret, struct dcm_error *err)
{
	/* A redirect would carry the secret elsewhere. */
	const struct dcm_http_options options = { .tls = o->tls, .proxy = o->proxy, .enable_http2 = true };
	CLEANUP(http_token__freep) struct http_token *t = NEW(struct http_token);
	bool is_well = true;
	int r;

	if (!t)
		return error__nomem(err);
	r = http_setup__new(&options, &t->setup, err);
	if (r < 0) {
		error__prefix(err, "oauth2");
		return r;
	}
	t->signs = o->grant == DCM_OAUTH2_JWT_BEARER;
	t->url = keep(t, o->token_url, &is_well);
	t->id = keep(t, o->client_id, &is_well);
	make_fields(t, o);
	if (t->signs)
		is_well &= keep_assertion(t, &o->assertion);
	else
		t->secret = keep_secret(t, "oauth2: client_secret_file", &o->client_secret, &is_well);
	if (!is_well || t->fields.error)
		return error__nomem(err);
	r = try_key(t, err);
	if (r == 0)
		*ret = take_ptr(t);
	return r;
}

static void drop_header(struct http_token *t)
{
	if (t->header)
		explicit_bzero(t->header, strlen(t->header));
	free(t->header);
	t->header = NULL;
}

void http_token__free(struct http_token *t)
{
	if (!t)
		return;
	drop_header(t);
	http_setup__free(t->setup);
	secret__fini(&t->secret);
	buf__wipe(&t->user);
	buf__wipe(&t->password);
	buf__fini(&t->fields);
	arena__fini(&t->arena);
	free(t);
}

struct http_setup *http_token__setup(struct http_token *t)
{
	return t->setup;
}

const char *http_token__url(const struct http_token *t)
{
	return t->url;
}

const char *http_token__header(struct http_token *t, int64_t now, uint64_t *ret_version)
{
	struct dcm_error ignored;
	int fault;

	if (!t->header || now >= t->end_mono_ns)
		return NULL;
	/* An unreadable file is told when a token is asked for; this one still holds. */
	if (secret__get(&t->secret, now, &fault, &ignored) && t->secret.version != t->secret_version)
		return NULL;
	*ret_version = t->version;
	return t->header;
}

void http_token__forget(struct http_token *t, uint64_t version)
{
	if (t->version == version)
		drop_header(t);
}

static int add_assertion(struct http_token *t, const char *key, struct buf *form, struct dcm_error *err)
{
	struct buf assertion = { 0 };
	int r = http_assertion__make(&t->assertion, key, clock__real(&clock__system), &assertion, err);

	if (r == 0)
		field(form, "assertion", (const char *)assertion.data);
	buf__wipe(&assertion); /* whoever has it is the client for ten minutes */
	return r == 0 && form->error ? error__nomem(err) : r;
}

int http_token__ask(struct http_token *t, int64_t now, struct buf *form, struct dcm_error *err)
{
	int fault = 0;
	const char *secret = secret__get(&t->secret, now, &fault, err);

	if (!secret)
		return fault;
	t->secret_version = t->secret.version;
	buf__wipe(&t->user);
	buf__wipe(&t->password);
	buf__append(form, t->fields.data, t->fields.n);
	if (t->signs)
		return add_assertion(t, secret, form, err);
	t->setup->has_basic = !t->in_form;
	if (t->in_form) {
		field(form, "client_id", t->id);
		if (secret[0])
			field(form, "client_secret", secret);
		return form->error ? error__nomem(err) : 0;
	}
	buf__text(&t->user, "");
	buf__text(&t->password, "");
	escape(&t->user, t->id);
	escape(&t->password, secret);
	if (t->user.error || t->password.error || form->error)
		return error__nomem(err);
	t->setup->user = secret__of("oauth2: client_id", (const char *)t->user.data, NULL);
	t->setup->password = secret__of("oauth2: client_secret", (const char *)t->password.data, NULL);
	return 0;
}

/* Seconds; 0: not said. Some servers write them as a text. */
static int64_t life_s(const json_t *answer)
{
	const json_t *life = json_object_get(answer, "expires_in");
	double s = json_is_string(life) ? strtod(json_string_value(life), NULL)
					: json_number_value(life);

	if (!(s > 0))
		return 0;
	return s < 1 ? 1 : s < (double)LIFE_MAX_S ? (int64_t)s : LIFE_MAX_S;
}

static int take_token(struct http_token *t, int64_t now, const json_t *answer, struct dcm_error *err)
{
	const char *token = json_string_value(json_object_get(answer, "access_token"));
	const char *type = json_string_value(json_object_get(answer, "token_type"));
	struct buf header = { 0 };
	int64_t s = life_s(answer), early;

	if (!token || !token[0] || !shared_http__is_header_value(token))
		return error__set(
			err, -EPROTO,
			"answers without an access_token; is it a server of OAuth 2 tokens?");
	if (!type || !type[0] || strcasecmp(type, "bearer") == 0 || !shared_http__is_header_name(type))
		type = "Bearer";
	buf__printf(&header, "%s %s", type, token);
	if (header.error)
		return error__nomem(err);
	drop_header(t);
	t->header = (char *)buf__take(&header, &(size_t){ 0 });
	t->version++;
	/* Whoever waits for one that does not even live that long shall have it all the same. */
	early = s * 500000000 < EARLY_NS ? s * 500000000 : EARLY_NS;
	t->end_mono_ns = s ? now + s * 1000000000 - early : FOR_EVER_NS;
	t->is_known = true;
	return 0;
}

/* "invalid_client: what the server says of it", in at most 300 bytes. */
static void refusal(const json_t *answer, char ret[static 320])
{
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *words = json_string_value(json_object_get(answer, "error_description"));

	snprintf(ret, 320, "%s%.80s%s%.200s", error ? ": " : "", error ? error : "",
		 words ? ": " : "", words ? words : "");
}

int http_token__take(struct http_token *t, int64_t now, int status, const uint8_t *data, size_t n,
		     struct dcm_error *err)
{
	json_t *answer = json_loadb((const char *)data, n, JSON_REJECT_DUPLICATES, NULL);
	char words[320];
	int r;

	if (status / 100 == 2) {
		r = take_token(t, now, answer, err);
	} else if (!t->signs && !t->is_known && !t->in_form && (status == 400 || status == 401)) {
		t->in_form = true;
		r = -EAGAIN;
	} else {
		refusal(answer, words);
		r = error__set(err, -EACCES, "answers %d%s; are client_id and %s right?", status,
			       words, t->signs ? "client_certificate_key" : "client_secret");
	}
	/* The next time begins as the first did. */
	if (r < 0 && r != -EAGAIN && !t->is_known)
		t->in_form = false;
	json_decref(answer);
	return r;
}
