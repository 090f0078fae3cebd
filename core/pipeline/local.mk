# SPDX-License-Identifier: Apache-2.0
# core/pipeline/local.mk - queues, relabelling, routing, writers
noinst_LTLIBRARIES += core/pipeline/libpipeline.la
core_pipeline_libpipeline_la_SOURCES = \
	core/pipeline/aside.c core/pipeline/aside.h \
	core/pipeline/destination.c core/pipeline/destination.h \
	core/pipeline/destination_metrics.c core/pipeline/destination_private.h \
	core/pipeline/labelled.c core/pipeline/labelled.h \
	core/pipeline/options.c core/pipeline/options.h \
	core/pipeline/outcome.c core/pipeline/outcome.h \
	core/pipeline/overlay.c core/pipeline/overlay.h \
	core/pipeline/pipeline.c core/pipeline/pipeline.h \
	core/pipeline/position.c core/pipeline/position.h \
	core/pipeline/projection.c core/pipeline/projection.h \
	core/pipeline/queue.c core/pipeline/queue.h \
	core/pipeline/relabel.c core/pipeline/relabel.h \
	core/pipeline/router.c core/pipeline/router.h \
	core/pipeline/rules.c core/pipeline/rules.h \
	core/pipeline/scheduler.c core/pipeline/scheduler.h \
	core/pipeline/spool.c core/pipeline/spool.h \
	core/pipeline/spool_append.c core/pipeline/spool_feed.c core/pipeline/spool_private.h \
	core/pipeline/spooler.c core/pipeline/spooler.h \
	core/pipeline/writer.c core/pipeline/writer.h
core_pipeline_libpipeline_la_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS) $(NETTLE_CFLAGS)

PIPELINE_LA = core/pipeline/libpipeline.la $(DISK_LA) $(QUERY_LA) $(PLUGIN_LA) $(NETTLE_LIBS)
