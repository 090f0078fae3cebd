/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance.c - a plugin with a name and a configuration, and the order of its life
 *
 * The control thread owns everything but `phase` and `n_failures`, which any thread may view and
 * which the mutex guards. The plugin is never called with the mutex held. The configuration that
 * the plugin looks at is kept until stop() or the next commit() has returned.
 */
#include "core/plugin/instance.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"

#define RETRY_FIRST_NS ((int64_t)1 * 1000000000)
#define RETRY_LAST_NS  ((int64_t)60 * 1000000000)

struct instance {
	const struct plugin *plugin;
	struct dcm_host *host;
	struct settings *settings; /* what the plugin looks at, or will at the next open() */
	struct settings *next;	   /* between prepare and commit or abort */
	void *change;		   /* what prepare() returned */
	void *handle;
	bool is_source, is_abandoned, is_trial;
	int64_t retry_at_ns;

	pthread_mutex_t mutex;
	enum instance_phase phase;
	uint32_t n_failures;
	uint32_t n_failures_before; /* the last start went well */
};

const char *instance__phase_name(enum instance_phase phase)
{
	static const char *const names[] = {
		[INSTANCE_CREATED] = "created", [INSTANCE_OPENED] = "opened",
		[INSTANCE_STARTED] = "started", [INSTANCE_DRAINING] = "draining",
		[INSTANCE_STOPPED] = "stopped", [INSTANCE_FAILED] = "failed",
	};

	return (unsigned)phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "unknown";
}

int instance__new(const struct plugin *plugin, const char *name, struct settings *settings,
		  const struct host_services *services, struct instance **ret, struct dcm_error *err)
{
	CLEANUP(settings__freep) struct settings *mine = settings;
	struct instance *i = NEW(struct instance);
	int r;

	if (!i)
		return error__nomem(err);
	r = host__new(name, services, &i->host, err);
	if (r < 0) {
		free(i);
		return r;
	}
	pthread_mutex_init(&i->mutex, NULL);
	i->plugin = plugin;
	i->settings = take_ptr(mine);
	i->retry_at_ns = INT64_MAX;
	*ret = i;
	return 0;
}

static bool is_at_rest(const struct instance *i)
{
	return i->phase == INSTANCE_CREATED || i->phase == INSTANCE_STOPPED || i->phase == INSTANCE_FAILED;
}

void instance__free(struct instance *i)
{
	if (!i)
		return;
	assert(is_at_rest(i));
	if (i->is_abandoned)
		return;
	settings__free(i->settings);
	host__free(i->host);
	pthread_mutex_destroy(&i->mutex);
	free(i);
}

const struct plugin *instance__plugin(const struct instance *i)
{
	return i->plugin;
}

const char *instance__name(const struct instance *i)
{
	return i->host->instance;
}

void *instance__handle(const struct instance *i)
{
	return i->handle;
}

struct dcm_host *instance__host(const struct instance *i)
{
	return i->host;
}

static void set_phase(struct instance *i, enum instance_phase phase)
{
	pthread_mutex_lock(&i->mutex);
	i->phase = phase;
	if (phase == INSTANCE_STARTED) {
		i->n_failures_before = i->n_failures;
		i->n_failures = 0;
	}
	pthread_mutex_unlock(&i->mutex);
}

/* ---- failing ---- */

/* Does it take a person (a reload, a restart) to heal this? */
static bool is_lasting(int code)
{
	return code == -EINVAL || code == -EPERM || code == -ENOSYS || code == -EOPNOTSUPP ||
	       code == -ENOEXEC;
}

static int64_t backoff(uint32_t n_failures)
{
	int64_t ns = RETRY_FIRST_NS;

	while (--n_failures > 0 && ns < RETRY_LAST_NS)
		ns *= 2;
	return ns < RETRY_LAST_NS ? ns : RETRY_LAST_NS;
}

/* Into the state and the caller's error: the plugin's sentence, or one made of the code. */
static int fail(struct instance *i, const char *what, int code, struct dcm_error *why,
		struct dcm_error *err)
{
	/* A plugin that fails with a positive number is wrong, but it has failed. */
	if (code > 0)
		code = -EIO;
	if (!why->text[0])
		error__sys(why, code, "%s failed", what);
	i->handle = NULL;
	pthread_mutex_lock(&i->mutex);
	i->phase = INSTANCE_FAILED;
	i->n_failures++;
	i->retry_at_ns = is_lasting(code) ? INT64_MAX
					  : i->host->mono_ns(i->host) + backoff(i->n_failures);
	pthread_mutex_unlock(&i->mutex);
	if (!i->is_trial)
		host__set_state(i->host, DCM_STATE_FAILED, why->text);
	return error__set(err, code, "%s %s: %s", plugin__kind_name((enum dcm_kind)i->plugin->info.kind),
			  instance__name(i), why->text);
}

int64_t instance__retry_at(const struct instance *i)
{
	return i->phase == INSTANCE_FAILED ? i->retry_at_ns : INT64_MAX;
}

/* ---- open, start ---- */

int instance__open(struct instance *i, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	void *handle = NULL;
	int r;

	assert(is_at_rest(i));
	host__set_state(i->host, DCM_STATE_STARTING, "");
	host__reopen(i->host);
	r = i->plugin->lifecycle.open(i->host, settings__config(i->settings), &handle, &why);
	if (r != 0)
		return fail(i, "open", r, &why, err);
	i->handle = handle;
	set_phase(i, INSTANCE_OPENED);
	return 0;
}

int instance__try_open(struct instance *i, struct dcm_error *err)
{
	int r;

	i->is_trial = true;
	r = instance__open(i, err);
	i->is_trial = false;
	return r;
}

/* An input that names addresses or has targets is asked from here on. */
static int join_sources(struct instance *i)
{
	struct sources *all = host__services(i->host)->sources;
	int r;

	if (!all || i->plugin->info.kind != DCM_INPUT)
		return 0;
	r = sources__add(all, instance__name(i), &i->plugin->input, i->handle);
	i->is_source = r == 0;
	return r;
}

static void leave_sources(struct instance *i)
{
	if (i->is_source)
		sources__remove(host__services(i->host)->sources, i->handle);
	i->is_source = false;
}

int instance__start(struct instance *i, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	struct host_state state;
	int r;

	assert(i->phase == INSTANCE_OPENED);
	r = i->plugin->lifecycle.start(i->handle, &why);
	if (r == 0)
		r = join_sources(i);
	if (r != 0) {
		host__settle(i->host);
		i->plugin->lifecycle.stop(i->handle);
		return fail(i, "start", r, &why, err);
	}
	set_phase(i, INSTANCE_STARTED);
	/* The plugin may have said more than that (degraded: ...) already. */
	host__state(i->host, &state);
	if (state.state == DCM_STATE_STARTING)
		host__set_state(i->host, DCM_STATE_OK, "");
	return 0;
}

void instance__fail(struct instance *i, int code, struct dcm_error *why)
{
	assert(i->phase == INSTANCE_STARTED && !i->next);
	leave_sources(i);
	host__settle(i->host);
	i->plugin->lifecycle.stop(i->handle);
	pthread_mutex_lock(&i->mutex);
	i->n_failures = i->n_failures_before;
	pthread_mutex_unlock(&i->mutex);
	fail(i, "start", code, why, NULL);
}

int instance__open_and_start(struct instance *i, struct dcm_error *err)
{
	int r = instance__open(i, err);

	return r < 0 ? r : instance__start(i, err);
}

/* ---- another configuration ---- */

int instance__prepare(struct instance *i, struct settings *settings, struct dcm_error *err)
{
	const struct dcm_lifecycle *l = &i->plugin->lifecycle;
	struct dcm_error why = DCM_ERROR_INIT;
	int r;

	assert(i->phase == INSTANCE_STARTED && !i->next);
	if (!l->prepare)
		return error__set(err, -EBUSY, "%s: takes a new configuration only by a restart",
				  instance__name(i));
	r = l->prepare(i->handle, settings__config(settings), &i->change, &why);
	if (r != 0) {
		if (r > 0)
			r = -EIO;
		if (!why.text[0])
			error__sys(&why, r, "prepare failed");
		return error__set(err, r, "%s: %s", instance__name(i), why.text);
	}
	i->next = settings;
	return 0;
}

void instance__commit(struct instance *i)
{
	assert(i->next);
	i->plugin->lifecycle.commit(i->handle, i->change);
	settings__free(i->settings);
	i->settings = take_ptr(i->next);
	i->change = NULL;
}

void instance__abort(struct instance *i)
{
	assert(i->next);
	i->plugin->lifecycle.abort(i->handle, i->change);
	settings__free(take_ptr(i->next));
	i->change = NULL;
}

void instance__set_settings(struct instance *i, struct settings *settings)
{
	assert(is_at_rest(i));
	/* A thread that was left behind in the plugin may still look at the old ones. */
	if (!i->is_abandoned)
		settings__free(i->settings);
	i->settings = settings;
	i->retry_at_ns = INT64_MAX;
}

/* ---- drain, stop ---- */

int instance__drain(struct instance *i, int64_t deadline_mono_ns)
{
	int r = 0;

	if (i->phase != INSTANCE_STARTED)
		return 0;
	if (i->next)
		instance__abort(i);
	leave_sources(i);
	set_phase(i, INSTANCE_DRAINING);
	if (i->plugin->lifecycle.drain)
		r = i->plugin->lifecycle.drain(i->handle, deadline_mono_ns);
	return r > 0 ? -EIO : r;
}

int instance__withdraw(struct instance *i, int64_t deadline_mono_ns)
{
	return host__withdraw(i->host, deadline_mono_ns);
}

void instance__stop(struct instance *i)
{
	if (i->phase == INSTANCE_CREATED || i->phase == INSTANCE_STOPPED)
		return;
	if (i->next)
		instance__abort(i);
	leave_sources(i);
	if (i->phase != INSTANCE_FAILED) {
		host__settle(i->host);
		i->plugin->lifecycle.stop(i->handle);
	}
	i->handle = NULL;
	set_phase(i, INSTANCE_STOPPED);
	host__set_state(i->host, DCM_STATE_STOPPED, "");
}

void instance__abandon(struct instance *i, const char *why)
{
	leave_sources(i);
	i->is_abandoned = true;
	i->handle = NULL;
	set_phase(i, INSTANCE_STOPPED);
	host__set_state(i->host, DCM_STATE_FAILED, why);
}

bool instance__is_abandoned(const struct instance *i)
{
	return i->is_abandoned;
}

void instance__view(const struct instance *i, struct instance_view *ret)
{
	struct instance *m = (struct instance *)(uintptr_t)i;

	host__state(i->host, &ret->state);
	pthread_mutex_lock(&m->mutex);
	ret->phase = i->phase;
	ret->n_failures = i->n_failures;
	pthread_mutex_unlock(&m->mutex);
}
