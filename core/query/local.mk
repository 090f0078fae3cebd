# SPDX-License-Identifier: Apache-2.0
# core/query/local.mk - selectors, merges, flame trees, reports
noinst_LTLIBRARIES += core/query/libquery.la
core_query_libquery_la_SOURCES = \
	core/query/compare.c core/query/compare.h \
	core/query/engine.c core/query/engine.h \
	core/query/filter.c core/query/filter.h \
	core/query/filter_batch.c \
	core/query/flame.c core/query/flame.h \
	core/query/flametree.c core/query/flametree.h \
	core/query/frames.c core/query/frames.h \
	core/query/render.c core/query/render.h \
	core/query/render_folded.c \
	core/query/selector.c core/query/selector.h \
	core/query/stacks.c core/query/stacks.h \
	core/query/text_sort.c core/query/text_sort.h \
	core/query/top.c core/query/top.h \
	core/query/walk.c core/query/walk.h
core_query_libquery_la_CFLAGS = $(AM_CFLAGS)
core_query_libquery_la_LIBADD = -lm

QUERY_LA = core/query/libquery.la $(SYMBOLIZE_LA) $(STATS_LA) $(CONFIG_LA)
