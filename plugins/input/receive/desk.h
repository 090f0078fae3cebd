/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/desk.h - a received profile on its way to the stores, and what its sender is told
 *
 * What every protocol here shares: bytes are decoded, the batch goes on, and, unless the options say otherwise, the sender
 * waits until it is stored. A refusal leaves nothing behind: whole requests are stored, or none of
 * them, but for 422 where this machine's rules lose some of it, and for batches of another Decima before the one that is refused.
 */
#ifndef DECIMA_RECEIVE_DESK_H
#define DECIMA_RECEIVE_DESK_H

#include <decima/plugin.h>

#include "plugins/input/receive/group.h"
#include "plugins/input/receive/options.h"
#include "plugins/input/receive/senders.h"
#include "plugins/input/receive/versions.h"

struct desk {
	const struct dcm_host *host;
	const struct receive_options *options;
	struct senders *senders;   /* borrowed; NULL: nobody minds who sends */
	struct versions *versions; /* borrowed; of otlp.c */
	struct dcm_metric *requests, *refused, *late, *unknown, *samples, *bytes, *panics;
	_Atomic int64_t panics_told_ns; /* of telemetry.c: the log has had one not long before */
};

/* Metrics; NULL ones are fine. */
void desk__init(struct desk *d, const struct dcm_host *host, const struct receive_options *options);

/* How it went: `status` is HTTP's, 200 when all is well. */
struct desk_verdict {
	int status;
	uint32_t n_profiles;
	uint64_t n_rows;
	int64_t arrived_real_ns;
	char node[128]; /* the first series' label of that name; "" without, and of what could not be read */
	int retry_after_s;	/* 0: the same will be refused again */
	struct dcm_error error; /* why not */
};

/*
 * Decodes as `how` says, whose size, time_ns (when 0: now) and max_bytes are filled in here, puts the labels of the request's
 * token on it, hands the batch on, and waits within the request's budget, and answer_within; what the request's body was is gone then. A sender that went away in the meantime does not take back what is on its way.
 */
void desk__take(struct desk *d, struct dcm_decode *how, const uint8_t *data, size_t n,
		const struct dcm_request *q, struct desk_verdict *ret);
/*
 * The same of a request with several, GROUP_MESSAGES_MAX at most, one behind the other; its sender waits for all together. The first that
 * is refused is told, those behind it are not looked at, and what is before it may be stored: the batches have ids.
 */
void desk__take_all(struct desk *d, struct dcm_decode *how, const struct group_message *messages,
		    uint32_t n, const struct dcm_request *q, struct desk_verdict *ret);

/* Notes who sent it and how it went (senders.h), as one of that protocol, which lives as long as the program. */
void desk__note(struct desk *d, const char *protocol, const struct dcm_request *q,
		const struct desk_verdict *v);

/* Of a session of which nothing is known here: not the sender's fault, who begins it anew. */
enum { DESK_SESSION_UNKNOWN = 409 };

/*
 * desk__take_all() of a method whose request is messages and whose answer is an empty one. Who sent it is noted, as one of that
 * protocol (senders.h). True: it was taken, and the reply may be replaced.
 */
bool desk__take_messages(struct desk *d, const char *protocol, struct dcm_decode *how,
			 const struct group_message *messages, uint32_t n,
			 const struct dcm_request *q, struct dcm_reply *reply);
/* Of one that is all of the body. */
bool desk__take_message(struct desk *d, const char *protocol, struct dcm_decode *how,
			const struct dcm_request *q, struct dcm_reply *reply);

/*
 * Offers an endpoint that takes profiles: to who may write, by POST, within the options' limits, with the
 * desk as ctx unless it has another. The rest is the caller's to fill: path, doc, answer, ...
 */
int desk__serve(struct desk *d, struct dcm_endpoint endpoint, struct dcm_error *err);

/* The value of a request's parameter or header of this name, the first one; "" when there is none. */
struct dcm_str desk__field(const struct dcm_field *fields, uint32_t n, const char *name);
/* Content-Type without its parameters: "application/json" of "application/json; charset=utf-8". */
struct dcm_str desk__media_type(const struct dcm_request *q);

/* A verdict of the protocol's own, before anything was decoded: counted as refused. */
void desk__refuse(struct desk *d, struct desk_verdict *v, int status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Tells the sender so as a problem; true: it was none, and the reply is the caller's to fill. */
bool desk__tell(const struct desk *d, const struct desk_verdict *v, struct dcm_reply *reply);

#endif
