# SPDX-License-Identifier: Apache-2.0
# core/batch/local.mk - the profile batch
noinst_LTLIBRARIES += core/batch/libbatch.la
core_batch_libbatch_la_SOURCES = \
	core/batch/batch.c core/batch/batch.h \
	core/batch/builder.c core/batch/builder.h core/batch/builder_private.h \
	core/batch/builder_frames.c core/batch/builder_rows.c \
	core/batch/check.c core/batch/check.h \
	core/batch/content.c \
	core/batch/copy.c core/batch/copy.h \
	core/batch/excerpt.c core/batch/excerpt.h \
	core/batch/identity.c core/batch/identity.h \
	core/batch/limits.h \
	core/batch/revalue.c core/batch/revalue.h \
	core/batch/tables.c core/batch/tables.h \
	core/batch/type.c core/batch/type.h
core_batch_libbatch_la_CFLAGS = $(AM_CFLAGS)

BATCH_LA = core/batch/libbatch.la $(BASE_LA)
