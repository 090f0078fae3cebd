/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/grpc_timeout.h - how long a caller waits for the answer, as the header grpc-timeout says it
 *
 * Source: grpc/grpc, doc/PROTOCOL-HTTP2.md, Timeout: at most eight digits, and a unit.
 */
#ifndef DECIMA_BASE_GRPC_TIMEOUT_H
#define DECIMA_BASE_GRPC_TIMEOUT_H

#include <stdint.h>

#include <decima/plugin.h>

enum { GRPC_TIMEOUT_TEXT = 10 };

/* In ns, INT64_MAX for more and for an empty text, -1: it is malformed. */
int64_t grpc_timeout__read(struct dcm_str text);

/* In ms, rounded down but to one at least, and 99,999,999 at most. Returns its length; a zero byte follows. */
uint32_t grpc_timeout__format(int64_t ns, char ret[static GRPC_TIMEOUT_TEXT]);

#endif
