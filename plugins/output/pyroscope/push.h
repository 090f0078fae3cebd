/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/push.h - a profile as requests of push.v1 (proto/push/v1/push.proto)
 *
 * One series, with the labels of the profile's, `__name__` from its first type, and a `service_name`. What Pyroscope would make
 * differences of, and is one already, says `__delta__="false"`.
 *
 * A profile that is larger than the server takes goes in parts, each a request of its own: the server's bound of bytes at one
 * moment (distributor.ingestion-burst-size-mb) holds for a request. Each has some of the rows, and a time that is a millisecond
 * later than that of the one before, so that no two are one profile that came twice; only the first has the duration. Who adds
 * them up has the whole, so only what adds up is parted: of a state (heap in use) the server would take the mean. Ids are made
 * of the batch's id, and the same when a part is sent again.
 */
#ifndef DECIMA_OUTPUT_PYROSCOPE_PUSH_H
#define DECIMA_OUTPUT_PYROSCOPE_PUSH_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/* Of one part; 0: no bound. */
struct push_limits {
	int64_t rows, bytes; /* bytes: of a pprof that is not packed */
};

/* How far a profile has come. Zeroed at first. */
struct push_progress {
	uint32_t rows, parts; /* that were sent */
	uint32_t most;	      /* rows that a part had room for lately; 0: nobody knows */
};

/*
 * Appends the message with the next part, and says how far the profile has come with it. -EILSEQ: it cannot be encoded;
 * -EAGAIN: no memory. err has a sentence. A row that is larger than limits->bytes alone goes alone.
 */
int push__request(const struct dcm_host *host, const struct dcm_batch *b, uint32_t profile,
		  const struct push_limits *limits, const struct push_progress *from,
		  struct push_progress *ret_to, struct buf *out, struct dcm_error *err);

#endif
