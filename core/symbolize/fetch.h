/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/fetch.h - debuginfo from debuginfod servers; private to this folder
 *
 * A thread of its own asks for one build id after the other and puts what comes into a directory
 * that is laid out like the others (debuginfo.h), so that the file is found there when it is read
 * again, and at the next start. Nobody waits for it.
 */
#ifndef DECIMA_SYMBOLIZE_FETCH_H
#define DECIMA_SYMBOLIZE_FETCH_H

#include <stdbool.h>

#include <decima/plugin.h>

struct symbols;

struct fetcher;

/* Starts the thread. symbols__config's urls are not empty. 0, -ENOMEM, or of the thread. */
int fetcher__new(struct symbols *s, struct fetcher **ret);
/* Ends it, and what is under way. NULL is fine. */
void fetcher__free(struct fetcher *f);

/*
 * Asks for the debuginfo of a file; fd and path, which are copied, are those to read again when it
 * is there. False when too many wait, or memory ran out. Any thread; takes no lock of the store.
 */
bool fetcher__add(struct fetcher *f, const char *build_id, struct dcm_str id_offered,
		  struct dcm_str path, int fd);

#endif
