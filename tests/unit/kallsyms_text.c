/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/kallsyms_text.c - /proc/kallsyms and /proc/modules as a test has them
 */
#include "tests/unit/kallsyms_text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/fd.h"

/* A descriptor at the text's begin. */
static int file_of(struct dcm_str text)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, text.p, text.n, 0) != (ssize_t)text.n) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int kallsyms_text__read(struct dcm_str kallsyms, struct dcm_str modules,
			struct kallsyms **ret_table, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = file_of(kallsyms);
	CLEANUP(fd__closep) int modules_fd = file_of(modules);
	char path[40];

	if (fd < 0 || modules_fd < 0)
		return -EIO;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", modules_fd);
	return kallsyms__read(fd, path, ret_table, err);
}
