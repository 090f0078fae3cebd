# SPDX-License-Identifier: Apache-2.0
# tests/local.mk - how `make check` runs things (tests/run-case.sh), and the tests that are scripts
#
# A script prints `ok NAME`, `not ok NAME: why` or `skip NAME: why` for each case, is given $top_srcdir and
# $top_builddir, and is added to script_tests. What needs root, or minutes, lives in tests/e2e/ and is run by
# tools/test alone.
script_tests = tests/arm64.sh tests/asking.sh tests/chains.sh tests/check-includes.sh tests/descriptors.sh tests/hardening.sh tests/preflight.sh \
	tests/printed.sh
# These take long, and so begin first: none is left running alone at the end.
long_tests =
TESTS += $(long_tests) $(script_tests)

TEST_EXTENSIONS = .sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-case.sh
SH_LOG_COMPILER = $(LOG_COMPILER)
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir;

EXTRA_DIST += $(script_tests) tests/run-case.sh tests/cmocka-lines.awk tests/data tests/e2e tests/kernels tests/programs \
	tests/host/lib.sh tests/lib

# For tools/test.
print-tests:
	@for test in $(TESTS); do echo "$$test"; done
print-check-programs:
	@for program in $(check_PROGRAMS); do echo "$$program"; done

clean-local-tests:
	rm -rf tests/results
