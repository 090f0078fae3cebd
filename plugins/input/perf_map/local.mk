# SPDX-License-Identifier: Apache-2.0
# plugins/input/perf_map/local.mk - names of JIT code from perf-PID.map and jit-PID.dump
#
# perf_map_pure is all but the entry: the unit test and the fuzz target link it.
perf_map_pure = \
	plugins/input/perf_map/dump.c plugins/input/perf_map/dump.h \
	plugins/input/perf_map/map.c plugins/input/perf_map/map.h \
	plugins/input/perf_map/proc.c plugins/input/perf_map/proc.h \
	plugins/input/perf_map/processes.c plugins/input/perf_map/processes.h \
	plugins/input/perf_map/source.c plugins/input/perf_map/source.h

if PLUGIN_INPUT_PERF_MAP
pkglib_LTLIBRARIES += plugins/input_perf_map.la
endif
plugins_input_perf_map_la_SOURCES = $(perf_map_pure) plugins/input/perf_map/perf_map.c
plugins_input_perf_map_la_CFLAGS = $(AM_CFLAGS)
plugins_input_perf_map_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_input_perf_map_la_LIBADD = $(BASE_LA)
