/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/names.h - what a program itself says that its functions are called
 *
 * Programs with gperftools, and others that serve as these do, send addresses of their memory and answer
 * beside the profile, at /pprof/symbol, what is there: to a POST of "0x401136+0x401152" with lines
 * "0x401136 main" (gperftools, docs/pprof_remote_servers.html; as `pprof` asks it). Addresses are
 * those of one process, so answers are of no use for the next scrape.
 *
 * What is found here is as strangers said it: names are text without meaning, of 64 KiB at most. One thread at a time.
 */
#ifndef DECIMA_PPROF_SCRAPE_NAMES_H
#define DECIMA_PPROF_SCRAPE_NAMES_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/vec.h"

/* Addresses that are asked for at once. A profile of more has no names: which would have some is chance. */
enum { NAMES_MAX = 65536 };

struct names {
	VEC(uint64_t) addresses; /* wanted; once they have been asked for, each once, rising */
	VEC(struct dcm_str)
	said; /* [addresses]: views of the answer, "" where it says nothing. Empty: no answer yet */
	bool is_beyond; /* there are more addresses than NAMES_MAX */
	bool no_memory;
};

void names__fini(struct names *n);

/*
 * dcm_decode.name_of, with a struct names: before there is an answer it notes the address and knows
 * nothing, then it says what was answered.
 */
struct dcm_str names__of(void *ctx, uint64_t address);

/* Where to ask, beside the profile's own URL: its last part becomes "symbol"; with its NUL. False: there is no such
 * place, or no memory. */
bool names__url(struct dcm_str profile_url, struct buf *to);
/* The question, of all that were noted. 0; -ENOMEM, of `to` or of names__of(). */
int names__question(struct names *n, struct buf *to);
/*
 * The answer, which must stay. Lines that are none, or of addresses that nobody asked for, count nothing. How
 * many addresses it names; -ENOMEM.
 */
int64_t names__answer(struct names *n, struct dcm_str answer);

#endif
