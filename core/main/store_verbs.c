/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/store_verbs.c - `decima store stat|check|backup|restore|remove`
 *
 * Each is a path of /api/v1/store, asked of a daemon or, for a directory, in this process.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/main/ask.h"
#include "core/main/output_file.h"
#include "core/main/verbs.h"
#include "core/query/render.h"

static int print(const struct args *a, const struct buf *out)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (output_file__write("-", out, &err) == 0)
		return EXIT_DONE;
	fprintf(stderr, "decima %s: %s\n", a->verb->name, err.text);
	return EXIT_NO;
}

/* The directory that an optional operand names. */
static const char *operand(const struct args *a, int i)
{
	return a->n_operands > i ? a->operands[i] : NULL;
}

int verb__store_stat(const struct args *a)
{
	struct ask q = { .data = operand(a, 0) };
	struct http_response answer = { 0 };

	ask__path(&q, "/api/v1/store");
	ask__param(&q, "format", args__get(a, "format", "text"));
	int status = ask__get(a, &q, &answer);
	if (status == EXIT_DONE)
		status = print(a, &answer.body);
	http_response__fini(&answer);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Check
 */

/* A line for each finding, "error: SENTENCE", and the verdict, where there is one. */
static void findings_text(json_t *answer, const char *verdict, struct buf *out)
{
	json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(answer, "findings"), i, finding)
	{
		const char *level = json_string_value(json_object_get(finding, "severity"));
		const char *message = json_string_value(json_object_get(finding, "message"));

		render__text(str__of(level ? level : "error"), 0, out);
		buf__text(out, ": ");
		render__text(str__of(message ? message : ""), 0, out);
		buf__byte(out, '\n');
	}
	buf__text(out, verdict);
}

/*
 * Asks for a check. EXIT_NO when there is damage, or it was ended, which a sentence says; *ret_text is what a
 * person reads of it.
 */
static int check(const struct args *a, const char *dir, struct http_response *answer, struct buf *ret_text)
{
	struct ask q = { .data = dir, .is_patient = true };

	ask__path(&q, "/api/v1/store/check");
	int status = ask__post(a, &q, answer);
	if (status != EXIT_DONE)
		return status;
	json_t *json = json_loadb((const char *)answer->body.data, answer->body.n, 0, NULL);
	const char *ended = json_string_value(json_object_get(json, "ended"));
	const bool sound = json_is_true(json_object_get(json, "sound"));
	findings_text(json, ended ? "" : sound ? "sound\n" : "damaged\n", ret_text);
	if (ended)
		fprintf(stderr, "decima %s: %s\n", a->verb->name, ended);
	json_decref(json);
	return sound ? EXIT_DONE : EXIT_NO;
}

int verb__store_check(const struct args *a)
{
	struct http_response answer = { 0 };
	struct buf text = { 0 };
	int status = check(a, operand(a, 0), &answer, &text);
	bool json = strcmp(args__get(a, "format", "text"), "json") == 0;
	const struct buf *out = json && answer.status == 200 ? &answer.body : &text;

	if (out->n > 0 && print(a, out) != EXIT_DONE)
		status = EXIT_NO;
	buf__fini(&text);
	http_response__fini(&answer);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Backup and restore: who has the store open writes the copy
 */

/* `from`: a store's directory, or NULL for what --data and --url say. */
static int copy(const struct args *a, const char *from, const char *to)
{
	struct ask q = { .data = from };
	struct http_response answer = { 0 };
	char cwd[PATH_MAX];
	struct buf dir = { 0 };

	/* A daemon has a current directory of its own. */
	if (to[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd))) {
			fprintf(stderr, "decima %s: the current directory: %s\n", a->verb->name,
				strerror(errno));
			return EXIT_NO;
		}
		buf__printf(&dir, "%s/", cwd);
	}
	buf__text(&dir, to);
	ask__path(&q, "/api/v1/store/backup");
	ask__param(&q, "dir", dir.data ? (const char *)dir.data : "");
	buf__fini(&dir);
	int status = ask__post(a, &q, &answer);
	http_response__fini(&answer);
	return status;
}

int verb__store_backup(const struct args *a)
{
	return copy(a, NULL, a->operands[0]);
}

/* A backup is a store of its own, so that a backup of it is a store like it. */
int verb__store_restore(const struct args *a)
{
	struct http_response answer = { 0 };
	struct buf text = { 0 };
	int status = check(a, a->operands[0], &answer, &text);

	if (status == EXIT_DONE)
		status = copy(a, a->operands[0], a->operands[1]);
	else if (text.n > 0)
		fprintf(stderr, "decima store restore: %s is damaged, and nothing was copied:\n%s",
			a->operands[0], (const char *)text.data);
	buf__fini(&text);
	http_response__fini(&answer);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * Removal
 */

int verb__store_remove(const struct args *a)
{
	bool json = strcmp(args__get(a, "format", "text"), "json") == 0;
	struct http_response answer = { 0 };
	struct buf text = { 0 };
	struct ask q = { 0 };

	ask__path(&q, "/api/v1/store/remove");
	ask__param(&q, "q", a->operands[0]);
	ask__param(&q, "from", args__get(a, "from", ""));
	ask__param(&q, "to", args__get(a, "to", ""));
	int status = ask__post(a, &q, &answer);
	if (status == EXIT_DONE) {
		json_t *root = json_loadb((const char *)answer.body.data, answer.body.n, 0, NULL);

		buf__printf(&text, "%lld profiles lost what matched\n",
			    (long long)json_integer_value(json_object_get(root, "profiles")));
		json_decref(root);
		status = print(a, json ? &answer.body : &text);
	}
	buf__fini(&text);
	http_response__fini(&answer);
	return status;
}
