/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/convert_verb.c - `decima convert IN OUT`: a profile from one format into another
 *
 * IN is read whole (at most 1 GiB; what it unpacks to has the codec's limit), told by its bytes and
 * where these leave it open by its name, and written as all its profiles together. Standard output
 * without --to-format is folded, as that of `decima record`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/main/output_file.h"
#include "core/main/verbs.h"

#define INPUT_MAX_BYTES ((size_t)1 << 30)

static bool is_dash(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int read_input(const char *path, struct buf *in, struct dcm_error *err)
{
	int r = is_dash(path) ? fd__read_all(STDIN_FILENO, INPUT_MAX_BYTES, in)
			      : fd__read_path(AT_FDCWD, path, INPUT_MAX_BYTES, in);

	if (r == -EFBIG)
		return error__set(err, r, "more than the limit of %zu bytes", INPUT_MAX_BYTES);
	return r < 0 ? error__sys(err, r, "cannot be read") : 0;
}

static int failed(const char *path, const struct dcm_error *err)
{
	fprintf(stderr, "decima convert: %s: %s\n", path, err->text);
	return EXIT_NO;
}

/* A guess may be wrong where the bytes are not what they were taken for. */
static int not_decoded(const char *path, const struct decode_notes *notes, const struct dcm_error *err)
{
	if (!notes->guessed)
		return failed(path, err);
	fprintf(stderr, "decima convert: %s: %s (its bytes or name look like %s; --from-format says otherwise)\n",
		path, err->text, notes->guessed);
	return EXIT_NO;
}

static int write_to(const char *path, const struct buf *out)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (output_file__write(path, out, &err) == 0)
		return EXIT_DONE;
	fprintf(stderr, "decima convert: %s\n", err.text);
	return EXIT_NO;
}

static const char *output_format(const struct args *a, const char *path)
{
	const char *format = args__get(a, "to-format", NULL);

	if (!format)
		format = is_dash(path) ? "folded" : codec__format_of_name(path);
	if (!format)
		fprintf(stderr,
			"decima convert: %s: the name says no format; end it in .pb.gz, .folded, "
			".speedscope.json, .html or .dcm, or give --to-format\n",
			path);
	else if (strcmp(format, "perf") == 0)
		fprintf(stderr, "decima convert: perf script's text can be read, not written\n");
	else
		return format;
	return NULL;
}

int verb__convert(const struct args *a)
{
	const char *from = a->operands[0], *to = a->operands[1];
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	struct buf in = { 0 }, out = { 0 };
	int status = EXIT_DONE;

	const char *format = output_format(a, to);
	if (!format)
		return EXIT_USAGE;
	struct decode_notes notes = { 0 };
	const struct decode_options o = { .file = from, .notes = &notes };
	if (read_input(from, &in, &err) < 0)
		status = failed(from, &err);
	else if (codec__decode_with(args__get(a, "from-format", NULL), in.data, in.n, &o, &batch, &err) < 0)
		status = not_decoded(from, &notes, &err);
	else if (codec__encode(batch, DCM_NONE, format, &out, &err) < 0)
		status = failed(to, &err);
	else
		status = write_to(to, &out);
	if (status == EXIT_DONE && notes.n_rounded)
		fprintf(stderr, "decima convert: %s: rounded to whole numbers: %zu values\n", from,
			notes.n_rounded);
	buf__fini(&in);
	buf__fini(&out);
	return status;
}
