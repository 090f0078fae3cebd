/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/kubernetes.h - which pod a container belongs to, from the kubelet or the API
 * server
 *
 * A thread of its own asks for the pods of this node: every `interval`, and sooner (but not more
 * often than every 2 s) when somebody asks for a container that was not in the last answer. What
 * was last known stays known while the server cannot be asked; failures are logged when they
 * change, and counted.
 *
 * Sources: Kubernetes API v1, PodList and Node; the kubelet answers /pods with the former.
 */
#ifndef DECIMA_EBPF_KUBERNETES_H
#define DECIMA_EBPF_KUBERNETES_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "plugins/input/ebpf/settings.h"

struct kubernetes;

enum { KUBERNETES_CONTAINERS_MAX = 16384 };

/* settings are copied. NULL when memory ran out. The thread is not started. */
struct kubernetes *kubernetes__new(const struct dcm_host *host,
				   const struct settings_kubernetes *settings);
int kubernetes__start(struct kubernetes *k); /* 0 or a negative errno; nothing when the source is "none" */
void kubernetes__free(struct kubernetes *k); /* ends the thread; NULL is fine */
DEFINE_CLEANUP(struct kubernetes *, kubernetes__free);

/*
 * Appends the rows of tags (tags.h) of the container with that id: namespace, pod, container, and
 * __meta_kubernetes_*. False when it is not known (yet). Never blocks for long; any thread.
 */
bool kubernetes__find(struct kubernetes *k, struct dcm_str container_id, struct buf *rows);

/* Grows with each answer that changed something. Any thread. */
uint64_t kubernetes__version(const struct kubernetes *k);

/*
 * Takes over an answer, a list of pods or this node: 0 or -EBADMSG, -ENOMEM; -EFBIG: it has more than
 * KUBERNETES_CONTAINERS_MAX containers, of which these are known now. For the thread, tests and fuzzing.
 */
int kubernetes__take(struct kubernetes *k, const char *json, size_t n);
int kubernetes__take_node(struct kubernetes *k, const char *json, size_t n);

/* Asks once. 0, or a negative errno with a sentence. For the thread and tests. */
int kubernetes__ask(struct kubernetes *k, struct dcm_error *err);

#endif
