# SPDX-License-Identifier: Apache-2.0
# bpf/local.mk - BPF programs, compiled by clang and turned into a C header by bpftool; built, never committed
#
# Whoever includes "bpf/sampler.skel.h" names it as a prerequisite of its objects (see plugins/input/ebpf/local.mk).
# bpftool's own linking pass drops the DWARF and keeps the BTF. bpf_programs are the *.bpf.c, bpf_wire the headers.
bpf_programs = bpf/sampler.bpf.c
bpf_wire = bpf/arch.bpf.h bpf/sampler.h bpf/step.h bpf/tables.h bpf/types.bpf.h bpf/unwind.h bpf/unwind_arch.h \
	bpf/walk.bpf.h
EXTRA_DIST += $(bpf_programs) $(bpf_wire)

AM_V_BPF = $(am__v_BPF_@AM_V@)
am__v_BPF_ = $(am__v_BPF_@AM_DEFAULT_V@)
am__v_BPF_0 = @echo "  BPF     " $@;
am__v_BPF_1 =

if PLUGIN_INPUT_EBPF
SUFFIXES = .bpf.c .bpf.o .skel.h
.bpf.c.bpf.o:
	$(AM_V_BPF)$(MKDIR_P) $(@D) && $(BPF_CLANG) -target bpf -g -O2 -std=gnu17 -Wall -Wextra $(WERROR_CFLAGS) \
		$(BPF_CPPFLAGS) -I$(top_srcdir) $(BPF_CFLAGS) -c $< -o $@.tmp && \
	$(BPFTOOL) gen object $@ $@.tmp && rm -f $@.tmp
.bpf.o.skel.h:
	$(AM_V_GEN)$(BPFTOOL) gen skeleton $< > $@.tmp && mv $@.tmp $@
bpf/sampler.bpf.o: $(bpf_wire)
endif
CLEANFILES += bpf/*.bpf.o bpf/*.bpf.o.tmp bpf/*.skel.h bpf/*.skel.h.tmp
