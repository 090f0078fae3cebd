# SPDX-License-Identifier: Apache-2.0
# core/batch/local.mk - the profile batch
noinst_LTLIBRARIES += core/batch/libbatch.la
core_batch_libbatch_la_SOURCES =
core_batch_libbatch_la_CFLAGS = $(AM_CFLAGS)

BATCH_LA = core/batch/libbatch.la $(BASE_LA)
