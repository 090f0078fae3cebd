/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cgroup.h - what the control group of a process says about what it belongs to
 *
 * Sources: cgroups(7) for /proc/PID/cgroup; systemd.unit(5) for unit names; the scope and slice
 * names of docker, containerd (cri-containerd), cri-o and podman (libpod).
 */
#ifndef DECIMA_EBPF_CGROUP_H
#define DECIMA_EBPF_CGROUP_H

#include <decima/plugin.h>

/*
 * The path that says most, from the text of /proc/PID/cgroup: that of the unified hierarchy (v2),
 * else systemd's own (v1 and hybrid), else the longest of the controllers'. A path of "/" says
 * nothing. Views `text`; empty when nothing was said.
 */
struct dcm_str cgroup__path(struct dcm_str text);

/* The 64 hexadecimal digits of the innermost container's id, or empty. Views `path`. */
struct dcm_str cgroup__container(struct dcm_str path);

/*
 * The innermost systemd service ("nginx.service"), or empty. user@UID.service does not count: it
 * holds everything that a user runs. Views `path`.
 */
struct dcm_str cgroup__unit(struct dcm_str path);

#endif
