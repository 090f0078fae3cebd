/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/session.h - batches from one sender to one receiver, in which nothing is said twice
 *
 * What profiles use (strings, functions, locations, stacks, series, label sets) is mostly what those before them used.
 * Of a session each message has the entries that none before it had, and rows that refer to all of them by number: a few
 * bytes a row, where a batch on its own has 30 to 150, and for the receiver neither texts to look up nor stacks to hash.
 * docs/FORMATS.md writes the bytes down. OpenTelemetry's Arrow protocol has the same idea
 * (github.com/open-telemetry/otel-arrow: stateful dictionaries).
 *
 * Both sides count messages. What does not follow on what the receiver has (it was restarted, or dropped the session for want of
 * room or of use) is refused, and the sender begins anew: a first message depends on nothing. So the sender begins anew,
 * too, whenever it does not know whether a message was taken; that a batch may then come twice is known by its id.
 */
#ifndef DECIMA_CODEC_SESSION_H
#define DECIMA_CODEC_SESSION_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"

enum {
	/* What a sender keeps, as its builder counts it; a receiver takes four times as much, and its maps. */
	SESSION_MAX_BYTES = 16 << 20,
	/* Messages of one session, so that what no profile uses any more goes in the end. */
	SESSION_MAX_MESSAGES = 1024,
	/* After so long without a message a receiver may drop it. */
	SESSION_IDLE_S = 600,
};

/* ---- the sender's side; one thread at a time ---- */

/* 0 or -ENOMEM. */
int session__new(struct dcm_session **ret, struct dcm_error *err);
void session__free(struct dcm_session *s); /* NULL works */
DEFINE_CLEANUP(struct dcm_session *, session__free);

/* The next message depends on none before it. What was kept is freed. */
void session__anew(struct dcm_session *s);
/* Does the next message depend on others? */
bool session__is_under_way(const struct dcm_session *s);

/*
 * Appends a message with the batch, which may be an overlay: it holds when the receiver has taken all since the last that
 * depends on none. 0; -E2BIG: the batch alone is more than SESSION_MAX_BYTES; -ENOMEM; the buffer's error. After an
 * error the next one begins anew, and the buffer holds what it held.
 */
int session__encode(struct dcm_session *s, const struct dcm_batch *batch, struct buf *out,
		    struct dcm_error *err);
/* The same into memory of its own, which the caller frees. */
int session__encode_bytes(struct dcm_session *s, const struct dcm_batch *batch, uint8_t **ret_data,
			  size_t *ret_n, struct dcm_error *err);

/* ---- the receiver's; any thread, several at once ---- */

/* Keeps so many bytes at most, of all senders. 0 or -ENOMEM. */
int sessions__new(uint64_t max_bytes, struct dcm_sessions **ret, struct dcm_error *err);
void sessions__free(struct dcm_sessions *s); /* NULL works */
DEFINE_CLEANUP(struct dcm_sessions *, sessions__free);

/*
 * Reads a message of exactly [n] bytes, which may be anybody's. *ret_is_kept: the next of that session can be read; false,
 * where there is no room for it now: the sender should send batches as they are for a while. -ESTALE: it does not
 * follow on what is known here. Others as wire__decode(); a session of which one message could not be read has ended.
 */
int sessions__decode(struct dcm_sessions *s, const void *data, size_t n, int64_t now_mono_ns,
		     struct dcm_batch **ret_batch, bool *ret_is_kept, struct dcm_error *err);

/* Does it begin as a message does? */
bool sessions__is_message(const void *data, size_t n);

/* What is kept: sessions, and bytes of all. */
void sessions__stat(struct dcm_sessions *s, uint32_t *ret_n, uint64_t *ret_bytes);

#endif
