/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/direct.h - what takes rights, done by the process itself; private to core/broker
 */
#ifndef DECIMA_BROKER_DIRECT_H
#define DECIMA_BROKER_DIRECT_H

#include <linux/perf_event.h>

#include <decima/plugin.h>

/* As in rights.h. */
int direct__open(const struct dcm_guarded *g);
int direct__perf_event(const struct perf_event_attr *attr, uint32_t cpu);
int direct__bpf_array(uint32_t value_bytes, uint32_t n);
int direct__bpf_put(int array_of_maps, uint32_t index, int array);
int direct__open_kallsyms(void);

#endif
