/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/telemetry.h - what Parca's agents say of themselves
 */
#ifndef DECIMA_RECEIVE_TELEMETRY_H
#define DECIMA_RECEIVE_TELEMETRY_H

#include "plugins/input/receive/desk.h"

/* Offers the method. The desk outlives it. */
int telemetry__serve(struct desk *d, struct dcm_error *err);

#endif
