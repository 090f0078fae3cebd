/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/emissions.h - the `done` callbacks that are owed to one instance
 *
 * A batch may outlive the plugin that emitted it: it waits in a queue while a reload takes the
 * plugin away. Its `done` must not find the plugin's memory gone. So a callback goes through an
 * entry of this register, and settling answers what is still owed, once, while the plugin is there;
 * what comes later finds the entry settled. Any thread.
 */
#ifndef DECIMA_PLUGIN_EMISSIONS_H
#define DECIMA_PLUGIN_EMISSIONS_H

#include <decima/plugin.h>

struct emissions;
struct emission;

struct emissions *emissions__new(void); /* NULL when memory ran out */
/* After settling; entries that are still on their way keep what they need. */
void emissions__unref(struct emissions *all);

/* 0, -ENOMEM, or -ESHUTDOWN: settled. */
int emissions__add(struct emissions *all, dcm_done_fn done, void *ctx, struct emission **ret);
/*
 * The batch was not taken: forgets the entry, nothing is called. False: settling has answered it
 * already.
 */
bool emission__cancel(struct emission *e);
/* To be handed on in the place of (done, ctx): ctx is the entry. */
void emission__done(void *emission, int status);

/*
 * Calls each owed `done` with -ECANCELED, waits for those under way, and takes no more until it is
 * reopened.
 */
void emissions__settle(struct emissions *all);
void emissions__reopen(struct emissions *all);

#endif
