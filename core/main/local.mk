# SPDX-License-Identifier: Apache-2.0
# core/main/local.mk - arguments, signals, and the object graph: the program itself
bin_PROGRAMS += decima
decima_SOURCES = \
	core/main/args.c core/main/args.h \
	core/main/ask.c core/main/ask.h \
	core/main/check_verb.c \
	core/main/clock_watch.c core/main/clock_watch.h \
	core/main/complete.c core/main/complete.h \
	core/main/complete_verb.c \
	core/main/conf_text.c core/main/conf_text.h \
	core/main/convert_verb.c \
	core/main/daemon.c core/main/daemon.h \
	core/main/debuginfo_send.c core/main/debuginfo_send.h \
	core/main/debuginfo_upload.c \
	core/main/debuginfo_verb.c \
	core/main/debuginfod.c core/main/debuginfod.h \
	core/main/elf_walk.c core/main/elf_walk.h \
	core/main/foreign.c core/main/foreign.h \
	core/main/frames_workers.c core/main/frames_workers.h \
	core/main/generate.c core/main/generate.h \
	core/main/graph.c core/main/graph.h core/main/graph_inside.h core/main/reload.c \
	core/main/log_setup.c core/main/log_setup.h \
	core/main/main.c \
	core/main/offline.c core/main/offline.h \
	core/main/output_file.c core/main/output_file.h \
	core/main/part.c core/main/part.h \
	core/main/plan.c core/main/plan.h core/main/plan_effective.c \
	core/main/plugins_verb.c \
	core/main/interrupt.c core/main/interrupt.h \
	core/main/progress.c core/main/progress.h \
	core/main/query_verbs.c core/main/query_verbs.h \
	core/main/record_verb.c \
	core/main/reduced.c core/main/reduced.h \
	core/main/run_verb.c \
	core/main/separate.c core/main/separate.h \
	core/main/services.c core/main/services.h \
	core/main/gate.c core/main/gate.h \
	core/main/server_settings.c core/main/server_settings.h \
	core/main/settings.c core/main/settings.h \
	core/main/source.c core/main/source.h \
	core/main/store_dir.c core/main/store_dir.h \
	core/main/store_verbs.c \
	core/main/symbol_metrics.c core/main/symbol_metrics.h \
	core/main/verbs.c core/main/verbs.h
decima_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGINDIR='"$(pkglibdir)"'
decima_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
decima_LDADD = $(API_LA) $(BROKER_LA)

# Manuals are what the program says of itself, so it has to run here.
if !CROSS_COMPILING
man1_MANS = docs/decima.1 docs/decima-plugin-check.1
man5_MANS = docs/decima.yaml.5
generated_docs = $(man1_MANS) $(man5_MANS)
CLEANFILES += $(generated_docs)

docs/decima.1: decima$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./decima$(EXEEXT) generate man >$@.tmp && mv $@.tmp $@
docs/decima-plugin-check.1: decima-plugin-check$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./decima-plugin-check$(EXEEXT) --man >$@.tmp && mv $@.tmp $@
# Of the plugins that are installed: beside them may stand a test's, of this build or one before.
docs/decima.yaml.5: decima$(EXEEXT) $(pkglib_LTLIBRARIES)
	$(AM_V_GEN)rm -rf $(@D)/plugins && $(MKDIR_P) $(@D)/plugins && \
	for la in $(pkglib_LTLIBRARIES:.la=.so); do cp plugins/.libs/$${la##*/} $(@D)/plugins/ || exit 1; done && \
	./decima$(EXEEXT) generate man5 --plugin-path $(abs_builddir)/$(@D)/plugins >$@.tmp && \
	rm -rf $(@D)/plugins && mv $@.tmp $@
endif
