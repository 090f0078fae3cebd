# SPDX-License-Identifier: Apache-2.0
# core/api/local.mk - /api/v1: what the command line, the pages and scripts ask
noinst_LTLIBRARIES += core/api/libapi.la
core_api_libapi_la_SOURCES = \
	core/api/api.c core/api/api.h \
	core/api/compare.c \
	core/api/debuginfo.c core/api/debuginfo_calls.c \
	core/api/descriptors.h \
	core/api/gaps.c \
	core/api/health.c \
	core/api/internal.h \
	core/api/lists.c \
	core/api/notes.c \
	core/api/params.c \
	core/api/pprof.c \
	core/api/reflection.c \
	core/api/series.c \
	core/api/status.c \
	core/api/targets.c \
	core/api/store.c \
	core/api/trees.c \
	core/api/upload_ask.c core/api/upload_ask.h core/api/upload_stream.c core/api/upload_stream.h \
	core/api/uploads.c core/api/uploads.h
core_api_libapi_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

API_LA = core/api/libapi.la $(SELFPROFILE_LA) $(PIPELINE_LA)
