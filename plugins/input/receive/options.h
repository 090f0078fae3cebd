/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/options.h - what the configuration says of receiving
 */
#ifndef DECIMA_RECEIVE_OPTIONS_H
#define DECIMA_RECEIVE_OPTIONS_H

#include <stdbool.h>

#include <decima/plugin.h>

enum receive_old { RECEIVE_OLD_READ, RECEIVE_OLD_REFUSE };
enum receive_answer { RECEIVE_WHEN_STORED, RECEIVE_WHEN_QUEUED };

struct receive_options {
	bool decima, ingest, pyroscope, parca, otlp;
	int32_t otlp_old; /* enum receive_old */
	int32_t answer;	  /* enum receive_answer */
	int64_t max_body_bytes, max_unpacked_bytes, max_sessions_bytes;
	int64_t answer_within_ns, silent_after_ns;
};

extern const struct dcm_table receive_options__table;

#endif
