/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/decima.c - decima.v1.Ingest/Write: batches of another Decima, as they are
 *
 * A batch has an id of its own, by which the stores know one that comes again. By gRPC, or as a plain
 * request with the same body: a batch on its own, or the next message of a session. The answer to that is a message whose
 * field 1 says that the session can go on. A plain request may have several, each behind its length (docs/FORMATS.md).
 */
#include "plugins/input/receive/decima.h"

#include "core/base/str.h"

static void show(const struct decima_door *door)
{
	const struct dcm_host *host = door->desk->host;
	uint64_t bytes;
	uint32_t n;

	host->sessions_stat(door->sessions, &n, &bytes);
	host->metric_set(door->kept, n);
	host->metric_set(door->bytes, (double)bytes);
}

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct group_message messages[GROUP_MESSAGES_MAX] = { { q->body, q->n_body } };
	uint32_t n = 1;
	static const uint8_t goes_on[] = { 1 << 3, 1 };
	struct decima_door *door = ctx;
	const struct dcm_host *host = door->desk->host;
	struct dcm_found found = { .size = sizeof(found) };
	struct dcm_decode how = { .format = "batch",
				  .identity = DCM_IDENTITY_TIMED, /* of one that has no id */
				  .sessions = door->sessions,
				  .found = &found };
	bool is_taken;

	if (str__eq(desk__media_type(q), STR("application/vnd.decima.batches")))
		n = group__cut(q->body, q->n_body, messages);
	if (n == 0) {
		struct desk_verdict v;

		desk__refuse(door->desk, &v,
			     400, "the body is no list of 1 to %d batches, each behind its length in four bytes",
			     GROUP_MESSAGES_MAX);
		desk__tell(door->desk, &v, reply);
		return;
	}
	is_taken = desk__take_messages(door->desk, "decima", &how, messages, n, q, reply);
	if (is_taken && found.session == DCM_SESSION_KEPT)
		host->reply_put(reply, 200, "application/proto", goes_on, sizeof(goes_on));
	else if (is_taken && found.session == DCM_SESSION_UNKEPT)
		host->metric_add(door->unkept, 1);
	show(door);
}

int decima__serve(struct decima_door *door, struct desk *d, struct dcm_error *err)
{
	const struct dcm_host *host = d->host;
	int r = host->sessions_new(host, (uint64_t)d->options->max_sessions_bytes, &door->sessions, err);

	if (r < 0)
		return r;
	door->desk = d;
	door->unkept = host->metric(
		host, DCM_COUNTER,
		"receive_sessions_unkept_total", "Messages of sessions that were taken and could not be kept, for want of room (max_sessions).");
	door->kept = host->metric(host, DCM_GAUGE_METRIC, "receive_sessions",
				  "Sessions of other Decimas that are kept.");
	door->bytes = host->metric(host, DCM_GAUGE_METRIC, "receive_sessions_bytes",
				   "Memory that they take.");
	return desk__serve(d,
			   (struct dcm_endpoint){ .path = "/decima.v1.Ingest/Write",
						  .doc = "takes a batch of another Decima",
						  .answer = answer,
						  .ctx = door,
						  .grpc = 1 },
			   err);
}

void decima__close(struct decima_door *door)
{
	if (door->sessions)
		door->desk->host->sessions_free(door->sessions);
}
