# SPDX-License-Identifier: Apache-2.0
# core/query/local.mk - selectors, merges, flame trees, reports
noinst_LTLIBRARIES += core/query/libquery.la
core_query_libquery_la_SOURCES =
core_query_libquery_la_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS)

QUERY_LA = core/query/libquery.la $(CODEC_LA) $(SYMBOLIZE_LA) $(STATS_LA) $(PCRE2_LIBS)
