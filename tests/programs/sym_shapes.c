/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/sym_shapes.c - symbols of every shape that a symbol table knows
 *
 * Compiled by tests/unit/test_elf_symbols.c in several ways (PIE, static, stripped, shared). x86-64
 * only where it says so; elsewhere the shapes in assembly are left out.
 */
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
/* A label without a size and a type, another inside of a function that has both, and an alias. */
__asm__(".text\n"
	".globl sym_bare\n"
	"sym_bare:\n"
	"	nop\n	nop\n	ret\n"
	".p2align 4\n"
	".globl sym_outer\n"
	".type sym_outer, @function\n"
	"sym_outer:\n"
	"	nop\n	nop\n"
	"sym_inner_label:\n"
	"	nop\n	ret\n"
	".size sym_outer, . - sym_outer\n"
	".globl _sym_alias_of_outer\n"
	".type _sym_alias_of_outer, @function\n"
	".set _sym_alias_of_outer, sym_outer\n"
	".p2align 4\n"
	/* A sized function inside of a sized function. */
	".type sym_around, @function\n"
	"sym_around:\n"
	"	nop\n	nop\n"
	".type sym_nested, @function\n"
	"sym_nested:\n"
	"	nop\n	nop\n"
	".size sym_nested, . - sym_nested\n"
	"	nop\n	ret\n"
	".size sym_around, . - sym_around\n"
	".globl sym_around\n"
	".globl sym_nested\n"
	".p2align 4\n");
#endif

int sym_exported(int x);
__attribute__((noinline)) int sym_exported(int x)
{
	return x * 3 + 1;
}

static __attribute__((noinline, noclone)) int sym_static(int x)
{
	return sym_exported(x) ^ 5;
}

__attribute__((weak, noinline)) int sym_weak(int x);
__attribute__((weak, noinline)) int sym_weak(int x)
{
	return sym_static(x) + 2;
}

int main(int argc, char **argv)
{
	printf("%d %zu\n", sym_weak(argc), strlen(argv[0]));
	return 0;
}
