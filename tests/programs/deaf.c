/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/deaf.c - a FUSE file system that answers nothing: whoever looks into it waits
 *
 *	deaf DIR
 *
 * Mounts it on DIR, which takes CAP_SYS_ADMIN, says "ready", and sleeps. Its end frees all that
 * wait, with an error.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

/* The one request that is answered: the kernel sends no other before. */
static int answer_init(int fd)
{
	char request[FUSE_MIN_READ_BUFFER];
	const struct fuse_in_header *in = (const struct fuse_in_header *)request;
	struct {
		struct fuse_out_header head;
		struct fuse_init_out init;
	} answer = {
		.head = { .len = sizeof(answer) },
		.init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096 },
	};

	if (read(fd, request, sizeof(request)) < (ssize_t)sizeof(*in) || in->opcode != FUSE_INIT)
		return -1;
	answer.head.unique = in->unique;
	return write(fd, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? 0 : -1;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (argc != 2 || fd < 0 || mount("deaf", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0 ||
	    answer_init(fd) < 0) {
		perror("deaf");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
