# SPDX-License-Identifier: Apache-2.0
# core/base/local.mk - what everything is made of; also linked into plugins
noinst_LTLIBRARIES += core/base/libbase.la
core_base_libbase_la_SOURCES = \
	core/base/arena.c core/base/arena.h \
	core/base/banned.h \
	core/base/buf.c core/base/buf.h \
	core/base/cleanup.h \
	core/base/clock.c core/base/clock.h \
	core/base/cond.c core/base/cond.h \
	core/base/dir.c core/base/dir.h \
	core/base/errands.c core/base/errands.h \
	core/base/error.c core/base/error.h \
	core/base/fd.c core/base/fd.h \
	core/base/grpc_head.h \
	core/base/grpc_timeout.c core/base/grpc_timeout.h \
	core/base/hash.c core/base/hash.h \
	core/base/hash_long.c core/base/hash_long.h \
	core/base/intern.c core/base/intern.h \
	core/base/le.h \
	core/base/log.c core/base/log.h core/base/log_tail.c core/base/log_tail.h \
	core/base/mem.c core/base/mem.h \
	core/base/protobuf.c core/base/protobuf.h \
	core/base/region.c core/base/region.h \
	core/base/resident.c core/base/resident.h \
	core/base/sanitizer.h \
	core/base/str.c core/base/str.h \
	core/base/units.c core/base/units.h \
	core/base/url.c core/base/url.h \
	core/base/vec.c core/base/vec.h
core_base_libbase_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS) $(XXHASH_CFLAGS)

BASE_LA = core/base/libbase.la $(XXHASH_LIBS)
