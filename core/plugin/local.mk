# SPDX-License-Identifier: Apache-2.0
# core/plugin/local.mk - trust, loading, instances and their states
noinst_LTLIBRARIES += core/plugin/libplugin.la
core_plugin_libplugin_la_SOURCES = \
	core/plugin/contract.c core/plugin/contract.h \
	core/plugin/emissions.c core/plugin/emissions.h \
	core/plugin/host.c core/plugin/host.h \
	core/plugin/instance.c core/plugin/instance.h \
	core/plugin/loader.c core/plugin/loader.h \
	core/plugin/mapped.c core/plugin/mapped.h \
	core/plugin/settings.c core/plugin/settings.h \
	core/plugin/sources.c core/plugin/sources.h \
	core/plugin/trust.c core/plugin/trust.h
core_plugin_libplugin_la_CFLAGS = $(AM_CFLAGS)

PLUGIN_LA = core/plugin/libplugin.la $(NET_LA) $(CODEC_LA) $(SYMBOLIZE_LA) $(CONFIG_LA) $(STATS_LA)
