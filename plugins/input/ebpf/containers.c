/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/containers.c - what containers are called, from the files that their runtimes
 * keep
 *
 * At most 4,096 are remembered; then all are forgotten, and read anew as they are met. An id is
 * taken only if it is 64 hexadecimal digits, so that it is a file's name and nothing else.
 */
#include "plugins/input/ebpf/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/json_tags.h"
#include "plugins/input/ebpf/background.h"

enum { NAMES_MAX = 4096, ID_DIGITS = 64, PATH_ROOM = 512, FILE_BYTES_MAX = 4 << 20, FILES_MAX = 2 };

enum state { WANTED, KNOWN, NONE };

struct name {
	char id[ID_DIGITS + 1];
	enum containers_runtime runtime;
	enum state state;
	struct buf rows;
};

struct containers {
	const char *root;
	_Atomic uint64_t version;
	struct background bg; /* its lock: over all below */
	VEC(struct name) names;
	struct hindex index; /* by id */
};

/* ------------------------------------------------------------------------------------------------
 * Files
 */

#define TASKS "/run/containerd/io.containerd.runtime.v2.task/" /* and containerd's namespace */

static const struct {
	const char *runtime;	      /* as cgroup__runtime() has it */
	const char *files[FILES_MAX]; /* the id stands for %s */
} places[CONTAINERS_N_RUNTIMES] = {
	[CONTAINERS_DOCKER] = { "docker", { "/var/lib/docker/containers/%s/config.v2.json" } },
	[CONTAINERS_PODMAN] = { "podman", { "/var/lib/containers/storage/overlay-containers/containers.json" } },
	[CONTAINERS_CONTAINERD] = { "containerd",
				    { TASKS "k8s.io/%s/config.json",
				      TASKS "default/%s/config.json" } },
	[CONTAINERS_CRIO] = { "cri-o", { "/run/containers/storage/overlay-containers/%s/userdata/config.json" } },
};

/* {"ID": .., "Name": "/web", "Config": {"Labels": {..}}} */
static void docker(const json_t *file, struct buf *rows)
{
	json_t *labels = json_object_get(json_object_get(file, "Config"), "Labels");
	struct dcm_str name = json_tags__text(file, "Name");

	if (str__starts(name, STR("/"))) {
		name.p++;
		name.n--;
	}
	tags__add(rows, STR("container"), name);
	tags__add(rows, STR("__meta_docker_container_name"), name);
	json_tags__add_map(rows, "__meta_docker_container_label", labels);
}

/* [{"id": .., "names": ["web"]}, ..] */
static void podman(const json_t *file, const char *id, struct buf *rows)
{
	size_t i;
	json_t *one;

	json_array_foreach(file, i, one)
	{
		json_t *name = json_array_get(json_object_get(one, "names"), 0);
		struct dcm_str text = { json_string_value(name) ?: "",
					(uint32_t)json_string_length(name) };

		if (!str__eq(json_tags__text(one, "id"), str__of(id)))
			continue;
		tags__add(rows, STR("container"), text);
		tags__add(rows, STR("__meta_podman_container_name"), text);
	}
}

/* {"annotations": {..}}, with a prefix of keys for each runtime. */
static void containerd(const json_t *file, struct buf *rows)
{
	const json_t *notes = json_object_get(file, "annotations");
	struct dcm_str name = json_tags__text(notes, "io.kubernetes.cri.container-name");
	struct dcm_str pod = json_tags__text(notes, "io.kubernetes.cri.sandbox-name");

	if (name.n == 0)
		name = json_tags__text(notes, "nerdctl/name");
	tags__add(rows, STR("container"), name);
	tags__add(rows, STR("__meta_containerd_container_name"), name);
	tags__add(rows, STR("pod"), pod);
	tags__add(rows, STR("__meta_containerd_pod_name"), pod);
	json_tags__add(rows, "namespace", notes, "io.kubernetes.cri.sandbox-namespace");
}

static void crio(const json_t *file, struct buf *rows)
{
	const json_t *notes = json_object_get(file, "annotations");

	json_tags__add(rows, "container", notes, "io.kubernetes.container.name");
	json_tags__add(rows, "pod", notes, "io.kubernetes.pod.name");
	json_tags__add(rows, "namespace", notes, "io.kubernetes.pod.namespace");
}

int containers__parse(enum containers_runtime runtime, const char *id, const char *json, size_t n,
		      struct buf *rows)
{
	json_t *file = json_loadb(json, n, JSON_REJECT_DUPLICATES, NULL);
	size_t before = rows->n;

	if (!file)
		return -EBADMSG;
	switch (runtime) {
	case CONTAINERS_DOCKER:
		docker(file, rows);
		break;
	case CONTAINERS_PODMAN:
		podman(file, id, rows);
		break;
	case CONTAINERS_CONTAINERD:
		containerd(file, rows);
		break;
	default:
		crio(file, rows);
		break;
	}
	json_decref(file);
	if (rows->error)
		return -ENOMEM;
	return rows->n > before ? 0 : -ENOENT;
}

/* The rows of a container, of the first of its runtime's files that has some. */
static bool read_names(const char *root, enum containers_runtime runtime, const char *id, struct buf *rows)
{
	for (size_t i = 0; i < FILES_MAX && places[runtime].files[i]; i++) {
		const char *file = places[runtime].files[i], *hole = strstr(file, "%s");
		int before = hole ? (int)(hole - file) : (int)strlen(file);
		struct buf json = { 0 };
		char path[PATH_ROOM];
		int rc;

		snprintf(path, sizeof(path), "%s%.*s%s%s", root, before, file, hole ? id : "",
			 hole ? hole + 2 : "");
		rc = fd__read_path(AT_FDCWD, path, FILE_BYTES_MAX, &json);
		if (rc == 0)
			rc = containers__parse(runtime, id, (const char *)json.data, json.n, rows);
		buf__fini(&json);
		if (rc == 0)
			return true;
		buf__fini(rows);
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

static uint64_t hash_of(const char *id)
{
	return hash__bytes(id, ID_DIGITS, 0);
}

/* With the lock. */
static struct name *find(const struct containers *c, const char *id)
{
	uint64_t h = hash_of(id);
	uint32_t row, at = hindex__first(&c->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&c->index, h, at, &row))
		if (strcmp(c->names.v[row].id, id) == 0)
			return &c->names.v[row];
	return NULL;
}

static void forget_all(struct containers *c)
{
	for (size_t i = 0; i < c->names.n; i++)
		buf__fini(&c->names.v[i].rows);
	c->names.n = 0;
	hindex__clear(&c->index);
}

/* With the lock. That memory ran out is no harm: it is asked for again. */
static void want(struct containers *c, enum containers_runtime runtime, const char *id)
{
	struct name name = { .runtime = runtime, .state = WANTED };

	memcpy(name.id, id, sizeof(name.id));
	if (c->names.n == NAMES_MAX)
		forget_all(c);
	if (!vec__push(&c->names, name))
		return;
	if (hindex__insert(&c->index, hash_of(id), (uint32_t)c->names.n - 1) < 0)
		c->names.n--;
	else
		pthread_cond_broadcast(&c->bg.changed);
}

/* What is to be read next; false: nothing. With the lock. */
static bool next(const struct containers *c, enum containers_runtime *ret_runtime, char *ret_id)
{
	for (size_t i = 0; i < c->names.n; i++) {
		const struct name *name = &c->names.v[i];

		if (name->state != WANTED)
			continue;
		*ret_runtime = name->runtime;
		memcpy(ret_id, name->id, sizeof(name->id));
		return true;
	}
	return false;
}

static void *run(void *arg)
{
	struct containers *c = arg;
	enum containers_runtime runtime;
	char id[ID_DIGITS + 1];

	pthread_mutex_lock(&c->bg.lock);
	while (!c->bg.stopping) {
		struct buf rows = { 0 };
		struct name *name;
		bool known;

		if (!next(c, &runtime, id)) {
			pthread_cond_wait(&c->bg.changed, &c->bg.lock);
			continue;
		}
		pthread_mutex_unlock(&c->bg.lock);
		known = read_names(c->root, runtime, id, &rows);
		pthread_mutex_lock(&c->bg.lock);
		name = find(c, id);
		if (!name || name->state != WANTED) {
			buf__fini(&rows);
			continue;
		}
		name->rows = rows;
		name->state = known ? KNOWN : NONE;
		if (known)
			atomic_fetch_add(&c->version, 1);
	}
	pthread_mutex_unlock(&c->bg.lock);
	return NULL;
}

struct containers *containers__new(const char *root)
{
	struct containers *c = NEW(struct containers);

	if (!c)
		return NULL;
	c->root = root;
	atomic_init(&c->version, 1);
	background__init(&c->bg);
	return c;
}

void containers__free(struct containers *c)
{
	if (!c)
		return;
	background__stop(&c->bg);
	forget_all(c);
	vec__fini(&c->names);
	hindex__fini(&c->index);
	background__fini(&c->bg);
	free(c);
}

/* ------------------------------------------------------------------------------------------------
 * Questions
 */

static bool is_id(struct dcm_str id)
{
	for (uint32_t i = 0; i < id.n; i++)
		if (!strchr("0123456789abcdef", id.p[i]) || !id.p[i])
			return false;
	return id.n == ID_DIGITS;
}

static bool find_or_want(struct containers *c, enum containers_runtime runtime, const char *id,
			 struct buf *rows)
{
	const struct name *name;
	bool known;

	pthread_mutex_lock(&c->bg.lock);
	name = find(c, id);
	known = name && name->state == KNOWN;
	if (known)
		buf__str(rows, buf__view(&name->rows));
	else if (!name)
		want(c, runtime, id);
	pthread_mutex_unlock(&c->bg.lock);
	return known;
}

bool containers__find(struct containers *c, struct dcm_str runtime, struct dcm_str id, struct buf *rows)
{
	char text[ID_DIGITS + 1] = "";

	if (!is_id(id))
		return false;
	memcpy(text, id.p, ID_DIGITS);
	for (unsigned i = 0; i < CONTAINERS_N_RUNTIMES; i++) {
		if (!str__eq(runtime, str__of(places[i].runtime)))
			continue;
		if (!c->bg.started)
			background__start(&c->bg, "ebpf-containers", run, c);
		return c->bg.started && find_or_want(c, (enum containers_runtime)i, text, rows);
	}
	return false;
}

uint64_t containers__version(const struct containers *c)
{
	return atomic_load(&c->version);
}
