/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/store.c - the store's own upkeep on demand: backup, check
 */
#include <errno.h>

#include "core/api/internal.h"
#include "core/base/str.h"

void api__store_backup(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_str dir = http_request__param(req, "dir");
	int r;

	if (!api__has_engine(a, resp))
		return;
	if (dir.n == 0 || dir.p[0] != '/') {
		http_response__problem(
			resp, 400, "dir: give the absolute path of a directory that does not exist yet");
		return;
	}
	r = a->c.backup(a->c.ctx, dir.p, &err);
	if (r < 0)
		api__fail(resp, r, &err);
	else
		buf__text(&resp->body, "{\"backup\":true}\n");
}

struct findings {
	struct buf *out;
	uint32_t n;
};

static void add_finding(void *ctx, enum dcm_log_level level, const char *sentence)
{
	static const char *const levels[] = { "error", "warning", "info", "debug" };
	struct findings *f = ctx;

	if (f->n == API_MAX_LIST)
		return;
	buf__printf(f->out, "%s{\"severity\":\"%s\",\"message\":", f->n++ ? "," : "", levels[level]);
	buf__json(f->out, str__of(sentence));
	buf__byte(f->out, '}');
}

/* Damage is an answer, not a failure of the question. */
void api__store_check(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	struct findings f = { .out = &resp->body };
	int r;

	(void)req;
	if (!api__has_engine(a, resp))
		return;
	buf__text(&resp->body, "{\"findings\":[");
	r = a->c.check(a->c.ctx, add_finding, &f, &err);
	if (r < 0 && r != -EUCLEAN)
		api__fail(resp, r, &err);
	else
		buf__printf(&resp->body, "],\"sound\":%s}\n", r == 0 ? "true" : "false");
}
