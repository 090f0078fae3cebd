# SPDX-License-Identifier: Apache-2.0
# plugins/input/receive/local.mk - profiles that others send
#
# receive_pure is all but the entry: unit tests and fuzz targets link it.
receive_pure = \
	plugins/input/receive/decima.c plugins/input/receive/decima.h \
	plugins/input/receive/descriptors.h \
	plugins/input/receive/desk.c plugins/input/receive/desk.h \
	plugins/input/receive/form.c plugins/input/receive/form.h \
	plugins/input/receive/group.c plugins/input/receive/group.h \
	plugins/input/receive/ingest.c plugins/input/receive/ingest.h \
	plugins/input/receive/labels.c plugins/input/receive/labels.h \
	plugins/input/receive/options.c plugins/input/receive/options.h \
	plugins/input/receive/otlp.c plugins/input/receive/otlp.h \
	plugins/input/receive/parca.c plugins/input/receive/parca.h \
	plugins/input/receive/push.c \
	plugins/input/receive/pyroscope.c plugins/input/receive/pyroscope.h \
	plugins/input/receive/senders.c plugins/input/receive/senders.h \
	plugins/input/receive/telemetry.c plugins/input/receive/telemetry.h \
	plugins/input/receive/type_config.c plugins/input/receive/type_config.h \
	plugins/input/receive/versions.c plugins/input/receive/versions.h

if PLUGIN_INPUT_RECEIVE
pkglib_LTLIBRARIES += plugins/input_receive.la
endif
plugins_input_receive_la_SOURCES = $(receive_pure) plugins/input/receive/receive.c
plugins_input_receive_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
plugins_input_receive_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_input_receive_la_LIBADD = $(BASE_LA) $(JANSSON_LIBS)
