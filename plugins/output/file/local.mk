# SPDX-License-Identifier: Apache-2.0
# plugins/output/file/local.mk - one file per profile
if PLUGIN_OUTPUT_FILE
pkglib_LTLIBRARIES += plugins/output_file.la
endif
plugins_output_file_la_SOURCES = \
	plugins/output/file/file.c \
	plugins/output/file/folder.c plugins/output/file/folder.h \
	plugins/output/delivery/format.c plugins/output/delivery/format.h \
	plugins/output/delivery/name.c plugins/output/delivery/name.h
plugins_output_file_la_CFLAGS = $(AM_CFLAGS)
plugins_output_file_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_file_la_LIBADD = $(BASE_LA)
