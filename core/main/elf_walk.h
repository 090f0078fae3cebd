/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/elf_walk.h - the files that a command line names: themselves, and what is ELF in directories
 */
#ifndef DECIMA_MAIN_ELF_WALK_H
#define DECIMA_MAIN_ELF_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

enum { ELF_WALK_MAX = 100000 };

struct elf_walk_file {
	char *path;
	bool named; /* by the command line, or it cannot be looked into: who asked hears what is wrong */
};

struct elf_walk {
	struct elf_walk_file *v; /* [n] */
	uint32_t n, cap;
	bool has_dirs; /* some operand is a directory */
};

/*
 * Appends what is at a path: a file, whatever it is; of a directory and those below all regular files that
 * begin as ELF does, by name. Links in directories are not followed. -E2BIG: more than ELF_WALK_MAX; -ENOMEM.
 */
int elf_walk__add(struct elf_walk *w, const char *path, struct dcm_error *err);
void elf_walk__fini(struct elf_walk *w);

#endif
