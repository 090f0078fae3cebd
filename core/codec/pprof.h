/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pprof.h - pprof's profile.proto, in and out
 *
 * Source: https://github.com/google/pprof/blob/main/proto/profile.proto and what its Go library
 * accepts. Input: protobuf, as it is or in gzip (several members too) or zlib.
 *
 * What programs wrote before there was profile.proto, and gperftools, tcmalloc and jemalloc still do,
 * is read as well (legacy.h lists it), by way of the profile.proto that Go's pprof makes of it. Of
 * other bytes the sentence says what they look like (foreign.h).
 *
 * What a profile becomes:
 *   name        options.name, else what `decima`'s own comments say, else by the sample types:
 *               process_cpu, memory, goroutine, ...
 *   address     a file offset, when the mapping has a range and a file or build id: the same code
 *               in two processes is one location then. A mapping of all addresses, [0, 2^64 - 1),
 *               or [0, 0) with a build id says that the address is an ELF address already, and so does
 *               options.has_elf_addresses of all in files. All
 *               others are addresses in the process's memory.
 *   frame kind  by the mapping: kernel, module, native, JIT for anonymous memory; a function
 *               without mapping and address whose name is in brackets is a note.
 *   build id    lower case; one that is not hexadecimal becomes a stand-in (plugin.h).
 *   labels      of samples, string or number. A name that comes again becomes NAME_2; one that is
 *               a series label, exported_NAME.
 *   rows        samples whose values are all 0 are left out.
 *   ignored     drop_frames, keep_frames, doc_url, is_folded, default_sample_type, other comments.
 *
 * What a batch becomes: ids count from 1 in the order of first use, only what rows use is written,
 * a batch always gives the same bytes. Stacks and label sets that come again are added up.
 *   types       one sample type for each type of the profiles written (at most 16).
 *   time        from the earliest start to the latest end.
 *   address     file offset: 4 GiB + offset in a mapping [4 GiB, 2^63) of offset 0, unless the
 *               batch knows the range; ELF address: itself, in [0, 2^64 - 1). pprof and Parca then
 *               find the right symbol, so locations without names have no line. The pprof that
 *               comes with Go would not, for file offsets: a mapping with such and no names claims
 *               has_filenames, which keeps it (and pprof, unless told -symbolize=force) from
 *               trying.
 *   labels      of the series: those that all profiles share are comments; others are labels of
 *               samples, before which a sample's own label of that name becomes exported_NAME.
 *   comments    "decima: label NAME=VALUE", and, unless a reader would guess them right, one
 *               "decima: type NAME:..:delta" for each sample type in order (when it is not delta,
 *               with "gauge" or "cumulative" behind a blank).
 *   lost        why a location has no name, processes, interpreted frames, stand-ins.
 */
#ifndef DECIMA_CODEC_PPROF_H
#define DECIMA_CODEC_PPROF_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/codec/decode.h"

/* One profile with all sample types (decode.h). */
int pprof__read(const uint8_t *data, size_t n, const struct decode_options *o,
		struct dcm_builder *b, struct dcm_error *err);
int pprof__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		  struct dcm_batch **ret, struct dcm_error *err);

/*
 * One profile (an index) or all of them as one (DCM_NONE), appended to `out` in gzip. 0, -EINVAL
 * (no such profile, no profile, too many types), -ENOMEM, or out's error.
 */
int pprof__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err);

/* The same without gzip. */
int pprof__encode_raw(const struct dcm_batch *b, uint32_t profile, struct buf *out,
		      struct dcm_error *err);

#endif
