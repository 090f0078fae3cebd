/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/flush.h - a window becomes a sealed batch
 *
 * One profile per series, and one of the quality. Kernel frames and JIT code are named here,
 * because nobody can later; frames of files become (build id, file offset), and each file is shown
 * to the host once. A stack that is not complete carries a note as its root that says why.
 */
#ifndef DECIMA_EBPF_FLUSH_H
#define DECIMA_EBPF_FLUSH_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "plugins/input/ebpf/aggregate.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/ksymbols.h"
#include "plugins/input/ebpf/settings.h"

struct flush {
	const struct dcm_host *host;
	struct files *files;
	struct ksymbols *symbols; /* NULL: none */
	struct settings_labels labels;
	int64_t period_ns;
	int kallsyms_error; /* set when the kernel's symbols are not to be had, as in locate.h */
};

/*
 * Builds and seals. *ret_batch is NULL when the window holds nothing to tell. On failure the
 * builder is empty again. One thread at a time; may read files for a while.
 */
int flush__batch(struct flush *f, const struct aggregate *a, struct dcm_builder *builder,
		 struct dcm_batch **ret_batch, struct dcm_error *err);

#endif
