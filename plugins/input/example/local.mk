# SPDX-License-Identifier: Apache-2.0
# plugins/input/example/local.mk - the plugin that people copy
#
# Built for the tests and not installed as a plugin; its source is installed beside the documentation.
check_LTLIBRARIES += plugins/input_example.la
plugins_input_example_la_SOURCES = plugins/input/example/example.c
plugins_input_example_la_CFLAGS = $(AM_CFLAGS)
plugins_input_example_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)

exampledir = $(docdir)/example
example_DATA = plugins/input/example/example.c plugins/input/example/Makefile.example
EXTRA_DIST += plugins/input/example/Makefile.example
