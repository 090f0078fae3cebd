/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/push.h - a profile as a request of push.v1 (proto/push/v1/push.proto)
 *
 * One series, with the labels of the profile's, `__name__` from its first type, and a `service_name`. What Pyroscope would make
 * differences of, and is one already, says `__delta__="false"`. A profile that is larger than the server takes goes as several
 * samples of the series, each with some of the rows and a time that is a millisecond later than that of the one before: who
 * adds them up has the whole, and no two are one profile that came twice. Their ids are made of the batch's id, and the same
 * when it is sent again.
 */
#ifndef DECIMA_OUTPUT_PYROSCOPE_PUSH_H
#define DECIMA_OUTPUT_PYROSCOPE_PUSH_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/* Of one sample of the request; 0: no bound. */
struct push_limits {
	int64_t rows, bytes; /* bytes: of a pprof that is not packed */
};

/*
 * Appends the message. -EILSEQ: it cannot be encoded; -EAGAIN: no memory. err has a sentence. A row that is larger than
 * limits->bytes alone goes alone.
 */
int push__request(const struct dcm_host *host, const struct dcm_batch *b, uint32_t profile,
		  const struct push_limits *limits, struct buf *out, struct dcm_error *err);

#endif
