/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/resident.c - how much memory a process has for itself
 */
#include "core/base/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/fd.h"

uint64_t resident__private(pid_t pid)
{
	unsigned long long resident = 0, shared = 0;
	struct buf text = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (fd__read_path(AT_FDCWD, path, 4096, &text) == 0 && text.n)
		sscanf((const char *)text.data, "%*u %llu %llu", &resident, &shared);
	buf__fini(&text);
	return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
