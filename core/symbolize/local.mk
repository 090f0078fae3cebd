# SPDX-License-Identifier: Apache-2.0
# core/symbolize/local.mk - addresses to names
noinst_LTLIBRARIES += core/symbolize/libsymbolize.la
core_symbolize_libsymbolize_la_SOURCES = \
	core/symbolize/build_id.c \
	core/symbolize/debuginfo.c core/symbolize/debuginfo.h \
	core/symbolize/demangle.c core/symbolize/demangle.h \
	core/symbolize/depot.c core/symbolize/depot.h \
	core/symbolize/depot_copy.c \
	core/symbolize/elf.h \
	core/symbolize/elf_collect.c core/symbolize/elf_collect.h \
	core/symbolize/elf_file.c core/symbolize/elf_file.h \
	core/symbolize/elf_minidebug.c \
	core/symbolize/elf_open.c core/symbolize/elf_open.h \
	core/symbolize/elf_pclntab.c \
	core/symbolize/elf_plt.c \
	core/symbolize/elf_symbols.c \
	core/symbolize/elf_symtab.c \
	core/symbolize/extract.c core/symbolize/extract.h \
	core/symbolize/fetch.c core/symbolize/fetch.h \
	core/symbolize/later.c core/symbolize/later.h \
	core/symbolize/file_table.c core/symbolize/file_table.h \
	core/symbolize/fill.c \
	core/symbolize/frames.c core/symbolize/frames.h \
	core/symbolize/frames_dwarf.c \
	core/symbolize/frames_find.h \
	core/symbolize/frames_package.c core/symbolize/frames_package.h \
	core/symbolize/frames_go.c \
	core/symbolize/go_module.c \
	core/symbolize/go_table.c core/symbolize/go_table.h \
	core/symbolize/kallsyms.c core/symbolize/kallsyms.h \
	core/symbolize/keeper.c core/symbolize/keeper.h \
	core/symbolize/kept.c core/symbolize/kept.h \
	core/symbolize/kernel.c core/symbolize/kernel.h \
	core/symbolize/learned.c core/symbolize/learned.h \
	core/symbolize/lookup.h \
	core/symbolize/offered.c core/symbolize/offered.h \
	core/symbolize/names.c core/symbolize/names.h \
	core/symbolize/provide.c \
	core/symbolize/reading.c core/symbolize/reading.h \
	core/symbolize/resolve.c \
	core/symbolize/scribe.c core/symbolize/scribe.h \
	core/symbolize/store.h \
	core/symbolize/symbols.c core/symbolize/symbols.h \
	core/symbolize/upload.c \
	core/symbolize/why.c
core_symbolize_libsymbolize_la_CFLAGS = $(AM_CFLAGS) $(LZMA_CFLAGS) $(DEFLATE_CFLAGS) $(ELF_CFLAGS) $(DW_CFLAGS) $(ZSTD_CFLAGS)

SYMBOLIZE_LA = core/symbolize/libsymbolize.la $(DEBUGINFO_LA) $(BROKER_LA) $(BATCH_LA) $(LZMA_LIBS) $(DEFLATE_LIBS) $(ELF_LIBS) $(DW_LIBS) $(ZSTD_LIBS) $(IBERTY_LIBS)
