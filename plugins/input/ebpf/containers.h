/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/containers.h - what containers are called, from the files that their runtimes
 * keep
 *
 * A cgroup tells a container's id and runtime, not its name. docker, podman, containerd and cri-o
 * write that into JSON files of their own, which a daemon of root may read; so nobody needs a
 * runtime's socket, which is as good as being root. A thread reads a file when its container is met
 * first, and it is not read again: a container that is renamed later keeps its name here.
 *
 * Sources: moby daemon/container (config.v2.json), containers/storage (containers.json), the OCI
 * runtime specification (config.json), and the annotations of containerd's CRI plugin, nerdctl and
 * cri-o.
 */
#ifndef DECIMA_EBPF_CONTAINERS_H
#define DECIMA_EBPF_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"

enum containers_runtime {
	CONTAINERS_DOCKER,
	CONTAINERS_PODMAN,
	CONTAINERS_CONTAINERD,
	CONTAINERS_CRIO,
	CONTAINERS_N_RUNTIMES
};

struct containers;

/* root is put before each path, "" but in tests; borrowed. NULL when memory ran out. */
struct containers *containers__new(const char *root);
void containers__free(struct containers *c); /* ends the thread; NULL is fine */
DEFINE_CLEANUP(struct containers *, containers__free);

/*
 * Appends the rows of tags (tags.h) of a container: container, for Kubernetes' pod and namespace,
 * and __meta_docker_*, __meta_containerd_*, __meta_podman_*. False when they are not known, or not
 * yet: then they are read. runtime and id are as in cgroup.h. Never blocks for long; one thread.
 */
bool containers__find(struct containers *c, struct dcm_str runtime, struct dcm_str id, struct buf *rows);

/* Grows with each container that became known. Any thread. */
uint64_t containers__version(const struct containers *c);

/*
 * The rows that a file's content gives for the container: 0, -EBADMSG (no JSON as it should be),
 * -ENOENT (nothing of this container), -ENOMEM. For the thread, tests and fuzzing.
 */
int containers__parse(enum containers_runtime runtime, const char *id, const char *json, size_t n,
		      struct buf *rows);

#endif
