/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_pclntab.c - function names of stripped Go programs
 *
 * Threads: none shared. Limits: those of go_table.h, struct elf_limits.
 */
#include <errno.h>

#include "core/symbolize/elf_collect.h"
#include "core/symbolize/go_table.h"

static int add_functions(struct elf_collect *c, const struct go_table *t)
{
	const uint32_t rank = ELF_RANK_GLOBAL | ELF_RANK_FUNCTION | ELF_RANK_SIZED;

	for (uint64_t i = 0; i < t->n_functions; i++) {
		uint64_t pc, next, record, unused;
		const struct elf_text *text;
		struct dcm_str name;
		int rc;

		if (!go_table__entry(t, i, &pc, &record) || !go_table__entry(t, i + 1, &next, &unused))
			return 0;
		text = elf_collect__text_at(c, pc);
		if (!text || text->is_plt || next <= pc || !go_table__name(t, record, &name))
			continue;
		if ((c->functions.n + 1) * sizeof(*c->functions.v) + c->names.n > c->limits.max_bytes)
			return -EFBIG;
		rc = elf_collect__add(c,
				      &(struct elf_function){ pc, next < text->end ? next : text->end,
							      text->end, 0, rank },
				      "", name);
		if (rc)
			return rc;
	}
	return 0;
}

int elf_pclntab__collect(struct elf_collect *c, const struct elf_file *f)
{
	struct go_table t;
	int rc = go_table__open(&t, c, f);

	if (!rc)
		rc = add_functions(c, &t);
	go_table__fini(&t);
	return rc == -ENODATA ? 0 : rc;
}
