# SPDX-License-Identifier: Apache-2.0
# core/main/local.mk - arguments, signals, and the object graph: the program itself
bin_PROGRAMS += decima
decima_SOURCES = \
	core/main/args.c core/main/args.h \
	core/main/ask.c core/main/ask.h \
	core/main/check_verb.c \
	core/main/conf_text.c core/main/conf_text.h \
	core/main/convert_verb.c \
	core/main/daemon.c core/main/daemon.h \
	core/main/generate.c core/main/generate.h \
	core/main/graph.c core/main/graph.h \
	core/main/log_setup.c core/main/log_setup.h \
	core/main/main.c \
	core/main/offline.c core/main/offline.h \
	core/main/part.c core/main/part.h \
	core/main/plan.c core/main/plan.h \
	core/main/plugins_verb.c \
	core/main/query_verbs.c core/main/query_verbs.h \
	core/main/record_verb.c \
	core/main/run_verb.c \
	core/main/services.c core/main/services.h \
	core/main/settings.c core/main/settings.h \
	core/main/source.c core/main/source.h \
	core/main/verbs.c core/main/verbs.h
decima_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGINDIR='"$(pkglibdir)"'
decima_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
decima_LDADD = $(API_LA)
