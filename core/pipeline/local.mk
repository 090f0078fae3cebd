# SPDX-License-Identifier: Apache-2.0
# core/pipeline/local.mk - queues, relabelling, routing, writers
noinst_LTLIBRARIES += core/pipeline/libpipeline.la
core_pipeline_libpipeline_la_SOURCES = \
	core/pipeline/options.c core/pipeline/options.h
core_pipeline_libpipeline_la_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS)

PIPELINE_LA = core/pipeline/libpipeline.la $(QUERY_LA) $(PLUGIN_LA)
