# SPDX-License-Identifier: Apache-2.0
# plugins/output/parca/local.mk - profiles for Parca's WriteRaw
if PLUGIN_OUTPUT_PARCA
pkglib_LTLIBRARIES += plugins/output_parca.la
endif
plugins_output_parca_la_SOURCES = plugins/output/parca/parca.c
plugins_output_parca_la_CFLAGS = $(AM_CFLAGS)
plugins_output_parca_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_parca_la_LIBADD = $(DELIVERY_LA)
