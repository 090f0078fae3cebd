/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/exchange.h - one request and its answer, whatever protocol carries them
 *
 * Made when the first line of a request is there, checked when the headers are, given to a lane when
 * the body is, freed when the answer has left. It is its carrier's (http1.h, http2.h), on that
 * one's thread, and a lane's between hold() and hand_back().
 */
#ifndef DECIMA_NET_EXCHANGE_H
#define DECIMA_NET_EXCHANGE_H

#include "core/net/address.h"
#include "core/net/grpc.h"
#include "core/net/http.h"

enum { EXCHANGE_HEADERS = 100, EXCHANGE_HEAD_BYTES = 64 << 10 };

#define EXCHANGE_UNSAID UINT64_MAX

struct exchange;
struct talk;

/* What the protocols do with an exchange that a lane has. */
struct exchange_carrier {
	bool answers_early; /* it takes an answer in the middle of a body, and trailers behind one */
	/* It is about to be queued: nothing more is read of it. With the lanes' lock. */
	void (*hold)(struct exchange *x);
	/* The lane is done with it. On the lane's thread; it may be freed before this returns. */
	void (*hand_back)(struct exchange *x);
};

struct exchange {
	const struct exchange_carrier *carrier;
	struct requests *requests; /* of handlers that wait */
	void *stream;		   /* the carrier's: what it came over */
	struct exchange *next;	   /* in its lane's queue */
	struct arena arena;
	struct http_request request;
	struct http_response response;
	struct dcm_budget budget;
	uint64_t body_bytes;	 /* as the head has it; EXCHANGE_UNSAID when it does not say */
	uint64_t max_body;	 /* that its route takes */
	uint64_t reserved;	 /* for the body, of what all bodies in memory have together */
	char peer[ADDRESS_TEXT]; /* request.peer */
	struct access_rules *rules; /* who may do what, as it was when it came; NULL: it has not been asked */
	struct share *share; /* what its client has of that and more; touched only while it has something */
	struct buf body; /* at most what its route takes; with request.file, what is not in the file yet */
	uint64_t timed_bytes;  /* of the body, when it had its last deadline */
	uint64_t file_bytes;   /* that the file may have */
	struct http_file file; /* fd -1: none */
	bool writes;	       /* a lane puts what is in `body` into the file, and that is all */
	enum grpc_form grpc;
	enum http_refusal refusal; /* its route's */
	struct talk *talk;	   /* talk.h, of a call that is a stream; else NULL */
	uint32_t *talk_place;	   /* where it counts among these; NULL: nowhere */
	struct buf message;	   /* of a call, where it is no part of the body */
	struct buf trailers; /* "name: value\r\n" each, behind the response's body; of HTTP/2 alone */
	struct dcm_str target;	  /* as in the request line */
	struct dcm_field *fields; /* [request.n_headers], room for EXCHANGE_HEADERS */
	const char *fault;	  /* of the head, as far as it was read; NULL: none */
	bool has_file_place;	  /* counts among the bodies that go into files */
	uint64_t file_reserved;	  /* of what these have together */
	bool is_push, has_turn; /* its handler is one of those that wait for stores; and is one of the few that work */
	bool is_late;  /* quick handlers had their time in this turn: a lane has to take it */
	bool answered; /* the response is ready to be sent */
	/* HTTP/1: */
	bool is_http_1_1; /* its client knows interim answers */
	bool checked;	  /* the headers were looked at */
	bool close;	  /* the connection cannot be used again */
};

/* NULL when memory ran out. */
struct exchange *exchange__new(const struct exchange_carrier *carrier, void *stream);
void exchange__free(struct exchange *x);

/* Parts of the head as they come, which are copied; what is wrong with them is in x->fault. */
void exchange__set_target(struct exchange *x, struct dcm_str target);
void exchange__add_header(struct exchange *x, struct dcm_str name, struct dcm_str value);
/*
 * The head is whole: reads method and target; false when it is malformed: the response then says
 * how, and `close` is set.
 */
bool exchange__read_head(struct exchange *x, struct dcm_str method);

/*
 * Gives the answer a tag when it has_tag, and empties one that the client says to have: 304. Any
 * thread, before exchange__pack().
 */
void exchange__tag(struct exchange *x);

/* Into gzip, where the client takes it and it is worth it; no refusal. Any thread, before exchange__finish(). */
void exchange__pack(struct exchange *x);

/* Has a MiB of a body in memory come, or a quarter of what its route takes, since this was said last? Its deadline is another then. */
bool exchange__has_advanced(struct exchange *x);

/* How long sending the response may take: timeout_ns, and as long again for each MiB of it. */
int64_t exchange__answer_ns(const struct exchange *x, int64_t timeout_ns);

/*
 * The last look at a response: what memory ran out for says so instead, one to a call becomes gRPC's, and
 * a refusal what the route's clients read. On the carrier's thread.
 */
void exchange__finish(struct exchange *x);

/*
 * The headers that stand in `lines`, one after the other: cuts them apart in place. *at is NULL at
 * first. False: no more.
 */
bool exchange__next_header(struct buf *lines, char **at, char **ret_name, char **ret_value);

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
