/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_depot.c - a kept symbol file that anybody wrote
 *
 * The input is the file, once as it is and once with a trailer that is right but for what it tells,
 * whose number is the input's first byte. It opens when its trailer is whole and right, and is set
 * aside else; either way nothing else in the directory is touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/symbolize/depot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TRAILER_BYTES = 32 };
#define ID "0123456789abcdef"

static char dir[] = "/tmp/decima-fuzz-depot-XXXXXX";
static char path[128];

static void remove_dir(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		abort();
}

static void put_file(const uint8_t *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd__write_all(fd, p, n))
		abort();
	close(fd);
}

/* 0 when it opens. */
static int open_kept(struct depot *d)
{
	int tells = depot__tells(d, ID, DEPOT_ELF), fd = depot__open(d, ID, DEPOT_ELF);
	struct depot_stat stat;

	depot__stat(d, &stat);
	if (fd >= 0) {
		close(fd);
		if (tells < 0 || tells > (DEPOT_SYMTAB | DEPOT_DWARF | DEPOT_GO) || access(path, F_OK))
			abort();
		return 0;
	}
	if (fd != -EBADMSG || stat.n_set_aside == 0 || access(path, F_OK) == 0)
		abort();
	return fd;
}

static void put_trailer(uint8_t *at, const uint8_t *content, size_t n, uint32_t tells)
{
	memcpy(at, "dcmsym1\n", 8);
	le__put64(at + 8, n);
	le__put32(at + 16, tells);
	le__put32(at + 20, 0);
	le__put64(at + 24, hash__bytes(at, 24, n ? hash__bytes(content, n, 0) : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct depot *d;
	uint8_t *whole;

	if (size > 64 << 10)
		return 0;
	if (!d) {
		const struct depot_config config = { .dir = dir,
						     .max_bytes = 1 << 30,
						     .clock = &clock__system };
		char folder[128];

		if (!mkdtemp(dir) || depot__new(&config, &d))
			abort();
		atexit(remove_dir);
		snprintf(path, sizeof(path), "%s/.build-id/01/23456789abcdef.elf", dir);
		snprintf(folder, sizeof(folder), "%s/.build-id/01", dir);
		if (fd__mkdirs(folder, 0700))
			abort();
	}
	put_file(data, size);
	open_kept(d);
	whole = malloc(size + TRAILER_BYTES);
	if (!whole)
		abort();
	if (size)
		memcpy(whole, data, size);
	put_trailer(whole + size, whole, size, size ? data[0] : 0);
	put_file(whole, size + TRAILER_BYTES);
	if (open_kept(d))
		abort();
	free(whole);
	return 0;
}
