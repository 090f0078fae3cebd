# SPDX-License-Identifier: Apache-2.0
# core/deflate/local.mk - gzip and zlib
noinst_LTLIBRARIES += core/deflate/libgzip.la
core_deflate_libgzip_la_SOURCES = core/deflate/deflate.c core/deflate/deflate.h
core_deflate_libgzip_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS) $(DEFLATE_CFLAGS)

DEFLATE_LA = core/deflate/libgzip.la $(BASE_LA) $(DEFLATE_LIBS)
