/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_s3_answer.c - what a server of objects answers that took none: any bytes
 *
 * The first two bytes are the status. The verdict is one of two, and the words are bounded, whatever came.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/output/s3/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf words = { 0 };
	char *copy;
	int r;

	if (size < 2)
		return 0;
	/* Exactly as large as it is, so that a sanitizer sees a read behind it. */
	copy = malloc(size - 2 ? size - 2 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 2, size - 2);
	r = s3_answer__judge(data[0] << 8 | data[1], (struct dcm_str){ copy, (uint32_t)(size - 2) },
			     &words);
	if ((r != -EAGAIN && r != -EBADMSG) || words.n > 512 || words.error)
		abort();
	buf__fini(&words);
	free(copy);
	return 0;
}
