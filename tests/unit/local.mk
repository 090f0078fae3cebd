# SPDX-License-Identifier: Apache-2.0
# tests/unit/local.mk - one cmocka program per module
#
# To add tests/unit/test_NAME.c, two lines (the source is found by its name):
#
#	unit_tests += tests/unit/test_buf
#	tests_unit_test_buf_LDADD = $(BASE_LA) $(UNIT_LIBS)
#
# More sources, for instance a plugin's that no library holds:
#
#	tests_unit_test_perf_map_SOURCES = tests/unit/test_perf_map.c plugins/input/perf_map/parse.c
#
# Allocations that fail on demand (tests/unit/failmalloc.h): add two more,
#
#	tests_unit_test_buf_SOURCES = tests/unit/test_buf.c $(FAILMALLOC)
#	tests_unit_test_buf_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
#
# Include "tests/unit/unit.h" instead of cmocka.h: it has skip_because("reason"). Files to open: tests/unit/paths.h.
# To run one: make tests/unit/test_buf && tests/unit/test_buf
UNIT_LIBS = $(CMOCKA_LIBS)
FAILMALLOC = tests/unit/failmalloc.c tests/unit/failmalloc.h
LDFLAGS_FAILMALLOC = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
unit_tests =
noinst_HEADERS += tests/unit/ebpf_processes.h tests/unit/folder.h tests/unit/no_metrics.h tests/unit/shell.h tests/unit/terminal.h tests/unit/trail_events.h \
	tests/unit/type_text.h tests/unit/unit.h

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
EXTRA_PROGRAMS += $(unit_tests)
endif

unit_tests += tests/unit/test_failmalloc
tests_unit_test_failmalloc_SOURCES = tests/unit/test_failmalloc.c $(FAILMALLOC)
tests_unit_test_failmalloc_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_failmalloc_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_stats
tests_unit_test_stats_SOURCES = tests/unit/test_stats.c $(FAILMALLOC)
tests_unit_test_stats_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_stats_LDADD = $(STATS_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_worker
tests_unit_test_worker_SOURCES = tests/unit/test_worker.c $(FAILMALLOC)
tests_unit_test_worker_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_worker_LDADD = $(BROKER_LA) $(UNIT_LIBS)

# What is done in a process of its own.
CHILD = tests/unit/child.c tests/unit/child.h
unit_tests += tests/unit/test_broker
tests_unit_test_broker_SOURCES = tests/unit/test_broker.c $(CHILD)
tests_unit_test_broker_LDADD = $(BROKER_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_error
tests_unit_test_error_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_le
tests_unit_test_le_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_mem
tests_unit_test_mem_SOURCES = tests/unit/test_mem.c $(FAILMALLOC)
tests_unit_test_mem_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_mem_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_region
tests_unit_test_region_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_str
tests_unit_test_str_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_url
tests_unit_test_url_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
tests_unit_test_url_LDADD = $(BASE_LA) $(CURL_LIBS) $(UNIT_LIBS)

unit_tests += tests/unit/test_arena
tests_unit_test_arena_SOURCES = tests/unit/test_arena.c $(FAILMALLOC)
tests_unit_test_arena_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_arena_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_buf
tests_unit_test_buf_SOURCES = tests/unit/test_buf.c $(FAILMALLOC)
tests_unit_test_buf_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_buf_LDADD = $(BASE_LA) $(JANSSON_LIBS) $(UNIT_LIBS)

unit_tests += tests/unit/test_vec
tests_unit_test_vec_SOURCES = tests/unit/test_vec.c $(FAILMALLOC)
tests_unit_test_vec_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_vec_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_hash
tests_unit_test_hash_SOURCES = tests/unit/test_hash.c $(FAILMALLOC)
tests_unit_test_hash_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_hash_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_intern
tests_unit_test_intern_SOURCES = tests/unit/test_intern.c $(FAILMALLOC)
tests_unit_test_intern_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_intern_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_units
tests_unit_test_units_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_clock
tests_unit_test_clock_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_dir
tests_unit_test_dir_SOURCES = tests/unit/test_dir.c $(CHILD)
tests_unit_test_dir_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_fd
tests_unit_test_fd_SOURCES = tests/unit/test_fd.c $(CHILD) $(FAILMALLOC)
# Every system call of a replacement can be made to fail.
tests_unit_test_fd_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC) \
	-Wl,--wrap=fsync,--wrap=fchmod,--wrap=rename,--wrap=mkostemp \
	-Wl,--wrap=write,--wrap=read,--wrap=pread,--wrap=close
tests_unit_test_fd_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_log
tests_unit_test_log_SOURCES = tests/unit/test_log.c core/main/log_setup.c core/main/log_setup.h $(FAILMALLOC)
tests_unit_test_log_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_log_LDADD = $(BASE_LA) $(JANSSON_LIBS) $(UNIT_LIBS)
noinst_HEADERS += tests/unit/random.h tests/unit/hopeless.h

NATIVE_BATCH = tests/unit/native_batch.c tests/unit/native_batch.h
KEPT_PROGRAM = tests/unit/kept_program.c tests/unit/kept_program.h $(NATIVE_BATCH)
unit_tests += tests/unit/test_depot
tests_unit_test_depot_SOURCES = tests/unit/test_depot.c $(KEPT_PROGRAM) $(FAILMALLOC)
tests_unit_test_depot_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC) -Wl,--wrap=readdir
tests_unit_test_depot_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_golden_symbols
tests_unit_test_golden_symbols_SOURCES = tests/unit/test_golden_symbols.c $(NATIVE_BATCH)
tests_unit_test_golden_symbols_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_upload
tests_unit_test_upload_SOURCES = tests/unit/test_upload.c $(KEPT_PROGRAM) $(FAILMALLOC)
tests_unit_test_upload_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC) -Wl,--wrap=elf__load
tests_unit_test_upload_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_offered
tests_unit_test_offered_SOURCES = tests/unit/test_offered.c $(KEPT_PROGRAM)
tests_unit_test_offered_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_uploads
tests_unit_test_uploads_SOURCES = tests/unit/test_uploads.c
tests_unit_test_uploads_LDADD = $(DELIVERY_LA) $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_upload_calls
tests_unit_test_upload_calls_SOURCES = tests/unit/test_upload_calls.c $(KEPT_PROGRAM)
tests_unit_test_upload_calls_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_names
tests_unit_test_names_SOURCES = tests/unit/test_names.c $(FAILMALLOC)
tests_unit_test_names_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC) -Wl,--wrap=hash__bytes
tests_unit_test_names_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_elf_symbols
tests_unit_test_elf_symbols_SOURCES = tests/unit/test_elf_symbols.c $(FAILMALLOC)
tests_unit_test_elf_symbols_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_elf_symbols_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_frames
tests_unit_test_frames_SOURCES = tests/unit/test_frames.c $(FAILMALLOC)
tests_unit_test_frames_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_frames_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_debuginfo
tests_unit_test_debuginfo_SOURCES = tests/unit/test_debuginfo.c core/main/frames_workers.c $(NATIVE_BATCH) $(FAILMALLOC)
tests_unit_test_debuginfo_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_debuginfo_LDADD = $(SYMBOLIZE_LA) $(BROKER_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_debuginfod
tests_unit_test_debuginfod_SOURCES = tests/unit/test_debuginfod.c core/main/debuginfod.c $(NATIVE_BATCH)
tests_unit_test_debuginfod_LDADD = $(NET_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_extract
tests_unit_test_extract_SOURCES = tests/unit/test_extract.c $(FAILMALLOC)
tests_unit_test_extract_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_extract_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_kallsyms
KALLSYMS_TEXT = tests/unit/kallsyms_text.c tests/unit/kallsyms_text.h
tests_unit_test_kallsyms_SOURCES = tests/unit/test_kallsyms.c $(KALLSYMS_TEXT) $(FAILMALLOC)
tests_unit_test_kallsyms_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_kallsyms_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

# Batches out of a seed, and a judge of any batch.
RANDOM_BATCH = tests/unit/random_batch.c tests/unit/random_batch.h tests/unit/random.h \
	tests/unit/batch_judge.c tests/unit/batch_judge.h

unit_tests += tests/unit/test_batch
tests_unit_test_batch_SOURCES = tests/unit/test_batch.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_batch_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS)
tests_unit_test_batch_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_batch_LDADD = $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_builder
tests_unit_test_builder_SOURCES = tests/unit/test_builder.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_builder_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_builder_LDADD = $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_copy
tests_unit_test_copy_SOURCES = tests/unit/test_copy.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_copy_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_copy_LDADD = $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_revalue
tests_unit_test_revalue_SOURCES = tests/unit/test_revalue.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_revalue_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_revalue_LDADD = $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_type
tests_unit_test_type_LDADD = $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_demangle
tests_unit_test_demangle_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_symbols
tests_unit_test_symbols_SOURCES = tests/unit/test_symbols.c $(NATIVE_BATCH) $(FAILMALLOC)
tests_unit_test_symbols_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_symbols_LDADD = $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_http tests/unit/test_access tests/unit/test_listener tests/unit/test_pages
tests_unit_test_http_LDADD = $(NET_LA) $(UNIT_LIBS)
tests_unit_test_access_LDADD = $(NET_LA) $(UNIT_LIBS)
LISTENING = tests/unit/listening.c tests/unit/listening.h
tests_unit_test_listener_SOURCES = tests/unit/test_listener.c $(LISTENING)
tests_unit_test_listener_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_stream
tests_unit_test_stream_CFLAGS = $(AM_CFLAGS) $(GNUTLS_CFLAGS)
tests_unit_test_stream_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_grpc tests/unit/test_refusal tests/unit/test_http2
tests_unit_test_refusal_SOURCES = tests/unit/test_refusal.c tests/unit/pb_text.h
tests_unit_test_refusal_LDADD = $(NET_LA) $(UNIT_LIBS)
tests_unit_test_grpc_LDADD = $(NET_LA) $(UNIT_LIBS)
tests_unit_test_http2_SOURCES = tests/unit/test_http2.c $(LISTENING)
tests_unit_test_http2_LDADD = $(NET_LA) $(UNIT_LIBS)
tests_unit_test_pages_LDADD = $(NET_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_endpoints
tests_unit_test_endpoints_SOURCES = tests/unit/test_endpoints.c $(FAILMALLOC)
tests_unit_test_endpoints_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_endpoints_LDADD = $(NET_LA) $(UNIT_LIBS)

# A real server: tests/programs/http_server.
HTTP_PEER = tests/unit/http_peer.c tests/unit/http_peer.h
unit_tests += tests/unit/test_http_fault
tests_unit_test_http_fault_SOURCES = tests/unit/test_http_fault.c
tests_unit_test_http_fault_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
tests_unit_test_http_fault_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_http_pool
tests_unit_test_http_pool_SOURCES = tests/unit/test_http_pool.c tests/unit/http_asking.h $(HTTP_PEER)
tests_unit_test_http_pool_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
tests_unit_test_http_pool_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_http_pool_tls
tests_unit_test_http_pool_tls_SOURCES = tests/unit/test_http_pool_tls.c tests/unit/http_asking.h $(HTTP_PEER)
tests_unit_test_http_pool_tls_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
tests_unit_test_http_pool_tls_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_http_sign
tests_unit_test_http_sign_SOURCES = tests/unit/test_http_sign.c tests/unit/http_asking.h $(HTTP_PEER)
tests_unit_test_http_sign_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
tests_unit_test_http_sign_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_http_pool_many
tests_unit_test_http_pool_many_SOURCES = tests/unit/test_http_pool_many.c $(HTTP_PEER) $(FAILMALLOC)
tests_unit_test_http_pool_many_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_http_pool_many_LDADD = $(NET_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_no_proxy tests/unit/test_secret tests/unit/test_shares
tests_unit_test_shares_LDADD = $(NET_LA) $(UNIT_LIBS)
tests_unit_test_no_proxy_LDADD = $(NET_LA) $(UNIT_LIBS)
tests_unit_test_secret_LDADD = $(NET_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_wire
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_wire_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_wire_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_session
tests_unit_test_session_SOURCES = tests/unit/test_session.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_session_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_session_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_pushed
tests_unit_test_pushed_SOURCES = tests/unit/test_pushed.c tests/unit/pb_text.h \
	$(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_pushed_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_pushed_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_otlp
tests_unit_test_otlp_SOURCES = tests/unit/test_otlp.c tests/unit/pb_text.h \
	$(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_otlp_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_otlp_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_otlp_output
tests_unit_test_otlp_output_SOURCES = tests/unit/test_otlp_output.c $(OTLP_EXPORT) \
	$(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_otlp_output_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_otlp_output_LDADD = $(DELIVERY_LA) $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_receive
tests_unit_test_receive_SOURCES = tests/unit/test_receive.c tests/unit/no_metrics.h plugins/input/receive/desk.c \
	plugins/input/receive/form.c plugins/input/receive/labels.c plugins/input/receive/senders.c \
	plugins/input/receive/type_config.c
tests_unit_test_receive_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_receive_LDADD = $(BASE_LA) $(JANSSON_LIBS) $(UNIT_LIBS)

unit_tests += tests/unit/test_suggest
tests_unit_test_suggest_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_tree
tests_unit_test_tree_SOURCES = tests/unit/test_tree.c $(FAILMALLOC)
tests_unit_test_tree_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_tree_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_regex
tests_unit_test_regex_SOURCES = tests/unit/test_regex.c $(FAILMALLOC)
tests_unit_test_regex_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_regex_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_jitdump
tests_unit_test_jitdump_SOURCES = tests/unit/test_jitdump.c plugins/input/perf_map/dump.c plugins/input/perf_map/map.c \
	$(FAILMALLOC)
tests_unit_test_jitdump_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_jitdump_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_perf_map
tests_unit_test_perf_map_SOURCES = tests/unit/test_perf_map.c tests/unit/real_processes.h $(perf_map_pure) $(FAILMALLOC)
tests_unit_test_perf_map_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_perf_map_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_perf_map_errands
tests_unit_test_perf_map_errands_SOURCES = tests/unit/test_perf_map_errands.c tests/unit/real_processes.h $(perf_map_pure)
tests_unit_test_perf_map_errands_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pread,--wrap=close,--wrap=pthread_create
tests_unit_test_perf_map_errands_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_perf_map_plugin
tests_unit_test_perf_map_plugin_SOURCES = tests/unit/test_perf_map_plugin.c plugins/input/perf_map/perf_map.c \
	$(perf_map_pure)
tests_unit_test_perf_map_plugin_LDADD = $(BASE_LA) $(UNIT_LIBS)

# The sampler's files play with a host and a memory of these.
EBPF_TEST = tests/unit/ebpf_host.c tests/unit/ebpf_host.h $(FAILMALLOC)
EBPF_MEMORY = tests/unit/ebpf_memory.c tests/unit/ebpf_memory.h

unit_tests += tests/unit/test_ebpf_accounts
tests_unit_test_ebpf_accounts_SOURCES = tests/unit/test_ebpf_accounts.c
tests_unit_test_ebpf_accounts_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_record
tests_unit_test_ebpf_record_SOURCES = tests/unit/test_ebpf_record.c
tests_unit_test_ebpf_record_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_names
tests_unit_test_ebpf_names_SOURCES = tests/unit/test_ebpf_names.c
tests_unit_test_ebpf_names_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_maps
tests_unit_test_ebpf_maps_SOURCES = tests/unit/test_ebpf_maps.c $(EBPF_TEST)
tests_unit_test_ebpf_maps_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_maps_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_announced
tests_unit_test_ebpf_announced_SOURCES = tests/unit/test_ebpf_announced.c
tests_unit_test_ebpf_announced_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_family
tests_unit_test_ebpf_family_SOURCES = tests/unit/test_ebpf_family.c
tests_unit_test_ebpf_family_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=readdir
tests_unit_test_ebpf_family_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_aggregate
tests_unit_test_ebpf_aggregate_SOURCES = tests/unit/test_ebpf_aggregate.c $(EBPF_TEST)
tests_unit_test_ebpf_aggregate_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_aggregate_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_flush
tests_unit_test_ebpf_flush_SOURCES = tests/unit/test_ebpf_flush.c $(EBPF_TEST)
tests_unit_test_ebpf_flush_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_flush_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_window
tests_unit_test_ebpf_window_SOURCES = tests/unit/test_ebpf_window.c $(EBPF_TEST)
tests_unit_test_ebpf_window_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_window_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_budget
tests_unit_test_ebpf_budget_SOURCES = tests/unit/test_ebpf_budget.c
tests_unit_test_ebpf_budget_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_settings
tests_unit_test_ebpf_settings_SOURCES = tests/unit/test_ebpf_settings.c
tests_unit_test_ebpf_settings_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_pace
tests_unit_test_ebpf_pace_SOURCES = tests/unit/test_ebpf_pace.c
tests_unit_test_ebpf_pace_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_cost
tests_unit_test_ebpf_cost_SOURCES = tests/unit/test_ebpf_cost.c
tests_unit_test_ebpf_cost_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_probe
tests_unit_test_ebpf_probe_SOURCES = tests/unit/test_ebpf_probe.c
tests_unit_test_ebpf_probe_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_balance
tests_unit_test_ebpf_balance_SOURCES = tests/unit/test_ebpf_balance.c
tests_unit_test_ebpf_balance_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_cpu_times
tests_unit_test_ebpf_cpu_times_SOURCES = tests/unit/test_ebpf_cpu_times.c
tests_unit_test_ebpf_cpu_times_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_pulse
tests_unit_test_ebpf_pulse_SOURCES = tests/unit/test_ebpf_pulse.c
tests_unit_test_ebpf_pulse_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_silence
tests_unit_test_ebpf_silence_SOURCES = tests/unit/test_ebpf_silence.c $(EBPF_TEST)
tests_unit_test_ebpf_silence_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC) -Wl,--wrap=pthread_create
tests_unit_test_ebpf_silence_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_tags
tests_unit_test_ebpf_tags_SOURCES = tests/unit/test_ebpf_tags.c $(EBPF_TEST)
tests_unit_test_ebpf_tags_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_tags_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_containers
tests_unit_test_ebpf_containers_SOURCES = tests/unit/test_ebpf_containers.c $(EBPF_TEST)
tests_unit_test_ebpf_containers_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_containers_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_kubernetes
tests_unit_test_ebpf_kubernetes_SOURCES = tests/unit/test_ebpf_kubernetes.c $(EBPF_TEST)
tests_unit_test_ebpf_kubernetes_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_kubernetes_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_trail
tests_unit_test_ebpf_trail_SOURCES = tests/unit/test_ebpf_trail.c $(EBPF_TEST)
tests_unit_test_ebpf_trail_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_trail_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_ksymbols
tests_unit_test_ebpf_ksymbols_SOURCES = tests/unit/test_ebpf_ksymbols.c $(EBPF_TEST)
tests_unit_test_ebpf_ksymbols_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_ksymbols_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_pages
tests_unit_test_ebpf_pages_SOURCES = tests/unit/test_ebpf_pages.c $(FAILMALLOC)
tests_unit_test_ebpf_pages_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_pages_LDADD = $(EBPF_TABLES_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_tables
tests_unit_test_ebpf_tables_SOURCES = tests/unit/test_ebpf_tables.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_tables_CFLAGS = $(AM_CFLAGS) -fexceptions
tests_unit_test_ebpf_tables_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_tables_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_mappings
tests_unit_test_ebpf_mappings_SOURCES = tests/unit/test_ebpf_mappings.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_mappings_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_mappings_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_tables_threads
tests_unit_test_ebpf_tables_threads_SOURCES = tests/unit/test_ebpf_tables_threads.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_tables_threads_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_tables_threads_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_outcomes
tests_unit_test_ebpf_outcomes_SOURCES = tests/unit/test_ebpf_outcomes.c
tests_unit_test_ebpf_outcomes_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_step
tests_unit_test_ebpf_step_SOURCES = tests/unit/test_ebpf_step.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_step_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_step_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_rules
tests_unit_test_ebpf_rules_SOURCES = tests/unit/test_ebpf_rules.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_rules_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_rules_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_waits
tests_unit_test_ebpf_waits_SOURCES = tests/unit/test_ebpf_waits.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_waits_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_waits_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_files
tests_unit_test_ebpf_files_SOURCES = tests/unit/test_ebpf_files.c $(EBPF_TEST)
tests_unit_test_ebpf_files_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC) -Wl,--wrap=ioctl,--wrap=fstatfs
tests_unit_test_ebpf_files_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_wall
tests_unit_test_ebpf_wall_SOURCES = tests/unit/test_ebpf_wall.c
tests_unit_test_ebpf_wall_LDADD = $(EBPF_PURE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_unwinder
tests_unit_test_ebpf_unwinder_SOURCES = tests/unit/test_ebpf_unwinder.c $(EBPF_TEST) $(EBPF_MEMORY)
tests_unit_test_ebpf_unwinder_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_unwinder_LDADD = $(EBPF_TABLES_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_process
tests_unit_test_ebpf_process_SOURCES = tests/unit/test_ebpf_process.c $(EBPF_TEST)
tests_unit_test_ebpf_process_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_process_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_process_room
tests_unit_test_ebpf_process_room_SOURCES = tests/unit/test_ebpf_process_room.c $(EBPF_TEST)
tests_unit_test_ebpf_process_room_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_process_room_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_ebpf_program
tests_unit_test_ebpf_program_SOURCES = tests/unit/test_ebpf_program.c $(EBPF_TEST)
tests_unit_test_ebpf_program_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_ebpf_program_LDADD = $(EBPF_PURE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_options
tests_unit_test_options_SOURCES = tests/unit/test_options.c tests/unit/config_sample.c \
	tests/unit/config_sample.h $(FAILMALLOC)
tests_unit_test_options_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_options_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_shared_http
tests_unit_test_shared_http_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_effective
tests_unit_test_effective_SOURCES = tests/unit/test_effective.c tests/unit/config_sample.c \
	tests/unit/config_sample.h $(FAILMALLOC)
tests_unit_test_effective_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_effective_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_options_random
tests_unit_test_options_random_LDADD = $(CONFIG_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_describe
tests_unit_test_describe_SOURCES = tests/unit/test_describe.c tests/unit/config_sample.c \
	tests/unit/config_sample.h $(FAILMALLOC)
tests_unit_test_describe_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_describe_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_describe_LDADD = $(CONFIG_LA) $(JANSSON_LIBS) $(UNIT_LIBS)

# The pipeline: queues, rules, writers, and all of it together with destinations that a test leads by the hand.
FAKE_DESTINATION = tests/unit/fake_destination.c tests/unit/fake_destination.h

unit_tests += tests/unit/test_queue
tests_unit_test_queue_SOURCES = tests/unit/test_queue.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_queue_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_queue_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_relabel
tests_unit_test_relabel_SOURCES = tests/unit/test_relabel.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_relabel_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_relabel_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_labelled
tests_unit_test_labelled_SOURCES = tests/unit/test_labelled.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_labelled_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_labelled_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_rules_case
tests_unit_test_rules_case_SOURCES = tests/unit/test_rules_case.c
tests_unit_test_rules_case_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_writer
tests_unit_test_writer_SOURCES = tests/unit/test_writer.c $(FAKE_DESTINATION) $(RANDOM_BATCH)
tests_unit_test_writer_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_pipeline
tests_unit_test_pipeline_SOURCES = tests/unit/test_pipeline.c $(FAKE_DESTINATION) $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_pipeline_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_pipeline_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_arrow
tests_unit_test_arrow_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_versions
tests_unit_test_versions_SOURCES = tests/unit/test_versions.c plugins/input/receive/versions.c plugins/input/receive/versions.h \
	plugins/input/receive/desk.c plugins/input/receive/senders.c
tests_unit_test_versions_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_senders
tests_unit_test_senders_SOURCES = tests/unit/test_senders.c $(FAILMALLOC) \
	plugins/input/receive/senders.c plugins/input/receive/senders.h
tests_unit_test_senders_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_senders_LDADD = $(BASE_LA) $(UNIT_LIBS)

SPOOL_RIG = tests/unit/spool_rig.c tests/unit/spool_rig.h tests/storage/sim_disk.c tests/storage/sim_disk.h $(RANDOM_BATCH)
unit_tests += tests/unit/test_spool
tests_unit_test_spool_SOURCES = tests/unit/test_spool.c $(SPOOL_RIG) $(FAILMALLOC)
tests_unit_test_spool_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_spool_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_spool_trouble
tests_unit_test_spool_trouble_SOURCES = tests/unit/test_spool_trouble.c $(SPOOL_RIG)
tests_unit_test_spool_trouble_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_delivery
tests_unit_test_delivery_SOURCES = tests/unit/test_delivery.c
tests_unit_test_delivery_LDADD = $(DELIVERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_flights
tests_unit_test_flights_LDADD = $(DELIVERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_legacy_name
tests_unit_test_legacy_name_SOURCES = tests/unit/test_legacy_name.c $(FAILMALLOC) \
	plugins/output/pyroscope/ingest.c plugins/output/pyroscope/ingest.h \
	plugins/output/pyroscope/push.c plugins/output/pyroscope/push.h
tests_unit_test_legacy_name_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_legacy_name_LDADD = $(DELIVERY_LA) $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_sender
tests_unit_test_sender_SOURCES = tests/unit/test_sender.c $(RANDOM_BATCH)
tests_unit_test_sender_LDADD = $(DELIVERY_LA) $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_otlp_response
tests_unit_test_otlp_response_SOURCES = tests/unit/test_otlp_response.c tests/unit/pb_text.h $(OTLP_RESPONSE)
tests_unit_test_otlp_response_LDADD = $(DELIVERY_LA) $(DEFLATE_LIBS) $(UNIT_LIBS)

unit_tests += tests/unit/test_rpc_status
tests_unit_test_rpc_status_SOURCES = tests/unit/test_rpc_status.c tests/unit/pb_text.h
tests_unit_test_rpc_status_LDADD = $(DELIVERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_s3_answer
tests_unit_test_s3_answer_SOURCES = tests/unit/test_s3_answer.c plugins/output/s3/answer.c plugins/output/s3/answer.h
tests_unit_test_s3_answer_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_destination
tests_unit_test_destination_SOURCES = tests/unit/test_destination.c $(FAKE_DESTINATION) $(RANDOM_BATCH)
tests_unit_test_destination_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_router
tests_unit_test_router_SOURCES = tests/unit/test_router.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_router_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_router_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_scheduler
tests_unit_test_scheduler_SOURCES = tests/unit/test_scheduler.c $(FAILMALLOC)
tests_unit_test_scheduler_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scheduler_LDADD = $(PIPELINE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_args
tests_unit_test_args_SOURCES = tests/unit/test_args.c core/main/args.c core/main/args.h
tests_unit_test_args_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_complete
tests_unit_test_complete_SOURCES = tests/unit/test_complete.c $(FAILMALLOC) \
	core/main/args.c core/main/args.h core/main/complete.c core/main/complete.h
tests_unit_test_complete_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_complete_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_output_file
tests_unit_test_output_file_SOURCES = tests/unit/test_output_file.c $(FAILMALLOC) \
	core/main/output_file.c core/main/output_file.h
tests_unit_test_output_file_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_output_file_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_clock_watch
tests_unit_test_clock_watch_SOURCES = tests/unit/test_clock_watch.c \
	core/main/clock_watch.c core/main/clock_watch.h
tests_unit_test_clock_watch_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_interrupt
tests_unit_test_interrupt_SOURCES = tests/unit/test_interrupt.c core/main/interrupt.c core/main/interrupt.h
tests_unit_test_interrupt_LDADD = $(BASE_LA) $(UNIT_LIBS)

# What core/main wires, with the plugins of the build tree.
PLAN_SAMPLE = tests/unit/plan_sample.c tests/unit/plan_sample.h \
	core/main/foreign.c core/main/foreign.h \
	core/main/plan.c core/main/plan.h core/main/plan_effective.c core/main/server_settings.c core/main/settings.c core/main/settings.h
GRAPH_SAMPLE = $(PLAN_SAMPLE) \
	core/main/clock_watch.c core/main/clock_watch.h \
	core/main/debuginfod.c core/main/debuginfod.h \
	core/main/frames_workers.c core/main/frames_workers.h \
	core/main/graph.c core/main/graph.h core/main/graph_inside.h core/main/reload.c \
	core/main/part.c core/main/part.h \
	core/main/services.c core/main/services.h \
	core/main/symbol_metrics.c core/main/symbol_metrics.h

unit_tests += tests/unit/test_plan tests/unit/test_graph tests/unit/test_api
unit_tests += tests/unit/test_api_labels tests/unit/test_api_log
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c $(PLAN_SAMPLE) $(FAILMALLOC)
tests_unit_test_plan_CPPFLAGS = $(decima_CPPFLAGS)
tests_unit_test_plan_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_plan_LDADD = $(API_LA) $(UNIT_LIBS)
tests_unit_test_graph_SOURCES = tests/unit/test_graph.c $(GRAPH_SAMPLE) $(FAILMALLOC)
tests_unit_test_graph_CPPFLAGS = $(decima_CPPFLAGS)
tests_unit_test_graph_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_graph_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS)
tests_unit_test_api_SOURCES = tests/unit/test_api.c $(GRAPH_SAMPLE)
tests_unit_test_api_CPPFLAGS = $(decima_CPPFLAGS)
tests_unit_test_api_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_api_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS)
tests_unit_test_api_labels_SOURCES = tests/unit/test_api_labels.c $(GRAPH_SAMPLE)
tests_unit_test_api_labels_CPPFLAGS = $(decima_CPPFLAGS)
tests_unit_test_api_labels_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS)
tests_unit_test_api_log_SOURCES = tests/unit/test_api_log.c
tests_unit_test_api_log_LDADD = $(API_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_scrape_delta tests/unit/test_scrape_targets
tests_unit_test_scrape_delta_SOURCES = tests/unit/test_scrape_delta.c \
	plugins/input/pprof_scrape/delta.c plugins/input/pprof_scrape/delta.h $(FAILMALLOC)
tests_unit_test_scrape_delta_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_delta_LDADD = $(BATCH_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_kube_selector
tests_unit_test_kube_selector_SOURCES = tests/unit/test_kube_selector.c \
	plugins/input/pprof_scrape/kube_selector.c plugins/input/pprof_scrape/kube_selector.h
tests_unit_test_kube_selector_LDADD = $(BASE_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_scrape_names
tests_unit_test_scrape_names_SOURCES = tests/unit/test_scrape_names.c \
	plugins/input/pprof_scrape/names.c plugins/input/pprof_scrape/names.h $(FAILMALLOC)
tests_unit_test_scrape_names_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_names_LDADD = $(CODEC_LA) $(UNIT_LIBS)
unit_tests += tests/unit/test_scrape_lists
tests_unit_test_scrape_lists_SOURCES = tests/unit/test_scrape_lists.c \
	plugins/input/pprof_scrape/consul_lists.c plugins/input/pprof_scrape/docker_lists.c \
	plugins/input/pprof_scrape/groups.c plugins/input/pprof_scrape/labelset.c $(FAILMALLOC)
tests_unit_test_scrape_lists_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(YAML_CFLAGS)
tests_unit_test_scrape_lists_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_lists_LDADD = $(UNIT_LIBS) $(BASE_LA) $(YAML_LIBS) $(JANSSON_LIBS)
tests_unit_test_scrape_targets_SOURCES = tests/unit/test_scrape_targets.c $(pprof_scrape_pure) \
	core/main/services.c core/main/services.h $(FAILMALLOC)
tests_unit_test_scrape_targets_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(YAML_CFLAGS) $(CARES_CFLAGS)
tests_unit_test_scrape_targets_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_targets_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS) $(YAML_LIBS) $(JANSSON_LIBS) $(CARES_LIBS) $(NETTLE_LIBS)

SCRAPE_FIXTURE = tests/unit/scrape_fixture.c tests/unit/scrape_fixture.h \
	$(pprof_scrape_pure) core/main/services.c core/main/services.h
unit_tests += tests/unit/test_scrape_arrival
tests_unit_test_scrape_arrival_SOURCES = tests/unit/test_scrape_arrival.c $(SCRAPE_FIXTURE) $(FAILMALLOC)
tests_unit_test_scrape_arrival_CFLAGS = $(tests_unit_test_scrape_targets_CFLAGS)
tests_unit_test_scrape_arrival_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_arrival_LDADD = $(tests_unit_test_scrape_targets_LDADD)

unit_tests += tests/unit/test_scrape_room
tests_unit_test_scrape_room_SOURCES = tests/unit/test_scrape_room.c plugins/input/pprof_scrape/room.c $(FAILMALLOC)
tests_unit_test_scrape_room_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_room_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_scrape_turns
tests_unit_test_scrape_turns_SOURCES = tests/unit/test_scrape_turns.c $(SCRAPE_FIXTURE)
tests_unit_test_scrape_turns_CFLAGS = $(tests_unit_test_scrape_targets_CFLAGS)
tests_unit_test_scrape_turns_LDADD = $(tests_unit_test_scrape_targets_LDADD)

unit_tests += tests/unit/test_scrape_job
tests_unit_test_scrape_job_SOURCES = tests/unit/test_scrape_job.c $(SCRAPE_FIXTURE) $(FAILMALLOC)
tests_unit_test_scrape_job_CFLAGS = $(tests_unit_test_scrape_targets_CFLAGS)
tests_unit_test_scrape_job_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_job_LDADD = $(tests_unit_test_scrape_targets_LDADD)

unit_tests += tests/unit/test_scrape_files
tests_unit_test_scrape_files_SOURCES = tests/unit/test_scrape_files.c tests/unit/folder.h tests/unit/shell.h \
	$(SCRAPE_FIXTURE)
tests_unit_test_scrape_files_CFLAGS = $(tests_unit_test_scrape_targets_CFLAGS)
tests_unit_test_scrape_files_LDADD = $(tests_unit_test_scrape_targets_LDADD)

unit_tests += tests/unit/test_scrape_labels
tests_unit_test_scrape_labels_SOURCES = tests/unit/test_scrape_labels.c tests/unit/random.h \
	plugins/input/pprof_scrape/labels.c plugins/input/pprof_scrape/labels.h \
	plugins/input/pprof_scrape/texts.c plugins/input/pprof_scrape/texts.h $(FAILMALLOC)
tests_unit_test_scrape_labels_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_labels_LDADD = $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_scrape_kube
tests_unit_test_scrape_kube_SOURCES = tests/unit/test_scrape_kube.c \
	plugins/input/pprof_scrape/kube_doc.c plugins/input/pprof_scrape/kube_doc.h \
	plugins/input/pprof_scrape/kube_page.c plugins/input/pprof_scrape/kube_page.h \
	plugins/input/pprof_scrape/texts.c plugins/input/pprof_scrape/texts.h $(FAILMALLOC)
tests_unit_test_scrape_kube_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_scrape_kube_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_scrape_kube_LDADD = $(BASE_LA) $(UNIT_LIBS) $(JANSSON_LIBS)

unit_tests += tests/unit/test_diff
tests_unit_test_diff_SOURCES = tests/unit/test_diff.c $(GRAPH_SAMPLE)
tests_unit_test_diff_CPPFLAGS = $(decima_CPPFLAGS)
tests_unit_test_diff_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_diff_LDADD = $(API_LA) $(BROKER_LA) $(UNIT_LIBS) -lm

# Plugins: the shared objects come from tests/plugins.
unit_tests += tests/unit/test_trust
tests_unit_test_trust_SOURCES = tests/unit/test_trust.c $(FAILMALLOC)
tests_unit_test_trust_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_trust_LDADD = $(PLUGIN_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_loader
tests_unit_test_loader_SOURCES = tests/unit/test_loader.c $(FAILMALLOC)
tests_unit_test_loader_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_loader_LDADD = $(PLUGIN_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_mapped
tests_unit_test_mapped_SOURCES = tests/unit/test_mapped.c core/plugin/mapped.c core/plugin/mapped.h
tests_unit_test_mapped_LDADD = core/base/libbase.la $(UNIT_LIBS)

unit_tests += tests/unit/test_host
tests_unit_test_host_SOURCES = tests/unit/test_host.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_host_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_host_LDADD = $(PLUGIN_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_instance
tests_unit_test_instance_SOURCES = tests/unit/test_instance.c $(FAILMALLOC)
tests_unit_test_instance_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_instance_LDADD = $(PLUGIN_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_file_output
tests_unit_test_file_output_SOURCES = tests/unit/test_file_output.c $(CHILD) $(RANDOM_BATCH) $(FAILMALLOC) \
	plugins/output/file/file.c plugins/output/file/folder.c plugins/output/delivery/format.c \
	plugins/output/delivery/name.c
tests_unit_test_file_output_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_file_output_LDADD = $(PLUGIN_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_varints
tests_unit_test_varints_SOURCES = tests/unit/test_varints.c
tests_unit_test_varints_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_pprof
tests_unit_test_pprof_SOURCES = tests/unit/test_pprof.c $(FAILMALLOC) tests/unit/pb_text.h \
	tests/unit/pprof_lossy.c tests/unit/pprof_lossy.h $(RANDOM_BATCH)
tests_unit_test_pprof_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_pprof_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_legacy
tests_unit_test_legacy_SOURCES = tests/unit/test_legacy.c $(FAILMALLOC)
tests_unit_test_legacy_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_legacy_LDADD = $(CODEC_LA) $(UNIT_LIBS)

# For tests/e2e/codec_legacy.sh.
check_PROGRAMS += tests/unit/legacy_proto
tests_unit_legacy_proto_SOURCES = tests/unit/legacy_proto.c
tests_unit_legacy_proto_LDADD = $(CODEC_LA)

unit_tests += tests/unit/test_pprof_many
tests_unit_test_pprof_many_SOURCES = tests/unit/test_pprof_many.c tests/unit/pb_text.h
tests_unit_test_pprof_many_LDADD = $(CODEC_LA) $(UNIT_LIBS)

# Queries
NAIVE_ROWS = tests/unit/naive_rows.c tests/unit/naive_rows.h $(RANDOM_BATCH) $(FAILMALLOC)

unit_tests += tests/unit/test_selector
tests_unit_test_selector_SOURCES = tests/unit/test_selector.c tests/unit/random.h $(FAILMALLOC)
tests_unit_test_selector_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_selector_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_filter
tests_unit_test_filter_SOURCES = tests/unit/test_filter.c $(NAIVE_ROWS)
tests_unit_test_filter_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_filter_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_flame
tests_unit_test_flame_SOURCES = tests/unit/test_flame.c $(NAIVE_ROWS)
tests_unit_test_flame_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_flame_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_text_sort
tests_unit_test_text_sort_SOURCES = tests/unit/test_text_sort.c tests/unit/random.h $(FAILMALLOC)
tests_unit_test_text_sort_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_text_sort_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_flametree
tests_unit_test_flametree_SOURCES = tests/unit/test_flametree.c $(NAIVE_ROWS)
tests_unit_test_flametree_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_flametree_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_compare
tests_unit_test_compare_SOURCES = tests/unit/test_compare.c
tests_unit_test_compare_LDADD = $(QUERY_LA) $(UNIT_LIBS) -lm

unit_tests += tests/unit/test_top
tests_unit_test_top_SOURCES = tests/unit/test_top.c $(NAIVE_ROWS)
tests_unit_test_top_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_top_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_render
tests_unit_test_render_SOURCES = tests/unit/test_render.c $(NAIVE_ROWS)
tests_unit_test_render_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_render_LDADD = $(QUERY_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_engine
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c $(FAILMALLOC)
tests_unit_test_engine_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_engine_LDADD = $(QUERY_LA) $(UNIT_LIBS)

# The plugin's sources, so that its allocations can fail.
unit_tests += tests/unit/test_memory_store
tests_unit_test_memory_store_SOURCES = tests/unit/test_memory_store.c $(RANDOM_BATCH) $(FAILMALLOC) \
	tests/unit/series_batch.c tests/unit/series_batch.h \
	tests/contract/storage_answers.c tests/contract/storage_answers.h \
	tests/contract/storage_host.c tests/contract/storage_host.h \
	$(plugins_storage_memory_la_SOURCES) $(plugins_storage_streams_libstreams_la_SOURCES) \
	$(plugins_storage_answer_libanswer_la_SOURCES)
tests_unit_test_memory_store_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_memory_store_LDADD = $(STORAGE_DICT_LA) $(CODEC_LA) $(CONFIG_LA) $(UNIT_LIBS) -ldl

unit_tests += tests/unit/test_folded
tests_unit_test_folded_SOURCES = tests/unit/test_folded.c $(FAILMALLOC) \
	tests/unit/random_batch.c tests/unit/random_batch.h
tests_unit_test_folded_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_folded_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_speedscope
tests_unit_test_speedscope_SOURCES = tests/unit/test_speedscope.c $(FAILMALLOC) \
	tests/unit/random_batch.c tests/unit/random_batch.h
tests_unit_test_speedscope_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_speedscope_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_html
tests_unit_test_html_SOURCES = tests/unit/test_html.c $(FAILMALLOC) \
	tests/unit/random_batch.c tests/unit/random_batch.h
tests_unit_test_html_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_html_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_perf_script
tests_unit_test_perf_script_SOURCES = tests/unit/test_perf_script.c $(FAILMALLOC)
tests_unit_test_perf_script_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_perf_script_LDADD = $(CODEC_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_codec
tests_unit_test_codec_SOURCES = tests/unit/test_codec.c $(FAILMALLOC) tests/unit/pb_text.h \
	tests/unit/random_batch.c tests/unit/random_batch.h
tests_unit_test_codec_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_codec_LDADD = $(CODEC_LA) $(UNIT_LIBS)

# Tables of rules, judged by libdw.
unit_tests += tests/unit/test_unwind
tests_unit_test_unwind_SOURCES = tests/unit/test_unwind.c $(unwind_judge) tests/unit/unwind_rows.h \
	tests/unwind/elf_maker.h $(FAILMALLOC)
tests_unit_test_unwind_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS) $(ELF_CFLAGS)
tests_unit_test_unwind_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_unwind_LDADD = $(EBPF_UNWIND_LA) $(DW_LIBS) $(ELF_LIBS) $(UNIT_LIBS)

unit_tests += tests/unit/test_unwind_bare
tests_unit_test_unwind_bare_SOURCES = tests/unit/test_unwind_bare.c tests/unit/unwind_rows.h \
	tests/unwind/elf_maker.h
tests_unit_test_unwind_bare_LDADD = $(EBPF_UNWIND_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_unwind_cache
tests_unit_test_unwind_cache_SOURCES = tests/unit/test_unwind_cache.c $(FAILMALLOC)
tests_unit_test_unwind_cache_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_unwind_cache_LDADD = $(EBPF_UNWIND_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_local_pfor
tests_unit_test_local_pfor_SOURCES = tests/unit/test_local_pfor.c $(FAILMALLOC)
tests_unit_test_local_pfor_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_local_pfor_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_local_prefix
tests_unit_test_local_prefix_SOURCES = tests/unit/test_local_prefix.c
tests_unit_test_local_prefix_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_local_squeeze
tests_unit_test_local_squeeze_SOURCES = tests/unit/test_local_squeeze.c
tests_unit_test_local_squeeze_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

noinst_HEADERS += tests/unit/random_chunk.h
unit_tests += tests/unit/test_local_block
tests_unit_test_local_block_SOURCES = tests/unit/test_local_block.c tests/unit/random_chunk.c $(FAILMALLOC)
tests_unit_test_local_block_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_local_block_LDADD = $(LOCAL_STORE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_storage_dict
tests_unit_test_storage_dict_SOURCES = tests/unit/test_storage_dict.c
tests_unit_test_storage_dict_LDADD = $(STORAGE_DICT_LA) $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_storage_profile
tests_unit_test_storage_profile_SOURCES = tests/unit/test_storage_profile.c tests/unit/random.h $(FAILMALLOC)
tests_unit_test_storage_profile_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_storage_profile_LDADD = $(STORAGE_STREAMS_LA) $(BASE_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_local_era
tests_unit_test_local_era_SOURCES = tests/unit/test_local_era.c $(RANDOM_BATCH) $(FAILMALLOC)
tests_unit_test_local_era_LDFLAGS = $(AM_LDFLAGS) $(LDFLAGS_FAILMALLOC)
tests_unit_test_local_era_LDADD = $(LOCAL_STORE_LA) $(BATCH_LA) $(UNIT_LIBS)

unit_tests += tests/unit/test_selfprofile
tests_unit_test_selfprofile_LDADD = $(SELFPROFILE_LA) $(SYMBOLIZE_LA) $(UNIT_LIBS)
