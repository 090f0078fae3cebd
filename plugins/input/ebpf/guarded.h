/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/guarded.h - what of a process is opened by whoever has the rights
 */
#ifndef DECIMA_EBPF_GUARDED_H
#define DECIMA_EBPF_GUARDED_H

#include <decima/plugin.h>

/*
 * Something that /proc/PID has one of; proc_dir is that directory. A descriptor or a negative
 * errno.
 */
static inline int guarded__open(const struct dcm_host *host, int proc_dir, enum dcm_guarded_kind what)
{
	const struct dcm_guarded g = { .size = sizeof(g), .what = what, .dir = proc_dir };

	return host->open_guarded(host, &g);
}

#endif
