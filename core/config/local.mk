# SPDX-License-Identifier: Apache-2.0
# core/config/local.mk - YAML to option tables to structs
#
# LIBADD of a convenience library reaches whoever links it, so nobody else names libyaml or PCRE2.
noinst_LTLIBRARIES += core/config/libconfig.la
core_config_libconfig_la_SOURCES = \
	core/config/describe.c core/config/describe.h \
	core/config/describe_walk.c core/config/describe_walk.h \
	core/config/describe_yaml.c \
	core/config/dump.c core/config/dump.h \
	core/config/effective.c core/config/effective.h \
	core/config/expand.c core/config/expand.h \
	core/config/options.c core/config/options.h \
	core/config/options_compare.c \
	core/config/path.c core/config/path.h \
	core/config/problems.c core/config/problems.h \
	core/config/regex.c core/config/regex.h \
	core/config/regex_reader.c core/config/regex_reader.h \
	core/config/regex_syntax.c core/config/regex_syntax.h \
	core/config/scalar.c core/config/scalar.h \
	core/config/section.c core/config/section.h \
	core/config/shared.c core/config/shared.h \
	core/config/shared_http.c core/config/shared_http.h \
	core/config/suggest.c core/config/suggest.h \
	core/config/table.c core/config/table.h \
	core/config/table_check.c \
	core/config/tree.c core/config/tree.h \
	core/config/tree_build.c core/config/tree_build.h \
	core/config/tree_set.c \
	core/config/yaml_error.c core/config/yaml_error.h
core_config_libconfig_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(PCRE2_CFLAGS)
core_config_libconfig_la_LIBADD = $(YAML_LIBS) $(PCRE2_LIBS)

CONFIG_LA = core/config/libconfig.la $(BASE_LA) $(YAML_LIBS) $(PCRE2_LIBS)
