# SPDX-License-Identifier: Apache-2.0
# core/codec/local.mk - profile formats in and out
noinst_LTLIBRARIES += core/codec/libcodec.la
core_codec_libcodec_la_SOURCES = \
	core/codec/arrow.c core/codec/arrow.h core/codec/arrow_batch.c core/codec/arrow_meta.c core/codec/arrow_meta.h \
	core/codec/arrow_parts.h core/codec/arrow_schema.c \
	core/codec/codec.c core/codec/codec.h \
	core/codec/decode.c core/codec/decode.h \
	core/codec/encode.c core/codec/encode.h \
	core/codec/folded.c core/codec/folded.h \
	core/codec/foreign.c core/codec/foreign.h \
	core/codec/html.c core/codec/html.h \
	core/codec/json_text.c core/codec/json_text.h \
	core/codec/legacy.c core/codec/legacy.h core/codec/legacy_profile.c core/codec/legacy_profile.h \
	core/codec/legacy_contention.c core/codec/legacy_count.c core/codec/legacy_cpu.c \
	core/codec/legacy_heap.c core/codec/legacy_heap.h core/codec/legacy_jemalloc.c \
	core/codec/legacy_lines.c core/codec/legacy_lines.h core/codec/legacy_maps.c \
	core/codec/legacy_symbols.c core/codec/legacy_threads.c \
	core/codec/otlp.h core/codec/otlp_decode.c core/codec/otlp_input.h core/codec/otlp_json.c core/codec/otlp_labels.c \
	core/codec/otlp_layout.c core/codec/otlp_layout.h core/codec/otlp_samples.c \
	core/codec/otlp_tables.c core/codec/otlp_values.c \
	core/codec/perf_script.c core/codec/perf_script.h \
	core/codec/pprof.h core/codec/pprof_encode.c core/codec/pprof_decode.c \
	core/codec/pprof_input.h core/codec/pprof_labels.c core/codec/pprof_tables.c \
	core/codec/pb_json.c core/codec/pb_json.h \
	core/codec/pushed.c core/codec/pushed.h core/codec/pushed_json.c \
	core/codec/sampled.c core/codec/sampled.h \
	core/codec/varints.c core/codec/varints.h \
	core/codec/session.h core/codec/session_decode.c core/codec/session_encode.c \
	core/codec/speedscope.h core/codec/speedscope_decode.c core/codec/speedscope_encode.c \
	core/codec/wire.h core/codec/wire_encode.c core/codec/wire_decode.c \
	core/codec/wire_read.c core/codec/wire_read.h core/codec/wire_write.c core/codec/wire_write.h \
	core/codec/wire_tables.c core/codec/wire_tables.h
core_codec_libcodec_la_CFLAGS = $(AM_CFLAGS) $(CONVERSION_CFLAGS) $(JANSSON_CFLAGS) $(ZSTD_CFLAGS) $(LZ4_CFLAGS)
core_codec_libcodec_la_LIBADD = -lm

CODEC_LA = core/codec/libcodec.la $(BATCH_LA) $(DEFLATE_LA) $(JANSSON_LIBS) $(ZSTD_LIBS) $(LZ4_LIBS)

# The page as a C string.
EXTRA_DIST += core/codec/flame.html
CLEANFILES += core/codec/flame.html.h
core/codec/flame.html.h: core/codec/flame.html
	$(AM_V_GEN){ echo 'static const char flame_html[] ='; \
		sed -e 's/[\\"]/\\&/g' -e 's/.*/	"&\\n"/' $(top_srcdir)/core/codec/flame.html; echo '	;'; } >$@.tmp && mv $@.tmp $@
$(core_codec_libcodec_la_OBJECTS): core/codec/flame.html.h
