/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/graph_inside.h - what graph.c and reload.c share; nobody else includes it
 *
 * A part is an instance with what it hangs on: a destination (storages, outputs with write) or a
 * task (inputs with collect). `lock` guards the list of parts and the engine against readers of
 * other threads; the instances guard themselves.
 */
#ifndef DECIMA_MAIN_GRAPH_INSIDE_H
#define DECIMA_MAIN_GRAPH_INSIDE_H

#include <limits.h>
#include <pthread.h>

#include "core/base/vec.h"
#include "core/main/clock_watch.h"
#include "core/main/debuginfod.h"
#include "core/main/graph.h"
#include "core/main/part.h"
#include "core/main/services.h"
#include "core/main/symbol_metrics.h"

struct graph {
	struct graph_config c;
	struct plan *plan;    /* that runs now */
	struct plan *first;   /* of the start: see graph__settings() */
	struct buf effective; /* of `plan`, under `lock` */
	struct services services;
	struct sources *sources;
	struct scheduler *scheduler;
	struct debuginfod_limits debuginfod;
	char debuginfod_dir[PATH_MAX], symbols_dir[PATH_MAX];
	struct workers *workers; /* NULL: no lines are asked for */
	uint64_t n_forkers_died; /* of theirs, that the log has */
	struct symbols *symbols;
	struct symbol_metrics *symbol_metrics;
	struct pipeline *pipeline;
	struct dcm_host *host; /* of the core itself: the engine's builders */
	char node[256];
	pthread_mutex_t lock;
	VEC(struct part *) parts;
	struct engine *engine;
	struct part *store;  /* that the engine asks; NULL: nobody may ask any more, or yet */
	int64_t maintain_at; /* mono */
	struct clock_watch clock_watch;
	struct stats_metric *n_clock_steps, *n_undecided;
	bool started;
	bool rights_gone;   /* see graph__open_with_rights() */
	bool has_abandoned; /* a thread may be inside a plugin for as long as the process lives */
	VEC(struct part *) abandoned; /* by a reload: what that thread looks at is never freed */
};

struct part_env graph__part_env(struct graph *g);
/* Rules for everything, and the labels that every series gets: the file's, node, instance. */
int graph__make_relabel(const struct graph *g, const struct main_settings *m, struct relabel **ret,
			struct dcm_error *err);
int graph__add_part(struct graph *g, struct part *p, struct dcm_error *err);
bool graph__needs_rights(const struct part *p);
/* What could not be opened while there were rights keeps the sentence that said why. */
bool graph__may_start(const struct graph *g, const struct part *p);
/* Its failure is its own: it is in its state, and so in the log and on the pages. */
void graph__start_part(struct graph *g, struct part *p);
void graph__stop_part(struct graph *g, struct part *p, int64_t deadline_mono_ns);

#endif
