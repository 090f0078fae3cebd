/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy.h - the profiles that pprof's programs wrote before profile.proto, and C++ ones still write
 *
 *	heap, growth, fragmentation	text (legacy_heap.c), and jemalloc's (legacy_jemalloc.c)
 *	goroutine, threadcreate, ..	Go's text (legacy_count.c)
 *	contention			text (legacy_contention.c)
 *	threads				text (legacy_threads.c)
 *	CPU				gperftools' binary words (legacy_cpu.c)
 *
 * Behind each may stand the program's mappings (legacy_maps.c), before it "--- symbol" and names
 * (legacy_symbols.c). Which formats there are and what their numbers mean is as in Go's reader
 * (github.com/google/pprof, profile/legacy_profile.go); each file says where it does otherwise.
 *
 * Java's of that time are refused. Frames of the allocator, of locks and of the profiler are kept:
 * Go's reader notes which names to leave out, and what shows the profile leaves them out. Here names
 * are mostly found later, and a stack says what ran.
 *
 * Time is linear in the input but for mappings and symbols, which are sorted. Memory: up to five
 * times the limit of bytes, given back before the batch is built. Pure functions; any thread.
 */
#ifndef DECIMA_CODEC_LEGACY_H
#define DECIMA_CODEC_LEGACY_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/* What profile.proto has no room for. */
struct legacy_facts {
	const char *name; /* what it is called where its types do not say; NULL: they do; static */
	bool is_delta;	  /* it is of a time that it does not tell */
	bool is_total; /* it is since a start, although it has a duration: how long ago that was */
	bool has_mean_sizes; /* as struct dcm_found has it */
};

/* By how the bytes begin. No profile.proto begins so. */
bool legacy__is(const uint8_t *data, size_t n);

/*
 * Appends it as profile.proto, of at most max_bytes; out's limit becomes that. Errors as in
 * decode.h.
 */
int legacy__convert(const uint8_t *data, size_t n, uint64_t max_bytes, struct buf *out,
		    struct legacy_facts *ret, struct dcm_error *err);

#endif
