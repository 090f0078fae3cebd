/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/decima.h - what the output of another Decima sends
 */
#ifndef DECIMA_RECEIVE_DECIMA_H
#define DECIMA_RECEIVE_DECIMA_H

#include "plugins/input/receive/desk.h"

/* Offers the method. The desk outlives it. */
int decima__serve(struct desk *d, struct dcm_error *err);

#endif
