/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/identity.c - who a process is: what its labels are made of, and the labels
 */
#include "plugins/input/ebpf/identity.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/containers.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/procfs.h"
#include "plugins/input/ebpf/tags.h"

struct identities {
	struct executables *executables;
	struct texts *texts;
	struct kubernetes *kubernetes;
	struct containers *containers;
	_Atomic uint64_t version; /* grows with each change of labels */
	pthread_mutex_t lock;	  /* over the following */
	struct settings_labels labels;
};

struct identities *identities__new(const struct dcm_host *host, struct kubernetes *kubernetes)
{
	struct identities *t = NEW(struct identities);

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	atomic_init(&t->version, 1);
	t->kubernetes = kubernetes;
	t->executables = executables__new(host);
	t->texts = texts__new(host);
	t->containers = containers__new("");
	if (!t->executables || !t->texts || !t->containers) {
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
	texts__free(t->texts);
	containers__free(t->containers);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void identities__configure(struct identities *t, const struct settings_labels *labels)
{
	pthread_mutex_lock(&t->lock);
	t->labels = *labels;
	atomic_fetch_add(&t->version, 1);
	pthread_mutex_unlock(&t->lock);
}

void identity__take(struct identity *id, struct texts_answer *answer)
{
	free(id->environment);
	free(id->cmdline);
	id->environment = take_ptr(answer->environment);
	id->n_environment = answer->n_environment;
	id->cmdline = take_ptr(answer->cmdline);
	identity__changed(id);
}

int identities__read(struct identities *t, struct identity *id, const struct identity_source *from)
{
	struct texts_question question = { .process = *from->process, .exec_id = from->exec_id };
	struct texts_answer answer = { 0 };
	int r;

	executables__unref(id->executable);
	id->executable = NULL;
	r = executables__of(t->executables, from->dir, from->exe_fd, str__of(id->exe), &id->executable);
	pthread_mutex_lock(&t->lock);
	question.with_environment = t->labels.env.n > 0;
	question.with_cmdline = t->labels.cmdline || t->labels.meta.n > 0;
	pthread_mutex_unlock(&t->lock);
	if ((question.with_environment || question.with_cmdline) &&
	    texts__ask(t->texts, &question, &answer))
		identity__take(id, &answer);
	return r == -ETIMEDOUT ? r : 0;
}

bool identities__know(struct identities *t, struct identity *id, const struct file *program)
{
	executables__unref(id->executable);
	id->executable = executables__known(t->executables, program);
	return id->executable;
}

bool identities__read_program(struct identities *t, struct identity *id, int program_fd)
{
	executables__unref(id->executable);
	id->executable = NULL;
	return executables__of_fd(t->executables, program_fd, str__of(id->exe), &id->executable) == 0;
}

bool identities__late(struct identities *t, struct texts_answer *ret)
{
	return texts__late(t->texts, ret);
}

void identity__changed(struct identity *id)
{
	id->version = 0;
}

/* The container's name, where somebody has one; else what the paths say. Empty: the comm's. */
static char *service_of(const struct tags_facts *f)
{
	struct dcm_str name = tags__value(f->pod, STR("container"));

	if (name.n == 0)
		name = labels__service(f->cgroup, f->exe, STR(""), false);
	return mem__dup_str(name.p, name.n);
}

static int make_tags(struct identities *t, struct identity *id, const struct tags_facts *facts)
{
	char *service = service_of(facts);

	buf__reset(&id->series);
	buf__reset(&id->sample);
	pthread_mutex_lock(&t->lock);
	tags__series(&t->labels, facts, &id->series);
	tags__sample(&t->labels, facts, &id->sample);
	pthread_mutex_unlock(&t->lock);
	if (!service || id->series.error || id->sample.error) {
		free(service);
		return -ENOMEM;
	}
	free(id->service);
	id->service = service;
	return 0;
}

/*
 * What is known of the container by others than its cgroup: Kubernetes first, since its rows come
 * first.
 */
static void add_container(struct identities *t, struct dcm_str cgroup, struct buf *rows)
{
	bool names;

	if (t->kubernetes)
		kubernetes__find(t->kubernetes, cgroup__container(cgroup), rows);
	pthread_mutex_lock(&t->lock);
	names = t->labels.container_names;
	pthread_mutex_unlock(&t->lock);
	if (names)
		containers__find(t->containers, cgroup__runtime(cgroup), cgroup__container(cgroup), rows);
}

int identities__tag(struct identities *t, struct identity *id)
{
	uint64_t version = atomic_load(&t->version) + containers__version(t->containers) +
			   (t->kubernetes ? kubernetes__version(t->kubernetes) : 0);
	struct tags_facts facts = {
		.pid = id->pid,
		.ppid = id->ppid,
		.exe = str__of(id->exe),
		.cgroup = str__of(id->cgroup),
		.environment = { id->environment ? id->environment : "", id->n_environment },
		.cmdline = str__of(id->cmdline),
		.executable = id->executable,
	};
	struct buf pod = { 0 };
	int r;

	if (id->version == version)
		return 0;
	add_container(t, facts.cgroup, &pod);
	facts.pod = buf__view(&pod);
	r = make_tags(t, id, &facts);
	buf__fini(&pod);
	if (r == 0)
		id->version = version;
	return r;
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
