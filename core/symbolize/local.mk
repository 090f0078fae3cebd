# SPDX-License-Identifier: Apache-2.0
# core/symbolize/local.mk - addresses to names
noinst_LTLIBRARIES += core/symbolize/libsymbolize.la
core_symbolize_libsymbolize_la_SOURCES =
core_symbolize_libsymbolize_la_CFLAGS = $(AM_CFLAGS) $(ELF_CFLAGS)

SYMBOLIZE_LA = core/symbolize/libsymbolize.la $(BATCH_LA) $(ELF_LIBS) $(IBERTY_LIBS)
