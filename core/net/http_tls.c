/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_tls.c - whom a client trusts, and how it shows who it is
 */
#include "core/net/http_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"

#define KEPT_S	   600L		   /* until a file of authorities is read again */
#define MANY_BYTES ((size_t)32768) /* of certificates in PEM: some twenty */

enum { INODE_BITS = 48, PATH_BYTES = sizeof(((struct http_tls_part *)NULL)->path) };

static void part_init(struct http_tls_part *p, const char *key, const char *text, const char *file)
{
	*p = (struct http_tls_part){ .secret = secret__of(key, text, file), .fd = -1 };
}

/* As Go: nothing older than TLS 1.2, unless that is asked for. */
static long versions(const struct dcm_http_tls *o)
{
	static const long from[] = {
		[DCM_TLS_ANY] = CURL_SSLVERSION_TLSv1_2, [DCM_TLS_1_0] = CURL_SSLVERSION_TLSv1_0,
		[DCM_TLS_1_1] = CURL_SSLVERSION_TLSv1_1, [DCM_TLS_1_2] = CURL_SSLVERSION_TLSv1_2,
		[DCM_TLS_1_3] = CURL_SSLVERSION_TLSv1_3,
	};
	static const long to[] = {
		[DCM_TLS_ANY] = CURL_SSLVERSION_MAX_DEFAULT,
		[DCM_TLS_1_0] = CURL_SSLVERSION_MAX_TLSv1_0,
		[DCM_TLS_1_1] = CURL_SSLVERSION_MAX_TLSv1_1,
		[DCM_TLS_1_2] = CURL_SSLVERSION_MAX_TLSv1_2,
		[DCM_TLS_1_3] = CURL_SSLVERSION_MAX_TLSv1_3,
	};

	return from[o->min_version] | to[o->max_version];
}

void http_tls__init(struct http_tls *t, const struct dcm_http_tls *o)
{
	*t = (struct http_tls){
		.server_name = o->server_name && o->server_name[0] ? o->server_name : NULL,
		.insecure = o->insecure_skip_verify,
		.versions = versions(o),
		.is_old = o->min_version == DCM_TLS_1_0 || o->min_version == DCM_TLS_1_1,
	};
	part_init(&t->ca, o->ca && o->ca[0] ? "tls_config: ca" : "tls_config: ca_file", o->ca, o->ca_file);
	part_init(&t->cert, o->cert && o->cert[0] ? "tls_config: cert" : "tls_config: cert_file",
		  o->cert, o->cert_file);
	part_init(&t->key, o->key.text && o->key.text[0] ? "tls_config: key" : "tls_config: key_file",
		  o->key.text, o->key.file);
}

static void part_fini(struct http_tls_part *p)
{
	secret__fini(&p->secret);
	fd__close(p->fd);
	p->fd = -1;
}

void http_tls__fini(struct http_tls *t)
{
	part_fini(&t->ca);
	part_fini(&t->cert);
	part_fini(&t->key);
}

/*
 * A path that no other content has, or had. The number of a descriptor comes again; the inode does not.
 * It is written in what a path may have between two names: "//" and "/.".
 */
static int make_path(int fd, char ret[static PATH_BYTES])
{
	struct stat st;
	int n = snprintf(ret, PATH_BYTES, "/proc/self/fd");

	if (fstat(fd, &st) < 0)
		return -errno;
	for (unsigned bit = 0; bit < INODE_BITS; bit++)
		n += snprintf(ret + n, PATH_BYTES - (size_t)n, "%s", st.st_ino >> bit & 1 ? "/." : "//");
	snprintf(ret + n, PATH_BYTES - (size_t)n, "/%d", fd);
	return 0;
}

static int put_in_memory(struct http_tls_part *p, const char *text)
{
	CLEANUP(fd__closep) int fd = memfd_create("decima-tls", MFD_CLOEXEC);
	char path[PATH_BYTES];
	int r = fd < 0 ? -errno : fd__write_all(fd, text, strlen(text));

	if (r == 0)
		r = make_path(fd, path);
	if (r < 0)
		return r;
	memcpy(p->path, path, sizeof(path));
	fd__close(p->fd);
	p->fd = take_fd(fd);
	p->n = strlen(text);
	return 0;
}

static int refresh(struct http_tls_part *p, const char *begins, int64_t now, struct dcm_error *err)
{
	const char *file = p->secret.file;
	int fault = 0;

	if (!secret__is_given(&p->secret))
		return 0;
	const char *text = secret__get(&p->secret, now, &fault, err);
	if (!text)
		return fault;
	if (p->fd >= 0 && p->version == p->secret.version)
		return 0;
	if (!strstr(text, begins))
		return error__set(err, -EACCES, "%s%s%s: holds no %s in PEM", p->secret.key,
				  file ? " " : "", file ? file : "",
				  strstr(begins, "CERT") ? "certificate" : "key");
	if (!strstr(begins, "CERT") && strstr(text, "ENCRYPTED"))
		return error__set(err, -EACCES, "%s%s%s: is encrypted, and there is nobody to ask for its passphrase; store it without one (openssl pkey)",
				  p->secret.key, file ? " " : "", file ? file : "");
	int r = put_in_memory(p, text);
	if (r < 0)
		return error__sys(err, r, "%s: cannot be kept in memory", p->secret.key);
	p->version = p->secret.version;
	return 0;
}

int http_tls__read(struct http_tls *t, int64_t now, struct dcm_error *err)
{
	static const char certificate[] = "-----BEGIN CERTIFICATE", key[] = "-----BEGIN ";
	int r = refresh(&t->ca, certificate, now, err);

	if (r == 0)
		r = refresh(&t->cert, certificate, now, err);
	return r < 0 ? r : refresh(&t->key, key, now, err);
}

/* NULL: nobody, and none are read. */
static void trust(CURL *curl, const char *authorities)
{
	curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
	curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(curl, CURLOPT_PROXY_CAINFO, authorities);
	curl_easy_setopt(curl, CURLOPT_PROXY_CAPATH, NULL);
}

/*
 * The system's 140 authorities take some 80 ms and 0.5 MB to read. From 7.87 on curl keeps what it has read of one file
 * for all connections; there is room for one, which small ones do not take from a large one.
 */
static void keep_authorities(CURL *curl, bool are_many)
{
#if LIBCURL_VERSION_NUM >= 0x075700
	curl_easy_setopt(curl, CURLOPT_CA_CACHE_TIMEOUT, are_many ? KEPT_S : 0L);
#else
	(void)curl;
	(void)are_many;
#endif
}

bool http_tls__show(CURL *curl, const char *cert_file, const char *key_file)
{
	/* Without a passphrase OpenSSL asks whoever sits at the terminal. */
	return !curl_easy_setopt(curl, CURLOPT_SSLCERT, cert_file) &&
	       !curl_easy_setopt(curl, CURLOPT_SSLKEY, key_file) &&
	       !curl_easy_setopt(curl, CURLOPT_KEYPASSWD, "");
}

int http_tls__apply(struct http_tls *t, CURL *curl, int64_t now, struct dcm_error *err)
{
	int r = http_tls__read(t, now, err);

	if (r < 0)
		return r;
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, t->versions);
	/* OpenSSL speaks what is older than 1.2 at its lowest level of security alone. */
	if (t->is_old)
		curl_easy_setopt(curl, CURLOPT_SSL_CIPHER_LIST, "DEFAULT@SECLEVEL=0");
	if (t->insecure) {
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
		curl_easy_setopt(curl, CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
		trust(curl, NULL); /* nobody needs them, and it takes time to read them */
	} else if (t->ca.fd >= 0) {
		trust(curl, t->ca.path);
		keep_authorities(curl, t->ca.n >= MANY_BYTES);
	} else if (curl_version_info(CURLVERSION_NOW)->cainfo) {
		/* Where they are in a directory besides, curl would keep none. */
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
		curl_easy_setopt(curl, CURLOPT_PROXY_CAPATH, NULL);
		keep_authorities(curl, true);
	}
	if (t->cert.fd >= 0 && t->key.fd >= 0 && !http_tls__show(curl, t->cert.path, t->key.path))
		return error__nomem(err);
	return 0;
}
