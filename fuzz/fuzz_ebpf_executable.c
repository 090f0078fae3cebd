/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_ebpf_executable.c - what is read of a program's file for its labels
 *
 * The input is the file. What comes out must be text that a label can hold.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/executables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct executable e;
	int fd = memfd_create("program", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size) {
		executable__read(fd, STR("/usr/bin/python3"), &e);
		if (!str__is_utf8(str__of(e.compiler)) || !str__is_utf8(str__of(e.runtime)))
			abort();
	}
	close(fd);
	return 0;
}
