/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/region.c - memory in pages of its own
 *
 * Sources: mmap(2), mremap(2).
 */
#include "core/base/region.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whole pages for that many bytes; 0 when there is no such number. */
static size_t whole_pages(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return bytes > SIZE_MAX - (page - 1) ? 0 : (bytes + page - 1) & ~(page - 1);
}

int region__resize(struct region *r, size_t bytes)
{
	const size_t want = whole_pages(bytes);
	void *p;

	if (want == 0 && bytes > 0)
		return -ENOMEM;
	if (want == r->bytes)
		return 0;
	if (want == 0) {
		region__fini(r);
		return 0;
	}
	p = r->p ? mremap(r->p, r->bytes, want, MREMAP_MAYMOVE)
		 : mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	*r = (struct region){ p, want };
	return 0;
}

int region__grow(struct region *r, size_t bytes)
{
	size_t twice;

	if (bytes <= r->bytes)
		return 0;
	if (__builtin_mul_overflow(r->bytes, 2, &twice) || twice < bytes)
		twice = bytes;
	return region__resize(r, twice);
}

void region__fini(struct region *r)
{
	if (r->p)
		munmap(r->p, r->bytes);
	*r = (struct region){ 0 };
}
