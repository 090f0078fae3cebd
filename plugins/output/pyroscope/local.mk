# SPDX-License-Identifier: Apache-2.0
# plugins/output/pyroscope/local.mk - profiles for Pyroscope's /ingest
if PLUGIN_OUTPUT_PYROSCOPE
pkglib_LTLIBRARIES += plugins/output_pyroscope.la
endif
plugins_output_pyroscope_la_SOURCES = plugins/output/pyroscope/pyroscope.c
plugins_output_pyroscope_la_CFLAGS = $(AM_CFLAGS)
plugins_output_pyroscope_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_pyroscope_la_LIBADD = $(DELIVERY_LA)
