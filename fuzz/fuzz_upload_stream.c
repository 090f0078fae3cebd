/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_upload_stream.c - a file of UploadRequests that anybody sent: what its chunks carry, and nothing else, or a sentence
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/api/upload_stream.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t length_of(const uint8_t *frame)
{
	return (size_t)frame[1] << 24 | (size_t)frame[2] << 16 | (size_t)frame[3] << 8 | frame[4];
}

/* What the messages behind the first have, but for a tag and a length each, of a stream that was taken. */
static size_t join_chunks(const uint8_t *data, size_t size, uint8_t *to)
{
	size_t n = 0;

	for (size_t at = 5 + length_of(data); at < size; at += 5 + length_of(data + at)) {
		const uint8_t *p = data + at + 5, *end = p + length_of(data + at);

		for (int i = 0; i < 2; i++)
			while (*p++ & 0x80)
				;
		memcpy(to + n, p, (size_t)(end - p));
		n += (size_t)(end - p);
	}
	return n;
}

static bool lies_in(const struct upload_stream *s, struct dcm_str text)
{
	return text.n == 0 || (text.p >= s->info && text.p + text.n <= s->info + sizeof(s->info));
}

static void compare(int fd, const uint8_t *data, size_t size, const struct upload_stream *s)
{
	uint8_t *want = malloc(size), *got = malloc(size);
	size_t n = join_chunks(data, size, want);
	struct stat st;

	verdict__expect(s->bytes == n && fstat(fd, &st) == 0 && (uint64_t)st.st_size == n,
			"more or less is left than the chunks have");
	verdict__expect(fd__pread_full(fd, got, n, 0) == 0 && memcmp(want, got, n) == 0,
			"other bytes are left than the chunks have");
	verdict__expect(lies_in(s, s->build_id) && lies_in(s, s->upload_id),
			"a text lies elsewhere");
	free(want);
	free(got);
}

/* Where messages may be packed: so many bytes at most, or a sentence. */
static void unpack(const uint8_t *data, size_t size)
{
	const struct upload_packing gzip = { STR("gzip"), 1 << 20 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct upload_stream s;
	int fd = memfd_create("stream", MFD_CLOEXEC);

	if (fd < 0 || fd__write_all(fd, data, size) < 0)
		abort();
	if (upload_stream__unwrap(fd, size, &gzip, &s, &err) == 0)
		verdict__expect(s.bytes <= size + gzip.max_bytes, "more came out than may");
	else
		verdict__expect(err.text[0], "a refusal without a sentence");
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct upload_packing none = { STR(""), 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct upload_stream s;
	int fd = memfd_create("stream", MFD_CLOEXEC);

	if (fd < 0 || fd__write_all(fd, data, size) < 0)
		abort();
	if (upload_stream__unwrap(fd, size, &none, &s, &err) == 0)
		compare(fd, data, size, &s);
	else
		verdict__expect(err.text[0], "a refusal without a sentence");
	close(fd);
	unpack(data, size);
	return 0;
}
