# SPDX-License-Identifier: Apache-2.0
# tests/plugins/local.mk - plugins for tests: one that misbehaves on demand, one that gets no batches, one with
# nothing more than it must have, one that keeps books, and those that must be refused
#
# A plugin directory of their own: tests/plugins/.libs has output_testing.so, output_frontend.so,
# storage_minimal.so, input_ledger.so, storage_faulty.so and input_broken_*.so.
check_LTLIBRARIES += tests/plugins/output_testing.la
tests_plugins_output_testing_la_SOURCES = tests/plugins/testing.c
tests_plugins_output_testing_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_output_testing_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)

check_LTLIBRARIES += tests/plugins/output_frontend.la
tests_plugins_output_frontend_la_SOURCES = tests/plugins/frontend.c
tests_plugins_output_frontend_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_output_frontend_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)

check_LTLIBRARIES += tests/plugins/storage_minimal.la
tests_plugins_storage_minimal_la_SOURCES = tests/plugins/minimal.c
tests_plugins_storage_minimal_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_storage_minimal_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)

# For tests/e2e/store_local.sh.
check_LTLIBRARIES += tests/plugins/input_ledger.la
tests_plugins_input_ledger_la_SOURCES = tests/plugins/ledger.c
tests_plugins_input_ledger_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_ledger_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)

# For tests/storage/conformance.
check_LTLIBRARIES += tests/plugins/storage_faulty.la
tests_plugins_storage_faulty_la_SOURCES = tests/plugins/faulty.c
tests_plugins_storage_faulty_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_storage_faulty_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)
tests_plugins_storage_faulty_la_LIBADD = -ldl

# Some faults are the linker's to find at load time: no -z defs here.
LDFLAGS_BROKEN = -module -avoid-version -shared -rpath $(pkglibdir) $(SAN_CFLAGS)

check_LTLIBRARIES += tests/plugins/input_broken_newer.la
tests_plugins_input_broken_newer_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_newer_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_NEWER
tests_plugins_input_broken_newer_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_newer_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_major.la
tests_plugins_input_broken_major_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_major_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_MAJOR
tests_plugins_input_broken_major_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_major_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_magic.la
tests_plugins_input_broken_magic_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_magic_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_MAGIC
tests_plugins_input_broken_magic_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_magic_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_table.la
tests_plugins_input_broken_table_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_table_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_TABLE
tests_plugins_input_broken_table_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_table_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_default.la
tests_plugins_input_broken_default_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_default_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_DEFAULT
tests_plugins_input_broken_default_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_default_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_no_entry.la
tests_plugins_input_broken_no_entry_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_no_entry_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_NO_ENTRY
tests_plugins_input_broken_no_entry_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_no_entry_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_no_stop.la
tests_plugins_input_broken_no_stop_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_no_stop_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_NO_STOP
tests_plugins_input_broken_no_stop_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_no_stop_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_kind.la
tests_plugins_input_broken_kind_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_kind_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_KIND
tests_plugins_input_broken_kind_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_kind_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_null.la
tests_plugins_input_broken_null_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_null_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_NULL
tests_plugins_input_broken_null_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_null_la_LDFLAGS = $(LDFLAGS_BROKEN)

check_LTLIBRARIES += tests/plugins/input_broken_link.la
tests_plugins_input_broken_link_la_SOURCES = tests/plugins/broken.c
tests_plugins_input_broken_link_la_CPPFLAGS = $(AM_CPPFLAGS) -DBROKEN=BROKEN_LINK
tests_plugins_input_broken_link_la_CFLAGS = $(AM_CFLAGS)
tests_plugins_input_broken_link_la_LDFLAGS = $(LDFLAGS_BROKEN)

script_tests += tests/contract/plugin_check.sh tests/contract/example_out_of_tree.sh \
	tests/contract/hanging_plugins.sh
