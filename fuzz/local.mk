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

fuzz_programs += fuzz/fuzz_session
fuzz_fuzz_session_SOURCES = fuzz/fuzz_session.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_session_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_frames
fuzz_fuzz_frames_SOURCES = fuzz/fuzz_frames.c $(FUZZ_MAIN)
fuzz_fuzz_frames_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_names fuzz/fuzz_depot
fuzz_fuzz_names_SOURCES = fuzz/fuzz_names.c $(FUZZ_MAIN)
fuzz_fuzz_names_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_depot_SOURCES = fuzz/fuzz_depot.c $(FUZZ_MAIN)
fuzz_fuzz_depot_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_elf fuzz/fuzz_extract fuzz/fuzz_kallsyms fuzz/fuzz_demangle fuzz/fuzz_perf_map fuzz/fuzz_jitdump
fuzz_fuzz_elf_SOURCES = fuzz/fuzz_elf.c $(FUZZ_MAIN)
fuzz_fuzz_elf_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_extract_SOURCES = fuzz/fuzz_extract.c $(FUZZ_MAIN)
fuzz_fuzz_extract_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_kallsyms_SOURCES = fuzz/fuzz_kallsyms.c $(KALLSYMS_TEXT) $(FUZZ_MAIN)
fuzz_fuzz_kallsyms_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_demangle_SOURCES = fuzz/fuzz_demangle.c $(FUZZ_MAIN)
fuzz_fuzz_demangle_LDADD = $(SYMBOLIZE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_perf_map_SOURCES = fuzz/fuzz_perf_map.c plugins/input/perf_map/map.c plugins/input/perf_map/map.h $(FUZZ_MAIN)
fuzz_fuzz_perf_map_LDADD = $(BASE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_jitdump_SOURCES = fuzz/fuzz_jitdump.c plugins/input/perf_map/dump.c plugins/input/perf_map/dump.h \
	plugins/input/perf_map/map.c plugins/input/perf_map/map.h $(FUZZ_MAIN)
fuzz_fuzz_jitdump_LDADD = $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_scrape_names
fuzz_fuzz_scrape_names_SOURCES = fuzz/fuzz_scrape_names.c plugins/input/pprof_scrape/names.c plugins/input/pprof_scrape/names.h \
	$(FUZZ_MAIN)
fuzz_fuzz_scrape_names_LDADD = $(BASE_LA) $(FUZZ_LDFLAGS)
fuzz_programs += fuzz/fuzz_s3_answer
fuzz_fuzz_s3_answer_SOURCES = fuzz/fuzz_s3_answer.c plugins/output/s3/answer.c plugins/output/s3/answer.h $(FUZZ_MAIN)
fuzz_fuzz_s3_answer_LDADD = $(BASE_LA) $(FUZZ_LDFLAGS)
fuzz_programs += fuzz/fuzz_answers fuzz/fuzz_telemetry
fuzz_fuzz_answers_SOURCES = fuzz/fuzz_answers.c fuzz/line.h plugins/output/otlp/response.c plugins/output/otlp/response.h $(FUZZ_MAIN)
fuzz_fuzz_answers_LDADD = $(DELIVERY_LA) $(BATCH_LA) $(FUZZ_LDFLAGS) $(DEFLATE_LIBS)
fuzz_fuzz_telemetry_SOURCES = fuzz/fuzz_telemetry.c plugins/input/receive/telemetry.c plugins/input/receive/telemetry.h $(FUZZ_MAIN)
fuzz_fuzz_telemetry_LDADD = $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_type_config
fuzz_fuzz_type_config_SOURCES = fuzz/fuzz_type_config.c plugins/input/receive/type_config.c \
	plugins/input/receive/type_config.h $(FUZZ_MAIN)
fuzz_fuzz_type_config_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
fuzz_fuzz_type_config_LDADD = $(BASE_LA) $(JANSSON_LIBS) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_scrape_groups
fuzz_fuzz_scrape_groups_SOURCES = fuzz/fuzz_scrape_groups.c plugins/input/pprof_scrape/groups.c \
	plugins/input/pprof_scrape/groups.h $(FUZZ_MAIN)
fuzz_fuzz_scrape_groups_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS)
fuzz_fuzz_scrape_groups_LDADD = $(BASE_LA) $(YAML_LIBS) $(JANSSON_LIBS) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_kubernetes_sd
fuzz_fuzz_kubernetes_sd_SOURCES = fuzz/fuzz_kubernetes_sd.c fuzz/target.h plugins/input/pprof_scrape/groups.c \
	plugins/input/pprof_scrape/kube_doc.c plugins/input/pprof_scrape/kube_resources.c \
	plugins/input/pprof_scrape/kube_roles.c plugins/input/pprof_scrape/labelset.c \
	plugins/input/pprof_scrape/texts.c $(FUZZ_MAIN)
fuzz_fuzz_kubernetes_sd_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS)
fuzz_fuzz_kubernetes_sd_LDADD = $(BASE_LA) $(YAML_LIBS) $(JANSSON_LIBS) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_discovered_lists
fuzz_fuzz_discovered_lists_SOURCES = fuzz/fuzz_discovered_lists.c fuzz/target.h plugins/input/pprof_scrape/consul_lists.c \
	plugins/input/pprof_scrape/docker_lists.c plugins/input/pprof_scrape/groups.c \
	plugins/input/pprof_scrape/labelset.c $(FUZZ_MAIN)
fuzz_fuzz_discovered_lists_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS)
fuzz_fuzz_discovered_lists_LDADD = $(BASE_LA) $(YAML_LIBS) $(JANSSON_LIBS) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_pushed
fuzz_fuzz_pushed_SOURCES = fuzz/fuzz_pushed.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_pushed_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_arrow
fuzz_fuzz_arrow_SOURCES = fuzz/fuzz_arrow.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_arrow_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_talk
fuzz_fuzz_talk_SOURCES = fuzz/fuzz_talk.c core/api/reflection.c $(FUZZ_MAIN)
fuzz_fuzz_talk_LDADD = $(CODEC_LA) $(NET_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_health
fuzz_fuzz_health_SOURCES = fuzz/fuzz_health.c core/api/health.c $(FUZZ_MAIN)
fuzz_fuzz_health_LDADD = $(CODEC_LA) $(NET_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_http2
fuzz_fuzz_http2_SOURCES = fuzz/fuzz_http2.c core/api/reflection.c $(FUZZ_MAIN)
fuzz_fuzz_http2_LDADD = $(CODEC_LA) $(NET_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_upload_ask fuzz/fuzz_upload_stream
fuzz_fuzz_upload_ask_SOURCES = fuzz/fuzz_upload_ask.c core/api/upload_ask.c core/api/upload_ask.h $(FUZZ_MAIN)
fuzz_fuzz_upload_ask_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_upload_stream_SOURCES = fuzz/fuzz_upload_stream.c core/api/upload_stream.c core/api/upload_stream.h $(FUZZ_MAIN)
fuzz_fuzz_upload_stream_LDADD = $(CODEC_LA) $(NET_LA) $(DEFLATE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_grpc
fuzz_fuzz_grpc_SOURCES = fuzz/fuzz_grpc.c $(FUZZ_MAIN)
fuzz_fuzz_grpc_LDADD = $(NET_LA) $(FUZZ_LDFLAGS)
fuzz_programs += fuzz/fuzz_grpc_client
fuzz_fuzz_grpc_client_SOURCES = fuzz/fuzz_grpc_client.c fuzz/line.h core/net/grpc_client.c core/net/grpc_client.h $(FUZZ_MAIN)
fuzz_fuzz_grpc_client_LDADD = $(NET_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_otlp
fuzz_fuzz_otlp_SOURCES = fuzz/fuzz_otlp.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_otlp_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_receive
fuzz_fuzz_receive_SOURCES = fuzz/fuzz_receive.c fuzz/line.h plugins/input/receive/form.c plugins/input/receive/form.h \
	plugins/input/receive/group.c plugins/input/receive/group.h plugins/input/receive/labels.c \
	plugins/input/receive/labels.h $(FUZZ_MAIN)
fuzz_fuzz_receive_LDADD = $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_yaml
fuzz_fuzz_yaml_SOURCES = fuzz/fuzz_yaml.c tests/unit/config_sample.c tests/unit/config_sample.h $(FUZZ_MAIN)
fuzz_fuzz_yaml_LDADD = $(CONFIG_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_regex
fuzz_fuzz_regex_SOURCES = fuzz/fuzz_regex.c $(FUZZ_MAIN)
fuzz_fuzz_regex_LDADD = $(CONFIG_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_token
fuzz_fuzz_token_SOURCES = fuzz/fuzz_token.c fuzz/verdict.h tests/unit/batch_judge.c tests/unit/batch_judge.h $(FUZZ_MAIN)
fuzz_fuzz_token_LDADD = $(CODEC_LA) $(NET_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_http
fuzz_fuzz_http_SOURCES = fuzz/fuzz_http.c $(FUZZ_MAIN)
fuzz_fuzz_http_LDADD = $(API_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_ebpf_proc
fuzz_fuzz_ebpf_proc_SOURCES = fuzz/fuzz_ebpf_proc.c $(FUZZ_MAIN)
fuzz_fuzz_ebpf_proc_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_ebpf_trail
fuzz_fuzz_ebpf_trail_SOURCES = fuzz/fuzz_ebpf_trail.c $(FUZZ_MAIN)
fuzz_fuzz_ebpf_trail_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_ebpf_pods
fuzz_fuzz_ebpf_pods_SOURCES = fuzz/fuzz_ebpf_pods.c $(FUZZ_MAIN)
fuzz_fuzz_ebpf_pods_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_ebpf_executable
fuzz_fuzz_ebpf_executable_SOURCES = fuzz/fuzz_ebpf_executable.c $(FUZZ_MAIN)
fuzz_fuzz_ebpf_executable_LDADD = $(EBPF_PURE_LA) $(BASE_LA) $(FUZZ_LDFLAGS)

noinst_HEADERS += fuzz/verdict.h
fuzz_programs += fuzz/fuzz_pprof fuzz/fuzz_folded fuzz/fuzz_speedscope fuzz/fuzz_perf_script
fuzz_fuzz_pprof_SOURCES = fuzz/fuzz_pprof.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_pprof_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_folded_SOURCES = fuzz/fuzz_folded.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_folded_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_speedscope_SOURCES = fuzz/fuzz_speedscope.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_speedscope_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_perf_script_SOURCES = fuzz/fuzz_perf_script.c $(FUZZ_MAIN) tests/unit/batch_judge.c tests/unit/batch_judge.h
fuzz_fuzz_perf_script_LDADD = $(CODEC_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_broker
fuzz_fuzz_broker_SOURCES = fuzz/fuzz_broker.c $(FUZZ_MAIN)
fuzz_fuzz_broker_LDADD = $(BROKER_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_selector
fuzz_fuzz_selector_SOURCES = fuzz/fuzz_selector.c $(FUZZ_MAIN)
fuzz_fuzz_selector_LDADD = $(QUERY_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_ebpf_walk
fuzz_fuzz_ebpf_walk_SOURCES = fuzz/fuzz_ebpf_walk.c $(FUZZ_MAIN)
fuzz_fuzz_ebpf_walk_LDADD = $(EBPF_TABLES_LA) $(BASE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_unwind
fuzz_fuzz_unwind_SOURCES = fuzz/fuzz_unwind.c $(FUZZ_MAIN) tests/unwind/elf_maker.h
fuzz_fuzz_unwind_LDADD = $(EBPF_UNWIND_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_unwind_cache
fuzz_fuzz_unwind_cache_SOURCES = fuzz/fuzz_unwind_cache.c $(FUZZ_MAIN)
fuzz_fuzz_unwind_cache_LDADD = $(EBPF_UNWIND_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_block
fuzz_fuzz_block_SOURCES = fuzz/fuzz_block.c $(FUZZ_MAIN)
fuzz_fuzz_block_LDADD = $(LOCAL_STORE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_store_log fuzz/fuzz_store_manifest
fuzz_fuzz_store_log_SOURCES = fuzz/fuzz_store_log.c tests/storage/sim_disk.c tests/storage/sim_disk.h $(FUZZ_MAIN)
fuzz_fuzz_store_log_LDADD = $(LOCAL_STORE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_store_manifest_SOURCES = fuzz/fuzz_store_manifest.c $(FUZZ_MAIN)
fuzz_fuzz_store_manifest_LDADD = $(LOCAL_STORE_LA) $(FUZZ_LDFLAGS)

fuzz_programs += fuzz/fuzz_store_era fuzz/fuzz_store_rows
fuzz_fuzz_store_rows_SOURCES = fuzz/fuzz_store_rows.c $(FUZZ_MAIN)
fuzz_fuzz_store_rows_LDADD = $(LOCAL_STORE_LA) $(FUZZ_LDFLAGS)
fuzz_fuzz_store_era_SOURCES = fuzz/fuzz_store_era.c $(FUZZ_MAIN)
fuzz_fuzz_store_era_LDADD = $(LOCAL_STORE_LA) $(FUZZ_LDFLAGS)
