/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_frames.c - what a worker does with debug information of anybody: DWARF, Go's tables
 *
 * The first byte says what comes: an ELF file to be asked for addresses all over it, in each role
 * that a file may have, or an answer to be read. Whatever it says, an answer is made in time and
 * can be read, and what can be read ends. libdw's own faults (0.188 measures a folder's name that
 * has no end) are not looked for: for them the work is done in a process without rights. What it
 * hands out is ours to judge, and a fault like any other.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/symbolize/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_suppressions(void);

/* What a function of libc reads too far, called from within them. */
const char *__asan_default_suppressions(void)
{
	return "interceptor_via_lib:libdw.so\n"
	       "interceptor_via_lib:libelf.so\n";
}

enum { N_ADDRESSES = 96 };

static void read_all(const struct frames *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->spans[i].off + f->spans[i].n > f->n_frames)
			abort();
		for (uint32_t k = 0; k < f->spans[i].n; k++) {
			const struct frame *frame = &f->frames[f->spans[i].off + k];

			if (strlen(frame->name) > FRAMES_MAX_ANSWER ||
			    strlen(frame->file) > FRAMES_MAX_ANSWER ||
			    strlen(frame->home) > FRAMES_MAX_ANSWER)
				abort();
		}
	}
}

static void ask(const int *fds, const struct frames_question *q)
{
	struct buf request = { 0 }, answer = { 0 };
	struct frames f;

	if (frames__ask(q, &request))
		abort();
	if (frames__answer(request.data, request.n, fds, q->n_files, &answer) == 0) {
		if (frames__read(answer.data, answer.n, q->n, &f))
			abort();
		read_all(&f);
		frames__fini(&f);
	}
	buf__fini(&request);
	buf__fini(&answer);
}

static void ask_file(const uint8_t *data, size_t size)
{
	uint64_t addresses[N_ADDRESSES];
	struct frames_question q = { .addresses = addresses,
				     .n = N_ADDRESSES,
				     .inlines = true,
				     .budget_ns = 200000000,
				     .max_bytes = 4 << 20,
				     .files = { FRAMES_ELF, FRAMES_DEBUG, FRAMES_ALT, FRAMES_PACKAGE },
				     .n_files = 1 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC), fds[FRAMES_MAX_FILES] = { fd, fd, fd, fd };

	if (fd < 0 || fd__write_all(fd, data, size))
		abort();
	/* Where the corpus has its code: position-independent, and at fixed addresses. */
	for (uint32_t i = 0; i < N_ADDRESSES; i++)
		addresses[i] = i % 3 == 0   ? 0x180 + i * 4
			       : i % 3 == 1 ? 0x400100 + i * 4
					    : 0x401000 + i;
	ask(fds, &q);
	q.n_files = FRAMES_MAX_FILES;
	q.inlines = false;
	ask(fds, &q);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frames f;

	if (size == 0)
		return 0;
	if (data[0] == 'F') {
		ask_file(data + 1, size - 1);
	} else if (frames__read(data + 1, size - 1, data[0], &f) == 0) {
		read_all(&f);
		frames__fini(&f);
	}
	return 0;
}
