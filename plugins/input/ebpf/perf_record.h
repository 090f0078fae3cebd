/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/perf_record.h - the kernel's side-band records, checked and unpacked
 *
 * What perf_event_open(2) calls PERF_RECORD_MMAP2, COMM, FORK, EXIT, KSYMBOL and LOST, as an event
 * writes them whose sample_type is PERF_SAMPLE_TIME with sample_id_all. Pure: no descriptor, no state.
 */
#ifndef DECIMA_EBPF_PERF_RECORD_H
#define DECIMA_EBPF_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

enum perf_record_kind {
	PERF_RECORD_OF_MMAP, /* memory became executable: mmap(2), mprotect(2), or exec's own */
	PERF_RECORD_OF_EXEC,
	PERF_RECORD_OF_FORK,   /* of a process; threads are told apart by pid == ppid */
	PERF_RECORD_OF_EXIT,   /* of a thread */
	PERF_RECORD_OF_SYMBOL, /* a BPF program came into the kernel, or went */
	PERF_RECORD_OF_LOST,   /* n_lost records before this one found no room */
	PERF_RECORD_OF_OTHER,
};

struct perf_record {
	enum perf_record_kind kind;
	uint32_t pid, tid, ppid; /* ppid: of a fork */
	int64_t time_ns;	 /* CLOCK_MONOTONIC */
	uint64_t n_lost;
	bool is_gone; /* of a symbol */
	/* Of a mapping; the first two and the name also of a symbol: */
	uint64_t start, end, offset;
	uint64_t ino, generation; /* of the inode; 0 with major and minor when there is no file */
	uint32_t major, minor;
	bool is_writable;
	struct dcm_str name; /* as in /proc/PID/maps; "" for unnamed memory. Views the record */
};

/* `data` is one record of n bytes with its header, at any alignment. 0, or -EBADMSG. */
int perf_record__parse(const void *data, size_t n, struct perf_record *ret);

#endif
