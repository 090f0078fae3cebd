# SPDX-License-Identifier: Apache-2.0
# plugins/input/perf_map/local.mk - names of JIT code from /tmp/perf-PID.map
#
# if PLUGIN_INPUT_PERF_MAP
# pkglib_LTLIBRARIES += plugins/input_perf_map.la
# endif
# plugins_input_perf_map_la_SOURCES = plugins/input/perf_map/...
# plugins_input_perf_map_la_CFLAGS = $(AM_CFLAGS)
# plugins_input_perf_map_la_LDFLAGS = $(LDFLAGS_PLUGIN)
# plugins_input_perf_map_la_LIBADD = $(BASE_LA)
