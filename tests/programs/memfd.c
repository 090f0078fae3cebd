/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/memfd.c - runs a program from memory: no file of it exists
 *
 *	memfd PROGRAM ARGUMENT..
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int from = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int to = memfd_create("program", MFD_CLOEXEC);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) < 0 ||
	    sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size) {
		perror("memfd");
		return 1;
	}
	fexecve(to, argv + 1, environ);
	perror("fexecve");
	return 1;
}
