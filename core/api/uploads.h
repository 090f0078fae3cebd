/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/uploads.h - uploads by Parca's protocol between their calls: which are under way, and how they ended
 *
 * An upload is of a build id and a type, and known by a random id. It is begun, opened when its bytes are
 * there, closed when they were looked at, and finished. One that was not finished within UPLOADS_STALE_NS
 * gives way to the next of its kind. Of those that ended the hash stays for a while, so that the same bytes
 * are not asked for again. No bytes are held here, and nothing outlives the process.
 *
 * Any thread.
 */
#ifndef DECIMA_API_UPLOADS_H
#define DECIMA_API_UPLOADS_H

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/symbolize/elf.h"

/* Parca grants a quarter of an hour, and two minutes. */
#define UPLOADS_STALE_NS (17 * INT64_C(60000000000))
/* Where all are under way, one that was begun so long ago, and of which nothing has come, gives way. */
#define UPLOADS_HURRY_NS INT64_C(60000000000)

enum {
	UPLOADS_MAX = 1024,	  /* that are known of: 200 bytes each */
	UPLOADS_CLIENT_MAX = 768, /* of them under way, of one client */
	UPLOADS_ID = 37		  /* a UUID, as text with its NUL */
};

/* What an upload is of. The build id is one: at most ELF_BUILD_ID_TEXT - 1 bytes. */
struct uploads_key {
	struct dcm_str build_id;
	uint64_t type;
};

enum uploads_state {
	UPLOADS_NONE,
	UPLOADS_UNDER_WAY,
	UPLOADS_STALE, /* or what came was not taken, and may come again */
	UPLOADS_FINISHED,
	UPLOADS_REFUSED /* what came was of no use */
};

struct uploads;
struct uploads *uploads__new(const struct clock *clock); /* borrowed. NULL: no memory */
void uploads__free(struct uploads *u);

/* *ret_same: it had the same hash, which is not "". */
enum uploads_state uploads__look(struct uploads *u, const struct uploads_key *key,
				 struct dcm_str hash, bool *ret_same);

struct uploads_claim {
	struct uploads_key key;
	struct dcm_str hash;
	uint64_t bytes;
	struct dcm_str peer; /* whose it is */
	bool is_assigned;    /* the build id: the file has none of its own */
	bool force;	     /* also where one is under way, which then comes to nothing */
};
/* 0, -EBUSY (one is under way), -ENOBUFS (too many are, or of this client's), or of the system's random numbers. */
int uploads__begin(struct uploads *u, const struct uploads_claim *claim, char ret_id[static UPLOADS_ID]);

/* What was said of it when it was begun. */
struct uploads_terms {
	uint64_t bytes;
	bool is_assigned, force;
};
/* Its bytes are there. 0, -ENOENT (none was begun), -EINVAL (another id), -EALREADY (they were there before). */
int uploads__open(struct uploads *u, const struct uploads_key *key, struct dcm_str id,
		  struct uploads_terms *ret);

enum uploads_outcome {
	UPLOADS_TAKEN,
	UPLOADS_USELESS,  /* the same bytes will be refused again */
	UPLOADS_TRY_AGAIN /* as if they had not come; it may be begun anew, too */
};
/* Does nothing when another upload has taken its place. */
void uploads__close(struct uploads *u, struct dcm_str id, enum uploads_outcome outcome);

/* 0, -ENOENT (none was begun), -EINVAL (another id), -EAGAIN (its bytes were not taken). A second time is fine. */
int uploads__finish(struct uploads *u, const struct uploads_key *key, struct dcm_str id);

#endif
