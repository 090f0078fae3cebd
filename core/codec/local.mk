# SPDX-License-Identifier: Apache-2.0
# core/codec/local.mk - profile formats in and out
noinst_LTLIBRARIES += core/codec/libcodec.la
core_codec_libcodec_la_SOURCES = \
	core/codec/wire.h core/codec/wire_encode.c core/codec/wire_decode.c \
	core/codec/wire_tables.c core/codec/wire_tables.h
core_codec_libcodec_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS) $(DEFLATE_CFLAGS) $(JANSSON_CFLAGS)

CODEC_LA = core/codec/libcodec.la $(BATCH_LA) $(DEFLATE_LIBS) $(JANSSON_LIBS)
