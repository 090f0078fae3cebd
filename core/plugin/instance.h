/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance.h - a plugin with a name and a configuration, and the order of its life
 *
 *	created --open--> opened --start--> started --drain--> draining --stop--> stopped
 *	            \          \               (prepare -> commit | abort)*
 *	             +----------+--> failed --open--> ... (when instance__retry_at() is due; or stop)
 *
 * The wrappers keep that order (a call out of order is a mistake of ours and asserts), keep the
 * configuration alive as long as the plugin may look at it, and turn what goes wrong into a state
 * and a sentence for people. One that fails touches no other. After a failure that may heal by
 * itself (a port in use, a full disk, a missing file) the control thread tries again after 1 s, 2
 * s, 4 s, ... 60 s; one that cannot (-EINVAL -EPERM -ENOSYS -EOPNOTSUPP -ENOEXEC) waits for a
 * reload or restart.
 *
 * Threads: lifecycle calls come from one control thread. instance__view() and the plain getters are
 * for any thread.
 */
#ifndef DECIMA_PLUGIN_INSTANCE_H
#define DECIMA_PLUGIN_INSTANCE_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/plugin/contract.h"
#include "core/plugin/host.h"
#include "core/plugin/settings.h"

enum instance_phase {
	INSTANCE_CREATED,
	INSTANCE_OPENED,
	INSTANCE_STARTED,
	INSTANCE_DRAINING,
	INSTANCE_STOPPED,
	INSTANCE_FAILED,
};
const char *instance__phase_name(enum instance_phase phase);

struct instance;

/* Takes the settings (also on failure). `name`: host.h says which are fit. */
int instance__new(const struct plugin *plugin, const char *name, struct settings *settings,
		  const struct host_services *services, struct instance **ret, struct dcm_error *err);
/* Only when created, stopped, failed or abandoned. */
void instance__free(struct instance *i);
DEFINE_CLEANUP(struct instance *, instance__free);

const struct plugin *instance__plugin(const struct instance *i);
const char *instance__name(const struct instance *i);
/*
 * What open() returned: the first argument of the plugin's functions. NULL unless opened, started
 * or draining.
 */
void *instance__handle(const struct instance *i);
struct dcm_host *instance__host(const struct instance *i);

/*
 * created or failed -> opened; started. On failure: -> failed, the sentence is in the state and in
 * err.
 */
int instance__open(struct instance *i, struct dcm_error *err);
/* The same, and a failure is the caller's alone to tell: it is neither logged nor the instance's state. */
int instance__try_open(struct instance *i, struct dcm_error *err);
int instance__start(struct instance *i, struct dcm_error *err);
/*
 * Right after a start that went well: the instance is of no use, because what shall feed it cannot
 * be made. Ends it as if the start had failed with that code and sentence.
 */
void instance__fail(struct instance *i, int code, struct dcm_error *why);
/* Both, for who has no use for the phase between. */
int instance__open_and_start(struct instance *i, struct dcm_error *err);

/*
 * A change of configuration. prepare takes the new settings when it returns 0, and exactly one of
 * commit and abort follows. -EBUSY: the instance must be restarted (stop, open and start with the
 * new settings); the sentence names the key where the plugin did. Any other error: the new
 * configuration is impossible and the old one goes on.
 */
int instance__prepare(struct instance *i, struct settings *settings, struct dcm_error *err);
void instance__commit(struct instance *i);
void instance__abort(struct instance *i);
/*
 * For a restart and for a failed instance: other settings for the next open(). Only when created,
 * stopped, failed.
 */
void instance__set_settings(struct instance *i, struct settings *settings);

/* Hands on what the plugin holds. 0, or what it said (-ETIMEDOUT: not everything). */
int instance__drain(struct instance *i, int64_t deadline_mono_ns);
/* Nobody is let into its endpoints any more: host__withdraw(). */
int instance__withdraw(struct instance *i, int64_t deadline_mono_ns);
/*
 * Ends it; from any phase but created (then it does nothing). Sources (sources.h) hear of it first.
 */
void instance__stop(struct instance *i);
/*
 * Instead of stop, when a thread is stuck inside the plugin: the instance counts as stopped, its
 * memory (and the plugin's) stays until the process ends.
 */
void instance__abandon(struct instance *i, const char *why);
bool instance__is_abandoned(const struct instance *i);

/* When a failed instance is due for another open_and_start (mono); INT64_MAX: never by itself. */
int64_t instance__retry_at(const struct instance *i);

/* A copy for the API: any thread. */
struct instance_view {
	enum instance_phase phase;
	struct host_state state;
	uint32_t n_failures; /* in a row */
};
void instance__view(const struct instance *i, struct instance_view *ret);

#endif
