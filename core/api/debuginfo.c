/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/debuginfo.c - files that are sent so that they name addresses
 *
 * The body is a program, a library or separate debuginfo, whole or reduced, in a file that the
 * listener has made. What the symbol store says of it is answered, and counted by reason.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/str.h"

static const char *const fates[] = {
	[SYMBOLS_UPLOAD_STORED] = "stored", [SYMBOLS_UPLOAD_KNOWN] = "known", [SYMBOLS_UPLOAD_REPLACED] = "replaced"
};

/* Why a file is refused: for the counters, and the status that says it. */
static const struct refusal {
	const char *reason;
	int error; /* 0: any other */
	int status;
} refusals[API_N_REFUSALS] = {
	{ "not_elf", -ENOEXEC, 422 },	   { "not_linked", -EINVAL, 422 },
	{ "no_build_id", -ENODATA, 422 },  { "other_build_id", -ENXIO, 422 },
	{ "names_nothing", -ENOMSG, 422 }, { "unreadable", -EPROTO, 422 },
	{ "too_slow", -ETIMEDOUT, 422 },   { "too_large", -EFBIG, 413 },
	{ "conflict", -EEXIST, 409 },	   { "no_permission", -EACCES, 403 },
	{ "disk_full", -ENOSPC, 507 },	   { "not_kept", -ENOTSUP, 501 },
	{ "encoded", -EILSEQ, 415 },	   { "malformed", -EBADMSG, 400 },
	{ "busy", -EAGAIN, 503 },	   { "failed", 0, 503 },
};

void api__count_uploads(struct api *a)
{
	if (!a->c.stats)
		return;
	for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]); i++)
		a->n_uploads[i] = stats__counter(a->c.stats, "decima_symbols_uploads_total",
						 "Files that were sent and taken.",
						 STATS_LABELS({ "result", fates[i] }));
	for (size_t i = 0; i < API_N_REFUSALS; i++)
		a->n_refused[i] = stats__counter(a->c.stats, "decima_symbols_uploads_refused_total",
						 "Files that were sent and refused.",
						 STATS_LABELS({ "reason", refusals[i].reason }));
}

void api__uncount_uploads(struct api *a)
{
	if (!a->c.stats)
		return;
	for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]); i++)
		stats__unregister(a->c.stats, a->n_uploads[i]);
	for (size_t i = 0; i < API_N_REFUSALS; i++)
		stats__unregister(a->c.stats, a->n_refused[i]);
}

void api__refuse_upload(struct api *a, int error, const char *sentence, struct http_response *resp)
{
	size_t i = 0;

	error = error == -EDQUOT ? -ENOSPC : error;
	while (refusals[i].error && refusals[i].error != error)
		i++;
	stats__counter_add(a->n_refused[i], 1);
	http_response__problem(resp, refusals[i].status, "%s", sentence);
}

/* What kept the body from coming. */
static void refuse_body(struct api *a, int error, struct http_response *resp)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (error == -EFBIG)
		error__set(&err, error,
			   "the file is larger than the %" PRIu64
			   " bytes of symbols.max_bytes; send it reduced, as `decima debuginfo "
			   "upload` does, or raise that",
			   a->c.upload_bytes);
	else if (error == -EAGAIN)
		error__set(&err, error, "too many files are being taken; try again in a moment");
	else if (error == -ENOTSUP)
		error__set(&err, error, "this server takes no files: it has no data directory");
	else
		error__sys(&err, error, "the file cannot be taken into the data directory");
	api__refuse_upload(a, error, err.text, resp);
}

/* false: the response is a problem. */
static bool read_replace(struct api *a, const struct http_request *req, bool *ret,
			 struct http_response *resp)
{
	struct dcm_str replace = http_request__param(req, "replace");

	*ret = str__eq(replace, STR("1"));
	if (replace.n && !*ret && !str__eq(replace, STR("0"))) {
		api__refuse_upload(a, -EBADMSG, "replace: 0 or 1", resp);
		return false;
	}
	if (*ret && req->role < HTTP_ROLE_ADMIN) {
		api__refuse_upload(
			a, -EACCES,
			"replacing debuginfo needs the role admin; use a token of that role "
			"(server.tokens), or the unix socket as root or the daemon's user",
			resp);
		return false;
	}
	return true;
}

bool api__may_upload(struct api *a, const struct http_request *req, struct http_response *resp)
{
	if (!a->c.symbols || !req->file) {
		api__refuse_upload(a, -ENOTSUP, "files are sent to a daemon (--url)", resp);
		return false;
	}
	if (req->file->error) {
		refuse_body(a, req->file->error, resp);
		return false;
	}
	if (http_request__header(req, "content-encoding").n) {
		api__refuse_upload(a, -EILSEQ, "no Content-Encoding is understood here; a reduced file is compressed by itself",
				   resp);
		return false;
	}
	return true;
}

static bool is_over(void *ctx)
{
	const struct dcm_budget *b = ctx;

	return atomic_load(&b->cancelled);
}

int api__take_upload(struct api *a, const struct http_request *req, struct symbols_upload *upload,
		     struct symbols_uploaded *ret, struct http_response *resp)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	upload->fd = req->file->fd;
	upload->stop = is_over;
	upload->stop_ctx = req->budget;
	r = symbols__upload(a->c.symbols, upload, ret, &err);
	if (r < 0)
		api__refuse_upload(a, r, err.text, resp);
	else
		stats__counter_add(a->n_uploads[ret->fate], 1);
	return r;
}

void api__debuginfo_upload(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct symbols_upload upload = { .fd = -1 };
	struct symbols_uploaded done;

	if (!read_replace(a, req, &upload.replace, resp) || !api__may_upload(a, req, resp) ||
	    api__take_upload(a, req, &upload, &done, resp) < 0)
		return;
	resp->status = done.fate == SYMBOLS_UPLOAD_KNOWN ? 200 : 201;
	buf__printf(&resp->body,
		    "{\"build_id\":\"%s\",\"result\":\"%s\",\"functions\":%s,\"lines\":%s,"
		    "\"bytes\":%" PRIu64 "}\n",
		    done.build_id, fates[done.fate], done.functions ? "true" : "false",
		    done.lines ? "true" : "false", done.bytes);
}
