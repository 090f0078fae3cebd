# SPDX-License-Identifier: Apache-2.0
# plugins/output/delivery/local.mk - what outputs that send share
noinst_LTLIBRARIES += plugins/output/delivery/libdelivery.la
plugins_output_delivery_libdelivery_la_SOURCES = \
	plugins/output/delivery/delivery.c plugins/output/delivery/delivery.h \
	plugins/output/delivery/format.c plugins/output/delivery/format.h \
	plugins/output/delivery/legacy_name.c plugins/output/delivery/legacy_name.h \
	plugins/output/delivery/name.c plugins/output/delivery/name.h \
	plugins/output/delivery/profile_id.h \
	plugins/output/delivery/series_label.h \
	plugins/output/delivery/resume.h \
	plugins/output/delivery/rpc_status.c plugins/output/delivery/rpc_status.h \
	plugins/output/delivery/flights.c plugins/output/delivery/flights.h \
	plugins/output/delivery/sender.c plugins/output/delivery/sender.h \
	plugins/output/delivery/uploads.c plugins/output/delivery/uploads.h
plugins_output_delivery_libdelivery_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS) $(NETTLE_CFLAGS)

DELIVERY_LA = plugins/output/delivery/libdelivery.la $(DEBUGINFO_LA) $(BASE_LA) $(NETTLE_LIBS)
