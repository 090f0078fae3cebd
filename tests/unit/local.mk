# SPDX-License-Identifier: Apache-2.0
# tests/unit/local.mk - one cmocka program per module
#
# To add tests/unit/test_NAME.c, two lines (the source is found by its name):
#
#	unit_tests += tests/unit/test_buf
#	tests_unit_test_buf_LDADD = $(BASE_LA) $(UNIT_LIBS)
#
# More sources, for instance a plugin's that no library holds:
#
#	tests_unit_test_perf_map_SOURCES = tests/unit/test_perf_map.c plugins/input/perf_map/parse.c
#
# Allocations that fail on demand (tests/unit/failmalloc.h): add two more,
#
#	tests_unit_test_buf_SOURCES = tests/unit/test_buf.c $(FAILMALLOC)
#	tests_unit_test_buf_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
#
# Include "tests/unit/unit.h" instead of cmocka.h: it has skip_because("reason"). Files to open: tests/unit/paths.h.
# To run one: make tests/unit/test_buf && tests/unit/test_buf
UNIT_LIBS = $(CMOCKA_LIBS)
FAILMALLOC = tests/unit/failmalloc.c tests/unit/failmalloc.h
LDFLAGS_FAILMALLOC = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
unit_tests =
noinst_HEADERS += tests/unit/unit.h

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
EXTRA_PROGRAMS += $(unit_tests)
endif

unit_tests += tests/unit/test_failmalloc
tests_unit_test_failmalloc_SOURCES = tests/unit/test_failmalloc.c $(FAILMALLOC)
tests_unit_test_failmalloc_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_failmalloc_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_stats
tests_unit_test_stats_SOURCES = tests/unit/test_stats.c $(FAILMALLOC)
tests_unit_test_stats_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_stats_LDADD = $(STATS_LA) $(UNIT_LIBS)
