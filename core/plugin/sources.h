/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/sources.h - the inputs that others ask: for names of runtime addresses, for their targets
 *
 * A register of inputs that have `process`, `resolve` or `targets`. host->process_event() and
 * host->resolve_runtime() fan out over it, and the API asks it what is collected from. Any thread may ask while another adds or removes:
 * nothing is locked while a plugin runs, and sources__remove() returns only when no call into that
 * instance is under way, so it comes before drain and stop. An instance must not remove itself from
 * inside its own callback.
 */
#ifndef DECIMA_PLUGIN_SOURCES_H
#define DECIMA_PLUGIN_SOURCES_H

#include <decima/plugin.h>

struct sources;

struct sources *sources__new(void);    /* NULL when memory ran out */
void sources__free(struct sources *s); /* nobody asks any more */

/*
 * An input without any of the three is not kept (and need not be). 0 or -ENOMEM. Nothing is
 * copied.
 */
int sources__add(struct sources *s, const char *name, const struct dcm_input_ops *ops, void *instance);
/* Unknown instances are fine. */
void sources__remove(struct sources *s, void *instance);

void sources__process_event(struct sources *s, enum dcm_process_event event,
			    const struct dcm_process *process);

/*
 * Asks in the order of adding; later ones are asked about everything, but `each` hears the first
 * name of an address only. *ret_why (may be NULL) is what the first source that knows the process
 * says of the rest, and DCM_UNNAMED_JIT_NO_MAP when none does.
 */
void sources__resolve(struct sources *s, const struct dcm_process *process, const uint64_t *addresses,
		      uint32_t n, dcm_symbol_fn each, void *ctx, enum dcm_unnamed *ret_why);

/* All targets of all instances, in the order of adding, with the instance's name. */
typedef void (*sources_target_fn)(void *ctx, const char *name, const struct dcm_target *target);
void sources__targets(struct sources *s, sources_target_fn each, void *ctx);

#endif
