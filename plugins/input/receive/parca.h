/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/parca.h - the profiles that Parca's agents send
 */
#ifndef DECIMA_RECEIVE_PARCA_H
#define DECIMA_RECEIVE_PARCA_H

#include "plugins/input/receive/desk.h"

/* Offers the methods. The desk outlives it. */
int parca__serve(struct desk *d, struct dcm_error *err);

#endif
