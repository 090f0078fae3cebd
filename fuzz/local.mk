# SPDX-License-Identifier: Apache-2.0
# fuzz/local.mk - fuzz targets
#
# fuzz/fuzz_NAME.c defines LLVMFuzzerTestOneInput; its corpus is fuzz/corpus/NAME/. `make check` replays the corpus
# under whatever compiler; configured with --enable-fuzzing the same program is a libFuzzer one. To add one:
#
#	fuzz_programs += fuzz/fuzz_pprof
#	fuzz_fuzz_pprof_SOURCES = fuzz/fuzz_pprof.c $(FUZZ_MAIN)
#	fuzz_fuzz_pprof_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)
#
# and a line in fuzz/floors.
fuzz_programs =
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)
if FUZZING
FUZZ_MAIN =
else
FUZZ_MAIN = fuzz/replay_main.c
endif
EXTRA_DIST += fuzz/corpus fuzz/floors

fuzz_programs += fuzz/fuzz_wire
fuzz_fuzz_wire_SOURCES = fuzz/fuzz_wire.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_wire_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)
