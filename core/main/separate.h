/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/separate.h - the daemon gives its rights up, and keeps a broker that has the few
 *
 *	separate__begin   one thread: becomes `user`, forks the broker when an input will need it
 *	...               ports are bound, inputs with DCM_CAP_RIGHTS are opened
 *	separate__finish  no capability is left, in any thread, and none can come back
 *
 * A process without capabilities has nothing to separate: both do nothing then.
 */
#ifndef DECIMA_MAIN_SEPARATE_H
#define DECIMA_MAIN_SEPARATE_H

#include <stdbool.h>

#include "core/broker/broker.h"
#include "core/main/plan.h"

struct separate {
	bool privileged;       /* there is something to give up */
	struct broker *broker; /* NULL: nobody will ask it */
};

/*
 * Raises the soft limit of descriptors to the hard one, too. data_dir: made for `user`, when there
 * is one. On failure nothing is left that separate__fini() would not free.
 */
int separate__begin(struct separate *s, const struct plan *plan, const char *data_dir,
		    struct dcm_error *err);
int separate__finish(const struct separate *s, struct dcm_error *err);
/*
 * Becomes, with one thread and for good, what the daemon is when it opens its files: `user`, and
 * without capabilities. Changes nothing else: `decima check` looks so.
 */
int separate__like_daemon(const struct plan *plan, struct dcm_error *err);
/* Hung up when the broker has died; -1 without one. */
int separate__watch_fd(const struct separate *s);
/* Ends the broker: when nobody asks it any more. */
void separate__fini(struct separate *s);

#endif
