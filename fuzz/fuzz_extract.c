/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_extract.c - ELF files of anybody, reduced
 *
 * The first byte says whether it gets a build id where it has none, the rest is the file. What came of it has the size that was
 * said; of a damaged file it may be damaged, which whoever keeps it looks at, its build id before all. It is reduced once more.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/symbolize/extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fact)
{
	if (!fact)
		abort();
}

static int new_file(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	expect(fd >= 0);
	return fd;
}

/* The size that was said is the file's, and bounded by what it was. */
static void check(int fd, const struct extract_report *report)
{
	struct stat st;

	expect(fstat(fd, &st) == 0 && (uint64_t)st.st_size == report->bytes_out);
	/* Sections that are unpacked, and the gap before each. */
	expect(report->bytes_out <= 200 * report->bytes_in + 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char build_id[] = "00112233445566778899aabbccddeeff00112233";
	struct extract_report report = { 0 }, second = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	int in, out, again, r;

	if (size == 0)
		return 0;
	in = new_file();
	out = new_file();
	again = new_file();
	expect(fd__write_all(in, data + 1, size - 1) == 0);
	r = extract__file_as(in, out, EXTRACT_FAST, data[0] & 1 ? build_id : NULL, &report, &err);
	expect(r <= 0 && (r == 0 || err.text[0]));
	if (r == 0) {
		check(out, &report);
		expect(!(data[0] & 1) || report.build_id[0]);
		if (extract__file(out, again, EXTRACT_FAST, &second, &err) == 0)
			check(again, &second);
	}
	close(in);
	close(out);
	close(again);
	return 0;
}
