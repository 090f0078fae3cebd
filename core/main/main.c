/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/main.c - where the program begins
 */
#include <signal.h>

#include "core/main/args.h"
#include "core/main/verbs.h"

int main(int argc, char **argv)
{
	/* A reader that went away is an error of write(2), not the end of the process. */
	signal(SIGPIPE, SIG_IGN);
	return args__main(verbs, "run", argc, argv);
}
