/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/reload.c - from what runs to what a new plan says, or to nothing else
 *
 * First all is made and opened that can be beside what runs; then those change over that only a
 * restart can change; then what cannot fail is done. Up to there all can go back to what it was.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/config/options.h"
#include "core/main/graph_inside.h"

/* What becomes of one instance. */
struct change {
	struct part *part;
	enum { KEEP, RETRY, COMMIT, REPLACE, ADD, REMOVE } what;
	struct part_change *prepared; /* COMMIT */
	struct part *next;	      /* REPLACE: what takes the place of `part`, perhaps open */
	bool is_off, ran;	      /* REPLACE: `part` has given way to next; until then it ran */
	bool waits;		      /* ADD, REPLACE: another one has what it needs */
	bool goes;  /* ADD, REPLACE: another one goes for good, with what it has */
	bool began; /* ADD: its start was tried */
};

static struct part *find_part(const struct graph *g, const struct plan_instance *to)
{
	for (size_t i = 0; i < g->parts.n; i++) {
		struct part *p = g->parts.v[i];

		if (p->kind == to->kind && p->plugin == to->plugin && strcmp(p->name, to->name) == 0)
			return p;
	}
	return NULL;
}

static struct plan_instance *find_planned(struct plan *plan, const struct part *p)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		struct plan_instance *to = &plan->instances[i];

		if (p->kind == to->kind && p->plugin == to->plugin && strcmp(p->name, to->name) == 0)
			return to;
	}
	return NULL;
}

/* Questions under way look into the store that answers them, for as long as the engine lives. */
static int refuse_restart(const struct part *p, const char *why, struct dcm_error *err)
{
	return error__set(err, -EBUSY,
			  "%s: %s, and the storage that answers questions cannot be restarted; "
			  "restart decima",
			  p->object, why);
}

/* -EBUSY means a restart of decima, which would not help here. */
static int open_for_reload(struct part *p, struct dcm_error *err)
{
	int r = part__try_open(p, err);

	return r == -EBUSY ? -EADDRINUSE : r;
}

/*
 * Only a restart can do it. What can fail of that is done while the old one runs, unless both have
 * need of the same: the old one must then go first, and comes back when the new one cannot open.
 */
static int prepare_replacement(struct graph *g, struct plan_instance *to, struct change *c,
			       struct dcm_error *err)
{
	bool beside = part__is_changed(c->part, to) && !graph__needs_rights(c->part);
	struct part_env env = graph__part_env(g);
	int r;

	c->what = REPLACE;
	r = part__new(&env, to, &c->next, err);
	if (r < 0 || (part__runs(c->part) && !beside))
		return r;
	r = open_for_reload(c->next, err);
	return r == -EADDRINUSE ? 0 : r;
}

/* What becomes of an instance that is there already. */
static int prepare_change(struct graph *g, struct plan_instance *to, struct change *c,
			  struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int r = part__prepare(c->part, to, &c->prepared, &why);

	if (r == -EBUSY && c->part == g->store)
		return refuse_restart(c->part, why.text, err);
	if (r == -EBUSY && g->rights_gone && graph__needs_rights(c->part))
		return error__set(err, r, "%s; the rights for that were given up at the start; restart decima",
				  why.text);
	if (r == -EBUSY) {
		log__line(g->c.log, DCM_LOG_INFO, to->name, "%s; restarting it", why.text);
		return prepare_replacement(g, to, c, err);
	}
	if (r < 0) {
		*err = why;
		return r;
	}
	c->what = c->prepared ? COMMIT : KEEP;
	/* What kept it from starting may have been mended outside of the file. */
	if (part__has_failed(c->part) && graph__may_start(g, c->part))
		c->what = RETRY;
	return 0;
}

/* Prepares one instance of the new plan: nothing that runs notices. `goes`: another one does. */
static int prepare(struct graph *g, struct plan_instance *to, bool goes, struct change *c,
		   struct dcm_error *err)
{
	struct part_env env = graph__part_env(g);
	int r;

	*c = (struct change){ .part = find_part(g, to), .goes = goes };
	if (c->part)
		return prepare_change(g, to, c, err);
	c->what = ADD;
	r = part__new(&env, to, &c->part, err);
	if (r == 0 && g->rights_gone && graph__needs_rights(c->part))
		r = error__set(err, -EBUSY,
			       "%s: is new, and the rights to open it were given up at the start; "
			       "restart decima",
			       c->part->object);
	if (r < 0)
		return r;
	r = open_for_reload(c->part, err);
	c->waits = r == -EADDRINUSE;
	return c->waits ? 0 : r;
}

static void undo(struct change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (changes[i].what == ADD)
			part__free(changes[i].part);
		part__free(changes[i].next);
		part__abort(changes[i].part, changes[i].prepared);
	}
}

static void pause_part(struct graph *g, struct part *p, int64_t drain_ns)
{
	struct part_env env = graph__part_env(g);

	if (part__pause(p, &env, clock__mono(&clock__system) + drain_ns) < 0)
		g->has_abandoned = true;
}

static void give_way(struct graph *g, struct change *c, int64_t drain_ns)
{
	c->ran = part__runs(c->part);
	if (c->ran)
		pause_part(g, c->part, drain_ns);
	part__hand_over(c->part, c->next);
	c->is_off = true;
}

static void free_part(struct graph *g, struct part *p)
{
	if (!part__is_abandoned(p))
		part__free(p);
	else if (vec__reserve(&g->abandoned, 1))
		g->abandoned.v[g->abandoned.n++] = p;
}

/* One that was new is gone again. */
static void drop_new(struct graph *g, struct change *c, int64_t drain_ns)
{
	if (c->began)
		graph__stop_part(g, c->part, clock__mono(&clock__system) + drain_ns);
	free_part(g, take_ptr(c->part));
}

/*
 * The old ones are back, when all that took their places, or what they had, have let go. Whether one
 * starts is in its state, as at any start.
 */
static void switch_back(struct graph *g, struct change *changes, size_t n, int64_t drain_ns)
{
	struct part_env env = graph__part_env(g);

	for (struct change *c = changes; c < changes + n; c++) {
		if (c->is_off && part__runs(c->next))
			pause_part(g, c->next, drain_ns);
		if (c->is_off)
			part__hand_over(c->next, c->part);
		if ((c->waits || c->began) && c->what == ADD)
			drop_new(g, c, drain_ns);
	}
	for (struct change *c = changes; c < changes + n; c++) {
		if (c->is_off && c->ran)
			graph__start_part(g, c->part);
		else if (c->is_off)
			part__stand_by(c->part, &env, graph__may_start(g, c->part));
	}
}

/* The new one is open, and runs if it takes another's place. */
static int take_place(struct graph *g, struct change *c, struct dcm_error *err)
{
	struct part *p = c->what == REPLACE ? c->next : c->part;
	struct part_env env = graph__part_env(g);
	int r = part__is_open(p) ? 0 : open_for_reload(p, err);

	if (r == 0 && c->what == REPLACE)
		r = part__start(p, &env, err);
	return r == -EBUSY ? -EADDRINUSE : r;
}

/*
 * Those who waited: all have given way now. Who goes for good does so later, and only who is new
 * can wait for it.
 */
static int take_at_last(struct graph *g, struct change *c, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int r = take_place(g, c, &why);

	if (r >= 0 || (r == -EADDRINUSE && c->goes && c->what == ADD))
		return 0;
	return error__set(err, r, "%s%s", why.text,
			  r == -EADDRINUSE && c->goes
				  ? "; when what is to go has it, reload without that one first"
				  : "");
}

/* Who is new runs from here on. One that waits for who goes is started when that one has gone. */
static int start_new(struct graph *g, struct change *c, struct dcm_error *err)
{
	struct part_env env = graph__part_env(g);

	if (!part__is_open(c->part))
		return 0;
	c->began = true;
	return part__start(c->part, &env, err);
}

/*
 * Those that only a restart can change, one after the other, and then who is new: the last step that
 * can fail. Each has its time from when its turn comes: who hangs takes none of another's. Who needs
 * what another one has waits until all have given way: so two may swap what they have.
 */
static int switch_all(struct graph *g, struct change *changes, size_t n, int64_t drain_ns,
		      struct dcm_error *err)
{
	int r = 0;

	for (struct change *c = changes; r == 0 && c < changes + n; c++) {
		struct dcm_error why = DCM_ERROR_INIT;

		if (c->what != REPLACE)
			continue;
		give_way(g, c, drain_ns);
		r = take_place(g, c, &why);
		c->waits = r == -EADDRINUSE;
		if (c->waits)
			r = 0;
		else if (r < 0)
			*err = why;
	}
	for (struct change *c = changes; r == 0 && c < changes + n; c++)
		if (c->waits)
			r = take_at_last(g, c, err);
	for (struct change *c = changes; r == 0 && c < changes + n; c++)
		if (c->what == ADD)
			r = start_new(g, c, err);
	if (r < 0)
		switch_back(g, changes, n, drain_ns);
	return r;
}

static size_t index_of(const struct graph *g, const struct part *p)
{
	size_t i = 0;

	while (g->parts.v[i] != p)
		i++;
	return i;
}

static void remove_part(struct graph *g, struct part *p, int64_t drain_ns)
{
	size_t i;

	pthread_mutex_lock(&g->lock);
	i = index_of(g, p);
	memmove(&g->parts.v[i], &g->parts.v[i + 1], (g->parts.n - i - 1) * sizeof(*g->parts.v));
	g->parts.n--;
	pthread_mutex_unlock(&g->lock);
	graph__stop_part(g, p, clock__mono(&clock__system) + drain_ns);
	free_part(g, p);
}

static void replace_part(struct graph *g, struct part *p, struct part *next)
{
	pthread_mutex_lock(&g->lock);
	g->parts.v[index_of(g, p)] = next;
	pthread_mutex_unlock(&g->lock);
	free_part(g, p);
}

/*
 * From here on nothing can fail but the start of who waited for another to go: that shows as its
 * state.
 */
static void carry_out(struct graph *g, struct change *c, int64_t drain_ns)
{
	struct dcm_error err = DCM_ERROR_INIT;

	switch (c->what) {
	case KEEP:
		break;
	case RETRY:
		graph__start_part(g, c->part);
		break;
	case COMMIT:
		part__commit(c->part, c->prepared);
		break;
	case REPLACE:
		replace_part(g, c->part, c->next);
		break;
	case ADD:
		if (graph__add_part(g, c->part, &err) < 0) {
			log__line(g->c.log, DCM_LOG_ERROR, c->part->name, "%s", err.text);
			drop_new(g, c, drain_ns);
		} else if (!c->began) {
			graph__start_part(g, c->part);
		}
		break;
	case REMOVE:
		remove_part(g, c->part, drain_ns);
		break;
	}
}

/* Options of the core itself that only a start can change. */
static int check_main(const struct graph *g, const struct plan *plan, struct dcm_error *err)
{
	char key[256];

	if (options__compare(&settings__table, g->plan->main, plan->main, key) == OPTIONS_RESTART)
		return error__set(err, -EBUSY, "%s can only change with a restart of decima", key);
	return 0;
}

/* What becomes of whom, in *n changes. All is ready then to be done, and nothing has been. */
static int prepare_all(struct graph *g, struct plan *plan, struct change *changes, size_t *n,
		       struct dcm_error *err)
{
	size_t n_going;
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->parts.n; i++) {
		struct part *p = g->parts.v[i];

		if (find_planned(plan, p))
			continue;
		if (p == g->store)
			r = refuse_restart(p, "it is gone from the file", err);
		else
			changes[(*n)++] = (struct change){ .part = p, .what = REMOVE };
	}
	n_going = *n;
	for (uint32_t i = 0; r == 0 && i < plan->n; i++)
		r = prepare(g, &plan->instances[i], n_going > 0, &changes[(*n)++], err);
	return r;
}

int graph__reload(struct graph *g, struct plan *plan, struct dcm_error *err)
{
	struct change *changes = mem__zalloc(plan->n + g->parts.n + 1, sizeof(*changes));
	const int64_t drain_ns = plan->main->pipeline.drain_timeout_ns;
	struct relabel *relabel = NULL;
	struct buf effective = { 0 };
	size_t n = 0;
	int r;

	if (!changes)
		return error__nomem(err);
	r = check_main(g, plan, err);
	/* Parts take their settings from the plan. */
	if (r == 0)
		r = plan__effective(plan, &effective, err);
	if (r == 0)
		r = graph__make_relabel(g, plan->main, &relabel, err);
	if (r == 0)
		r = prepare_all(g, plan, changes, &n, err);
	if (r == 0)
		r = switch_all(g, changes, n, drain_ns, err);
	if (r < 0) {
		undo(changes, n);
		relabel__free(relabel);
		buf__fini(&effective);
		free(changes);
		return r;
	}
	for (size_t i = 0; i < n; i++)
		carry_out(g, &changes[i], drain_ns);
	pipeline__set_relabel(g->pipeline, relabel);
	free(changes);
	if (g->plan != g->first)
		plan__free(g->plan);
	g->plan = plan;
	pthread_mutex_lock(&g->lock);
	buf__fini(&g->effective);
	g->effective = effective;
	pthread_mutex_unlock(&g->lock);
	return 0;
}
