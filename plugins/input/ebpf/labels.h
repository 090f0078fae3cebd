/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/labels.h - how names of processes become labels
 */
#ifndef DECIMA_EBPF_LABELS_H
#define DECIMA_EBPF_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include <decima/plugin.h>

/*
 * A comm as the kernel has it (16 bytes, NUL-padded, any bytes) as text: control characters and
 * what is not UTF-8 become '?'. With `kthread` it is cut at the first '/' or ':', so that
 * kworker/3:1 and kworker/0:2 are one. Views `ret_text`, which has room for 16 bytes.
 */
struct dcm_str labels__comm(const char comm[static 16], bool kthread, char ret_text[static 16]);

/*
 * What a person would call the thing that runs: the container's short id, the systemd unit without
 * its ".service", the file's base name, or the comm; "kernel" for kernel threads. Views one of its
 * arguments.
 */
struct dcm_str labels__service(struct dcm_str cgroup_path, struct dcm_str exe, struct dcm_str comm,
			       bool kthread);

/* Cuts " (deleted)", which the kernel adds to the name of a file that has no name any more. */
struct dcm_str labels__without_deleted(struct dcm_str path);

#endif
