# SPDX-License-Identifier: Apache-2.0
# plugins/storage/memory/local.mk - the small store, and the oracle of the others
#
# if PLUGIN_STORAGE_MEMORY
# pkglib_LTLIBRARIES += plugins/storage_memory.la
# endif
# plugins_storage_memory_la_SOURCES = plugins/storage/memory/...
# plugins_storage_memory_la_CFLAGS = $(AM_CFLAGS)
# plugins_storage_memory_la_LDFLAGS = $(LDFLAGS_PLUGIN)
# plugins_storage_memory_la_LIBADD = $(BASE_LA)
