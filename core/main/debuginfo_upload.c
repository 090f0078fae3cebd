/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfo_upload.c - `decima debuginfo upload FILE..`: what names programs' addresses, to a server
 *
 * Several files go at once, each on a thread that takes the next when it is done; two of one build id go one
 * after the other, so that the second is asked for when the first is there. What became of them is told in
 * the order in which they were named. A file that cannot be sent or is refused is told on stderr, and the
 * others still go; what is of no use in a directory is passed over.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/main/debuginfo_send.h"
#include "core/main/elf_walk.h"
#include "core/main/output_file.h"
#include "core/main/progress.h"
#include "core/main/verbs.h"
#include "core/query/render.h"

#define TIMEOUT "10m" /* a large file over a slow line */

enum { MAX_PARALLEL = 16 };

struct upload {
	const struct args *args;
	struct ask_server server;
	struct elf_walk files;
	struct debuginfo_send send;
	json_t *list; /* NULL: text */
	uint32_t n_threads;

	pthread_mutex_t lock; /* of all below, and of what is printed */
	pthread_cond_t released;
	const char *busy[MAX_PARALLEL]; /* [n_threads]: the build id that each is at; NULL: none */
	struct debuginfo_send_report **reports; /* [files.n]; NULL: not there yet, or told already */
	uint32_t next, n_told;
	uint32_t n_of[DEBUGINFO_SEND_NO_USE + 1];
	int status;
};

/* ------------------------------------------------------------------------------------------------
 * Telling
 */

static void clear_progress(const struct upload *u)
{
	if (u->send.sent)
		progress__hide();
}

/* For who looks on; on any thread. */
static void tell_progress(void *ctx, const char *path, uint64_t n, uint64_t total)
{
	struct upload *u = ctx;
	char sent[48], whole[48];

	pthread_mutex_lock(&u->lock);
	progress__show("decima debuginfo upload: %u of %u files; %.100s: %s of %s", u->n_told,
		       u->files.n, path, units__format_value((double)n, STR("bytes"), sent),
		       units__format_value((double)total, STR("bytes"), whole));
	pthread_mutex_unlock(&u->lock);
}

static const char *words_for(const struct debuginfo_send_report *r)
{
	return r->functions && r->lines ? "functions and lines" : r->lines ? "lines" : "functions";
}

static bool was_sent(const struct debuginfo_send_report *r)
{
	return r->result == DEBUGINFO_SEND_STORED || r->result == DEBUGINFO_SEND_REPLACED;
}

static const char *const results[] = {
	[DEBUGINFO_SEND_STORED] = "stored",   [DEBUGINFO_SEND_REPLACED] = "replaced",
	[DEBUGINFO_SEND_KNOWN] = "known",     [DEBUGINFO_SEND_NOT_WANTED] = "not_wanted",
	[DEBUGINFO_SEND_REFUSED] = "refused", [DEBUGINFO_SEND_NO_USE] = "refused"
};

/* "a.out: build id ab..: stored, functions and lines (1.2MiB sent)" */
static void put_text(const char *path, const struct debuginfo_send_report *r, struct buf *out)
{
	char size[48];

	render__text(str__of(path), 0, out);
	buf__printf(out, ": build id %s: %s", r->build_id, results[r->result]);
	if (was_sent(r))
		buf__printf(out, ", %s (%s sent)\n", words_for(r),
			    units__format_value((double)r->bytes, STR("bytes"), size));
	else
		buf__printf(out, ", nothing sent\n");
}

static json_t *to_json(const char *path, const struct debuginfo_send_report *r)
{
	if (was_sent(r))
		return json_pack("{s:s, s:s, s:s, s:b, s:b, s:I}", "file", path, "build_id", r->build_id,
				 "result", results[r->result], "functions", (int)r->functions,
				 "lines", (int)r->lines, "bytes", (json_int_t)r->bytes);
	if (r->build_id[0])
		return json_pack("{s:s, s:s, s:s, s:s}", "file", path, "build_id", r->build_id,
				 "result", results[r->result], "reason", r->why.text);
	return json_pack("{s:s, s:s, s:s}", "file", path, "result", results[r->result], "reason",
			 r->why.text);
}

static void print(struct upload *u, const struct buf *out)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (output_file__write("-", out, &err) >= 0)
		return;
	fprintf(stderr, "decima debuginfo upload: %s\n", err.text);
	u->status = EXIT_NO;
}

static void tell(struct upload *u, const struct elf_walk_file *f, struct debuginfo_send_report *r)
{
	struct buf out = { 0 };

	u->n_of[r->result]++;
	if (r->result == DEBUGINFO_SEND_NO_USE && !f->named)
		return;
	clear_progress(u);
	str__clean(r->why.text, strlen(r->why.text));
	if (u->list) {
		json_array_append_new(u->list, to_json(f->path, r));
	} else if (was_sent(r) || r->result == DEBUGINFO_SEND_KNOWN) {
		put_text(f->path, r, &out);
		print(u, &out);
	}
	buf__fini(&out);
	if (was_sent(r) || r->result == DEBUGINFO_SEND_KNOWN)
		return;
	fprintf(stderr, "decima debuginfo upload: %s: %s\n", f->path, r->why.text);
	u->status = EXIT_NO;
}

/* In order, as far as they are there. */
static void tell_those_there(struct upload *u)
{
	for (; u->n_told < u->files.n && u->reports[u->n_told]; u->n_told++) {
		tell(u, &u->files.v[u->n_told], u->reports[u->n_told]);
		free(take_ptr(u->reports[u->n_told]));
	}
}

static void tell_end(struct upload *u)
{
	struct buf out = { 0 };
	char *text = u->list ? json_dumps(u->list, JSON_COMPACT) : NULL;

	if (text)
		buf__printf(&out, "{\"files\":%s}\n", text);
	else if (u->files.has_dirs)
		buf__printf(&out, "%u sent, %u known, %u not taken, %u passed over\n",
			    u->n_of[DEBUGINFO_SEND_STORED] + u->n_of[DEBUGINFO_SEND_REPLACED],
			    u->n_of[DEBUGINFO_SEND_KNOWN],
			    u->n_of[DEBUGINFO_SEND_NOT_WANTED] + u->n_of[DEBUGINFO_SEND_REFUSED],
			    u->n_of[DEBUGINFO_SEND_NO_USE]);
	if (out.n)
		print(u, &out);
	free(text);
	buf__fini(&out);
}

/* ------------------------------------------------------------------------------------------------
 * Threads
 */

static bool is_busy(const struct upload *u, const char *build_id)
{
	for (uint32_t i = 0; i < u->n_threads; i++)
		if (u->busy[i] && strcmp(u->busy[i], build_id) == 0)
			return true;
	return false;
}

static void claim(struct upload *u, uint32_t thread, const char *build_id)
{
	pthread_mutex_lock(&u->lock);
	while (build_id[0] && is_busy(u, build_id))
		pthread_cond_wait(&u->released, &u->lock);
	u->busy[thread] = build_id;
	pthread_mutex_unlock(&u->lock);
}

static void release(struct upload *u, uint32_t thread)
{
	pthread_mutex_lock(&u->lock);
	u->busy[thread] = NULL;
	pthread_cond_broadcast(&u->released);
	pthread_mutex_unlock(&u->lock);
}

static void send_one(struct upload *u, uint32_t thread, const char *path,
		     struct debuginfo_send_report *ret)
{
	char build_id[ELF_BUILD_ID_TEXT] = "";
	int fd = debuginfo_send__open(path, build_id, &ret->why);

	if (fd < 0) {
		ret->result = DEBUGINFO_SEND_REFUSED;
		return;
	}
	claim(u, thread, build_id);
	debuginfo_send__file(&u->send, path, fd, build_id, ret);
	release(u, thread);
	fd__close(fd);
}

struct worker {
	struct upload *u;
	uint32_t number;
	pthread_t thread;
};

static void *work(void *ctx)
{
	struct worker *w = ctx;
	struct upload *u = w->u;

	pthread_mutex_lock(&u->lock);
	while (u->next < u->files.n) {
		uint32_t i = u->next++;
		struct debuginfo_send_report *r;

		pthread_mutex_unlock(&u->lock);
		r = NEW(struct debuginfo_send_report);
		if (r) {
			r->why = (struct dcm_error)DCM_ERROR_INIT;
			send_one(u, w->number, u->files.v[i].path, r);
		}
		pthread_mutex_lock(&u->lock);
		if (!r) {
			fprintf(stderr, "decima debuginfo upload: out of memory\n");
			u->status = EXIT_NO;
			break;
		}
		u->reports[i] = r;
		tell_those_there(u);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

static int run(struct upload *u, struct dcm_error *err)
{
	struct worker workers[MAX_PARALLEL];
	uint32_t n = 0;
	int r = 0;

	u->reports = mem__zalloc(u->files.n, sizeof(struct debuginfo_send_report *));
	if (!u->reports)
		return error__nomem(err);
	for (; r == 0 && n < u->n_threads; n += r == 0) {
		workers[n] = (struct worker){ .u = u, .number = n };
		r = -pthread_create(&workers[n].thread, NULL, work, &workers[n]);
	}
	for (uint32_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	for (uint32_t i = 0; i < u->files.n; i++)
		free(u->reports[i]);
	free(u->reports);
	/* Fewer threads do the same. */
	return r < 0 && n == 0 ? error__sys(err, r, "cannot start a thread") : 0;
}

/* ------------------------------------------------------------------------------------------------
 * The verb
 */

static int read_parallel(const struct args *a, uint32_t *ret, struct dcm_error *err)
{
	const char *text = args__get(a, "parallel", "4");
	int64_t n;

	if (units__parse_int(str__of(text), "", &n) < 0 || n < 1 || n > MAX_PARALLEL)
		return error__set(err, -EINVAL, "--parallel: \"%s\" is no number from 1 to %d",
				  text, MAX_PARALLEL);
	*ret = (uint32_t)n;
	return 0;
}

static int prepare(struct upload *u, struct dcm_error *err)
{
	const struct args *a = u->args;
	int r = read_parallel(a, &u->n_threads, err);

	if (r == 0)
		r = ask__timeout(a, TIMEOUT, &u->send.timeout_ns, err);
	if (r == 0)
		r = ask__server(a, &u->server, err);
	for (int i = 0; r == 0 && i < a->n_operands; i++)
		r = elf_walk__add(&u->files, a->operands[i], err);
	u->n_threads = u->files.n < u->n_threads ? u->files.n : u->n_threads;
	return r;
}

int verb__debuginfo_upload(const struct args *a)
{
	bool is_json = strcmp(args__get(a, "format", "text"), "json") == 0;
	struct dcm_error err = DCM_ERROR_INIT;
	struct upload u = { .args = a, .list = is_json ? json_array() : NULL, .status = EXIT_DONE };
	int r;

	pthread_mutex_init(&u.lock, NULL);
	pthread_cond_init(&u.released, NULL);
	u.send = (struct debuginfo_send){ .server = &u.server,
					  .replace = args__has(a, "replace"),
					  .sent = progress__is_watched() ? tell_progress : NULL,
					  .ctx = &u };
	r = prepare(&u, &err);
	if (r == 0 && u.files.n > 0)
		r = run(&u, &err);
	if (r == 0)
		tell_end(&u);
	else
		fprintf(stderr, "decima debuginfo upload: %s\n", err.text);
	ask_server__fini(&u.server);
	elf_walk__fini(&u.files);
	json_decref(u.list);
	pthread_cond_destroy(&u.released);
	pthread_mutex_destroy(&u.lock);
	return r == -EINVAL ? EXIT_USAGE : r < 0 ? EXIT_NO : u.status;
}
