/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_perf_script.c - perf script's text in
 *
 * What perf prints was looked up in its source and taken from recordings of 6.1; stacks are
 * compared as folded text, which has a test of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"
#include "core/codec/folded.h"
#include "core/codec/perf_script.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

static struct dcm_batch *decode(const char *text)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	if (perf_script__decode((const uint8_t *)text, strlen(text), NULL, &b, &err) < 0)
		fail_msg("%s", err.text);
	return b;
}

static char *folded(const struct dcm_batch *b, uint32_t profile)
{
	struct buf out = { 0 };

	assert_int_equal(folded__encode(b, profile, &out, NULL), 0);
	return (char *)buf__take(&out, &(size_t){ 0 });
}

static void assert_type(const struct dcm_batch *b, uint32_t profile, uint32_t k, const char *expected)
{
	char type[256];

	type__format(b, &b->types[b->profiles[profile].type_off + k], type, sizeof(type));
	assert_string_equal(type, expected);
}

/* "comm=a, cpu=3, tid=5" of a row. */
static char *labels(const struct dcm_batch *b, uint64_t row)
{
	struct dcm_span s = b->label_sets[b->row_labels[row]];
	struct buf text = { 0 };

	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_label *l = &b->labels[s.off + i];
		buf__printf(&text, "%s%.*s=", i ? ", " : "", STR_ARG(b->strings[l->name]));
		if (l->unit == DCM_NONE)
			buf__str(&text, b->strings[l->str]);
		else
			buf__printf(&text, "%" PRId64, l->num);
	}
	return (char *)buf__take(&text, &(size_t){ 0 });
}

/*
 * ------------------------------------------------------------------------------------------------
 */

static void test_first_lines(void **state)
{
	(void)state;
	static const struct {
		const char *line, *labels, *type, *second; /* type behind "perf:" */
		int64_t period;
	} cases[] = {
		{ "app 13549  5279.782615:    5000000 cpu-clock:ppp: ", "comm=app, tid=13549",
		  "samples:count:::delta", "cpu-clock:nanoseconds:::delta", 5000000 },
		{ "app 12/13 [003] 1.5: 7 cycles:u: ", "comm=app, cpu=3, pid=12, tid=13",
		  "samples:count:::delta", "cycles:count:::delta", 7 },
		{ "app 13 [003] 1.5: cycles: ", "comm=app, cpu=3, tid=13", "samples:count:::delta",
		  NULL, 0 },
		{ "app 13 [003]: ", NULL, NULL, NULL, 0 },
		{ "app 13 cycles: ", NULL, NULL, NULL, 0 },
		{ "Chrome Child 5 6/7 [000] 1.000000001: 1 task-clock: ", "comm=Chrome Child 5, cpu=0, pid=6, tid=7",
		  "samples:count:::delta", "task-clock:nanoseconds:::delta", 1 },
		{ ":1234  1234 [001] 2.5: 3 cycles:P: ", "comm=:1234, cpu=1, tid=1234",
		  "samples:count:::delta", "cycles:count:::delta", 3 },
		{ "kworker/0:1-eve 77 [000] 9.9: 3 sched:sched_switch: prev_comm=x prev_pid=7 ==> "
		  "next",
		  "comm=kworker/0:1-eve, cpu=0, tid=77", "samples:count:::delta",
		  "sched_sched_switch:count:::delta", 3 },
		{ "         swapper     0 [001]  5.25:   250000 cycles:  ffffffff81 idle "
		  "([kernel.kallsyms])",
		  "comm=swapper, cpu=1, tid=0", "samples:count:::delta", "cycles:count:::delta", 250000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		int r = perf_script__decode((const uint8_t *)cases[i].line, strlen(cases[i].line),
					    NULL, &b, &err);
		assert_int_equal(r, cases[i].labels ? 0 : -EINVAL);
		if (!cases[i].labels)
			continue;
		CLEANUP(mem__freep) char *got = labels(b, 0);
		assert_string_equal(got, cases[i].labels);
		char expected[256];
		snprintf(expected, sizeof(expected), "perf:%s", cases[i].type);
		assert_type(b, 0, 0, expected);
		assert_int_equal(b->values[0], 1);
		assert_int_equal(b->profiles[0].n_types, cases[i].second ? 2 : 1);
		if (!cases[i].second)
			continue;
		snprintf(expected, sizeof(expected), "perf:%s", cases[i].second);
		assert_type(b, 0, 1, expected);
		assert_int_equal(b->values[1], cases[i].period);
	}
}

#define HEAD "app 12/13 [003] 1.5: cycles: \n"

static void test_chains(void **state)
{
	(void)state;
	static const struct {
		const char *chain, *folded;
	} cases[] = {
		{ "\t    4d71 leaf+0x101 (/opt/app)\n\t    691d main+0xcd (/opt/app)\n",
		  "main;leaf 1\n" },
		/* inlined calls stand before the function that they are in */
		{ "\t 10 in2 (inlined)\n\t 10 in1 (inlined)\n\t 10 real+0x1 (/a)\n\t 20 main+0x1 "
		  "(/a)\n",
		  "main;real;in1;in2 1\n" },
		{ "\t 10 in1 (inlined)\n", "in1 1\n" },
		{ "\t 10 in1 (inlined)\n\t 10 [unknown] (/a)\n", "in1 1\n" },
		/* names with blanks, parentheses, plus signs */
		{ "\t 10 operator new(unsigned long)+0x1f (/a)\n\t 20 operator+(x, y) (/a)\n",
		  "operator+(x, y);operator new(unsigned long) 1\n" },
		{ "\t 10 f+0x1 (/opt/x y/lib (deleted))\n\t 20 [unknown] (/opt/x y/lib "
		  "(deleted))\n",
		  "lib (deleted)+0x20;f 1\n" },
		/* what is not known */
		{ "\t 80da080880190808 [unknown] ([unknown])\n", "[anon]+0x80da080880190808 1\n" },
		{ "\tffffffff81b9aa87 [unknown] ([kernel.kallsyms])\n",
		  "[kernel.kallsyms]+0xffffffff81b9aa87 1\n" },
		{ "\tffffffffc0000010 xfs_read+0x10 ([xfs])\n", "xfs_read 1\n" },
		{ "\t 10\n\t 20 f\n", "f;[anon]+0x10 1\n" },
		/* source lines */
		{ "\t 10 f+0x1 (/a)\n  f.c:12\n\t 20 main (/a)\n  main.c:3\n", "main;f 1\n" },
		{ "", "[unknown] 1\n" },
		{ "\t 10 f (/a)\r\n\r\n", "f 1\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];
		snprintf(text, sizeof(text), "# header\n" HEAD "%s\n", cases[i].chain);
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(text);
		CLEANUP(mem__freep) char *got = folded(b, 0);
		assert_string_equal(got, cases[i].folded);
	}
}

static void test_addresses(void **state)
{
	(void)state;
	static const struct {
		const char *frame;
		unsigned addr_kind, kind;
		int mapping_kind; /* -1: none */
		uint32_t pid;	  /* 0: none */
	} cases[] = {
		{ "4d71 f (/opt/app)", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, DCM_MAPPING_FILE, 0 },
		{ "7f0000004d71 f (/opt/app)", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, DCM_MAPPING_FILE, 12 },
		{ "ffffffff81b9aa87 f ([kernel.kallsyms])", DCM_ADDR_VADDR, DCM_FRAME_KERNEL,
		  DCM_MAPPING_KERNEL, 0 },
		{ "ffffffffc0b9aa87 f ([xfs])", DCM_ADDR_VADDR, DCM_FRAME_KERNEL, DCM_MAPPING_MODULE, 0 },
		{ "12 f ([vdso])", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, DCM_MAPPING_VDSO, 0 },
		{ "7f12 f (/tmp/perf-12.map)", DCM_ADDR_RUNTIME, DCM_FRAME_JIT, DCM_MAPPING_ANON, 12 },
		{ "7f12 f (//anon)", DCM_ADDR_RUNTIME, DCM_FRAME_JIT, DCM_MAPPING_ANON, 12 },
		{ "7f12 f ([unknown])", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, -1, 12 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text), HEAD "\t %s\n\n", cases[i].frame);
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(text);
		const struct dcm_location *l = &b->locations[0];
		assert_int_equal(l->addr_kind, cases[i].addr_kind);
		assert_int_equal(l->kind, cases[i].kind);
		assert_int_equal(l->mapping == DCM_NONE ? -1 : (int)b->mappings[l->mapping].kind,
				 cases[i].mapping_kind);
		assert_int_equal(l->process == DCM_NONE ? 0 : b->processes[l->process].pid, cases[i].pid);
	}
}

static void test_several_events(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode("a 1 10.5: 100 cycles: \n\t 1 f (/a)\n\n"
				     "b 2 12.75: 3 faults: \n\t 2 g (/a)\n\n"
				     "a 1 11.0: 50 cycles: \n\t 1 f (/a)\n"
				     "a 1 11.5: 7 cycles:uH: \n\t 1 h (/a)\n");

	assert_int_equal(b->n_profiles, 2);
	assert_type(b, 0, 1, "perf:cycles:count:::delta");
	assert_type(b, 1, 1, "perf:faults:count:::delta");
	assert_int_equal(b->profiles[0].n_rows, 3);
	assert_int_equal(b->profiles[1].n_rows, 1);
	for (uint32_t p = 0; p < 2; p++)
		assert_int_equal(b->profiles[p].duration_ns, 2250000000);
	CLEANUP(mem__freep) char *cycles = folded(b, 0);
	assert_string_equal(cycles, "f 150\nh 7\n");
	CLEANUP(mem__freep) char *all = folded(b, DCM_NONE);
	assert_string_equal(
		all, "type=perf:cycles:count:::delta;f 150\ntype=perf:cycles:count:::delta;h 7\n"
		     "type=perf:faults:count:::delta;g 3\n");
}

static void test_options(void **state)
{
	(void)state;
	static const char text[] = HEAD "\t 1 f (/a)\n";
	const struct dcm_label_text label = { STR("job"), STR("x") };
	const struct decode_options o = { .name = STR("n"),
					  .labels = &label,
					  .n_labels = 1,
					  .time_ns = 5,
					  .has_temporality = true,
					  .temporality = DCM_GAUGE };
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;

	assert_int_equal(perf_script__decode((const uint8_t *)text, strlen(text), &o, &b, NULL), 0);
	assert_type(b, 0, 0, "n:samples:count::");
	assert_int_equal(b->profiles[0].time_ns, 5);
	assert_int_equal(b->series[b->profiles[0].series].n, 1);
}

static void test_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "perf script: there is no sample in it" },
		{ "# only a comment\n", "perf script: there is no sample in it" },
		{ "hello\n",
		  "perf script: line 1: it is no first line of a sample: COMM PID TIME: EVENT:" },
		{ "\t 10 f (/a)\n",
		  "perf script: line 1: it is no first line of a sample: COMM PID TIME: EVENT:" },
		{ HEAD "\t xyz f (/a)\n", "perf script: line 2: it is neither a frame, ADDRESS "
					  "SYMBOL (FILE), nor the first line of a sample" },
		{ HEAD "\t 11112222333344445 f (/a)\n",
		  "perf script: line 2: it is neither a frame, ADDRESS SYMBOL (FILE), nor the "
		  "first line of a sample" },
		{ HEAD "\n\t 10 f (/a)\n",
		  "perf script: line 3: it is no first line of a sample: COMM PID TIME: EVENT:" },
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = perf_script__decode((const uint8_t *)cases[i].text, strlen(cases[i].text),
					    NULL, &b, &err);
		assert_int_equal(r, -EINVAL);
		assert_string_equal(err.text, cases[i].sentence);
	}
	static const struct {
		const char *line, *sentence;
		int n;
	} many[] = {
		{ "\t 10 f (/a)\n", "more than 4096 frames of one sample", 4097 },
		{ "\t 10 f (inlined)\n", "more than 1024 inlined frames of one address", 1025 },
	};
	for (size_t i = 0; i < 2; i++) {
		struct buf text = { 0 };
		buf__text(&text, HEAD);
		for (int k = 0; k < many[i].n; k++)
			buf__text(&text, many[i].line);
		assert_int_equal(perf_script__decode(text.data, text.n, NULL, &b, &err), -E2BIG);
		assert_non_null(strstr(err.text, many[i].sentence));
		buf__fini(&text);
	}
	struct buf events = { 0 };
	for (int k = 0; k < 257; k++)
		buf__printf(&events, "a 1 1.5: event%d: \n\n", k);
	assert_int_equal(perf_script__decode(events.data, events.n, NULL, &b, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more than 256 events"));
	buf__fini(&events);
}

/* A recording of perf 6.1: as many samples as it has first lines, and their periods. */
static void test_recorded(void **state)
{
	(void)state;
	struct buf text = { 0 };

	assert_int_equal(fd__read_path(AT_FDCWD, TEST_SRCDIR "/tests/data/perf_script/recorded_6.1.perf",
				       1 << 20, &text),
			 0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode((const char *)text.data);
	uint64_t n_samples = 0;
	int64_t sum = 0;
	for (const char *p = (const char *)text.data; (p = strstr(p, " cpu-clock:")); p++)
		n_samples++;
	assert_int_equal(b->n_profiles, 1);
	assert_int_equal(b->n_rows, n_samples);
	for (uint64_t r = 0; r < b->n_rows; r++)
		sum += b->values[2 * r + 1];
	assert_int_equal(sum, n_samples * 10101010);
	buf__fini(&text);
}

static void test_no_memory(void **state)
{
	(void)state;
	static const char text[] = HEAD "\t 10 in (inlined)\n\t 10 f (/a)\n  f.c:3\n\t "
					"7f0000000000 [unknown] (//anon)\n\n" HEAD
					"\tffffffff81b9aa87 g ([kernel.kallsyms])\n";

	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *b = NULL;
		int r = perf_script__decode((const uint8_t *)text, strlen(text), NULL, &b, NULL);
		failmalloc__disarm();
		batch__unref(b);
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_lines), cmocka_unit_test(test_chains),
		cmocka_unit_test(test_addresses),   cmocka_unit_test(test_several_events),
		cmocka_unit_test(test_options),	    cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_recorded),    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("perf_script", tests, NULL, NULL);
}
