/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/record.h - what comes out of the ring buffers, checked
 *
 * The records are written by our own program in the same machine; the check is there so that a
 * mistake on either side becomes a counted loss and not a read beyond the buffer.
 */
#ifndef DECIMA_EBPF_RECORD_H
#define DECIMA_EBPF_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/sampler.h"

/* All view `data`, which is aligned to 8. 0, or -EBADMSG. */
int record__sample(const void *data, size_t n, const struct sampler_sample **ret_sample,
		   const uint64_t **ret_frames);
int record__raw(const void *data, size_t n, const struct sampler_raw **ret_raw);
int record__event(const void *data, size_t n, const struct sampler_event **ret_event);

#endif
