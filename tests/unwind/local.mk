# SPDX-License-Identifier: Apache-2.0
# tests/unwind/local.mk - unwind tables and walks against elfutils' answers
#
# oracle compares the files of a machine: all of them with `make unwind-oracle`, a sample in `make check`.
unwind_judge = tests/unwind/judge.c tests/unwind/judge.h
check_PROGRAMS += tests/unwind/oracle
tests_unwind_oracle_SOURCES = tests/unwind/oracle.c $(unwind_judge)
tests_unwind_oracle_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS) $(ELF_CFLAGS)
tests_unwind_oracle_LDADD = $(EBPF_UNWIND_LA) $(DW_LIBS) $(ELF_LIBS)

# core_walk walks core dumps, core_oracle does it with libdwfl, and cores.sh compares.
check_PROGRAMS += tests/unwind/core_walk
tests_unwind_core_walk_SOURCES = tests/unwind/core_walk.c $(EBPF_MEMORY)
tests_unwind_core_walk_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA)
check_PROGRAMS += tests/unwind/core_oracle
tests_unwind_core_oracle_SOURCES = tests/unwind/core_oracle.c
tests_unwind_core_oracle_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS) $(ELF_CFLAGS)
tests_unwind_core_oracle_LDADD = $(DW_LIBS) $(ELF_LIBS)

long_tests += tests/unwind/oracle.sh tests/unwind/cores.sh
EXTRA_DIST += tests/unwind/oracle.sh tests/unwind/cores.sh tests/unwind/stacks.awk

unwind-oracle: tests/unwind/oracle
	tests/unwind/oracle
.PHONY: unwind-oracle
