/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cgroup.h - what the control group of a process says about what it belongs to
 *
 * Sources: cgroups(7) for /proc/PID/cgroup; systemd.unit(5) for unit names; the scope and slice
 * names of docker, containerd (cri-containerd, nerdctl), cri-o, podman (libpod), LXC, BuildKit and
 * the kubelet (both cgroup drivers).
 */
#ifndef DECIMA_EBPF_CGROUP_H
#define DECIMA_EBPF_CGROUP_H

#include <stdbool.h>

#include <decima/plugin.h>

/*
 * The path that says most, from the text of /proc/PID/cgroup: that of the unified hierarchy (v2),
 * else systemd's own (v1 and hybrid), else the longest of the controllers'. A path of "/" says
 * nothing. Views `text`; empty when nothing was said.
 */
struct dcm_str cgroup__path(struct dcm_str text);

/*
 * The innermost container: 64 hexadecimal digits, or the name that LXC or the id that BuildKit gave
 * it. Empty when there is none, as for the monitors of podman and cri-o. Views `path`.
 */
struct dcm_str cgroup__container(struct dcm_str path);

/*
 * Who runs that container, where the path tells: "docker", "containerd", "cri-o", "podman", "lxc",
 * "buildkit"; else empty (Kubernetes with cgroupfs names no runtime).
 */
struct dcm_str cgroup__runtime(struct dcm_str path);

/*
 * The innermost systemd service ("nginx.service"), or empty. user@UID.service does not count: it
 * holds everything that a user runs; nor does a service around a container, which is the runtime's.
 * Views `path`.
 */
struct dcm_str cgroup__unit(struct dcm_str path);

/* True for the group itself and what lies below it: "/a" holds "/a" and "/a/b", "/" holds all. */
bool cgroup__is_within(struct dcm_str path, struct dcm_str group);

/* The innermost systemd slice ("system.slice"), or empty. Views `path`. */
struct dcm_str cgroup__slice(struct dcm_str path);

#endif
