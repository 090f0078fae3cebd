# SPDX-License-Identifier: Apache-2.0
# plugins/input/ebpf/local.mk - the eBPF sampler
#
# if PLUGIN_INPUT_EBPF
# pkglib_LTLIBRARIES += plugins/input_ebpf.la
# endif
# plugins_input_ebpf_la_SOURCES = plugins/input/ebpf/...
# plugins_input_ebpf_la_CFLAGS = $(AM_CFLAGS) $(BPF_CFLAGS)
# plugins_input_ebpf_la_LDFLAGS = $(LDFLAGS_PLUGIN)
# plugins_input_ebpf_la_LIBADD = $(BASE_LA) $(BPF_LIBS)
# $(plugins_input_ebpf_la_OBJECTS): bpf/sampler.skel.h
