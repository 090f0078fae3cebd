/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/unwind_rows.h - the rows of images that tests make, and what they have to say
 */
#ifndef DECIMA_TEST_UNWIND_ROWS_H
#define DECIMA_TEST_UNWIND_ROWS_H

#include "plugins/input/ebpf/unwind/rows.h"
#include "tests/unit/unit.h"
#include "tests/unwind/elf_maker.h"

static inline struct unwind_rows *rows_of(const struct buf *image, const struct unwind_limits *limits)
{
	struct unwind_source source = { elf_maker__read, (void *)image, image->n };
	struct unwind_rows *r = NULL;

	assert_int_equal(unwind__compile(&source, limits, &r, NULL), 0);
	return r;
}

static inline struct unwind_rule rule_at(const struct unwind_rows *r, uint64_t vaddr)
{
	int64_t row = unwind_rows__find(r, vaddr);

	assert_true(row >= 0);
	return r->rules[r->rule[row]];
}

#define assert_rule(r, vaddr, want_cfa, want_saved, want_off, want_cfa_off)                        \
	do {                                                                                       \
		struct unwind_rule rule_ = rule_at(r, vaddr);                                      \
		assert_int_equal(rule_.cfa, want_cfa);                                             \
		assert_int_equal(rule_.saved, want_saved);                                         \
		assert_int_equal(rule_.off, want_off);                                             \
		assert_int_equal(rule_.cfa_off, want_cfa_off);                                     \
	} while (0)

/* The rows of a section .init with these bytes. */
static inline struct unwind_rows *rows_of_init(const char *bytes, size_t n)
{
	struct elf_maker m = {
		.machine = EM_X86_64, .section = ".init", .data = bytes, .n = n, .is_code = true
	};
	struct buf image = { 0 };
	struct unwind_rows *r;

	elf_maker__make(&m, &image);
	r = rows_of(&image, NULL);
	buf__fini(&image);
	return r;
}

#endif
