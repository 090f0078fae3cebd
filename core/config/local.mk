# SPDX-License-Identifier: Apache-2.0
# core/config/local.mk - YAML to option tables to structs
noinst_LTLIBRARIES += core/config/libconfig.la
core_config_libconfig_la_SOURCES =
core_config_libconfig_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)

CONFIG_LA = core/config/libconfig.la $(BASE_LA) $(YAML_LIBS)
