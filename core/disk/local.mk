# SPDX-License-Identifier: Apache-2.0
# core/disk/local.mk - files that outlive a power cut; also linked into the local store
noinst_LTLIBRARIES += core/disk/libdisk.la
core_disk_libdisk_la_SOURCES = \
	core/disk/frames.c core/disk/frames.h \
	core/disk/lookup.c core/disk/lookup.h \
	core/disk/numbered.c core/disk/numbered.h \
	core/disk/replay.c core/disk/replay.h \
	core/disk/vfs.c core/disk/vfs.h core/disk/vfs_posix.c \
	core/disk/wal.c core/disk/wal.h
core_disk_libdisk_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)

# Whoever links it has BASE_LA.
DISK_LA = core/disk/libdisk.la
