/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http.h - a request, a response, and the table of routes between them
 *
 * Routes sit above every transport: the listener (listener.h) feeds them from sockets, `decima
 * query --data` calls them in its own process. A handler runs on a worker thread, may take its time
 * within the request's budget, fills the response and returns. It never sees a socket.
 */
#ifndef DECIMA_NET_HTTP_H
#define DECIMA_NET_HTTP_H

#include <stdarg.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_DELETE, HTTP_OPTIONS };

/* What a caller may do; each includes the ones before it. */
enum http_role { HTTP_ROLE_NONE, HTTP_ROLE_READ, HTTP_ROLE_WRITE, HTTP_ROLE_ADMIN };

/* A body in a file without a name: open for reading and writing, at any offset. */
struct http_file {
	int fd;
	uint64_t n;
	int error; /* the body is not there: -EFBIG, -ENOSPC or another of the disk, -EAGAIN; 0: it is */
};

/* What the handler of a route with `streams` has of a call from one message to the next. */
struct http_talk {
	void *state; /* the handler's, in the request's arena; NULL at first */
	bool is_look; /* no message came: is there anything new to be said? About once a second, HTTP_WATCHES alone */
};

/* What the clients of a route read where it refuses (refusal.h). */
enum http_refusal {
	HTTP_REFUSAL_PROBLEM, /* RFC 9457 */
	HTTP_REFUSAL_STATUS,  /* google.rpc.Status, in the encoding of the request */
	HTTP_REFUSAL_CONNECT  /* Connect's JSON */
};

/* How many messages a method of gRPC takes and gives. */
enum http_streams {
	HTTP_ONE_ANSWER,
	HTTP_TALKS,  /* any number, each answered by at most one, until the client has said all */
	HTTP_WATCHES /* one, and then whatever there is to be said, until the client goes */
};

struct http_request {
	enum http_method method;
	struct dcm_str authority; /* of "http://AUTHORITY/path", which outranks Host; p is NULL without */
	struct dcm_str path;  /* as sent, still percent-encoded; starts with '/', no query */
	struct dcm_str query; /* as sent, from its '?' on; "" without */
	const struct dcm_field *params; /* [n_params] of the query string, decoded, in order */
	uint32_t n_params;
	const struct dcm_field *headers; /* [n_headers]; names in lower case */
	uint32_t n_headers;
	struct dcm_str body;
	const struct http_file *file; /* of routes with to_file, which have no `body`; or NULL */
	enum http_role role;	      /* of the caller */
	struct dcm_str peer;	      /* as struct dcm_request has it */
	const struct dcm_label_text *labels; /* [n_labels] of its token */
	uint32_t n_labels;
	struct http_talk *talk;	   /* of routes with `streams`; else NULL */
	struct dcm_budget *budget; /* deadline, memory, and cancelled when the client has gone */
	const struct dcm_field *path_params; /* [n_path_params]: what {NAME} in the pattern stood for, decoded */
	uint32_t n_path_params;
	struct arena *arena; /* lives as long as the request; holds what was decoded */
	/* The handler looks at no body any more, and only waits: others may be worked on. NULL: nobody minds. */
	void (*waits)(struct http_request *r);
};

/* First value of a name; p is NULL when there is none. */
struct dcm_str http_request__param(const struct http_request *r, const char *name);
struct dcm_str http_request__header(const struct http_request *r, const char *name);
struct dcm_str http_request__path_param(const struct http_request *r, const char *name);

/* May the answer be in gzip: Accept-Encoding, RFC 9110, 12.5.3. No header: it may not. */
bool http_request__takes_gzip(const struct http_request *r);
/*
 * Has the client what this tag is of, "\"..\"" without W/: If-None-Match is "*", or a list that has it;
 * W/ does not count (RFC 9110, 13.1.2).
 */
bool http_request__knows(const struct http_request *r, const char *tag);

/*
 * Percent-decodes into the arena ('+' means a space in a query). p is NULL for a bad escape, a NUL,
 * or no memory.
 */
struct dcm_str http__decode(struct arena *a, struct dcm_str s, bool plus_is_space);

/*
 * Splits "PATH?QUERY" or "http://AUTHORITY/PATH?QUERY" and decodes the parameters into the request.
 * 0, -EINVAL or -ENOMEM.
 */
int http_request__set_target(struct http_request *r, struct dcm_str target);

struct http_response {
	int status; /* 200 unless set */
	struct buf body;
	char content_type[96]; /* "application/json" unless set */
	struct buf headers; /* further ones, "Name: value\r\n" each; made by http_response__header() */
	/*
	 * It is about what is over, and asked for again is most likely the same: it gets a tag, and
	 * whoever has it already is told so instead of being sent it.
	 */
	bool has_tag;
	struct buf detail; /* of a problem: its sentence alone */
};

void http_response__fini(struct http_response *r);
void http_response__header(struct http_response *r, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The value of a further header, a view into the response; "" when there is none. Names in any
 * case.
 */
struct dcm_str http_response__find(const struct http_response *r, const char *name);

/*
 * Leads on for good (308) to BEFORE PLACE QUERY, of which what no header may have is written as browsers send it
 * (RFC 3986, 2.1); not to be kept, since who sees to it may move.
 */
void http_response__lead_to(struct http_response *r, const char *before, struct dcm_str place,
			    struct dcm_str query);

/*
 * Makes the response an RFC 9457 problem:
 * {"type":"about:blank","title":...,"status":...,"detail":sentence}. What was in the body is thrown
 * away.
 */
void http_response__problem(struct http_response *r, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void http_response__vproblem(struct http_response *r, int status, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/*
 * The status that fits a negative errno: -EINVAL 400, -ENOENT 404, -ETIMEDOUT 504, -ECANCELED 499,
 * -E2BIG 422, ...
 */
int http__status_of(int error);

typedef void (*http_handler)(void *ctx, const struct http_request *req, struct http_response *resp);

struct http_route {
	enum http_method method; /* HTTP_GET answers HEAD too */
	const char *pattern;	 /* "/api/v1/labels/{name}/values"; {NAME} stands for one segment */
	enum http_role role;	 /* least role that may call it */
	http_handler handler;
	void *ctx;
	bool quick; /* answers at once and never blocks: runs ahead of the queue of slow questions */
	bool control; /* waits for the control thread: has a worker of its own, behind no question */
	bool patient; /* takes as long as there is data: ended by who asks, and by no request_timeout_ns */
	bool takes_time; /* waits for time to pass: has workers of its own, which no question needs */
	bool push;	 /* brings data: has workers of its own, behind no question */
	bool grpc; /* a method of gRPC, too: its body and its answer's are messages (grpc.h); with to_file
		      many of them, and still in their frames */
	/*
	 * Not 0: a method of gRPC over HTTP/2 and of nothing else, and `quick`. The handler is called for each message, of
	 * at most max_body bytes, and says one by 200, nothing by 204; a problem ends the call.
	 */
	enum http_streams streams;
	enum http_refusal refusal; /* as a call of gRPC it is a status all the same */
	struct dcm_str descriptors; /* of a method of gRPC: a FileDescriptorSet with its service, for server reflection */
	uint64_t max_unpacked; /* bytes of a body that was packed; 0: as max_body */
	/*
	 * Most bytes of a request's body; 0: it takes none. A larger one is refused before it is
	 * read. A body is in memory while its request lasts, or, with to_file, in a file.
	 */
	uint64_t max_body;
	/*
	 * The handler runs on a worker for files, one at a time. It is called at once for a body that
	 * is too large or cannot be taken, which request.file tells, and then must not block.
	 */
	bool to_file;
	const char *const *params;  /* names that the query may hold, up to NULL; NULL: any */
	const char *const *repeats; /* those of params that may come again, up to NULL; NULL: none */
	const char *doc;	    /* one line */
};

struct http_routes;
struct http_routes *http_routes__new(void);
void http_routes__free(struct http_routes *r);
/*
 * Copies the row; the strings must outlive the table. -EEXIST for the same method and pattern.
 * Before serving only.
 */
int http_routes__add(struct http_routes *r, const struct http_route *route);

/* What GET and HEAD of paths without a row are answered from. Before serving only; it must outlive the table. */
struct pages;
void http_routes__set_pages(struct http_routes *r, struct pages *pages);

/* Rows that come and go, looked at behind those of the table. Before serving only; they must outlive the table. */
struct endpoints;
void http_routes__set_endpoints(struct http_routes *r, struct endpoints *endpoints);

/* Does the core itself answer there, whatever the endpoints do? */
bool http_routes__have(const struct http_routes *r, enum http_method method, struct dcm_str path);

/* Row i from 0 on, the core's before the plugins'; NULL: none (any more). *ret_end: nor after it. Any thread. */
const struct http_route *http_routes__at(const struct http_routes *r, size_t i, bool *ret_end);

/*
 * The row that answers the request, for a caller of its role; NULL: the response is the refusal, as
 * below. Looks at the head alone, so that it can be asked before the body is there. Any thread.
 */
const struct http_route *http_routes__admit(const struct http_routes *r, struct http_request *req,
					    struct http_response *resp);

/*
 * Finds the route, checks the role, calls the handler. 404 for unknown paths, 405 with Allow for a
 * wrong method, 401 or 403 for a missing role, 400 for a parameter that the row does not take: always
 * as a problem. Any thread.
 */
void http_routes__dispatch(const struct http_routes *r, struct http_request *req,
			   struct http_response *resp);

/* The row that dispatching will use; NULL for an error answer. */
const struct http_route *http_routes__find(const struct http_routes *r, enum http_method method,
					   struct dcm_str path);

#endif
