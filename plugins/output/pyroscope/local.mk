# SPDX-License-Identifier: Apache-2.0
# plugins/output/pyroscope/local.mk - profiles for Pyroscope
if PLUGIN_OUTPUT_PYROSCOPE
pkglib_LTLIBRARIES += plugins/output_pyroscope.la
endif
plugins_output_pyroscope_la_SOURCES = plugins/output/pyroscope/pyroscope.c \
	plugins/output/pyroscope/ingest.c plugins/output/pyroscope/ingest.h \
	plugins/output/pyroscope/push.c plugins/output/pyroscope/push.h
plugins_output_pyroscope_la_CFLAGS = $(AM_CFLAGS)
plugins_output_pyroscope_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_pyroscope_la_LIBADD = $(DELIVERY_LA)
