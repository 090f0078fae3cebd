/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_assertion.c - what a client of OAuth 2 says of itself, signed (RFC 7523, section 2.1)
 */
#include "core/net/http_assertion.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <jansson.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

#define LIFE_S 600

static const struct {
	const char *name;
	gnutls_sign_algorithm_t sign;
} algorithms[] = {
	[DCM_OAUTH2_RS256] = { "RS256", GNUTLS_SIGN_RSA_SHA256 },
	[DCM_OAUTH2_RS384] = { "RS384", GNUTLS_SIGN_RSA_SHA384 },
	[DCM_OAUTH2_RS512] = { "RS512", GNUTLS_SIGN_RSA_SHA512 },
};

/* Base64 of URLs, without what fills it up (RFC 7515, 2). */
static void append_base64url(struct buf *out, const void *data, size_t n)
{
	struct base64_encode_ctx ctx;
	char *to = (char *)buf__reserve(out, BASE64_ENCODE_LENGTH(n) + BASE64_ENCODE_FINAL_LENGTH);
	size_t done;

	if (!to)
		return;
	base64url_encode_init(&ctx);
	done = base64_encode_update(&ctx, to, n, data);
	done += base64_encode_final(&ctx, to + done);
	while (done && to[done - 1] == '=')
		done--;
	out->n += done;
	to[done] = '\0';
}

static int append_json(struct buf *out, const json_t *what)
{
	char *text = what ? json_dumps(what, JSON_COMPACT) : NULL;

	if (!text)
		return -ENOMEM;
	append_base64url(out, text, strlen(text));
	free(text);
	return out->error ? -ENOMEM : 0;
}

static int append_header(const struct http_assertion *a, struct buf *out)
{
	json_t *header = json_pack("{s:s, s:s, s:s*}", "typ", "JWT", "alg", algorithms[a->algorithm].name,
				   "kid", a->key_id && a->key_id[0] ? a->key_id : NULL);
	int r = append_json(out, header);

	json_decref(header);
	return r;
}

/* One of its own for each, so that a server can tell one that is sent again. */
static int make_id(char ret[static 33])
{
	unsigned char random[16];

	if (gnutls_rnd(GNUTLS_RND_NONCE, random, sizeof(random)) < 0)
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(ret + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int append_claims(const struct http_assertion *a, int64_t now_s, struct buf *out,
			 struct dcm_error *err)
{
	json_error_t why = { .line = 0 };
	json_t *claims, *more = NULL;
	char id[33];
	int r;

	if (make_id(id) < 0)
		return error__set(err, -EIO, "oauth2: there are no random numbers");
	claims = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s*}", "iss", a->issuer, "sub",
			   a->subject, "aud", a->audience, "jti", id, "iat", (json_int_t)now_s,
			   "exp", (json_int_t)(now_s + LIFE_S), "scope", a->scope);
	if (a->claims)
		more = json_loads(a->claims, 0, &why);
	if (a->claims && !json_is_object(more))
		r = error__set(err, -EINVAL, "oauth2: claims: %s: a number that is too large is written in quotes",
			       why.text[0] ? why.text : "they are no map");
	else
		r = (more && json_object_update(claims, more) < 0) || append_json(out, claims) < 0
			    ? error__nomem(err)
			    : 0;
	json_decref(more);
	json_decref(claims);
	return r;
}

static int sign(const struct http_assertion *a, gnutls_privkey_t key, struct buf *out, size_t begin,
		struct dcm_error *err)
{
	const gnutls_datum_t said = { out->data + begin, (unsigned)(out->n - begin) };
	gnutls_datum_t signature = { NULL, 0 };
	int code = gnutls_privkey_sign_data2(key, algorithms[a->algorithm].sign, 0, &said, &signature);

	if (code < 0)
		return error__set(err, -EACCES, "oauth2: client_certificate_key: does not sign: %s",
				  gnutls_strerror(code));
	buf__byte(out, '.');
	append_base64url(out, signature.data, signature.size);
	gnutls_free(signature.data);
	return out->error ? error__nomem(err) : 0;
}

static int import(gnutls_privkey_t key, const char *pem, struct dcm_error *err)
{
	const gnutls_datum_t text = { (unsigned char *)pem, (unsigned)strlen(pem) };
	int code = gnutls_privkey_import_x509_raw(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);

	if (code < 0 || gnutls_privkey_get_pk_algorithm(key, NULL) != GNUTLS_PK_RSA)
		return error__set(err, -EACCES, "oauth2: client_certificate_key: is no RSA key in PEM%s%s; keys with a passphrase are refused",
				  code < 0 ? ": " : "", code < 0 ? gnutls_strerror(code) : "");
	return 0;
}

int http_assertion__make(const struct http_assertion *a, const char *key_pem, int64_t now_real_ns,
			 struct buf *out, struct dcm_error *err)
{
	const size_t begin = out->n;
	gnutls_privkey_t key;
	int r;

	if (gnutls_privkey_init(&key) < 0)
		return error__nomem(err);
	r = import(key, key_pem, err);
	if (r == 0 && append_header(a, out) < 0)
		r = error__nomem(err);
	if (r == 0) {
		buf__byte(out, '.');
		r = append_claims(a, now_real_ns / 1000000000, out, err);
	}
	if (r == 0)
		r = sign(a, key, out, begin, err);
	gnutls_privkey_deinit(key);
	return r;
}
