# SPDX-License-Identifier: Apache-2.0
# plugins/storage/answer/local.mk - questions over pieces; linked into the storages of this machine
noinst_LTLIBRARIES += plugins/storage/answer/libanswer.la
plugins_storage_answer_libanswer_la_SOURCES = \
	plugins/storage/answer/adder.c plugins/storage/answer/adder.h \
	plugins/storage/answer/answer.h \
	plugins/storage/answer/ask.c plugins/storage/answer/ask.h \
	plugins/storage/answer/check.c \
	plugins/storage/answer/crew.c plugins/storage/answer/crew.h \
	plugins/storage/answer/groups.c plugins/storage/answer/groups.h \
	plugins/storage/answer/lists.c \
	plugins/storage/answer/match.c plugins/storage/answer/match.h \
	plugins/storage/answer/merge.c \
	plugins/storage/answer/meter.c plugins/storage/answer/meter.h \
	plugins/storage/answer/piece.c plugins/storage/answer/piece.h \
	plugins/storage/answer/points.c \
	plugins/storage/answer/sieve.c plugins/storage/answer/sieve.h \
	plugins/storage/answer/stock.c plugins/storage/answer/stock.h \
	plugins/storage/answer/stream_piece.c plugins/storage/answer/stream_piece.h \
	plugins/storage/answer/sums.c plugins/storage/answer/sums.h \
	plugins/storage/answer/thin.c plugins/storage/answer/thin.h \
	plugins/storage/answer/view.c plugins/storage/answer/view.h \
	plugins/storage/answer/walk.c plugins/storage/answer/walk.h \
	plugins/storage/answer/walk_increases.c plugins/storage/answer/walk_parts.h \
	plugins/storage/answer/walk_spans.c
plugins_storage_answer_libanswer_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS)

STORAGE_ANSWER_LA = plugins/storage/answer/libanswer.la $(STORAGE_STREAMS_LA) $(STORAGE_DICT_LA)
