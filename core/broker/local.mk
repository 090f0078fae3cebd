# SPDX-License-Identifier: Apache-2.0
# core/broker/local.mk - processes that keep rights and hostile bytes apart
noinst_LTLIBRARIES += core/broker/libbroker.la
core_broker_libbroker_la_SOURCES = \
	core/broker/broker.c core/broker/broker.h \
	core/broker/broker_process.c core/broker/broker_process.h \
	core/broker/channel.c core/broker/channel.h \
	core/broker/direct.c core/broker/direct.h \
	core/broker/forker.c core/broker/forker.h \
	core/broker/rights.c core/broker/rights.h \
	core/broker/sandbox.c core/broker/sandbox.h \
	core/broker/turns.c core/broker/turns.h \
	core/broker/worker.c core/broker/worker.h
core_broker_libbroker_la_CFLAGS = $(AM_CFLAGS)

BROKER_LA = core/broker/libbroker.la $(BASE_LA)
