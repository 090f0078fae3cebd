/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/record.c - what comes out of the ring buffers, checked
 */
#include "plugins/input/ebpf/record.h"

#include <errno.h>

int record__sample(const void *data, size_t n, const struct sampler_sample **ret_sample,
		   const uint64_t **ret_frames)
{
	const struct sampler_sample *s = data;

	/* The kernel pads records to 8 bytes, but hands over the length that was written. */
	if (n < sizeof(*s) || s->head.size != n || s->head.kind != SAMPLER_SAMPLE)
		return -EBADMSG;
	if (s->n_kernel > SAMPLER_KERNEL_FRAMES || s->n_user > SAMPLER_USER_FRAMES)
		return -EBADMSG;
	if (n != sizeof(*s) + sizeof(uint64_t) * ((size_t)s->n_kernel + s->n_user))
		return -EBADMSG;
	if (s->outcome >= SAMPLER_OUTCOME_N)
		return -EBADMSG;
	*ret_sample = s;
	*ret_frames = (const uint64_t *)(s + 1);
	return 0;
}

int record__raw(const void *data, size_t n, const struct sampler_raw **ret_raw)
{
	const struct sampler_raw *r = data;

	if (n < sizeof(*r) || r->sample.head.size != n || r->sample.head.kind != SAMPLER_RAW)
		return -EBADMSG;
	if (r->n_bytes > SAMPLER_RAW_BYTES || n != sizeof(*r) + r->n_bytes)
		return -EBADMSG;
	if (r->sample.n_kernel > SAMPLER_KERNEL_FRAMES || r->sample.n_user > 0 ||
	    r->sample.outcome != SAMPLER_OUTCOME_DEFERRED)
		return -EBADMSG;
	*ret_raw = r;
	return 0;
}

int record__event(const void *data, size_t n, const struct sampler_event **ret_event)
{
	const struct sampler_event *e = data;

	if (n != sizeof(*e) || e->head.size != n)
		return -EBADMSG;
	if (e->head.kind != SAMPLER_EXEC && e->head.kind != SAMPLER_EXIT)
		return -EBADMSG;
	*ret_event = e;
	return 0;
}
