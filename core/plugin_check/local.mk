# SPDX-License-Identifier: Apache-2.0
# core/plugin_check/local.mk - the program that asks a plugin whether it is a good one
bin_PROGRAMS += decima-plugin-check
decima_plugin_check_SOURCES = \
	core/plugin_check/alloc.c core/plugin_check/alloc.h \
	core/plugin_check/cases.h \
	core/plugin_check/life.c \
	core/plugin_check/main.c \
	core/plugin_check/options.c \
	core/plugin_check/silence.c core/plugin_check/silence.h \
	core/plugin_check/usage.c core/plugin_check/usage.h \
	core/plugin_check/work.c
decima_plugin_check_CFLAGS = $(AM_CFLAGS)
decima_plugin_check_LDADD = core/plugin/libplugin.la $(BROKER_LA) $(CODEC_LA) $(CONFIG_LA) $(STATS_LA) $(BATCH_LA)
