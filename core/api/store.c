/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/store.c - the store's own upkeep on demand: how much it holds, backup, check, removal
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/query/render.h"

void api__put_store(const struct dcm_store_stat *s, struct buf *b)
{
	buf__text(b, "{\"place\":");
	buf__json(b, s->place);
	buf__printf(b,
		    ",\"bytes\":%" PRIu64 ",\"series\":%" PRIu64 ",\"stacks\":%" PRIu64
		    ",\"locations\":%" PRIu64 ",\"profiles\":%" PRIu64 ",\"rows\":%" PRIu64
		    ",\"first_ms\":%" PRId64 ",\"last_ms\":%" PRId64 ",\"removals\":%" PRIu32
		    ",\"set_aside\":%" PRIu32 ",\"set_aside_bytes\":%" PRIu64
		    ",\"rows_folded\":%" PRIu64 ",\"rows_refused\":%" PRIu64
		    ",\"disk_bytes\":%" PRIu64 ",\"block_bytes\":%" PRIu64
		    ",\"dictionary_bytes\":%" PRIu64 ",\"log_bytes\":%" PRIu64
		    ",\"retention_ms\":%" PRId64 ",\"max_bytes\":%" PRIu64 "}",
		    s->bytes, s->n_series, s->n_stacks, s->n_locations, s->n_profiles, s->n_rows,
		    s->first_ms, s->last_ms, s->n_removals, s->n_set_aside, s->set_aside_bytes,
		    s->n_rows_folded, s->n_rows_refused, s->disk_bytes, s->block_bytes,
		    s->dictionary_bytes, s->log_bytes, s->retention_ms, s->max_bytes);
}

/* Of a store with files all that is on the disk, and of what kind; else what profiles take. */
static void put_size(const struct dcm_store_stat *s, struct buf *b)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} kinds[] = { { "blocks", s->block_bytes },
		      { "dictionaries", s->dictionary_bytes },
		      { "log", s->log_bytes },
		      { "set aside", s->set_aside_bytes } };
	const uint64_t all = s->disk_bytes ? s->disk_bytes : s->bytes;
	const char *before = ": ";
	char size[48];

	buf__printf(b, "\nsize       %s", units__format_value((double)all, STR("bytes"), size));
	for (size_t i = 0; s->disk_bytes && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].bytes)
			continue;
		buf__printf(b, "%s%s %s", before, kinds[i].name,
			    units__format_value((double)kinds[i].bytes, STR("bytes"), size));
		before = ", ";
	}
	buf__byte(b, '\n');
}

/* Both bounds where there are both; nothing where nobody knows of one. */
static void put_limits(const struct dcm_store_stat *s, struct buf *b)
{
	char text[48];

	if (s->retention_ms <= 0 && s->max_bytes == 0)
		return;
	buf__text(b, "keeps      ");
	if (s->retention_ms > 0) {
		units__format_duration(s->retention_ms * 1000000, text);
		buf__text(b, text);
	}
	if (s->max_bytes)
		buf__printf(b, "%sat most %s", s->retention_ms > 0 ? ", " : "",
			    units__format_value((double)s->max_bytes, STR("bytes"), text));
	buf__byte(b, '\n');
}

static void put_store_text(const struct dcm_store_stat *s, struct buf *b)
{
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = { { "profiles", s->n_profiles },
		       { "rows", s->n_rows },
		       { "series", s->n_series },
		       { "stacks", s->n_stacks },
		       { "locations", s->n_locations } };
	char size[48], time[32];

	buf__text(b, "place      ");
	render__text(s->place, 0, b);
	put_size(s, b);
	put_limits(s, b);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		buf__printf(b, "%-10s %" PRIu64 "\n", counts[i].name, counts[i].n);
	if (s->n_removals)
		buf__printf(b, "removals   %" PRIu32 ": their rows are in no answer, and still on the disk\n",
			    s->n_removals);
	if (s->n_set_aside)
		buf__printf(b, "set aside  %" PRIu32 " damaged files, %s: `decima store check` tells of them\n",
			    s->n_set_aside,
			    units__format_value((double)s->set_aside_bytes, STR("bytes"), size));
	if (s->n_rows_folded || s->n_rows_refused)
		buf__printf(b,
			    "overflow   %" PRIu64
			    " rows of new series are in {__overflow__=\"true\"}, %" PRIu64
			    " were refused: see max_series\n",
			    s->n_rows_folded, s->n_rows_refused);
	if (s->n_profiles == 0)
		return;
	buf__printf(b, "first      %s\n", units__format_time(s->first_ms * 1000000, time));
	buf__printf(b, "last       %s\n", units__format_time(s->last_ms * 1000000, time));
}

/* What is kept on disk for names, and why nothing new is. */
static void put_symbols_text(struct symbols *symbols, struct buf *b)
{
	struct symbols_stat s = { 0 };
	char size[48];

	symbols__stat(symbols, &s);
	buf__printf(b, "symbols    %s in %" PRIu64 " files, and names of %" PRIu64 "\n",
		    units__format_value((double)s.store_bytes, STR("bytes"), size), s.store_files,
		    s.store_logs);
	if (s.store_state[0]) {
		buf__text(b, "           ");
		render__text(str__of(s.store_state), 0, b);
		buf__byte(b, '\n');
	}
}

void api__store_stat(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct dcm_store_stat s = { .size = sizeof(s) };
	enum api_format format;

	if (!api_param__format(req, &format, resp) || !api__has_engine(a, resp))
		return;
	if (!a->c.store_stat || !a->c.store_stat(a->c.ctx, &s)) {
		http_response__problem(resp, 503, "no storage runs here");
		return;
	}
	if (format == API_TEXT) {
		snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
		put_store_text(&s, &resp->body);
		if (a->c.symbols)
			put_symbols_text(a->c.symbols, &resp->body);
		return;
	}
	api__put_store(&s, &resp->body);
	buf__byte(&resp->body, '\n');
}

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
	uint32_t n, n_errors;
};

static void add_finding(void *ctx, enum dcm_log_level level, const char *sentence)
{
	static const char *const levels[] = { "error", "warning", "info", "debug" };
	struct findings *f = ctx;

	f->n_errors += level == DCM_LOG_ERROR;
	if (f->n == API_MAX_LIST)
		return;
	buf__printf(f->out, "%s{\"severity\":\"%s\",\"message\":", f->n++ ? "," : "", levels[level]);
	buf__json(f->out, str__of(sentence));
	buf__byte(f->out, '}');
}

/* Damage is an answer, not a failure of the question; and so is what was found until it was ended. */
void api__store_check(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	struct findings f = { .out = &resp->body };
	int r;

	if (!api__has_engine(a, resp))
		return;
	buf__text(&resp->body, "{\"findings\":[");
	api__enter(a, req);
	r = a->c.check(a->c.ctx, req->budget, add_finding, &f, &err);
	api__leave(a, req->budget);
	if (r == -ECANCELED || r == -ETIMEDOUT) {
		buf__text(&resp->body, "],\"ended\":");
		buf__json(&resp->body, str__of(err.text));
		buf__printf(&resp->body, ",\"sound\":%s}\n", f.n_errors ? "false" : "null");
	} else if (r < 0 && r != -EUCLEAN) {
		api__fail(resp, r, &err);
	} else {
		buf__printf(&resp->body, "],\"sound\":%s}\n", r == 0 ? "true" : "false");
	}
}

/*
 * What is removed does not come back: so nothing has a default. False: the response is a problem.
 */
static bool read_removal(const struct http_request *req, struct selector **ret,
			 struct api_range *range, struct http_response *resp)
{
	struct dcm_str q = http_request__param(req, "q");
	struct dcm_error err = DCM_ERROR_INIT;

	if (q.n == 0) {
		http_response__problem(resp, 400,
				       "q: missing; give a selector like {service_name=\"x\"}, "
				       "with a type before it or not; {} is all");
		return false;
	}
	if (http_request__param(req, "from").n == 0 || http_request__param(req, "to").n == 0) {
		http_response__problem(
			resp, 400, "from, to: give both; 0 and now are all that is from now or before");
		return false;
	}
	if (!api_range__read(req, range, resp))
		return false;
	if (selector__parse(q, SELECTOR_TYPE_OPTIONAL, ret, &err) < 0) {
		http_response__problem(resp, 400, "q: %s", err.text);
		return false;
	}
	return true;
}

void api__store_remove(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_range range = { .from = "from", .to = "to", .now_ns = clock__real(a->c.clock) };
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(selector__freep) struct selector *s = NULL;
	uint64_t n = 0;
	int r;

	if (!api__has_engine(a, resp) || !read_removal(req, &s, &range, resp))
		return;
	if (!a->c.remove) {
		http_response__problem(
			resp, 501, "this store is only read here; ask the daemon that writes it (--url)");
		return;
	}
	struct dcm_select sel = selector__select(s, range.from_ms, range.to_ms, req->budget);
	r = a->c.remove(a->c.ctx, &sel, &n, &err);
	if (r < 0)
		api__fail(resp, r, &err);
	else
		buf__printf(&resp->body, "{\"profiles\":%" PRIu64 "}\n", n);
}
