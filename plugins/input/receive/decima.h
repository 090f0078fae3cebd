/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/decima.h - what the output of another Decima sends
 */
#ifndef DECIMA_RECEIVE_DECIMA_H
#define DECIMA_RECEIVE_DECIMA_H

#include "plugins/input/receive/desk.h"

/* Fields are private. */
struct decima_door {
	struct desk *desk;
	struct dcm_sessions *sessions;
	struct dcm_metric *unkept, *kept, *bytes;
};

/* Offers the method. The desk and the door outlive it. */
int decima__serve(struct decima_door *door, struct desk *d, struct dcm_error *err);
/* Once nobody is inside any more; one that was never served, zeroed, too. */
void decima__close(struct decima_door *door);

#endif
