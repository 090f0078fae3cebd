# SPDX-License-Identifier: Apache-2.0
# core/broker/local.mk - processes that keep rights and hostile bytes apart
noinst_LTLIBRARIES += core/broker/libbroker.la
core_broker_libbroker_la_SOURCES = \
	core/broker/channel.c core/broker/channel.h \
	core/broker/forker.c core/broker/forker.h \
	core/broker/sandbox.c core/broker/sandbox.h \
	core/broker/worker.c core/broker/worker.h
core_broker_libbroker_la_CFLAGS = $(AM_CFLAGS)

BROKER_LA = core/broker/libbroker.la $(BASE_LA)
