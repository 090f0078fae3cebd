/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/delivery.h - one request to the other side, waited for, and what its answer means
 *
 * What outputs that send share. Two rules hold for all of them. What is wrong with the bytes stays wrong: 400, 413,
 * 415 and 422; of gRPC INVALID_ARGUMENT and OUT_OF_RANGE, and RESOURCE_EXHAUSTED where it is the message that is too large for
 * the other side, as servers by grpc-go, grpc-java and gRPC's C core say it, or cut it short without a word. All else may be put right (a token, an address, a version, a
 * disk) and is tried again, no sooner than the other side asked for: Retry-After in seconds or as a date (RFC 9110,
 * 10.2.3), gRPC's grpc-retry-pushback-ms, and a RetryInfo in its status.
 *
 * Some answers may be either. UNKNOWN, INTERNAL and 500: a server that is out of order, or one that stumbles over the
 * request (Parca says so of what its store refuses). ALREADY_EXISTS, FAILED_PRECONDITION, and any other 4xx: the
 * request, or what stands before the server. A request that has had nothing else for ten minutes and five answers is refused, so
 * that it does not hold up all that come behind for ever. Where the next one then goes well, it was that request's fault, and the
 * next of its kind has a quarter of the time, and so on, down to five answers; where three in a row do not, it is the server's, and they have ten minutes again. Of who asks, where, how often and
 * when it is, and tried for as long as it is kept: 401, 402, 403, 404, 405, 407, 408, 410, 421, 425, 426, 429, above 500; NOT_FOUND, PERMISSION_DENIED,
 * UNAUTHENTICATED, UNIMPLEMENTED, and what is said of the server's state; and whatever a judge of the request's own says of it, but for 500.
 *
 * A login page, or that of another server, is no yes, though it comes with 200: answer_types. Nor is a redirect that makes a GET of a
 * POST followed, as nobody would have the profiles then: it says where the url should lead.
 *
 * OTLP has a list of what may be tried again (opentelemetry.io/docs/specs/otlp: Failures), and its servers go by it:
 * CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS, RESOURCE_EXHAUSTED with a RetryInfo; 429, 502,
 * 503, 504. There all else is refused for good, but for what says nothing of the bytes and may be put right: NOT_FOUND,
 * PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED; 401, 403, 404, 405, 407, 408, and what is no error.
 *
 * One at a time for each delivery, by one thread; the answer comes on the host's client thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_H
#define DECIMA_OUTPUT_DELIVERY_H

#include <decima/plugin.h>

#include "core/base/buf.h"

struct delivery;

enum { DELIVERY_PLACE = 152 }; /* bytes of an address, as sentences have it, with a NUL */
enum delivery_rules { DELIVERY_USUAL, DELIVERY_OTLP };

/*
 * What an answer over HTTP means that is no yes, for servers with words of their own: -EAGAIN or -EBADMSG, and what people
 * shall read of it in *ret_words, or nothing. On the client thread.
 */
typedef int (*delivery_judge_fn)(int status, struct dcm_str body, struct buf *ret_words);

struct delivery_request {
	const char *url;
	const char *place;  /* what sentences call it, but for its secrets; NULL: url */
	const char *method; /* NULL: POST */
	const struct dcm_http_header *headers; /* [n_headers]; of gRPC none are needed */
	uint32_t n_headers;
	bool grpc; /* data is messages in their frames, and the trailers say how it went */
	const void *data;
	size_t n;
	uint64_t same_as; /* of requests that say the same by other bytes; 0: its bytes tell */
	enum delivery_rules rules;
	delivery_judge_fn judge; /* instead of the rules; or NULL */
	struct buf *ret_body; /* NULL, or an empty one for what comes with a yes: 4 MiB at most; none where memory ran out */
	/*
	 * How a yes over HTTP is told from a page that somebody else serves there: media types that its body has, up to NULL (NULL: any but
	 * one for browsers; without a type {} is application/json, too), and a header that it has (NULL: none).
	 */
	const char *const *answer_types;
	const char *answer_header;
};

/* The client is borrowed. NULL: no memory. */
struct delivery *delivery__new(const struct dcm_host *host, struct dcm_http_client *client);
void delivery__free(struct delivery *d); /* NULL works */
/* What either learns of the other side, both know; `with` outlives d. For deliveries of one thread. */
void delivery__share_patience(struct delivery *d, struct delivery *with);

/*
 * Sends it and waits for the answer until the deadline. 0: it was taken. -EAGAIN: it may go well later. -EBADMSG: the same
 * will be refused again. err says what the other side said, or why it was not heard.
 */
int delivery__send(struct delivery *d, const struct delivery_request *request,
		   int64_t deadline_mono_ns, struct dcm_error *err);

/* The same in two steps, for several deliveries at once; the request stays until the second, which follows where the first says 0. */
int delivery__begin(struct delivery *d, const struct delivery_request *request,
		    int64_t deadline_mono_ns, struct dcm_error *err);
int delivery__end(struct delivery *d, struct dcm_error *err);
/* -EAGAIN: the other side asked for patience, which has not ended. */
int delivery__check_patience(const struct delivery *d, struct dcm_error *err);

/* HTTP's status of the last answer; 0: there was none. */
int delivery__status(const struct delivery *d);
/* Was the last request sent, perhaps whole, and no answer came that says what became of it? */
bool delivery__is_unheard_of(const struct delivery *d);

/* An option of such an output that is called so: 0, or -EINVAL with a sentence. */
int delivery__check_url(const char *option, const char *url, struct dcm_error *err);

/* "URL/PATH", or URL without slashes at its end where `path` is ""; freed by the caller. NULL: no memory. */
char *delivery__url(const char *url, const char *path);

#endif
