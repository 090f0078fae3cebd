/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/ingest.h - POST /api/v1/ingest: a profile as it is
 *
 * The body is a profile in a format that is told by its bytes or by format=. label=NAME=VALUE, any number, are the labels
 * of its series; name= is the first part of its types; time= is when it began, if the profile does not say (and
 * otherwise it is now). The answer says what was taken.
 */
#ifndef DECIMA_RECEIVE_INGEST_H
#define DECIMA_RECEIVE_INGEST_H

#include "plugins/input/receive/desk.h"

/* Offers the endpoint. Errors are host->serve()'s. */
int ingest__serve(struct desk *d, struct dcm_error *err);

#endif
