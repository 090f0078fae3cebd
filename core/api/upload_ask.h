/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/upload_ask.h - the messages that ask about an upload of debuginfo, of parca.debuginfo.v1alpha1
 *
 * Source: parca-dev/parca, proto/parca/debuginfo/v1alpha1/debuginfo.proto.
 */
#ifndef DECIMA_API_UPLOAD_ASK_H
#define DECIMA_API_UPLOAD_ASK_H

#include <stdbool.h>

#include <decima/plugin.h>

enum upload_message { UPLOAD_SHOULD_INITIATE, UPLOAD_INITIATE, UPLOAD_MARK_FINISHED };

/* The fields of all of them, by one name; 0 and "" are those that it has not. */
struct upload_ask {
	struct dcm_str build_id, hash, upload_id; /* in the body */
	int64_t bytes;
	bool force;
	uint64_t type, id_type;
};

/* False: it is no such message. */
bool upload_ask__read(struct dcm_str body, enum upload_message message, struct upload_ask *ret);

#endif
