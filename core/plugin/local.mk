# SPDX-License-Identifier: Apache-2.0
# core/plugin/local.mk - trust, loading, instances and their states
noinst_LTLIBRARIES += core/plugin/libplugin.la
core_plugin_libplugin_la_SOURCES =
core_plugin_libplugin_la_CFLAGS = $(AM_CFLAGS)

PLUGIN_LA = core/plugin/libplugin.la $(NET_LA) $(CODEC_LA) $(SYMBOLIZE_LA)
