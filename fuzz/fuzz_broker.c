/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_broker.c - requests to the broker, from a process that was taken over
 *
 * Input: the operation, the number of descriptors, and the request's bytes, which are filled up
 * with zeros to the size that the broker takes unless the number's top bit is set. Whatever comes,
 * the answer is an error or one descriptor, and that is neither a secret nor a device.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/broker/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) || S_ISFIFO(st.st_mode))
		abort();
	if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "/proc/self", "/", "/dev", "/sys/fs/cgroup" };
	struct channel_message m = { 0 };
	struct broker_request q = { 0 };
	size_t n;
	int r;

	if (size < 2)
		return 0;
	m.head.what = data[0];
	m.head.n_fds = data[1] % 4;
	for (uint32_t i = 0; i < m.head.n_fds; i++)
		m.fds[i] = open(paths[(data[1] / 4 + i) % 4], O_PATH | O_CLOEXEC);
	n = size - 2 < sizeof(q) ? size - 2 : sizeof(q);
	memcpy(&q, data + 2, n);
	buf__append(&m.bytes, &q, data[1] & 0x80 ? n : sizeof(q));
	r = broker__handle(&m);
	if (r > 0)
		judge(r);
	channel_message__fini(&m);
	return 0;
}
