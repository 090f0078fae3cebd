/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cpus.c - sets of CPUs as the kernel writes them
 *
 * Format: Documentation/admin-guide/cputopology.rst, "cpulist".
 */
#include "plugins/input/ebpf/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"

enum { TEXT_BYTES_MAX = 64 * 1024 }; /* CPUS_MAX names and their commas */

/* Digits at *at; false when there are none, or too many. */
static bool number(struct dcm_str text, uint32_t *at, uint32_t *ret)
{
	uint32_t n = 0, from = *at;

	while (*at < text.n && text.p[*at] >= '0' && text.p[*at] <= '9' && n < CPUS_MAX)
		n = n * 10 + (uint32_t)(text.p[(*at)++] - '0');
	*ret = n;
	return *at > from && n < CPUS_MAX;
}

int cpus__parse(struct dcm_str text, struct cpus *ret_set)
{
	struct cpus set = { 0 };
	uint32_t at = 0;

	while (text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	while (at < text.n) {
		uint32_t first, last;

		if (!number(text, &at, &first))
			return -EINVAL;
		last = first;
		if (at < text.n && text.p[at] == '-') {
			at++;
			if (!number(text, &at, &last) || last < first)
				return -EINVAL;
		}
		for (uint32_t cpu = first; cpu <= last; cpu++)
			set.bits[cpu / 64] |= 1ull << (cpu % 64);
		if (at == text.n)
			break;
		if (text.p[at++] != ',' || at == text.n)
			return -EINVAL;
	}
	*ret_set = set;
	return 0;
}

int cpus__open(const char *name)
{
	CLEANUP(fd__closep)
	int dir = open("/sys/devices/system/cpu", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The kernel writes the text anew for each reading from its start, and gives it in one piece. */
int cpus__read_from(int fd, struct cpus *ret_set)
{
	char text[TEXT_BYTES_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	if (n < 0)
		return -errno;
	return n == sizeof(text) ? -EFBIG : cpus__parse((struct dcm_str){ text, (uint32_t)n }, ret_set);
}

int cpus__read(const char *name, struct cpus *ret_set)
{
	CLEANUP(fd__closep) int fd = cpus__open(name);

	return fd < 0 ? fd : cpus__read_from(fd, ret_set);
}

uint32_t cpus__highest(const struct cpus *set)
{
	for (uint32_t i = CPUS_MAX / 64; i-- > 0;)
		if (set->bits[i])
			return i * 64 + 63 - (uint32_t)__builtin_clzll(set->bits[i]);
	return 0;
}
