/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/main.c - where the program begins
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/main/args.h"
#include "core/main/verbs.h"

/*
 * Help, versions and lists are printed without a look at what becomes of them, until here. A pipe's
 * reader that has seen enough is no failure.
 */
static int flush_output(int status)
{
	struct stat st;
	int r;

	errno = 0;
	r = fflush(stdout);
	if (r == 0 && !ferror(stdout))
		return status;
	int why = errno ? errno : EIO;
	if (fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return status;
	fprintf(stderr, "decima: standard output: cannot be written: %s; make room, or write elsewhere\n",
		strerror(why));
	return status == EXIT_DONE ? EXIT_NO : status;
}

/*
 * Where one of the three is closed, the next descriptor has its number, and gets what is printed.
 * Reading or writing these fails as it does on a closed one.
 */
static void fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	fill_standard_fds();
	/* A reader that went away is an error of write(2), not the end of the process. */
	signal(SIGPIPE, SIG_IGN);
	return flush_output(args__main(verbs, "run", argc, argv));
}
