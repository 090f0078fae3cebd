/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unwind/core_oracle.c - walks the threads of a core dump with libdwfl, as eu-stack does
 *
 *	core_oracle CORE EXECUTABLE
 *
 * Prints what core_walk prints: for each thread a line "TID N", a line with each frame's address in
 * hex, innermost first, and "end", behind which stands why libdwfl went no further:
 *
 *	root		nothing called the last frame
 *	lost_rbx	the last frame is counted from rbx, which libdwfl does not know there
 *	WORDS		its own
 *
 * And before them "START BYTES NAME" for the executable's _start and main, where it has symbols.
 *
 * What a function's own unwind table does not mention, libdwfl takes from a table of its own, of
 * the registers that a function leaves as they were. For x86-64 that table of elfutils 0.188 has
 * the number 0 for rbx, which is rax; rbx is 3. So rbx is lost in each caller of a function that
 * has not saved it. It matters where a frame is counted from rbx, as that of _dl_runtime_resolve
 * (glibc, sysdeps/x86_64/dl-trampoline.h) is: libdwfl tries rbp as a frame pointer then, whatever
 * is in it. A dump shows it where ld.so's _dl_fixup has just begun or is about to return.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DWARF_RBX = 3 }; /* System V ABI for AMD64, figure 3.36 */

static void die(const char *what)
{
	fprintf(stderr, "core_oracle: %s: %s\n", what, dwfl_errmsg(-1));
	exit(2);
}

/* ---- symbols ---- */

static int print_symbols(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr start, void *arg)
{
	const char *executable = arg, *file = NULL;
	int n;

	(void)data;
	(void)name;
	(void)start;
	dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, &file, NULL);
	if (!file || strcmp(file, executable) != 0)
		return DWARF_CB_OK;
	n = dwfl_module_getsymtab(m);
	for (int i = 0; i < n; i++) {
		GElf_Sym s;
		GElf_Addr at;
		const char *symbol = dwfl_module_getsym_info(m, i, &s, &at, NULL, NULL, NULL);

		if (symbol && (strcmp(symbol, "_start") == 0 || strcmp(symbol, "main") == 0))
			printf("%" PRIx64 " %" PRIu64 " %s\n", (uint64_t)at, (uint64_t)s.st_size, symbol);
	}
	return DWARF_CB_ABORT;
}

/* ---- frames ---- */

/* Is the frame of the code at pc counted from rbx? */
static bool needs_rbx(Dwfl_Module *m, Dwarf_Addr pc)
{
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(m, &bias);
	Dwarf_Frame *rules = NULL;
	Dwarf_Op *ops;
	size_t n;
	bool needs = false;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &rules) != 0)
		return false;
	if (dwarf_frame_cfa(rules, &ops, &n) == 0 && n > 0)
		needs = ops[0].atom == DW_OP_breg0 + DWARF_RBX ||
			(ops[0].atom == DW_OP_bregx && ops[0].number == DWARF_RBX);
	free(rules);
	return needs;
}

static int print_frame(Dwfl_Frame *frame, void *arg)
{
	bool *lost_rbx = arg;
	Dwarf_Addr pc;
	Dwarf_Word rbx;
	bool is_innermost;

	if (!dwfl_frame_pc(frame, &pc, &is_innermost))
		return DWARF_CB_ABORT;
	printf("%" PRIx64 "\n", (uint64_t)pc);
	/* A return address may belong to the function behind the caller. */
	Dwarf_Addr in = pc - !is_innermost;
	Dwfl_Module *m = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), in);

	*lost_rbx = m && needs_rbx(m, in) && dwfl_frame_reg(frame, DWARF_RBX, &rbx) != 0;
	return *lost_rbx ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static int print_thread(Dwfl_Thread *thread, void *arg)
{
	bool lost_rbx = false;
	int r;

	(void)arg;
	printf("TID %d\n", (int)dwfl_thread_tid(thread));
	r = dwfl_thread_getframes(thread, print_frame, &lost_rbx);
	printf("end %s\n", lost_rbx ? "lost_rbx" : r == 0 ? "root" : dwfl_errmsg(-1));
	return DWARF_CB_OK;
}

/* ---- the program ---- */

/* Unwind tables are in the files themselves: no debug package makes an answer another one. */
static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr start,
			const char *file, const char *link, GElf_Word crc, char **ret_file)
{
	(void)m;
	(void)data;
	(void)name;
	(void)start;
	(void)file;
	(void)link;
	(void)crc;
	(void)ret_file;
	return -1;
}

int main(int argc, char **argv)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
						  .find_debuginfo = no_debuginfo };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Elf *core;
	int fd;

	elf_version(EV_CURRENT);
	fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	core = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (!dwfl || !core)
		die("a dump and an executable");
	if (dwfl_core_file_report(dwfl, core, argv[2]) < 0 ||
	    dwfl_report_end(dwfl, NULL, NULL) != 0 || dwfl_core_file_attach(dwfl, core) < 0)
		die("cannot read the dump");
	dwfl_getmodules(dwfl, print_symbols, argv[2], 0);
	if (dwfl_getthreads(dwfl, print_thread, NULL) != 0)
		die("cannot list the threads");
	dwfl_end(dwfl);
	elf_end(core);
	close(fd);
	return 0;
}
