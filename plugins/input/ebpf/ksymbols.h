/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/ksymbols.h - BPF programs that came and went in the kernel, by address
 *
 * /proc/kallsyms has them too, without their ends, and is read once a minute at most because of
 * them: a program that was loaded since lies behind an older one, whose name it would get. The
 * kernel tells of each at once (PERF_RECORD_KSYMBOL), with its length. What was there before we
 * listened is not known here. One that has gone is known for two minutes, since windows are named
 * later than they were sampled.
 *
 * Any thread may call anything but new and free. The last KSYMBOLS_MAX are remembered.
 */
#ifndef DECIMA_EBPF_KSYMBOLS_H
#define DECIMA_EBPF_KSYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/input/ebpf/perf_record.h"

enum {
	KSYMBOLS_MAX = 4096,
	KSYMBOLS_NAME = 512 /* with its NUL; KSYM_NAME_LEN of Linux 6.1 and newer */
};

struct ksymbols;

struct ksymbols *ksymbols__new(void);	 /* NULL when memory ran out */
void ksymbols__free(struct ksymbols *k); /* NULL is fine */

/*
 * Notes a record of PERF_RECORD_OF_SYMBOL; others are ignored. They may come in any order, as from
 * several CPUs. Without memory it is not noted.
 */
void ksymbols__add(struct ksymbols *k, const struct perf_record *record);

/*
 * The name of what is, or was last, at the address, for a sample of that time (CLOCK_MONOTONIC);
 * false: nothing that we heard of, or it had gone two minutes before. NULL is fine.
 */
bool ksymbols__find(struct ksymbols *k, uint64_t address, int64_t time_ns,
		    char ret_name[static KSYMBOLS_NAME]);

#endif
