/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/tls_server.c - credentials from files, sessions with them
 *
 * GnuTLS counts no references to credentials: a set of them lives until the last session that has it
 * ends.
 */
#include "core/net/tls_server.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/net/secret.h"

struct credentials {
	uint32_t n_refs;
	gnutls_certificate_credentials_t x509;
};

struct tls_server {
	const struct tls_server_options *o;
	const struct log *log;
	struct secret cert, key, client_ca;
	uint64_t seen; /* the versions of the three together that were tried last */
	struct credentials *now;
	bool fails; /* and the log has said it */
	gnutls_priority_t priorities;
	gnutls_datum_t ticket_key;
};

static void unref(struct credentials *c)
{
	if (!c || --c->n_refs > 0)
		return;
	gnutls_certificate_free_credentials(c->x509);
	free(c);
}

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)text, (unsigned)strlen(text) };
}

static int say(struct dcm_error *err, const char *key, const char *file, int code)
{
	return error__set(err, -EINVAL, "server.tls.%s: %s: %s; give it the PEM that belongs there",
			  key, file, gnutls_strerror(code));
}

static int fill(struct tls_server *t, struct credentials *c, const char *cert, const char *key,
		const char *client_ca, struct dcm_error *err)
{
	gnutls_datum_t c_pem = datum(cert), k_pem = datum(key), ca_pem = datum(client_ca);
	int r = gnutls_certificate_set_x509_key_mem2(c->x509, &c_pem, &k_pem, GNUTLS_X509_FMT_PEM,
						     NULL, 0);

	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return error__set(err, -EINVAL,
				  "server.tls.key_file: %s is not the key of the certificate in %s",
				  t->o->key_file, t->o->cert_file);
	if (r < 0)
		return say(err, "cert_file", t->o->cert_file, r);
	if (!secret__is_given(&t->client_ca))
		return 0;
	/* The number of certificates, or an error. */
	r = gnutls_certificate_set_x509_trust_mem(c->x509, &ca_pem, GNUTLS_X509_FMT_PEM);
	if (r == 0)
		r = GNUTLS_E_NO_CERTIFICATE_FOUND;
	return r < 0 ? say(err, "client_ca_file", t->o->client_ca_file, r) : 0;
}

static void forget_tickets(struct tls_server *t)
{
	if (t->ticket_key.data)
		gnutls_memset(t->ticket_key.data, 0, t->ticket_key.size);
	gnutls_free(t->ticket_key.data);
	t->ticket_key = (gnutls_datum_t){ NULL, 0 };
}

/* Reads what has changed; 1 when that was something, 0 when not, or a negative errno. */
static int load(struct tls_server *t, struct dcm_error *err)
{
	int64_t now = clock__mono(&clock__system);
	int fault = 0, r;
	const char *cert = secret__get(&t->cert, now, &fault, err);
	const char *key = cert ? secret__get(&t->key, now, &fault, err) : NULL;
	const char *client_ca = key ? secret__get(&t->client_ca, now, &fault, err) : NULL;
	uint64_t versions = t->cert.version + t->key.version + t->client_ca.version;
	struct credentials *c;

	if (!client_ca)
		return fault;
	if (versions == t->seen)
		return 0; /* what was tried in vain is not tried again */
	t->seen = versions;
	c = NEW(struct credentials);
	if (!c)
		return error__nomem(err);
	c->n_refs = 1;
	if (gnutls_certificate_allocate_credentials(&c->x509) < 0) {
		free(c);
		return error__nomem(err);
	}
	r = fill(t, c, cert, key, client_ca, err);
	if (r < 0) {
		unref(c);
		return r;
	}
	unref(t->now);
	t->now = c;
	/* Who was let in by what has changed is looked at again. */
	forget_tickets(t);
	if (gnutls_session_ticket_key_generate(&t->ticket_key) < 0)
		return error__nomem(err);
	return 1;
}

int tls_server__new(const struct tls_server_options *o, const struct log *log,
		    struct tls_server **ret, struct dcm_error *err)
{
	struct tls_server *t = NEW(struct tls_server);
	int r;

	if (!t)
		return error__nomem(err);
	t->o = o;
	t->log = log;
	t->cert = secret__of("server.tls.cert_file", NULL, o->cert_file);
	t->key = secret__of("server.tls.key_file", NULL, o->key_file);
	t->client_ca = secret__of("server.tls.client_ca_file", NULL, o->client_ca_file);
	r = gnutls_priority_init(&t->priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2", NULL);
	r = r < 0 ? error__set(err, -EIO, "server.tls: %s", gnutls_strerror(r)) : load(t, err);
	if (r < 0) {
		tls_server__free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void tls_server__free(struct tls_server *t)
{
	if (!t)
		return;
	unref(t->now);
	secret__fini(&t->cert);
	secret__fini(&t->key);
	secret__fini(&t->client_ca);
	if (t->priorities)
		gnutls_priority_deinit(t->priorities);
	forget_tickets(t);
	free(t);
}

/* ------------------------------------------------------------------------------------------------
 * Sessions
 */

/* A client's certificate is for clients, and of the authority; without one it depends. */
static int verify_client(gnutls_session_t session)
{
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned n = 0, status = 0;

	/* Whether one must come GnuTLS knows from gnutls_certificate_server_set_request(). */
	gnutls_certificate_get_peers(session, &n);
	if (n == 0)
		return 0;
	if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0 || status != 0)
		return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
	return 0;
}

static int set_up(struct tls_server *t, gnutls_session_t s, int fd)
{
	gnutls_datum_t protocols[] = { datum("h2"), datum("http/1.1") };
	int r = gnutls_priority_set(s, t->priorities);

	if (r == 0)
		r = gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, t->now->x509);
	if (r == 0)
		r = gnutls_alpn_set_protocols(s, protocols, 2, GNUTLS_ALPN_SERVER_PRECEDENCE);
	if (r == 0)
		r = gnutls_session_ticket_enable_server(s, &t->ticket_key);
	if (r < 0)
		return -EIO;
	if (secret__is_given(&t->client_ca)) {
		gnutls_certificate_server_set_request(s, t->o->client_optional ? GNUTLS_CERT_REQUEST
									       : GNUTLS_CERT_REQUIRE);
		gnutls_session_set_verify_function(s, verify_client);
	}
	gnutls_transport_set_int(s, fd);
	/* Deadlines are the caller's affair. */
	gnutls_handshake_set_timeout(s, GNUTLS_INDEFINITE_TIMEOUT);
	return 0;
}

int tls_server__begin(struct tls_server *t, int fd, gnutls_session_t *ret)
{
	struct dcm_error err = DCM_ERROR_INIT;
	gnutls_session_t s;
	int r = load(t, &err);

	if (r < 0 && !t->fails)
		log__line(t->log, DCM_LOG_WARNING, "server",
			  "%s; the certificate before it stays in use", err.text);
	t->fails = r < 0;
	if (!t->ticket_key.data)
		return -ENOMEM;
	if (r > 0)
		log__line(t->log, DCM_LOG_INFO, "server", "the certificate was read anew: %s",
			  t->o->cert_file);
	if (gnutls_init(&s, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return -ENOMEM;
	r = set_up(t, s, fd);
	if (r < 0) {
		gnutls_deinit(s);
		return r;
	}
	t->now->n_refs++;
	gnutls_session_set_ptr(s, t->now);
	*ret = s;
	return 0;
}

void tls_server__end(gnutls_session_t session)
{
	struct credentials *c = gnutls_session_get_ptr(session);

	gnutls_deinit(session);
	unref(c);
}

enum http_role tls_server__role(const struct tls_server *t, gnutls_session_t session)
{
	unsigned n = 0;

	gnutls_certificate_get_peers(session, &n);
	return n > 0 ? t->o->client_role : HTTP_ROLE_NONE;
}
