# SPDX-License-Identifier: Apache-2.0
# plugins/storage/local/local.mk - the store on this machine's disk
noinst_LTLIBRARIES += plugins/storage/local/liblocal.la
plugins_storage_local_liblocal_la_SOURCES = \
	plugins/storage/local/age.c plugins/storage/local/age.h \
	plugins/storage/local/backup.c plugins/storage/local/backup.h \
	plugins/storage/local/block_file.c plugins/storage/local/block_file.h \
	plugins/storage/local/block.h plugins/storage/local/block_layout.h \
	plugins/storage/local/block_piece.c plugins/storage/local/block_piece.h \
	plugins/storage/local/block_read.c plugins/storage/local/block_write.c \
	plugins/storage/local/block_types.c plugins/storage/local/block_types.h \
	plugins/storage/local/chunk.h \
	plugins/storage/local/chunk_read.c plugins/storage/local/chunk_write.c \
	plugins/storage/local/commit.c plugins/storage/local/commit.h \
	plugins/storage/local/compact.c plugins/storage/local/compact.h \
	plugins/storage/local/compact_parts.c plugins/storage/local/compact_parts.h \
	plugins/storage/local/compact_plan.c plugins/storage/local/compact_plan.h \
	plugins/storage/local/compact_stream.c plugins/storage/local/compact_stream.h \
	plugins/storage/local/disk_use.c plugins/storage/local/disk_use.h \
	plugins/storage/local/dropping.c plugins/storage/local/dropping.h \
	plugins/storage/local/era.c plugins/storage/local/era.h \
	plugins/storage/local/eras.c plugins/storage/local/eras.h \
	plugins/storage/local/era_record.c plugins/storage/local/era_record.h \
	plugins/storage/local/expire.c plugins/storage/local/expire.h \
	plugins/storage/local/extras.c plugins/storage/local/extras.h \
	plugins/storage/local/filters.c plugins/storage/local/filters.h \
	plugins/storage/local/head.c plugins/storage/local/head.h \
	plugins/storage/local/hidden.c plugins/storage/local/hidden.h \
	plugins/storage/local/inspect.c plugins/storage/local/inspect.h \
	plugins/storage/local/kept.c plugins/storage/local/kept.h \
	plugins/storage/local/lacks.c plugins/storage/local/lacks.h \
	plugins/storage/local/look.c plugins/storage/local/look.h \
	plugins/storage/local/log_file.c plugins/storage/local/log_file.h \
	plugins/storage/local/losses.c plugins/storage/local/losses.h \
	plugins/storage/local/manifest.c plugins/storage/local/manifest.h \
	plugins/storage/local/pfor.c plugins/storage/local/pfor.h \
	plugins/storage/local/prefix.c plugins/storage/local/prefix.h \
	plugins/storage/local/quarantine.c plugins/storage/local/quarantine.h \
	plugins/storage/local/ranks.c plugins/storage/local/ranks.h \
	plugins/storage/local/reader.c plugins/storage/local/reader.h \
	plugins/storage/local/removal.c plugins/storage/local/removal.h \
	plugins/storage/local/removal_find.c plugins/storage/local/removal_find.h \
	plugins/storage/local/retain.c plugins/storage/local/retain.h \
	plugins/storage/local/retention.c plugins/storage/local/retention.h \
	plugins/storage/local/rework.c plugins/storage/local/rework.h \
	plugins/storage/local/rewrite.c plugins/storage/local/rewrite.h \
	plugins/storage/local/rows_frame.c plugins/storage/local/rows_frame.h \
	plugins/storage/local/seal.c plugins/storage/local/seal.h \
	plugins/storage/local/squeeze.c plugins/storage/local/squeeze.h \
	plugins/storage/local/stored.c plugins/storage/local/stored.h \
	plugins/storage/local/store.c plugins/storage/local/store.h \
	plugins/storage/local/store_write.c \
	plugins/storage/local/tend.c plugins/storage/local/tend.h \
	plugins/storage/local/upkeep.c plugins/storage/local/upkeep.h
plugins_storage_local_liblocal_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS) $(ZSTD_CFLAGS)

LOCAL_STORE_LA = plugins/storage/local/liblocal.la $(DISK_LA) $(STORAGE_ANSWER_LA) $(ZSTD_LIBS)

if PLUGIN_STORAGE_LOCAL
pkglib_LTLIBRARIES += plugins/storage_local.la
endif
plugins_storage_local_la_SOURCES = plugins/storage/local/local.c
plugins_storage_local_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)
plugins_storage_local_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_storage_local_la_LIBADD = $(LOCAL_STORE_LA)
