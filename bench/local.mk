# SPDX-License-Identifier: Apache-2.0
# bench/local.mk - programs that print one figure a line as JSON; `make bench` builds them
#
#	bench_programs += bench/bench_codec
#	bench_bench_codec_LDADD = $(CODEC_LA)
bench_programs =
noinst_HEADERS += bench/figure.h bench/heap.h
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)
bench: $(bench_programs)
.PHONY: bench
EXTRA_DIST += bench/pages.mjs bench/peers/package-lock.json bench/peers/package.json bench/peers/peers.mjs bench/ui
EXTRA_DIST += bench/heaps/go.mod bench/heaps/main.go bench/kubernetes bench/scrape
EXTRA_DIST += bench/wire bench/wired/go.mod bench/wired/go.sum bench/wired/main.go
EXTRA_DIST += bench/lib/daemon.py bench/lib/engines.py bench/lib/judge.awk bench/lib/measure.sh bench/lib/workloads.sh bench/record bench/sampler bench/startup.sh bench/store
EXTRA_DIST += bench/data/recorded.batch.zst bench/data/recorded.txt

bench_programs += bench/bench_batch
bench_bench_batch_LDADD = $(CODEC_LA)

bench_programs += bench/bench_path
bench_bench_path_LDADD = $(PIPELINE_LA)

bench_programs += bench/bench_spool
bench_bench_spool_SOURCES = bench/bench_spool.c bench/source.h bench/source_again.c bench/source_fleet.c \
	bench/fleet.c bench/fleet.h tests/unit/random.h
bench_bench_spool_LDADD = $(PIPELINE_LA) -lm

bench_programs += bench/bench_pprof
bench_bench_pprof_SOURCES = bench/bench_pprof.c plugins/input/pprof_scrape/delta.c plugins/input/pprof_scrape/delta.h
bench_bench_pprof_LDADD = $(CODEC_LA)

bench_programs += bench/bench_http
bench_bench_http_SOURCES = bench/bench_http.c $(HTTP_PEER)
bench_bench_http_LDADD = $(NET_LA)

bench_programs += bench/bench_symbols
bench_bench_symbols_SOURCES = bench/bench_symbols.c plugins/input/perf_map/map.c plugins/input/perf_map/map.h
bench_bench_symbols_LDADD = $(SYMBOLIZE_LA)

bench_programs += bench/bench_memory
bench_bench_memory_SOURCES = bench/bench_memory.c \
	tests/contract/storage_host.c tests/contract/storage_host.h tests/unit/random.h
bench_bench_memory_LDADD = $(CODEC_LA) $(CONFIG_LA) -ldl

bench_programs += bench/bench_query
bench_bench_query_SOURCES = bench/bench_query.c bench/crowd.c bench/crowd.h bench/source.h tests/unit/random.h
bench_bench_query_LDADD = $(QUERY_LA)

bench_programs += bench/bench_unwind
bench_bench_unwind_SOURCES = bench/bench_unwind.c
bench_bench_unwind_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS) $(ELF_CFLAGS)
bench_bench_unwind_LDADD = $(EBPF_UNWIND_LA) $(DW_LIBS) $(ELF_LIBS)

FLEET_DAY = bench/fleet.c bench/fleet.h bench/fleet_day.c bench/fleet_day.h tests/unit/random.h
bench_programs += bench/bench_block
bench_bench_block_SOURCES = bench/bench_block.c $(FLEET_DAY)
bench_bench_block_LDADD = $(LOCAL_STORE_LA) -lm

bench_programs += bench/bench_answer
bench_bench_answer_SOURCES = bench/bench_answer.c $(FLEET_DAY) \
	tests/contract/storage_host.c tests/contract/storage_host.h
bench_bench_answer_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) -ldl -lm

bench_programs += bench/bench_labels
bench_bench_labels_SOURCES = bench/bench_labels.c tests/unit/random.h \
	tests/contract/storage_host.c tests/contract/storage_host.h
bench_bench_labels_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) -ldl

RECORDED = bench/recorded.c bench/recorded.h
bench_programs += bench/pack_recorded
bench_pack_recorded_SOURCES = bench/pack_recorded.c $(RECORDED) tests/unit/random.h
bench_pack_recorded_LDADD = $(CODEC_LA) $(ZSTD_LIBS)

bench_programs += bench/bench_store
bench_bench_store_SOURCES = bench/bench_store.c bench/source.h bench/source_again.c bench/source_fleet.c \
	bench/source_recorded.c bench/fleet.c bench/fleet.h $(RECORDED) tests/unit/random.h \
	tests/contract/storage_host.c tests/contract/storage_host.h
bench_bench_store_LDADD = $(LOCAL_STORE_LA) $(CODEC_LA) $(CONFIG_LA) -ldl -lm

bench_programs += bench/bench_servers
bench_bench_servers_SOURCES = bench/bench_servers.c bench/jobs.c bench/jobs.h bench/source.h tests/unit/random.h \
	tests/contract/storage_host.c tests/contract/storage_host.h
bench_bench_servers_LDADD = $(QUERY_LA) $(CODEC_LA) $(CONFIG_LA) -ldl -lm

# Not a bench itself: bench/ui runs it.
bench_programs += bench/pages_store
bench_pages_store_SOURCES = bench/pages_store.c bench/crowd.c bench/crowd.h bench/source.h bench/source_recorded.c \
	$(RECORDED) tests/unit/random.h tests/contract/storage_host.c tests/contract/storage_host.h
bench_pages_store_LDADD = $(CODEC_LA) $(CONFIG_LA) $(ZSTD_LIBS) -ldl
