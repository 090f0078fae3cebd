/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/debuginfo_calls.c - parca.debuginfo.v1alpha1.DebuginfoService: is a file wanted, take it, it is whole
 *
 * What Parca's agents and tools send debuginfo by. A client asks by build id, says how much it will send,
 * sends that, and says that it is done. The file is reduced and kept as soon as it is there, as one that
 * /api/v1/debuginfo takes; a stream that ends early leaves nothing. Reasons are Parca's, to the letter:
 * agents compare them. Unlike there, what is kept gives way to a file that tells more, and before any
 * other it stays unless somebody with the role admin says `force`.
 *
 * Sources: parca-dev/parca, proto/parca/debuginfo/v1alpha1/debuginfo.proto, pkg/debuginfo/store.go.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/api/internal.h"
#include "core/api/upload_ask.h"
#include "core/api/upload_stream.h"
#include "core/base/error.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"

enum { TYPE_DEBUGINFO, TYPE_EXECUTABLE };
/* Kinds of build ids. HASH: what Parca's agent calls a file that has none. */
enum { ID_UNKNOWN, ID_GNU, ID_HASH };
enum { BY_GRPC = 1 }; /* UploadInstructions.UploadStrategy */

/* ------------------------------------------------------------------------------------------------
 * Is it wanted
 */

enum verdict { WANTED, NOT_WANTED, THE_SAME_AGAIN, MALFORMED };

struct judgement {
	enum verdict verdict;
	const char *why;
};

static struct judgement judged(enum verdict verdict, const char *why)
{
	return (struct judgement){ verdict, why };
}

/* Whatever is kept, and whatever is under way. */
static struct judgement judge_kind(const struct upload_ask *q)
{
	if (q->type > TYPE_EXECUTABLE)
		return judged(NOT_WANTED,
			      "Neither sources nor source maps are kept here, only what names "
			      "addresses: programs, libraries and their debuginfo.");
	if (q->id_type > ID_HASH)
		return judged(NOT_WANTED,
			      "Only files that go by a GNU build id or a hash are kept here, by "
			      "that one; link with -Wl,--build-id.");
	if (!elf__is_build_id(q->build_id))
		return judged(MALFORMED, "build_id: it should be 2 to 64 bytes in lower-case hex");
	return judged(WANTED, "");
}

static struct judgement judge_kept(const struct upload_ask *q, int kept, bool is_same)
{
	if (q->force)
		return judged(WANTED, "Debuginfo already exists and is not marked as invalid, "
				      "therefore wouldn't have accepted a new upload, but "
				      "accepting it because it's requested to be forced.");
	if (kept & SYMBOLS_KEPT_LINES)
		return judged(NOT_WANTED, "Debuginfo already exists and is not marked as invalid, "
					  "therefore no new upload is needed.");
	if (is_same)
		return judged(THE_SAME_AGAIN,
			      "Debuginfo already exists, and the proposed hash is the same as that "
			      "of what was uploaded, therefore the upload is not accepted.");
	return judged(WANTED, "Debuginfo already exists, but names functions without lines, "
			      "therefore one that tells more is accepted.");
}

static struct judgement judge_refused(const struct upload_ask *q, bool is_same)
{
	if (q->hash.n == 0)
		return judged(WANTED,
			      "Debuginfo already exists but is marked as invalid, therefore a new "
			      "upload is needed. Hash the debuginfo and initiate the upload.");
	if (is_same)
		return judged(THE_SAME_AGAIN,
			      "Debuginfo already exists and is marked as invalid, but the proposed "
			      "hash is the same as the one already available, therefore the upload "
			      "is not accepted as it would result in the same invalid debuginfos.");
	return judged(WANTED, "Debuginfo already exists but is marked as invalid, therefore a new "
			      "upload will be accepted.");
}

static struct judgement judge_under_way(const struct upload_ask *q)
{
	if (q->force)
		return judged(WANTED, "A previous upload is in-progress, but accepting restart "
				      "because it's requested to be forced.");
	return judged(NOT_WANTED, "A previous upload is still in-progress and not stale yet (only "
				  "stale uploads can be retried).");
}

static struct judgement judge_state(enum uploads_state state, const struct upload_ask *q, bool is_same)
{
	switch (state) {
	case UPLOADS_UNDER_WAY:
		return judge_under_way(q);
	case UPLOADS_REFUSED:
		return judge_refused(q, is_same);
	case UPLOADS_STALE:
		return judged(WANTED, "A previous upload was started but not finished and is now "
				      "stale, so it can be retried.");
	case UPLOADS_FINISHED:
		return judged(WANTED, "Debuginfo was previously uploaded but has been "
				      "purged/cleaned up, therefore a new upload is needed.");
	default:
		return judged(WANTED, "First time we see this Build ID, and it does not exist in "
				      "debuginfod, therefore please upload!");
	}
}

static struct judgement judge(struct api *a, const struct upload_ask *q)
{
	struct judgement j = judge_kind(q);
	char build_id[ELF_BUILD_ID_TEXT];
	enum uploads_state state;
	bool is_same;
	int kept;

	if (j.verdict != WANTED)
		return j;
	snprintf(build_id, sizeof(build_id), "%.*s", STR_ARG(q->build_id));
	kept = a->c.symbols && a->c.upload_bytes ? symbols__kept(a->c.symbols, build_id) : -ENOTSUP;
	if (kept == -ENOTSUP)
		return judged(NOT_WANTED, "Nothing is kept here: symbols.max_bytes is 0, "
					  "symbols.files is false, or there is no data directory.");
	state = uploads__look(a->uploads, &(struct uploads_key){ q->build_id, q->type }, q->hash,
			      &is_same);
	if (state != UPLOADS_UNDER_WAY && kept >= 0)
		return judge_kept(q, kept, is_same && state != UPLOADS_STALE);
	return judge_state(state, q, is_same);
}

/* ------------------------------------------------------------------------------------------------
 * The calls
 */

static void answer(struct http_response *resp)
{
	snprintf(resp->content_type, sizeof(resp->content_type), "application/proto");
}

static bool read_or_refuse(const struct http_request *req, enum upload_message message,
			   const char *name, struct upload_ask *ret, struct http_response *resp)
{
	if (upload_ask__read(req->body, message, ret))
		return true;
	http_response__problem(resp, 400, "the message is no %s", name);
	return false;
}

void api__should_initiate(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct judgement j;
	struct upload_ask q;

	if (!read_or_refuse(req, UPLOAD_SHOULD_INITIATE, "ShouldInitiateUploadRequest", &q, resp))
		return;
	j = judge(ctx, &q);
	if (j.verdict == MALFORMED) {
		http_response__problem(resp, 400, "%s", j.why);
		return;
	}
	answer(resp);
	pb__put_varint(&resp->body, 1, j.verdict == WANTED);
	pb__put_str(&resp->body, 2, str__of(j.why));
}

static bool check_claim(const struct api *a, const struct upload_ask *q, struct http_response *resp)
{
	if (q->hash.n == 0)
		http_response__problem(
			resp, 400, "hash: missing; it tells this file from others of its build id");
	else if (q->bytes <= 0)
		http_response__problem(resp, 400, "size: it should be how many bytes will be uploaded");
	else if ((uint64_t)q->bytes > a->c.upload_bytes)
		http_response__problem(
			resp, 400, "size: %" PRId64 " bytes are more than the %" PRIu64 " of symbols.max_bytes; reduce the file, as `decima debuginfo upload` does, or raise that",
			q->bytes, a->c.upload_bytes);
	else
		return true;
	return false;
}

static void put_instructions(const struct upload_ask *q, const char *id, struct buf *out)
{
	struct buf b = { 0 };

	pb__put_str(&b, 1, q->build_id);
	pb__put_str(&b, 2, str__of(id));
	pb__put_varint(&b, 3, BY_GRPC);
	pb__put_varint(&b, 5, q->type);
	pb__put_bytes(out, 1, b.data, b.n);
	out->error = out->error ? out->error : b.error;
	buf__fini(&b);
}

void api__initiate_upload(void *ctx, const struct http_request *req, struct http_response *resp)
{
	static const int statuses[] = { [NOT_WANTED] = 409, [THE_SAME_AGAIN] = 412, [MALFORMED] = 400 };
	struct api *a = ctx;
	char id[UPLOADS_ID];
	struct judgement j;
	struct upload_ask q;
	int r;

	if (!read_or_refuse(req, UPLOAD_INITIATE, "InitiateUploadRequest", &q, resp))
		return;
	j = judge(a, &q);
	if (j.verdict != WANTED) {
		http_response__problem(resp, statuses[j.verdict], "%s", j.why);
		return;
	}
	if (!check_claim(a, &q, resp))
		return;
	r = uploads__begin(a->uploads,
			   &(struct uploads_claim){ .key = { q.build_id, q.type },
						    .hash = q.hash,
						    .bytes = (uint64_t)q.bytes,
						    .peer = req->peer,
						    .is_assigned = q.id_type == ID_HASH,
						    .force = q.force },
			   id);
	if (r == -EBUSY)
		http_response__problem(resp, 409, "%s", judge_under_way(&q).why);
	else if (r == -ENOBUFS)
		http_response__problem(
			resp, 503, "%d uploads are under way, or %d of this client's; finish some, or try again in a minute",
			UPLOADS_MAX, UPLOADS_CLIENT_MAX);
	else if (r < 0)
		http_response__problem(resp, 503, "there are no random numbers for an id: %s",
				       strerror(-r));
	else
		put_instructions(&q, id, &resp->body);
	if (r == 0)
		answer(resp);
}

static const char no_such_id[] =
	"upload_id: it is not the one that InitiateUpload gave last for this build id and type";

static void refuse_opening(int r, struct http_response *resp)
{
	if (r == -ENOENT)
		http_response__problem(
			resp, 409, "no upload of this build id and type is under way; call InitiateUpload first");
	else if (r == -EINVAL)
		http_response__problem(resp, 400, "%s", no_such_id);
	else
		http_response__problem(
			resp, 409, "this upload's bytes have come already; call MarkUploadFinished, or InitiateUpload anew");
}

/* What will be refused as often as it comes. */
static bool is_useless(int r)
{
	return r == -ENOEXEC || r == -EINVAL || r == -ENODATA || r == -ENXIO || r == -ENOMSG ||
	       r == -EPROTO || r == -EEXIST;
}

/* Into the symbol store, by the name and of the length that were said. */
static void store(struct api *a, const struct http_request *req, const struct upload_stream *s,
		  const struct uploads_terms *terms, struct http_response *resp)
{
	char build_id[ELF_BUILD_ID_TEXT];
	struct symbols_upload upload = { .build_id = build_id,
					 .is_assigned = terms->is_assigned,
					 .replace = terms->force && req->role >= HTTP_ROLE_ADMIN };
	enum uploads_outcome outcome = UPLOADS_TRY_AGAIN;
	struct symbols_uploaded done;
	int r;

	snprintf(build_id, sizeof(build_id), "%.*s", STR_ARG(s->build_id));
	if (s->bytes != terms->bytes) {
		http_response__problem(resp, 400,
				       "%" PRIu64 " bytes came, and InitiateUpload said %" PRIu64,
				       s->bytes, terms->bytes);
	} else {
		r = api__take_upload(a, req, &upload, &done, resp);
		outcome = r == 0	  ? UPLOADS_TAKEN
			  : is_useless(r) ? UPLOADS_USELESS
					  : UPLOADS_TRY_AGAIN;
	}
	uploads__close(a->uploads, s->upload_id, outcome);
	if (outcome != UPLOADS_TAKEN)
		return;
	answer(resp);
	pb__put_str(&resp->body, 1, s->build_id);
	pb__put_varint(&resp->body, 2, s->bytes);
}

/* Chunks have heads. */
static uint64_t most_unpacked(uint64_t upload_bytes)
{
	return upload_bytes + upload_bytes / 64 + 8192;
}

void api__upload_stream(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct upload_stream s;
	struct uploads_terms terms;
	struct upload_packing packing;
	int r;

	if (!api__may_upload(ctx, req, resp))
		return;
	packing = (struct upload_packing){ http_request__header(req, "grpc-encoding"),
					   most_unpacked(((const struct api *)ctx)->c.upload_bytes) };
	r = upload_stream__unwrap(req->file->fd, req->file->n, &packing, &s, &err);
	if (r == -EOPNOTSUPP)
		http_response__header(resp, "grpc-accept-encoding", "identity,gzip");
	if (r == -EINVAL || r == -EOPNOTSUPP)
		http_response__problem(resp, r == -EINVAL ? 400 : 501, "%s", err.text);
	else if (r < 0)
		api__refuse_upload(ctx, r, err.text, resp);
	if (r < 0)
		return;
	r = uploads__open(((struct api *)ctx)->uploads, &(struct uploads_key){ s.build_id, s.type },
			  s.upload_id, &terms);
	if (r < 0)
		refuse_opening(r, resp);
	else
		store(ctx, req, &s, &terms, resp);
}

void api__mark_finished(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct upload_ask q;
	int r;

	if (!read_or_refuse(req, UPLOAD_MARK_FINISHED, "MarkUploadFinishedRequest", &q, resp))
		return;
	r = uploads__finish(a->uploads, &(struct uploads_key){ q.build_id, q.type }, q.upload_id);
	if (r == -ENOENT)
		http_response__problem(resp, 404, "no upload of this build id and type was begun");
	else if (r == -EINVAL)
		http_response__problem(resp, 400, "%s", no_such_id);
	else if (r < 0)
		http_response__problem(
			resp, 409, "nothing of this upload was taken; call Upload first, and see what it says");
	else
		answer(resp);
}
