/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_selector.c - selectors: what is read must be written so that it reads the same
 *
 * The first byte chooses whether the type may be left out; the rest is the text. Whatever is
 * accepted is written, read again and written again; the two texts must be equal, and so must what
 * both say of a few values.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/query/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_verdicts(const struct selector *a, const struct selector *b)
{
	static const char *const values[] = { "", "a", "api-1", "\xff", "two\nlines" };

	if (a->n_matchers != b->n_matchers || !str__eq(a->type, b->type))
		abort();
	for (uint32_t i = 0; i < a->n_matchers && i < 8; i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++)
			if (selector__accepts(&a->matchers[i], str__of(values[k])) !=
			    selector__accepts(&b->matchers[i], str__of(values[k])))
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct selector *s = NULL, *again = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf once = { 0 }, twice = { 0 };

	if (size < 1)
		return 0;
	struct dcm_str text = { (const char *)data + 1, (uint32_t)(size - 1) };
	unsigned flags = data[0] & 1 ? SELECTOR_TYPE_OPTIONAL : 0;
	if (selector__parse(text, flags, &s, &err) < 0) {
		if (!err.text[0] || s)
			abort();
		return 0;
	}
	selector__format(s, &once);
	/* Escapes make a text longer: one at the limit may then be beyond it. */
	int r = selector__parse(buf__view(&once), flags, &again, &err);
	if (r < 0 && once.n <= SELECTOR_MAX_BYTES)
		abort();
	if (r == 0) {
		selector__format(again, &twice);
		if (!str__eq(buf__view(&once), buf__view(&twice)))
			abort();
		same_verdicts(s, again);
	}
	buf__fini(&once);
	buf__fini(&twice);
	selector__free(again);
	selector__free(s);
	return 0;
}
