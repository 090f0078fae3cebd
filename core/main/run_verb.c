/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/run_verb.c - `decima run`, which is `decima`
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/main/daemon.h"
#include "core/main/source.h"
#include "core/main/verbs.h"

int verb__run(const struct args *a)
{
	struct plan_source source;
	const char **sets;
	int status;

	if (source__from_args(a, &source, &sets) < 0) {
		fprintf(stderr, "decima: out of memory\n");
		return EXIT_NO;
	}
	status = daemon__run(&source);
	free(sets);
	return status;
}
