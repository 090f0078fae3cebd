# SPDX-License-Identifier: Apache-2.0
# plugins/storage/streams/local.mk - profiles in memory by series and type; linked into the storages of this machine
noinst_LTLIBRARIES += plugins/storage/streams/libstreams.la
plugins_storage_streams_libstreams_la_SOURCES = \
	plugins/storage/streams/profile.c plugins/storage/streams/profile.h \
	plugins/storage/streams/seen.c plugins/storage/streams/seen.h \
	plugins/storage/streams/streams.c plugins/storage/streams/streams.h
plugins_storage_streams_libstreams_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)

STORAGE_STREAMS_LA = plugins/storage/streams/libstreams.la
