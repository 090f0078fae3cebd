# SPDX-License-Identifier: Apache-2.0
# core/debuginfo/local.mk - Parca's debuginfo protocol, as a client speaks it; also linked into outputs
noinst_LTLIBRARIES += core/debuginfo/libdebuginfo.la
core_debuginfo_libdebuginfo_la_SOURCES = core/debuginfo/sending.c core/debuginfo/sending.h
core_debuginfo_libdebuginfo_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)

# Whoever links it has BASE_LA.
DEBUGINFO_LA = core/debuginfo/libdebuginfo.la
