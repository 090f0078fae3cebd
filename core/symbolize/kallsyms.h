/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kallsyms.h - the kernel's own symbols, from /proc/kallsyms
 *
 * A table is read once and never changes; it may be shared by threads. Text symbols only (types t T
 * w W), those of modules and of JIT-compiled BPF programs ("[bpf]") among them. Of several names at
 * one address the same one wins every time. Symbols have no size there: one ends where the next
 * begins, at the end of its module or of the kernel's text (_etext, _einittext), and never more
 * than KALLSYMS_MAX_SPAN behind its start.
 *
 * Sources: kernel/kallsyms.c, kernel/module/procfs.c of Linux.
 */
#ifndef DECIMA_SYMBOLIZE_KALLSYMS_H
#define DECIMA_SYMBOLIZE_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"

enum {
	KALLSYMS_MAX_BYTES = 64 << 20, /* of text that is read; -EFBIG beyond it */
	KALLSYMS_MAX_SPAN = 1 << 20    /* bytes: no function is larger */
};

struct kallsyms;

struct kallsyms_symbol {
	struct dcm_str name;   /* as in the file; lives as long as the table */
	struct dcm_str module; /* without brackets; "" for the kernel */
	uint64_t start;
};

/*
 * Reads the two files (`modules_path` may be missing: a kernel without modules). -EACCES: the
 * kernel shows no addresses, which takes CAP_SYSLOG at kernel.kptr_restrict = 1; -EFBIG, -ENODATA
 * (no text symbol), -ENOMEM.
 */
int kallsyms__load(const char *kallsyms_path, const char *modules_path, struct kallsyms **ret_table,
		   struct dcm_error *err);
/* The same of an open file, which stays the caller's. */
int kallsyms__read(int fd, const char *modules_path, struct kallsyms **ret_table, struct dcm_error *err);
void kallsyms__free(struct kallsyms *table);
DEFINE_CLEANUP(struct kallsyms *, kallsyms__free);

/* 0, or -ENOENT when no symbol covers the address. */
int kallsyms__find(const struct kallsyms *table, uint64_t address, struct kallsyms_symbol *ret);

size_t kallsyms__bytes(const struct kallsyms *table); /* memory it holds */

#endif
