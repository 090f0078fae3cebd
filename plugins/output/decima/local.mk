# SPDX-License-Identifier: Apache-2.0
# plugins/output/decima/local.mk - what is collected here goes to another Decima
if PLUGIN_OUTPUT_DECIMA
pkglib_LTLIBRARIES += plugins/output_decima.la
endif
plugins_output_decima_la_SOURCES = plugins/output/decima/decima.c
plugins_output_decima_la_CFLAGS = $(AM_CFLAGS) $(DEFLATE_CFLAGS)
plugins_output_decima_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_decima_la_LIBADD = $(DELIVERY_LA) $(DEFLATE_LIBS)
