# SPDX-License-Identifier: Apache-2.0
# plugins/input/pprof_scrape/local.mk - profiles that programs serve over HTTP, scraped as metrics are
#
# pprof_scrape_pure is all but the entry: unit tests, benches and fuzz targets link it.
pprof_scrape_pure = \
	plugins/input/pprof_scrape/arrival.c plugins/input/pprof_scrape/arrival.h \
	plugins/input/pprof_scrape/consul.h \
	plugins/input/pprof_scrape/consul_lists.c plugins/input/pprof_scrape/consul_lists.h \
	plugins/input/pprof_scrape/consul_sd.c plugins/input/pprof_scrape/consul_watch.c \
	plugins/input/pprof_scrape/delta.c plugins/input/pprof_scrape/delta.h \
	plugins/input/pprof_scrape/discoveries.h \
	plugins/input/pprof_scrape/discovery.c plugins/input/pprof_scrape/discovery.h \
	plugins/input/pprof_scrape/dns_sd.c \
	plugins/input/pprof_scrape/docker_lists.c plugins/input/pprof_scrape/docker_lists.h \
	plugins/input/pprof_scrape/docker_sd.c \
	plugins/input/pprof_scrape/file_sd.c \
	plugins/input/pprof_scrape/groups.c plugins/input/pprof_scrape/groups.h \
	plugins/input/pprof_scrape/http_sd.c \
	plugins/input/pprof_scrape/job.c plugins/input/pprof_scrape/job.h \
	plugins/input/pprof_scrape/json_str.h \
	plugins/input/pprof_scrape/kube.h \
	plugins/input/pprof_scrape/kube_auth.c plugins/input/pprof_scrape/kube_auth.h \
	plugins/input/pprof_scrape/kube_doc.c plugins/input/pprof_scrape/kube_doc.h \
	plugins/input/pprof_scrape/kube_page.c plugins/input/pprof_scrape/kube_page.h \
	plugins/input/pprof_scrape/kube_resources.c \
	plugins/input/pprof_scrape/kube_roles.c plugins/input/pprof_scrape/kube_watch.c \
	plugins/input/pprof_scrape/kube_selector.c plugins/input/pprof_scrape/kube_selector.h \
	plugins/input/pprof_scrape/kubernetes_sd.c \
	plugins/input/pprof_scrape/labels.c plugins/input/pprof_scrape/labels.h \
	plugins/input/pprof_scrape/labelset.c plugins/input/pprof_scrape/labelset.h \
	plugins/input/pprof_scrape/loop.c plugins/input/pprof_scrape/loop.h \
	plugins/input/pprof_scrape/memory.h \
	plugins/input/pprof_scrape/meters.c plugins/input/pprof_scrape/meters.h \
	plugins/input/pprof_scrape/names.c plugins/input/pprof_scrape/names.h \
	plugins/input/pprof_scrape/options.c plugins/input/pprof_scrape/options.h \
	plugins/input/pprof_scrape/query.c plugins/input/pprof_scrape/query.h \
	plugins/input/pprof_scrape/room.c plugins/input/pprof_scrape/room.h \
	plugins/input/pprof_scrape/scrape.c plugins/input/pprof_scrape/scrape.h \
	plugins/input/pprof_scrape/static_sd.c \
	plugins/input/pprof_scrape/sync.c plugins/input/pprof_scrape/sync.h \
	plugins/input/pprof_scrape/target.c plugins/input/pprof_scrape/target.h \
	plugins/input/pprof_scrape/texts.c plugins/input/pprof_scrape/texts.h

if PLUGIN_INPUT_PPROF_SCRAPE
pkglib_LTLIBRARIES += plugins/input_pprof_scrape.la
endif
plugins_input_pprof_scrape_la_SOURCES = $(pprof_scrape_pure) plugins/input/pprof_scrape/pprof_scrape.c
plugins_input_pprof_scrape_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS) $(CARES_CFLAGS) $(NETTLE_CFLAGS)
plugins_input_pprof_scrape_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_input_pprof_scrape_la_LIBADD = $(BASE_LA) $(YAML_LIBS) $(JANSSON_LIBS) $(CARES_LIBS) $(NETTLE_LIBS)
