/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfo_send.h - one file to a server by Parca's debuginfo protocol: Decima's, or Parca's
 *
 * The server is asked by build id first: what it has is neither reduced nor sent. Any thread.
 */
#ifndef DECIMA_MAIN_DEBUGINFO_SEND_H
#define DECIMA_MAIN_DEBUGINFO_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/main/ask.h"
#include "core/symbolize/elf.h"

struct debuginfo_send {
	const struct ask_server *server; /* borrowed */
	int64_t timeout_ns;		 /* of each call */
	bool replace;			 /* have it taken though the server has some */
	/* Told at intervals how much of a file has left; NULL: nobody is. */
	void (*sent)(void *ctx, const char *path, uint64_t n, uint64_t total);
	void *ctx;
};

enum debuginfo_send_result {
	DEBUGINFO_SEND_STORED,
	DEBUGINFO_SEND_REPLACED,
	DEBUGINFO_SEND_KNOWN,	   /* the server has it */
	DEBUGINFO_SEND_NOT_WANTED, /* and does not take it for another reason */
	DEBUGINFO_SEND_REFUSED,	   /* or it could not be sent */
	DEBUGINFO_SEND_NO_USE	   /* it is nothing that could be sent */
};

struct debuginfo_send_report {
	enum debuginfo_send_result result;
	char build_id[ELF_BUILD_ID_TEXT];
	bool functions, lines; /* of what was sent */
	uint64_t bytes;
	struct dcm_error why; /* of all but the first two: a sentence */
};

/* Opens a file and reads its build id ("": it has none); below 0: `why` says what is wrong with it. */
int debuginfo_send__open(const char *path, char ret_build_id[static ELF_BUILD_ID_TEXT],
			 struct dcm_error *err);

/* fd: of that file, borrowed. */
void debuginfo_send__file(const struct debuginfo_send *s, const char *path, int fd,
			  const char *build_id, struct debuginfo_send_report *ret);

#endif
