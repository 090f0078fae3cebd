/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/legacy_proto.c - a profile of an older format from the input, as profile.proto to the output
 *
 * What core/codec/legacy.h makes, before it becomes a batch: tests/programs/pprof_oracle compares it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/codec/decode.h"
#include "core/codec/legacy.h"

int main(void)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf in = { 0 }, out = { 0 };
	struct legacy_facts facts;
	uint8_t part[65536];
	int r = -1;

	for (size_t n; (n = fread(part, 1, sizeof(part), stdin)) > 0;)
		buf__append(&in, part, n);
	if (in.error || !legacy__is(in.data, in.n))
		fputs("not of an older format\n", stderr);
	else if (legacy__convert(in.data, in.n, DECODE_MAX_BYTES, &out, &facts, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	else
		r = fwrite(out.data, 1, out.n, stdout) == out.n ? 0 : -1;
	buf__fini(&in);
	buf__fini(&out);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
