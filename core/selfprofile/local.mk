# SPDX-License-Identifier: Apache-2.0
# core/selfprofile/local.mk - what this process's own CPU time goes into
noinst_LTLIBRARIES += core/selfprofile/libselfprofile.la
core_selfprofile_libselfprofile_la_SOURCES = \
	core/selfprofile/leaf.c core/selfprofile/leaf.h \
	core/selfprofile/objects.c core/selfprofile/objects.h \
	core/selfprofile/selfprofile.c core/selfprofile/selfprofile.h \
	core/selfprofile/ticks.c core/selfprofile/ticks.h
core_selfprofile_libselfprofile_la_CFLAGS = $(AM_CFLAGS)

SELFPROFILE_LA = core/selfprofile/libselfprofile.la
