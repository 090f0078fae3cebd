/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/resident.h - how much memory a process has for itself
 */
#ifndef DECIMA_BASE_RESIDENT_H
#define DECIMA_BASE_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Bytes that are resident and shared with no file: neither programs and libraries nor mapped kernel
 * memory. 0 when the process has gone. Some 10 us. Source: proc(5), statm.
 */
uint64_t resident__private(pid_t pid);

#endif
