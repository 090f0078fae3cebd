# SPDX-License-Identifier: Apache-2.0
# plugins/storage/memory/local.mk - the small store, and the oracle of the others
if PLUGIN_STORAGE_MEMORY
pkglib_LTLIBRARIES += plugins/storage_memory.la
endif
plugins_storage_memory_la_SOURCES = \
	plugins/storage/memory/backup.c plugins/storage/memory/backup.h \
	plugins/storage/memory/expire.c plugins/storage/memory/expire.h \
	plugins/storage/memory/inspect.c \
	plugins/storage/memory/look.c plugins/storage/memory/look.h \
	plugins/storage/memory/memory.c \
	plugins/storage/memory/remove.c plugins/storage/memory/remove.h \
	plugins/storage/memory/store.c plugins/storage/memory/store.h
plugins_storage_memory_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)
plugins_storage_memory_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_storage_memory_la_LIBADD = $(STORAGE_ANSWER_LA)
