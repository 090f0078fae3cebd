# SPDX-License-Identifier: Apache-2.0
# core/plugin/local.mk - trust, loading, instances and their states
noinst_LTLIBRARIES += core/plugin/libplugin.la
core_plugin_libplugin_la_SOURCES =
core_plugin_libplugin_la_CFLAGS = $(AM_CFLAGS)

PLUGIN_LA = core/plugin/libplugin.la core/config/libconfig.la core/net/libnet.la core/codec/libcodec.la \
	core/symbolize/libsymbolize.la core/stats/libstats.la $(BATCH_LA) \
	$(YAML_LIBS) $(MHD_LIBS) $(CURL_LIBS) $(DEFLATE_LIBS) $(JANSSON_LIBS) $(ELF_LIBS) $(IBERTY_LIBS)
