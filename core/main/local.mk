# SPDX-License-Identifier: Apache-2.0
# core/main/local.mk - arguments, signals, and the object graph: the program itself
#
# bin_PROGRAMS += decima
# decima_SOURCES = core/main/main.c ...
# decima_LDADD = $(API_LA) $(CAPNG_LIBS)
