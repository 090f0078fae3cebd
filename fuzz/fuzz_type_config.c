/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_type_config.c - sample_type_config of Pyroscope's clients, and of anybody: refused with a sentence, or each type once
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/input/receive/type_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fact)
{
	if (!fact)
		abort();
}

static void judge(const struct type_config *c)
{
	expect(c->n <= TYPE_CONFIG_TYPES);
	for (uint32_t i = 0; i < c->n; i++) {
		expect(c->v[i].temporality == DCM_DELTA || c->v[i].temporality == DCM_CUMULATIVE ||
		       c->v[i].temporality == DCM_GAUGE);
		for (uint32_t k = 0; k < i; k++)
			expect(!str__eq(c->v[i].sample_type, c->v[k].sample_type));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct type_config c = { .n = 0 };
	/* Exactly as large as it is, so that a sanitizer sees a read behind it. */
	uint8_t *copy = malloc(size ? size : 1);
	int r;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	r = type_config__read(&c, copy, size, &err);
	if (r == 0)
		judge(&c);
	else
		expect((r == -EINVAL || r == -E2BIG) && err.text[0]);
	type_config__fini(&c);
	expect(c.n == 0 && !c.root);
	free(copy);
	return 0;
}
