/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/pyroscope.h - what Pyroscope's clients send
 *
 *	POST /ingest, /pyroscope/ingest		their HTTP API (pyroscope.c)
 *	POST /push.v1.PusherService/Push	Alloy and the newer clients: Connect's unary calls (push.c)
 *
 * Sources: grafana/pyroscope, pkg/ingester/pyroscope/ingest_handler.go and ingest_adapter.go, for parameters and what
 * an application's name says; connectrpc.com/docs/protocol for Connect.
 *
 * /ingest takes pprof (as it is, or as the part "profile" of a form), folded text, lines and speedscope. Trie, tree and JFR are
 * refused. Folded text counts samples at sampleRate a second, which become nanoseconds; the end of the
 * application's name (".cpu", ".inuse_space", ..) says what else it may count, and what is no such end belongs to the name.
 * The part "sample_type_config" says which types are averages and which count up, and the others are differences; of those that
 * count up "prev_profile" is not needed, as stores make differences themselves.
 */
#ifndef DECIMA_RECEIVE_PYROSCOPE_H
#define DECIMA_RECEIVE_PYROSCOPE_H

#include "plugins/input/receive/desk.h"

/* Offer the endpoints. Errors are host->serve()'s. */
int pyroscope__serve(struct desk *d, struct dcm_error *err);
int push__serve(struct desk *d, struct dcm_error *err);

#endif
