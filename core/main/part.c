/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/part.c - an instance on its way into the pipeline and out of it
 */
#include "core/main/part.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/options.h"

struct part_change {
	bool instance;	    /* the plugin has prepared */
	struct route route; /* taken by commit */
	bool has_route;
	const void *config;
	const struct destination_options *destination_options;
};

int part__new(const struct part_env *env, struct plan_instance *from, struct part **ret,
	      struct dcm_error *err)
{
	struct part *p = NEW(struct part);
	struct settings *settings = take_ptr(from->settings);
	int r;

	if (!p) {
		settings__free(settings);
		return error__nomem(err);
	}
	p->kind = from->kind;
	p->plugin = from->plugin;
	p->name = mem__dup_str(from->name, strlen(from->name));
	p->object = mem__dup_str(from->object, strlen(from->object));
	p->config = settings__config(settings);
	p->destination_options = from->destination;
	if (!p->name || !p->object) {
		settings__free(settings);
		r = error__nomem(err);
	} else {
		r = instance__new(from->plugin, p->name, settings, env->services, &p->instance, err);
	}
	if (r < 0) {
		part__free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static enum instance_phase phase_of(const struct part *p)
{
	struct instance_view v;

	instance__view(p->instance, &v);
	return v.phase;
}

void part__free(struct part *p)
{
	if (!p)
		return;
	if (p->instance) {
		if (part__is_open(p))
			instance__stop(p->instance);
		instance__free(p->instance);
	}
	free(p->name);
	free(p->object);
	free(p);
}

int part__open(struct part *p, struct dcm_error *err)
{
	return instance__open(p->instance, err);
}

int part__try_open(struct part *p, struct dcm_error *err)
{
	return instance__try_open(p->instance, err);
}

bool part__is_open(const struct part *p)
{
	return phase_of(p) == INSTANCE_OPENED;
}

bool part__has_failed(const struct part *p)
{
	return phase_of(p) == INSTANCE_FAILED;
}

bool part__is_abandoned(const struct part *p)
{
	return instance__is_abandoned(p->instance);
}

bool part__runs(const struct part *p)
{
	return p->started;
}

/* A writer's trouble shows beside what the plugin says of itself, while it lasts. */
static void on_trouble(void *ctx, int code, const char *sentence)
{
	struct part *p = ctx;

	(void)code;
	host__set_trouble(instance__host(p->instance), sentence);
}

static bool has_destination(const struct part *p)
{
	return p->kind == DCM_STORAGE || (p->kind == DCM_OUTPUT && p->plugin->output.write);
}

/* Where its spool is; "": it has none. */
static int place_spool(const struct part *p, const struct part_env *env, char ret[static 4096],
		       struct dcm_error *err)
{
	const struct destination_options *o = p->destination_options;
	bool is_remote = p->plugin->info.caps & DCM_CAP_REMOTE;
	const char *root = env->services->data_root;
	int n;

	ret[0] = '\0';
	if (env->one_shot || o->spool == SPOOL_OFF || (o->spool == SPOOL_AUTO && !is_remote))
		return 0;
	if (o->spool_path && o->spool_path[0])
		n = snprintf(ret, 4096, "%s", o->spool_path);
	else if (root)
		n = snprintf(ret, 4096, "%s/%s/spool", root, p->name);
	else if (o->spool == SPOOL_AUTO)
		return 0;
	else
		return error__set(
			err, -ENOENT, "spool: there is no data directory for it; give --data DIR, or a spool_path");
	return n < 4096 ? 0 : error__set(err, -ENAMETOOLONG, "spool: the path is longer than 4095 bytes");
}

static int describe_destination(struct part *p, const struct part_env *env,
				struct destination_config *ret, struct dcm_error *err)
{
	const struct destination_options *o = p->destination_options;
	int r = place_spool(p, env, p->spool_directory, err);

	if (r < 0)
		return r;
	*ret = (struct destination_config){
		.name = p->name,
		.storage = p->kind == DCM_STORAGE ? &p->plugin->storage : NULL,
		.output = p->kind == DCM_OUTPUT ? &p->plugin->output : NULL,
		.handle = instance__handle(p->instance),
		.is_away = true,
		.named = (p->plugin->info.caps & DCM_CAP_NAMED) != 0,
		.policy = env->one_shot				 ? QUEUE_BLOCK
			  : o->policy == DESTINATION_DROP_NEWEST ? QUEUE_DROP_NEWEST
								 : QUEUE_DROP_OLDEST,
		.reserve_bytes = (uint64_t)o->reserve_bytes,
		.max_bytes = (uint64_t)o->max_bytes,
		.write_timeout_ns = o->write_timeout_ns,
		.give_up_ns = o->give_up_ns,
		.n_refusals = (uint32_t)o->refusals,
		.spool = { .directory = p->spool_directory,
			   .max_bytes = (uint64_t)o->spool_max_bytes,
			   .max_age_ns = o->spool_age_ns,
			   .bytes_per_s = (uint64_t)o->spool_rate },
		.trouble = on_trouble,
		.trouble_ctx = p,
	};
	return destination_options__route(o, &ret->route, err);
}

/* What is routed to it is its own from now on, whether it runs or not. */
static int add_destination(struct part *p, const struct part_env *env, struct dcm_error *err)
{
	struct destination_config c;
	int r;

	if (!has_destination(p) || p->destination)
		return 0;
	r = describe_destination(p, env, &c, err);
	return r < 0 ? r : pipeline__add(env->pipeline, &c, &p->destination, err);
}

static int connect_destination(struct part *p, const struct part_env *env, struct dcm_error *err)
{
	struct destination_config c;
	int r = add_destination(p, env, err);

	if (r == 0)
		r = describe_destination(p, env, &c, err);
	return r < 0 ? r : destination__connect(p->destination, &c, err);
}

static int hang_on(struct part *p, const struct part_env *env, struct dcm_error *err)
{
	int r;

	if (has_destination(p))
		return connect_destination(p, env, err);
	if (p->kind == DCM_INPUT && p->plugin->input.collect) {
		r = scheduler__add(env->scheduler, p->instance, &p->task);
		return r < 0 ? error__sys(err, r, "%s: cannot be scheduled", p->object) : 0;
	}
	return 0;
}

static int open_and_start(struct part *p, const struct part_env *env, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int r = 0;

	if (!part__is_open(p))
		r = instance__open(p->instance, err);
	if (r == 0)
		r = instance__start(p->instance, err);
	if (r < 0)
		return r;
	r = hang_on(p, env, &why);
	if (r < 0) {
		instance__fail(p->instance, r, &why);
		return error__set(err, r, "%s: %s", p->object, why.text);
	}
	p->started = true;
	return 0;
}

int part__start(struct part *p, const struct part_env *env, struct dcm_error *err)
{
	/* Before the plugin can fail. Without memory it is tried once more when it is connected. */
	add_destination(p, env, NULL);
	return open_and_start(p, env, err);
}

void part__stand_by(struct part *p, const struct part_env *env, bool will_be_tried)
{
	bool keeps = will_be_tried && instance__retry_at(p->instance) != INT64_MAX;

	if (add_destination(p, env, NULL) < 0 || !p->destination)
		return;
	/* Queues of one-shot commands block, and nobody would make room. */
	destination__keep(p->destination, keeps && !env->one_shot);
}

/* One that hangs leaves as much time to those that are stopped after it. */
static int64_t half_way(int64_t deadline_mono_ns)
{
	int64_t now = clock__mono(&clock__system);

	return now + (deadline_mono_ns - now) / 2;
}

/* Takes it off from what calls it; -ETIMEDOUT: somebody is inside and stays there. */
static int take_off(struct part *p, const struct part_env *env, bool keeps, int64_t deadline_mono_ns)
{
	if (p->task)
		return scheduler__remove(env->scheduler, take_ptr(p->task), half_way(deadline_mono_ns));
	if (p->destination && keeps)
		return destination__disconnect(p->destination, deadline_mono_ns);
	if (p->destination)
		return pipeline__remove(env->pipeline, take_ptr(p->destination), deadline_mono_ns);
	return 0;
}

static int stop(struct part *p, const struct part_env *env, bool keeps, int64_t deadline_mono_ns)
{
	int r;

	p->started = false;
	if (take_off(p, env, keeps, deadline_mono_ns) == -ETIMEDOUT) {
		instance__abandon(p->instance,
				  "it did not come back from its work before the deadline");
		return -ETIMEDOUT;
	}
	if (p->n_inside > 0) {
		instance__abandon(p->instance,
				  "it did not come back from a question before the deadline");
		return -ETIMEDOUT;
	}
	if (instance__withdraw(p->instance, half_way(deadline_mono_ns)) == -ETIMEDOUT) {
		instance__abandon(p->instance,
				  "it did not come back from a request before the deadline");
		return -ETIMEDOUT;
	}
	if (phase_of(p) == INSTANCE_STARTED) {
		r = instance__drain(p->instance, deadline_mono_ns);
		if (r < 0)
			log__line(env->log, DCM_LOG_WARNING, p->name,
				  "not all that it held was handed on before its end: %s",
				  strerror(-r));
	}
	if (phase_of(p) != INSTANCE_CREATED)
		instance__stop(p->instance);
	return 0;
}

int part__stop(struct part *p, const struct part_env *env, int64_t deadline_mono_ns)
{
	return stop(p, env, false, deadline_mono_ns);
}

int part__pause(struct part *p, const struct part_env *env, int64_t deadline_mono_ns)
{
	return stop(p, env, true, deadline_mono_ns);
}

void part__hand_over(struct part *from, struct part *to)
{
	assert(!from->started && !to->started && !to->destination);
	to->destination = take_ptr(from->destination);
}

/* ------------------------------------------------------------------------------------------------
 * Changing the configuration
 */

static bool same_destination(const struct destination_options *a, const struct destination_options *b,
			     char key[static 256], enum options_change *ret)
{
	*ret = a && b ? options__compare(&destination_options__table, a, b, key) : OPTIONS_SAME;
	return *ret == OPTIONS_SAME;
}

/* -EBUSY with the key when a row says so, or when nothing runs that could prepare. */
static int compare(struct part *p, const struct plan_instance *to, bool *ret_config,
		   bool *ret_route, struct dcm_error *err)
{
	char key[256];
	enum options_change config = OPTIONS_SAME, route;

	if (p->plugin->info.options)
		config = options__compare(p->plugin->info.options, p->config,
					  settings__config(to->settings), key);
	if (config == OPTIONS_RESTART)
		return error__set(err, -EBUSY, "%s: %s changed", p->object, key);
	*ret_route = !same_destination(p->destination_options, to->destination, key, &route);
	if (route == OPTIONS_RESTART)
		return error__set(err, -EBUSY, "%s: %s changed", p->object, key);
	*ret_config = config != OPTIONS_SAME;
	if ((*ret_config || *ret_route) && !p->started)
		return error__set(err, -EBUSY, "%s: it does not run", p->object);
	return 0;
}

int part__prepare(struct part *p, struct plan_instance *to, struct part_change **ret,
		  struct dcm_error *err)
{
	struct part_change *c;
	bool config, route;
	int r = compare(p, to, &config, &route, err);

	*ret = NULL;
	if (r < 0 || (!config && !route))
		return r;
	c = NEW(struct part_change);
	if (!c)
		return error__nomem(err);
	c->config = settings__config(to->settings);
	c->destination_options = to->destination;
	/* A frontend gets no batches, and so it has nothing that its selector could lead. */
	c->has_route = route && p->destination;
	if (c->has_route)
		r = destination_options__route(to->destination, &c->route, err);
	if (r == 0) {
		/*
		 * Also when only the route changes: the instance then keeps the new settings'
		 * memory.
		 */
		r = instance__prepare(p->instance, to->settings, err);
		c->instance = r == 0;
		if (r == 0)
			to->settings = NULL;
	}
	if (r < 0) {
		part__abort(p, c);
		return r;
	}
	*ret = c;
	return 0;
}

void part__commit(struct part *p, struct part_change *c)
{
	if (c->has_route)
		destination__set_route(p->destination, &c->route);
	instance__commit(p->instance);
	p->config = c->config;
	p->destination_options = c->destination_options;
	free(c);
}

void part__abort(struct part *p, struct part_change *c)
{
	if (!c)
		return;
	if (c->instance)
		instance__abort(p->instance);
	route__fini(&c->route);
	free(c);
}

bool part__is_changed(const struct part *p, const struct plan_instance *to)
{
	char key[256];

	return p->plugin->info.options &&
	       options__compare(p->plugin->info.options, p->config, settings__config(to->settings),
				key) != OPTIONS_SAME;
}
