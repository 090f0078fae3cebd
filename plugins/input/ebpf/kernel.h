/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/kernel.h - which kernel, and which modules, the kernel's frames are of
 */
#ifndef DECIMA_EBPF_KERNEL_H
#define DECIMA_EBPF_KERNEL_H

#include <decima/plugin.h>

/*
 * The GNU build id of the running kernel (module "") or of a loaded module, as lower-case hex; ""
 * when there is none.
 */
void kernel__build_id(struct dcm_str module, char ret_hex[static 129]);

#endif
