/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfo_upload.c - `decima debuginfo upload FILE..`: what names a program's addresses,
 * to a daemon
 *
 * Each file is reduced first, as `decima debuginfo extract` does it, into a file without a name; of
 * one that is reduced already the same comes out. Then it is sent. A file that cannot be sent or is
 * refused is told on stderr, and the others still go.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/main/ask.h"
#include "core/main/output_file.h"
#include "core/main/verbs.h"
#include "core/query/render.h"
#include "core/symbolize/extract.h"

/* A large file over a slow line. */
#define TIMEOUT "10m"

/* For who looks on. */
struct progress {
	const char *file;
	uint64_t total;
};

static void tell_progress(void *ctx, uint64_t n)
{
	const struct progress *p = ctx;
	char sent[48], total[48];

	fprintf(stderr, "\r\033[Kdecima debuginfo upload: %.100s: %s of %s", p->file,
		units__format_value((double)n, STR("bytes"), sent),
		units__format_value((double)p->total, STR("bytes"), total));
}

static int open_nameless(struct dcm_error *err)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/decima-XXXXXX", dir && *dir ? dir : "/tmp") >=
	    (int)sizeof(path))
		return error__set(err, -ENAMETOOLONG, "TMPDIR: the path is too long");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return error__sys(err, -errno, "%s: cannot be made", path);
	unlink(path);
	return fd;
}

/* A descriptor of the reduced file, or an error. */
static int reduce(const char *from, struct http_file *ret, struct dcm_error *err)
{
	CLEANUP(fd__closep) int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	struct extract_report report;
	int r;

	if (in < 0)
		return error__sys(err, -errno, "cannot be read");
	out = open_nameless(err);
	if (out < 0)
		return out;
	r = extract__file(in, out, EXTRACT_SMALL, &report, err);
	if (r < 0)
		return r;
	if (!report.build_id[0])
		return error__set(err, -ENODATA, "it has no build id; link it with -Wl,--build-id");
	*ret = (struct http_file){ .fd = take_fd(out), .n = report.bytes_out };
	return 0;
}

static int send_file(const struct args *a, const char *from, const struct http_file *file,
		     struct http_response *answer)
{
	struct progress progress = { from, file->n };
	bool is_watched = isatty(STDERR_FILENO);
	struct ask q = { .file = file,
			 .sent = is_watched ? tell_progress : NULL,
			 .sent_ctx = &progress,
			 .about = from,
			 .timeout = TIMEOUT };

	ask__path(&q, "/api/v1/debuginfo");
	ask__param(&q, "replace", args__has(a, "replace") ? "1" : NULL);
	int status = ask__post(a, &q, answer);
	if (is_watched)
		fputs("\r\033[K", stderr);
	return status;
}

/* "a.out: build id ab..: stored, functions and lines (1.2MiB)" */
static void put_text(const char *from, const struct http_file *file, json_t *answer, struct buf *out)
{
	const char *id = json_string_value(json_object_get(answer, "build_id"));
	const char *result = json_string_value(json_object_get(answer, "result"));
	bool lines = json_is_true(json_object_get(answer, "lines"));
	bool functions = json_is_true(json_object_get(answer, "functions"));
	char size[48];

	render__text(str__of(from), 0, out);
	buf__text(out, ": build id ");
	render__text(str__of(id ? id : "?"), 0, out);
	buf__text(out, ": ");
	render__text(str__of(result ? result : "?"), 0, out);
	buf__printf(out, ", %s (%s sent)\n",
		    functions && lines ? "functions and lines"
		    : lines	       ? "lines"
				       : "functions",
		    units__format_value((double)file->n, STR("bytes"), size));
}

/* What became of one file, at once for a person, in a list for a machine. */
static int report(const char *from, const struct http_file *file,
		  const struct http_response *answer, json_t *list)
{
	json_t *json = json_loadb((const char *)answer->body.data, answer->body.n, 0, NULL);
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	int r = 0;

	if (!list) {
		put_text(from, file, json, &out);
		r = output_file__write("-", &out, &err);
	} else if (!json_is_object(json) || json_object_set_new(json, "file", json_string(from)) < 0 ||
		   json_array_append(list, json) < 0) {
		r = error__set(&err, -EBADMSG, "the server's answer cannot be read");
	}
	if (r < 0)
		fprintf(stderr, "decima debuginfo upload: %s: %s\n", from, err.text);
	buf__fini(&out);
	json_decref(json);
	return r < 0 ? EXIT_NO : EXIT_DONE;
}

/* One file. list: NULL for text. */
static int upload(const struct args *a, const char *from, json_t *list)
{
	struct http_file file = { .fd = -1 };
	struct http_response answer = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	int status = EXIT_NO;

	if (reduce(from, &file, &err) < 0)
		fprintf(stderr, "decima debuginfo upload: %s: %s\n", from, err.text);
	else
		status = send_file(a, from, &file, &answer);
	if (status == EXIT_DONE)
		status = report(from, &file, &answer, list);
	else if (list)
		json_array_append_new(list, json_pack("{s:s, s:s}", "file", from, "result", "refused"));
	http_response__fini(&answer);
	fd__close(file.fd);
	return status;
}

static int print_list(const json_t *list)
{
	char *text = json_dumps(list, JSON_COMPACT);
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	int r = text ? 0 : error__nomem(&err);

	if (r == 0) {
		buf__printf(&out, "{\"files\":%s}\n", text);
		r = output_file__write("-", &out, &err);
	}
	if (r < 0)
		fprintf(stderr, "decima debuginfo upload: %s\n", err.text);
	buf__fini(&out);
	free(text);
	return r < 0 ? EXIT_NO : EXIT_DONE;
}

int verb__debuginfo_upload(const struct args *a)
{
	bool is_json = strcmp(args__get(a, "format", "text"), "json") == 0;
	json_t *list = is_json ? json_array() : NULL;
	int status = EXIT_DONE;

	for (int i = 0; i < a->n_operands && status != EXIT_USAGE; i++) {
		int one = upload(a, a->operands[i], list);

		status = one == EXIT_DONE ? status : one;
	}
	if (is_json && print_list(list) != EXIT_DONE && status == EXIT_DONE)
		status = EXIT_NO;
	json_decref(list);
	return status;
}
