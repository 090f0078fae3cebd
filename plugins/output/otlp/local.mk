# SPDX-License-Identifier: Apache-2.0
# plugins/output/otlp/local.mk - profiles by OTLP
if PLUGIN_OUTPUT_OTLP
pkglib_LTLIBRARIES += plugins/output_otlp.la
endif
OTLP_EXPORT = \
	plugins/output/otlp/dictionary.c plugins/output/otlp/dictionary.h \
	plugins/output/otlp/export.c plugins/output/otlp/export.h \
	plugins/output/otlp/names.c plugins/output/otlp/names.h \
	plugins/output/otlp/numbering.c plugins/output/otlp/numbering.h
OTLP_RESPONSE = plugins/output/otlp/response.c plugins/output/otlp/response.h
plugins_output_otlp_la_SOURCES = plugins/output/otlp/otlp.c $(OTLP_EXPORT) $(OTLP_RESPONSE)
plugins_output_otlp_la_CFLAGS = $(AM_CFLAGS) $(DEFLATE_CFLAGS)
plugins_output_otlp_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_otlp_la_LIBADD = $(DELIVERY_LA) $(DEFLATE_LIBS)
