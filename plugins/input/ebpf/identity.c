/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/identity.c - who a process is: what its labels are made of, and the labels
 */
#include "plugins/input/ebpf/identity.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/procfs.h"
#include "plugins/input/ebpf/tags.h"

struct identities {
	struct executables *executables;
	pthread_mutex_t lock; /* over all below */
	struct settings_labels labels;
	uint64_t version; /* grows with each change of labels */
};

struct identities *identities__new(const struct dcm_host *host)
{
	struct identities *t = NEW(struct identities);

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	t->version = 1;
	t->executables = executables__new(host);
	if (!t->executables) {
		identities__free(t);
		return NULL;
	}
	return t;
}

void identities__free(struct identities *t)
{
	if (!t)
		return;
	executables__free(t->executables);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void identities__configure(struct identities *t, const struct settings_labels *labels)
{
	pthread_mutex_lock(&t->lock);
	t->labels = *labels;
	t->version++;
	pthread_mutex_unlock(&t->lock);
}

static struct settings_labels labels_of(struct identities *t, uint64_t *ret_version)
{
	struct settings_labels labels;

	pthread_mutex_lock(&t->lock);
	labels = t->labels;
	*ret_version = t->version;
	pthread_mutex_unlock(&t->lock);
	return labels;
}

void identities__read(struct identities *t, struct identity *id, int dir, const char *build_id)
{
	uint64_t version;
	struct settings_labels on = labels_of(t, &version);

	id->executable = dir >= 0 ? executables__of(t->executables, dir, str__of(id->exe))
				  : executables__by_build_id(t->executables, build_id);
	if (dir >= 0 && on.env.n)
		id->environment = procfs__environment(dir, &id->n_environment);
	if (dir >= 0 && (on.cmdline || on.meta.n))
		id->cmdline = procfs__cmdline(dir);
}

void identity__changed(struct identity *id)
{
	id->version = 0;
}

int identities__tag(struct identities *t, struct identity *id)
{
	struct tags_facts facts = {
		.pid = id->pid,
		.ppid = id->ppid,
		.exe = str__of(id->exe),
		.cgroup = str__of(id->cgroup),
		.environment = { id->environment ? id->environment : "", id->n_environment },
		.cmdline = str__of(id->cmdline),
		.executable = id->executable,
		.pod = STR(""),
	};
	struct dcm_str service = labels__service(facts.cgroup, facts.exe, STR(""), false);
	struct settings_labels on;
	uint64_t version;
	char *copy;

	on = labels_of(t, &version);
	if (id->version == version)
		return 0;
	copy = mem__dup_str(service.p, service.n);
	buf__reset(&id->series);
	buf__reset(&id->sample);
	tags__series(&on, &facts, &id->series);
	tags__sample(&on, &facts, &id->sample);
	if (!copy || id->series.error || id->sample.error) {
		free(copy);
		return -ENOMEM;
	}
	free(id->service);
	id->service = copy;
	id->version = version;
	return 0;
}

void identity__fini(struct identity *id)
{
	executables__unref(id->executable);
	buf__fini(&id->series);
	buf__fini(&id->sample);
	free(id->exe);
	free(id->cgroup);
	free(id->environment);
	free(id->cmdline);
	free(id->service);
	*id = (struct identity){ 0 };
}
