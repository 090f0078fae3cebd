/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/exchange.h - one HTTP/1.1 request on its way through libmicrohttpd, and its answer
 *
 * Made when the request line is there, checked when the headers are, given to a lane when the
 * body is, freed when the answer has left. Used by listener.c and lanes.c only.
 */
#ifndef DECIMA_NET_EXCHANGE_H
#define DECIMA_NET_EXCHANGE_H

#include <microhttpd.h>

#include "core/net/access.h"
#include "core/net/http.h"

#define EXCHANGE_CHUNKED UINT64_MAX

struct exchange {
	struct MHD_Connection *connection;
	struct exchange *next; /* in its lane's queue */
	struct arena arena;
	struct http_request request;
	struct http_response response;
	struct dcm_budget budget;
	uint64_t body_bytes; /* as the head has it; EXCHANGE_CHUNKED when it does not say */
	uint64_t reserved;   /* for the body, of what all bodies in memory have together */
	struct buf body; /* at most `reserved`; with request.file, what is not in the file yet */
	uint64_t file_bytes;   /* that the file may have */
	struct http_file file; /* fd -1: none */
	bool writes;	       /* a lane puts what is in `body` into the file, and that is all */
	struct dcm_str target; /* as in the request line */
	bool is_http_1_1;      /* its client knows interim answers */
	bool checked;	       /* the headers were looked at */
	bool answered;	       /* the response is ready to be sent */
	bool close;	       /* the connection cannot be used again */
};

/* The target is copied. NULL when memory ran out. */
struct exchange *exchange__new(struct MHD_Connection *connection, const char *target);
void exchange__free(struct exchange *x);

/*
 * Reads method, target and headers, when is_http_1_1 is set; false when the request is malformed: the response then says
 * how, and `close` is set.
 */
bool exchange__read_head(struct exchange *x, const char *method);

/*
 * Gives the answer a tag when it has_tag, and empties one that the client says to have: 304. Any
 * thread, before exchange__pack().
 */
void exchange__tag(struct exchange *x);

/* Into gzip, where the client takes it and it is worth it. Any thread, before exchange__send(). */
void exchange__pack(struct exchange *x);

/* Hands the response to libmicrohttpd. */
enum MHD_Result exchange__send(struct exchange *x);

/*
 * From here on the body goes into a file in dir, within so many bytes; what is wrong is in
 * file.error. The declared length counts, before anything has come.
 */
void exchange__begin_file(struct exchange *x, const char *dir, uint64_t max_bytes);
/* More of that body, into memory; false: enough is there to be written out first. */
bool exchange__take(struct exchange *x, const char *data, size_t n);
/* Puts what is in memory into the file. On a lane. */
void exchange__write(struct exchange *x);

#endif
