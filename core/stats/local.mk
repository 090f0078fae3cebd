# SPDX-License-Identifier: Apache-2.0
# core/stats/local.mk - counters, histograms, Prometheus text
noinst_LTLIBRARIES += core/stats/libstats.la
core_stats_libstats_la_SOURCES = \
	core/stats/drops.c \
	core/stats/process.c \
	core/stats/registry.h \
	core/stats/stats.c core/stats/stats.h \
	core/stats/text.c
core_stats_libstats_la_CFLAGS = $(AM_CFLAGS)

STATS_LA = core/stats/libstats.la $(BASE_LA)
