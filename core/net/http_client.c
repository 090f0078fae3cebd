/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_client.c - one request through libcurl
 */
#include "core/net/http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/net/http_fault.h"
#include "core/net/http_place.h"
#include "core/net/http_tls.h"

/* Of a plugin's question, when it names none. */
#define GET_TIMEOUT_NS 10000000000ll
#define GET_BYTES_MAX  (16u << 20)

static size_t take_body(char *data, size_t size, size_t n, void *ctx)
{
	struct http_response *r = ctx;

	buf__append(&r->body, data, size * n);
	return r->body.error ? 0 : size * n;
}

/* A file on its way to the server; what it lacks at its end fails the call. */
struct sending {
	const struct http_file *file;
	uint64_t at;
};

static size_t read_file(char *to, size_t size, size_t n, void *ctx)
{
	struct sending *s = ctx;
	ssize_t got = pread(s->file->fd, to, size * n, (off_t)s->at);

	if (got < 0)
		return CURL_READFUNC_ABORT;
	s->at += (uint64_t)got;
	return (size_t)got;
}

/* To be sent once more, as after a redirection. */
static int seek_file(void *ctx, curl_off_t offset, int origin)
{
	struct sending *s = ctx;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	s->at = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void send_file(CURL *curl, struct sending *s)
{
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->file->n);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_file);
	curl_easy_setopt(curl, CURLOPT_READDATA, s);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_file);
	curl_easy_setopt(curl, CURLOPT_SEEKDATA, s);
}

static void set_method(CURL *curl, const struct http_call *call)
{
	switch (call->method) {
	case HTTP_HEAD:
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
		break;
	case HTTP_POST:
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->n_body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body ? call->body : "");
		break;
	case HTTP_PUT:
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PUT");
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->n_body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body ? call->body : "");
		break;
	case HTTP_DELETE:
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
		break;
	default:
		break;
	}
}

static size_t hand_on(char *data, size_t size, size_t n, void *ctx)
{
	const struct http_call *call = ctx;

	return call->take(call->ctx, data, size * n) ? 0 : size * n;
}

static int look_up(void *ctx, curl_off_t to_come, curl_off_t came, curl_off_t to_go, curl_off_t went)
{
	const struct http_call *call = ctx;

	(void)to_come;
	(void)came;
	(void)to_go;
	if (call->sent)
		call->sent(call->ctx, (uint64_t)went);
	return call->stop ? call->stop(call->ctx) : 0;
}

/* The callbacks of a call that has some. */
static void set_callbacks(CURL *curl, const struct http_call *call)
{
	if (call->take) {
		curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hand_on);
		curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
	}
	if (call->stop || call->sent) {
		curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
		curl_easy_setopt(curl, CURLOPT_XFERINFODATA, call);
	}
}

/* Headers of ours, and gRPC's, which say something about the answer; some stand behind it. */
static void take_headers(CURL *curl, struct http_response *ret)
{
	struct curl_header *h = NULL;

	while ((h = curl_easy_nextheader(curl, CURLH_HEADER | CURLH_TRAILER, -1, h)))
		if (strncasecmp(h->name, "Decima-", 7) == 0 || strncasecmp(h->name, "grpc-", 5) == 0)
			http_response__header(ret, h->name, "%s", h->value);
}

/* Appends a line of both when there is a value. */
static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct buf line = { 0 };
	struct curl_slist *all;

	if (!value)
		return 0;
	buf__printf(&line, "%s%s", name, value);
	all = line.error ? NULL : curl_slist_append(*list, (const char *)line.data);
	buf__fini(&line);
	*list = all ? all : *list;
	return all ? 0 : -ENOMEM;
}

/* Those of the request; *ret is NULL when it needs none. */
static int make_headers(const struct http_call *call, struct curl_slist **ret)
{
	const char *type = call->content_type ? call->content_type
			   : call->file	      ? "application/octet-stream"
					      : NULL;
	struct curl_slist *all = NULL;

	if (add_header(&all, "Content-Type: ", type) < 0 ||
	    add_header(&all, "Authorization: Bearer ", call->bearer) < 0 ||
	    add_header(&all, "X-Query-Id: ", call->query_id) < 0 ||
	    add_header(&all, "TE: ", call->http2 ? "trailers" : NULL) < 0) {
		curl_slist_free_all(all);
		return -ENOMEM;
	}
	*ret = all;
	return 0;
}

static int perform(CURL *curl, const struct http_call *call, struct http_response *ret,
		   struct dcm_error *err)
{
	char detail[CURL_ERROR_SIZE] = "", *type = NULL;
	struct curl_slist *headers = NULL;
	struct sending sending = { .file = call->file };
	CURLcode code;
	long status = 0, verdict = 0;

	ret->body.limit = call->max_bytes;
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(call->timeout_ns / 1000000));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
	set_callbacks(curl, call);
	if (call->file)
		send_file(curl, &sending);
	else
		set_method(curl, call);
	if (call->http2)
		curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
				 strncasecmp(call->url, "https:", 6) == 0
					 ? (long)CURL_HTTP_VERSION_2TLS
					 : (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	if (call->ca_file) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, call->ca_file);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* those alone */
	}
	if (call->cert_file && !http_tls__show(curl, call->cert_file, call->key_file))
		return error__nomem(err);
	if (call->insecure) {
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (make_headers(call, &headers) < 0)
		return error__nomem(err);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	code = curl_easy_perform(curl);
	curl_slist_free_all(headers);
	if (code != CURLE_OK) {
		curl_easy_getinfo(curl, CURLINFO_SSL_VERIFYRESULT, &verdict);
		return http_fault__explain(&(struct http_fault){ .url = call->url,
								 .code = (int)code,
								 .detail = detail,
								 .remedy = call->remedy,
								 .max_bytes = call->max_bytes,
								 .verdict = verdict },
					   err);
	}
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
	take_headers(curl, ret);
	ret->status = (int)status;
	snprintf(ret->content_type, sizeof(ret->content_type), "%s", type ? type : "");
	return 0;
}

int http_client__call(const struct http_call *call, struct http_response *ret, struct dcm_error *err)
{
	struct buf socket = { 0 }, http = { 0 };
	CURL *curl = curl_easy_init();
	int r = 0;

	if (!curl)
		return error__nomem(err);
	if (http_place__is_unix(call->url)) {
		r = http_place__split_unix(call->url, &socket, &http);
		if (r < 0)
			error__set(err, r, "%s: not a URL this can ask; write unix:/PATH/TO/SOCKET",
				   call->url);
		else
			curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, (const char *)socket.data);
	} else if (call->outside) {
		curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
		curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
		curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	} else {
		/* The daemon is asked directly: a proxy of the environment is for the outside. */
		curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	}
	if (r == 0) {
		curl_easy_setopt(curl, CURLOPT_URL, http.data ? (const char *)http.data : call->url);
		r = perform(curl, call, ret, err);
	}
	curl_easy_cleanup(curl);
	buf__fini(&socket);
	buf__fini(&http);
	return r;
}

int http_client__get(const struct dcm_http_request *request, struct dcm_http_answer *ret,
		     struct dcm_error *err)
{
	struct http_response response = { .status = 0 };
	struct http_call call = {
		.method = HTTP_GET,
		.url = request->url,
		.bearer = request->bearer,
		.ca_file = request->ca_file,
		.insecure = request->insecure,
		.remedy = "does something listen there?",
		.timeout_ns = request->timeout_ns ? request->timeout_ns : GET_TIMEOUT_NS,
		.max_bytes = request->max_bytes ? request->max_bytes : GET_BYTES_MAX,
	};
	int r = http_client__call(&call, &response, err);

	if (r == 0) {
		ret->status = response.status;
		ret->data = buf__take(&response.body, &ret->n);
	}
	http_response__fini(&response);
	return r;
}
