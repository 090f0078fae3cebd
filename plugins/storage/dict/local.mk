# SPDX-License-Identifier: Apache-2.0
# plugins/storage/dict/local.mk - what profiles refer to; linked into the storages of this machine
noinst_LTLIBRARIES += plugins/storage/dict/libdict.la
plugins_storage_dict_libdict_la_SOURCES = \
	plugins/storage/dict/dict.c plugins/storage/dict/dict.h \
	plugins/storage/dict/export.c plugins/storage/dict/export.h \
	plugins/storage/dict/export_stacks.c \
	plugins/storage/dict/growth.c plugins/storage/dict/growth.h \
	plugins/storage/dict/import.c plugins/storage/dict/import.h \
	plugins/storage/dict/import_stacks.c \
	plugins/storage/dict/labels.c plugins/storage/dict/labels.h \
	plugins/storage/dict/map.c \
	plugins/storage/dict/origins.c plugins/storage/dict/origins.h \
	plugins/storage/dict/pool.h \
	plugins/storage/dict/stacks.c
plugins_storage_dict_libdict_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)

STORAGE_DICT_LA = plugins/storage/dict/libdict.la $(BASE_LA)
