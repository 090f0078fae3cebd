# SPDX-License-Identifier: Apache-2.0
# core/api/local.mk - /api/v1: what the command line, the pages and scripts ask
noinst_LTLIBRARIES += core/api/libapi.la
core_api_libapi_la_SOURCES =
core_api_libapi_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

API_LA = core/api/libapi.la $(PIPELINE_LA)
