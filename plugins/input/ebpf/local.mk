# SPDX-License-Identifier: Apache-2.0
# plugins/input/ebpf/local.mk - the eBPF sampler
#
# libpure is what needs neither libbpf nor rights: unit tests link it.
noinst_LTLIBRARIES += plugins/input/ebpf/libpure.la
plugins_input_ebpf_libpure_la_SOURCES = \
	plugins/input/ebpf/accounts.c plugins/input/ebpf/accounts.h \
	plugins/input/ebpf/aggregate.c plugins/input/ebpf/aggregate.h \
	plugins/input/ebpf/announced.c plugins/input/ebpf/announced.h \
	plugins/input/ebpf/balance.c plugins/input/ebpf/balance.h \
	plugins/input/ebpf/background.c plugins/input/ebpf/background.h \
	plugins/input/ebpf/budget.c plugins/input/ebpf/budget.h \
	plugins/input/ebpf/cgroup.c plugins/input/ebpf/cgroup.h \
	plugins/input/ebpf/cgroups.c plugins/input/ebpf/cgroups.h \
	plugins/input/ebpf/containers.c plugins/input/ebpf/containers.h \
	plugins/input/ebpf/cost.h \
	plugins/input/ebpf/cpu_times.c plugins/input/ebpf/cpu_times.h \
	plugins/input/ebpf/cpus.c plugins/input/ebpf/cpus.h \
	plugins/input/ebpf/executables.c plugins/input/ebpf/executables.h \
	plugins/input/ebpf/family.c plugins/input/ebpf/family.h \
	plugins/input/ebpf/files.c plugins/input/ebpf/files.h \
	plugins/input/ebpf/flush.c plugins/input/ebpf/flush.h \
	plugins/input/ebpf/history.c plugins/input/ebpf/history.h \
	plugins/input/ebpf/identity.c plugins/input/ebpf/identity.h \
	plugins/input/ebpf/inode.c plugins/input/ebpf/inode.h \
	plugins/input/ebpf/json_tags.c plugins/input/ebpf/json_tags.h \
	plugins/input/ebpf/kernel.c plugins/input/ebpf/kernel.h \
	plugins/input/ebpf/ksymbols.c plugins/input/ebpf/ksymbols.h \
	plugins/input/ebpf/kubernetes.c plugins/input/ebpf/kubernetes.h \
	plugins/input/ebpf/labels.c plugins/input/ebpf/labels.h \
	plugins/input/ebpf/locate.c plugins/input/ebpf/locate.h \
	plugins/input/ebpf/maps.c plugins/input/ebpf/maps.h \
	plugins/input/ebpf/pace.c plugins/input/ebpf/pace.h \
	plugins/input/ebpf/perf_record.c plugins/input/ebpf/perf_record.h \
	plugins/input/ebpf/probe.c plugins/input/ebpf/probe.h \
	plugins/input/ebpf/pulse.c plugins/input/ebpf/pulse.h \
	plugins/input/ebpf/process.c plugins/input/ebpf/process.h plugins/input/ebpf/process_table.h \
	plugins/input/ebpf/process_image.c plugins/input/ebpf/process_image.h \
	plugins/input/ebpf/procfs.c plugins/input/ebpf/procfs.h \
	plugins/input/ebpf/silence.c plugins/input/ebpf/silence.h \
	plugins/input/ebpf/record.c plugins/input/ebpf/record.h \
	plugins/input/ebpf/settings.c plugins/input/ebpf/settings.h \
	plugins/input/ebpf/tags.c plugins/input/ebpf/tags.h \
	plugins/input/ebpf/texts.c plugins/input/ebpf/texts.h \
	plugins/input/ebpf/thread.c plugins/input/ebpf/thread.h \
	plugins/input/ebpf/trail.c plugins/input/ebpf/trail.h \
	plugins/input/ebpf/wall.c plugins/input/ebpf/wall.h \
	plugins/input/ebpf/window.c plugins/input/ebpf/window.h
plugins_input_ebpf_libpure_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(NETTLE_CFLAGS)
EBPF_PURE_LA = plugins/input/ebpf/libpure.la $(JANSSON_LIBS) $(NETTLE_LIBS)

# tables/ puts unwind tables where programs read them; unwinder.c feeds it.
noinst_LTLIBRARIES += plugins/input/ebpf/libtables.la
plugins_input_ebpf_libtables_la_SOURCES = \
	plugins/input/ebpf/tables/build.c plugins/input/ebpf/tables/state.h \
	plugins/input/ebpf/tables/dictionary.c plugins/input/ebpf/tables/dictionary.h \
	plugins/input/ebpf/tables/heap.c plugins/input/ebpf/tables/heap.h \
	plugins/input/ebpf/tables/native.c plugins/input/ebpf/tables/native.h \
	plugins/input/ebpf/tables/pages.c plugins/input/ebpf/tables/pages.h \
	plugins/input/ebpf/tables/tables.c plugins/input/ebpf/tables/tables.h \
	plugins/input/ebpf/unwinder.c plugins/input/ebpf/unwinder.h

# unwind/ makes tables of rules from ELF files, and is on its own.
ebpf_unwind = \
	plugins/input/ebpf/unwind/bare.c plugins/input/ebpf/unwind/bare.h \
	plugins/input/ebpf/unwind/build.c plugins/input/ebpf/unwind/build.h \
	plugins/input/ebpf/unwind/bytes.h \
	plugins/input/ebpf/unwind/cache.c plugins/input/ebpf/unwind/cache.h \
	plugins/input/ebpf/unwind/cache_file.c plugins/input/ebpf/unwind/cache_file.h \
	plugins/input/ebpf/unwind/cfi.c plugins/input/ebpf/unwind/cfi.h \
	plugins/input/ebpf/unwind/cie.c plugins/input/ebpf/unwind/cie.h \
	plugins/input/ebpf/unwind/expression.c plugins/input/ebpf/unwind/expression.h \
	plugins/input/ebpf/unwind/golang.c plugins/input/ebpf/unwind/golang.h \
	plugins/input/ebpf/unwind/image.c plugins/input/ebpf/unwind/image.h \
	plugins/input/ebpf/unwind/pclntab.c plugins/input/ebpf/unwind/pclntab.h \
	plugins/input/ebpf/unwind/pointer.c plugins/input/ebpf/unwind/pointer.h \
	plugins/input/ebpf/unwind/program.c plugins/input/ebpf/unwind/program.h \
	plugins/input/ebpf/unwind/rows.c plugins/input/ebpf/unwind/rows.h \
	plugins/input/ebpf/unwind/rules.c plugins/input/ebpf/unwind/rules.h \
	plugins/input/ebpf/unwind/state.c plugins/input/ebpf/unwind/state.h \
	plugins/input/ebpf/unwind/stubs.c plugins/input/ebpf/unwind/stubs.h \
	plugins/input/ebpf/unwind/x86.c plugins/input/ebpf/unwind/x86.h
noinst_LTLIBRARIES += plugins/input/ebpf/libunwind.la
plugins_input_ebpf_libunwind_la_SOURCES = $(ebpf_unwind)
EBPF_UNWIND_LA = plugins/input/ebpf/libunwind.la $(BASE_LA) $(DEFLATE_LIBS) $(ZSTD_LIBS)
EBPF_TABLES_LA = plugins/input/ebpf/libtables.la $(EBPF_UNWIND_LA) $(EBPF_PURE_LA)

# A sum of what makes tables, so that those on disk that another compiler made are not taken for this one's.
ebpf_unwind_version = plugins/input/ebpf/unwind/version.h
$(ebpf_unwind_version): $(ebpf_unwind) bpf/unwind.h bpf/unwind_arch.h plugins/input/ebpf/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sum=`for f in $(ebpf_unwind) bpf/unwind.h bpf/unwind_arch.h; do \
		cat $(top_srcdir)/$$f || exit 1; done | cksum | cut -d' ' -f1` && \
	printf '/* Made from the sources of this folder. */\n#define UNWIND_SOURCES %su\n' $$sum >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += $(ebpf_unwind_version)
CLEANFILES += $(ebpf_unwind_version) $(ebpf_unwind_version).tmp
$(plugins_input_ebpf_libunwind_la_OBJECTS): $(ebpf_unwind_version)

if PLUGIN_INPUT_EBPF
pkglib_LTLIBRARIES += plugins/input_ebpf.la
endif
plugins_input_ebpf_la_SOURCES = \
	plugins/input/ebpf/attach.c plugins/input/ebpf/attach.h \
	plugins/input/ebpf/audit.c plugins/input/ebpf/audit.h \
	plugins/input/ebpf/guarded.h \
	plugins/input/ebpf/ebpf.c \
	plugins/input/ebpf/meters.c plugins/input/ebpf/meters.h \
	plugins/input/ebpf/reader.c plugins/input/ebpf/reader.h \
	plugins/input/ebpf/sampler.c plugins/input/ebpf/sampler.h \
	plugins/input/ebpf/sideband.c plugins/input/ebpf/sideband.h \
	plugins/input/ebpf/watch.c plugins/input/ebpf/watch.h
plugins_input_ebpf_la_CFLAGS = $(AM_CFLAGS) $(BPF_CFLAGS)
plugins_input_ebpf_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_input_ebpf_la_LIBADD = $(EBPF_TABLES_LA) $(BPF_LIBS)
$(plugins_input_ebpf_la_OBJECTS): bpf/sampler.skel.h

# A host for one input, which prints what that emits: for tests/e2e/ebpf_*.sh.
if PLUGIN_INPUT_EBPF
check_PROGRAMS += tests/host/sample
endif
tests_host_sample_SOURCES = tests/host/sample.c
tests_host_sample_LDADD = $(PLUGIN_LA)
EXTRA_DIST += tests/host/lib.sh \
	tests/programs/chain.c tests/programs/chain.go tests/programs/lines.go tests/programs/chain.js tests/programs/deep.js \
	tests/programs/chain32.c tests/programs/jit.c \
	tests/programs/mappings.c tests/programs/memfd.c tests/programs/swap.c \
	tests/programs/churn.c tests/programs/zombie.c tests/programs/bpf_updates.c
