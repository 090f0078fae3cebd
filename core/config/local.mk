# SPDX-License-Identifier: Apache-2.0
# core/config/local.mk - YAML to option tables to structs
#
# LIBADD of a convenience library reaches whoever links it, so nobody else names libyaml or PCRE2.
noinst_LTLIBRARIES += core/config/libconfig.la
core_config_libconfig_la_SOURCES = \
	core/config/describe.h \
	core/config/dump.h \
	core/config/options.h \
	core/config/problems.h \
	core/config/regex.h \
	core/config/section.h \
	core/config/shared.h \
	core/config/suggest.h \
	core/config/table.h \
	core/config/tree.h
core_config_libconfig_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(PCRE2_CFLAGS)
core_config_libconfig_la_LIBADD = $(YAML_LIBS) $(PCRE2_LIBS)

CONFIG_LA = core/config/libconfig.la $(BASE_LA) $(YAML_LIBS) $(PCRE2_LIBS)
