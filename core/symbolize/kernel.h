/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kernel.h - the kernel's names as they are now; private to this folder
 *
 * Holds a table of kallsyms.h and reads it again when the list of modules has changed (looked at
 * once a second at most), when an address is in no symbol (a BPF program or module may be new;
 * every 10 s at most, and half as often each time that it did not help), and when an answer that
 * lies in a BPF program comes from a table older than a minute, because their memory is used again.
 * Thread-safe. The texts it gives live as long as it does: each distinct name that was ever given
 * is kept, within KERNEL_MAX_TEXT.
 */
#ifndef DECIMA_SYMBOLIZE_KERNEL_H
#define DECIMA_SYMBOLIZE_KERNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/base/intern.h"
#include "core/broker/broker.h"
#include "core/symbolize/kallsyms.h"

enum { KERNEL_MAX_TEXT = 16 << 20 };

struct kernel_names {
	pthread_mutex_t lock;
	const char *kallsyms_path, *modules_path;
	struct broker *broker; /* who may see addresses; NULL: this process itself */
	const struct clock *clock;
	struct kallsyms *table; /* NULL: not read, or it could not be */
	int error;		/* of the last reading */
	bool tried;
	int64_t loaded_ns, checked_ns; /* mono */
	int64_t miss_wait_ns;	       /* between readings because of an unknown address */
	int64_t bpf_wait_ns;	       /* and because the name of a BPF program is old */
	uint64_t modules_hash;
	struct intern given;
	uint64_t n_loads, n_errors;
};

/* The paths are kept, not copied. 0 or -ENOMEM. */
int kernel_names__init(struct kernel_names *k, const char *kallsyms_path, const char *modules_path,
		       const struct clock *clock);
void kernel_names__fini(struct kernel_names *k);

/* As symbols__kernel() says. */
int kernel_names__find(struct kernel_names *k, uint64_t address, struct dcm_str *ret_name,
		       struct dcm_str *ret_module);

/* Memory of the table and the texts. */
uint64_t kernel_names__stat(struct kernel_names *k, uint64_t *ret_loads, uint64_t *ret_errors);

#endif
