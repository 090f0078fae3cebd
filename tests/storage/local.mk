# SPDX-License-Identifier: Apache-2.0
# tests/storage/local.mk - the local store against a disk that loses what it may
#
# CRASH_CYCLES=1000000 tests/storage/test_crash looks longer than `make check` does.

# Holds any storage plugin against memory; conformance.sh says which, and with what.
check_PROGRAMS += tests/storage/conformance
tests_storage_conformance_SOURCES = \
	tests/storage/conform/bound.c \
	tests/storage/conform/conform.h \
	tests/storage/conform/conformance.c \
	tests/storage/conform/kills.c \
	tests/storage/conform/moments.c \
	tests/storage/conform/recorded.c \
	tests/storage/conform/refusals.c \
	tests/storage/conform/steps.c tests/storage/conform/steps.h \
	tests/storage/conform/trial.c tests/storage/conform/trial.h \
	tests/contract/storage_answers.c tests/contract/storage_answers.h \
	tests/contract/storage_host.c tests/contract/storage_host.h \
	tests/contract/storage_random.c tests/contract/storage_random.h \
	tests/unit/random_batch.c tests/unit/random_batch.h tests/unit/random.h \
	tests/unit/series_batch.c tests/unit/series_batch.h $(RECORDED)
tests_storage_conformance_LDADD = $(CODEC_LA) $(CONFIG_LA) $(ZSTD_LIBS) -ldl
script_tests += tests/storage/conformance.sh

# A set like the one that the conformance program reads, of texts that are known.
check_PROGRAMS += bench/pack_recorded
script_tests += tests/storage/recorded.sh

# Hours of a store's life, by a program of bench/.
check_PROGRAMS += bench/bench_store
script_tests += tests/storage/soak.sh

# For tests/e2e/store_power.sh.
check_PROGRAMS += tests/storage/power_cut
tests_storage_power_cut_SOURCES = tests/storage/power_cut.c tests/unit/random.h
tests_storage_power_cut_LDADD = $(BASE_LA)
check_LTLIBRARIES += tests/storage/no_sync.la
tests_storage_no_sync_la_SOURCES = tests/storage/no_sync.c
tests_storage_no_sync_la_CFLAGS = $(AM_CFLAGS)
tests_storage_no_sync_la_LDFLAGS = $(LDFLAGS_PLUGIN) -rpath $(pkglibdir)

STORE_SIM = tests/storage/ledger.c tests/storage/ledger.h tests/storage/sim_disk.c tests/storage/sim_disk.h \
	tests/storage/tiny_store.c tests/storage/tiny_store.h tests/unit/random.h

unit_tests += tests/storage/test_crash
tests_storage_test_crash_SOURCES = tests/storage/test_crash.c \
	tests/storage/crash_check.c tests/storage/crash_check.h $(STORE_SIM)
tests_storage_test_crash_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_faults
tests_storage_test_faults_SOURCES = tests/storage/test_faults.c $(STORE_SIM) $(FAILMALLOC)
tests_storage_test_faults_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_faults_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_crash_unchecked
tests_storage_test_crash_unchecked_SOURCES = tests/storage/test_crash_unchecked.c \
	tests/storage/crash_check.c tests/storage/crash_check.h $(STORE_SIM)
tests_storage_test_crash_unchecked_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_log_frames
tests_storage_test_log_frames_SOURCES = tests/storage/test_log_frames.c $(FAILMALLOC)
tests_storage_test_log_frames_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_log_frames_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_replay
tests_storage_test_replay_SOURCES = tests/storage/test_replay.c tests/storage/sim_disk.c tests/storage/sim_disk.h $(FAILMALLOC)
tests_storage_test_replay_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_replay_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_manifest
tests_storage_test_manifest_SOURCES = tests/storage/test_manifest.c tests/storage/sim_disk.c tests/storage/sim_disk.h $(FAILMALLOC)
tests_storage_test_manifest_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_manifest_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_local_files
tests_storage_test_local_files_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_log_file
tests_storage_test_log_file_SOURCES = tests/storage/test_log_file.c tests/storage/sim_disk.c tests/storage/sim_disk.h $(FAILMALLOC)
tests_storage_test_log_file_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_log_file_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

BLOCK_ROWS = tests/storage/block_rows.c tests/storage/block_rows.h tests/unit/random_chunk.c tests/unit/random.h
unit_tests += tests/storage/test_compact
tests_storage_test_compact_SOURCES = tests/storage/test_compact.c $(BLOCK_ROWS) $(FAILMALLOC)
tests_storage_test_compact_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_compact_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_block_file
tests_storage_test_block_file_SOURCES = tests/storage/test_block_file.c tests/storage/sim_disk.c tests/storage/sim_disk.h \
	$(BLOCK_ROWS) $(FAILMALLOC)
tests_storage_test_block_file_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_block_file_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_stored
tests_storage_test_stored_SOURCES = tests/storage/test_stored.c $(BLOCK_ROWS) $(FAILMALLOC)
tests_storage_test_stored_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_stored_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_compact_plan
tests_storage_test_compact_plan_SOURCES = tests/storage/test_compact_plan.c tests/unit/random.h $(FAILMALLOC)
tests_storage_test_compact_plan_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_compact_plan_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_retain
tests_storage_test_retain_SOURCES = tests/storage/test_retain.c $(BLOCK_ROWS) $(FAILMALLOC)
tests_storage_test_retain_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_retain_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

STORE_TEST = tests/storage/evict.c tests/storage/evict.h tests/storage/store_bench.c tests/storage/store_bench.h \
	tests/storage/store_content.c tests/storage/store_content.h \
	tests/storage/store_subject.c tests/storage/store_subject.h \
	tests/contract/storage_host.c tests/contract/storage_host.h tests/storage/crash_check.c tests/storage/crash_check.h \
	$(BLOCK_ROWS) $(STORE_SIM) $(RANDOM_BATCH) $(FAILMALLOC)
unit_tests += tests/storage/test_store
tests_storage_test_store_SOURCES = tests/storage/test_store.c $(STORE_TEST)
tests_storage_test_store_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_store_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_damaged_copy
tests_storage_test_damaged_copy_SOURCES = tests/storage/test_damaged_copy.c $(STORE_TEST)
tests_storage_test_damaged_copy_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_damaged_copy_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_rescue
tests_storage_test_rescue_SOURCES = tests/storage/test_rescue.c $(STORE_TEST)
tests_storage_test_rescue_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_rescue_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_check
tests_storage_test_check_SOURCES = tests/storage/test_check.c $(STORE_TEST)
tests_storage_test_check_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_check_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_seen
tests_storage_test_seen_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_lost_frames
tests_storage_test_lost_frames_SOURCES = tests/storage/test_lost_frames.c $(STORE_TEST)
tests_storage_test_lost_frames_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_lost_frames_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_lacks
tests_storage_test_lacks_SOURCES = tests/storage/test_lacks.c tests/storage/counter.h \
	tests/contract/storage_answers.c tests/contract/storage_answers.h $(STORE_TEST)
tests_storage_test_lacks_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_lacks_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_expire
tests_storage_test_expire_SOURCES = tests/storage/test_expire.c $(STORE_TEST)
tests_storage_test_expire_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_expire_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_eras
tests_storage_test_eras_SOURCES = tests/storage/test_eras.c tests/unit/series_batch.c tests/unit/series_batch.h $(STORE_TEST)
tests_storage_test_eras_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_eras_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

# A block is lost while it is read; its pages as the host loses them.
unit_tests += tests/storage/test_gaps
tests_storage_test_gaps_SOURCES = tests/storage/test_gaps.c tests/storage/counter.h core/plugin/mapped.c \
	core/plugin/mapped.h $(STORE_TEST)
tests_storage_test_gaps_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_gaps_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_tend
tests_storage_test_tend_SOURCES = tests/storage/test_tend.c $(STORE_TEST)
tests_storage_test_tend_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_tend_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_removal
tests_storage_test_removal_SOURCES = tests/storage/test_removal.c $(STORE_TEST)
tests_storage_test_removal_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_removal_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_rework
tests_storage_test_rework_SOURCES = tests/storage/test_rework.c $(STORE_TEST)
tests_storage_test_rework_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_rework_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

# Every call to the disk and every allocation of every operation fails in turn, held against memory.
unit_tests += tests/storage/test_sweep
tests_storage_test_sweep_SOURCES = tests/storage/test_sweep.c tests/storage/evict.c tests/storage/evict.h \
	tests/contract/storage_answers.c tests/contract/storage_answers.h \
	tests/contract/storage_host.c tests/contract/storage_host.h \
	tests/storage/sim_disk.c tests/storage/sim_disk.h tests/unit/random.h $(FAILMALLOC)
tests_storage_test_sweep_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_sweep_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

# The directory read beside a writer.
unit_tests += tests/storage/test_reader
tests_storage_test_reader_SOURCES = tests/storage/test_reader.c $(STORE_TEST)
tests_storage_test_reader_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_reader_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

# The directory copied by its store, while the disk fails or the power goes.
unit_tests += tests/storage/test_backup
tests_storage_test_backup_SOURCES = tests/storage/test_backup.c $(STORE_TEST)
tests_storage_test_backup_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_backup_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

# The questions over streams and blocks of several eras, held against memory.
unit_tests += tests/storage/test_answer
tests_storage_test_answer_SOURCES = tests/storage/test_answer.c tests/storage/counter.h \
	tests/storage/mosaic.c tests/storage/mosaic.h \
	tests/contract/storage_answers.c tests/contract/storage_answers.h \
	tests/contract/storage_host.c tests/contract/storage_host.h \
	tests/contract/storage_random.c tests/contract/storage_random.h \
	$(RANDOM_BATCH) $(FAILMALLOC)
tests_storage_test_answer_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_answer_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_crew
tests_storage_test_crew_SOURCES = tests/storage/test_crew.c
tests_storage_test_crew_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_sums
tests_storage_test_sums_SOURCES = tests/storage/test_sums.c tests/unit/random.h $(FAILMALLOC)
tests_storage_test_sums_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_sums_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

EXTRA_DIST += tests/golden
unit_tests += tests/storage/test_golden
tests_storage_test_golden_SOURCES = tests/storage/test_golden.c tests/storage/sim_disk.c tests/storage/sim_disk.h $(BLOCK_ROWS)
tests_storage_test_golden_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/storage/test_golden_answers
tests_storage_test_golden_answers_SOURCES = tests/storage/test_golden_answers.c \
	tests/contract/storage_answers.c tests/contract/storage_answers.h \
	tests/contract/storage_host.c tests/contract/storage_host.h \
	tests/contract/storage_random.c tests/contract/storage_random.h $(RANDOM_BATCH)
tests_storage_test_golden_answers_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_drain
tests_storage_test_drain_SOURCES = tests/storage/test_drain.c \
	tests/contract/storage_host.c tests/contract/storage_host.h $(RANDOM_BATCH)
tests_storage_test_drain_LDADD = $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_local_threads
tests_storage_test_local_threads_SOURCES = tests/storage/test_local_threads.c \
	tests/contract/storage_host.c tests/contract/storage_host.h
tests_storage_test_local_threads_LDADD = $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/storage/test_labels
tests_storage_test_labels_SOURCES = tests/storage/test_labels.c \
	tests/contract/storage_host.c tests/contract/storage_host.h tests/unit/random.h $(FAILMALLOC)
tests_storage_test_labels_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_storage_test_labels_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl
