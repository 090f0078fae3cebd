/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pprof.c - pprof in and out: legal forms, refusals, addresses, labels, round trips
 *
 * Profiles are written as text (pb_text.h). What survives a round trip is told a second time,
 * without the codec, in pprof_lossy.c; batch__content() compares. tests/e2e/codec_pprof.sh asks Go
 * and protoc.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/type.h"
#include "core/codec/pprof.h"
#include "core/deflate/deflate.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/pprof_lossy.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/*
 * string_table of most profiles here: 1 cpu, 2 nanoseconds, 3 /bin/app, 4 ab12, 5 work, 6 main, 7
 * k, 8 v
 */
#define STRINGS	  "6:'' 6:'cpu' 6:'nanoseconds' 6:'/bin/app' 6:'ab12' 6:'work' 6:'main' 6:'k' 6:'v' "
#define TYPE	  "1:{1:1 2:2} "
#define MAPPING	  "3:{1:1 2:0x400000 3:0x500000 4:0x1000 5:3 6:4} "
#define LOCATIONS "4:{1:1 2:1 3:0x401234 4:{1:1 2:33}} 4:{1:2 2:1 3:0x402000 4:{1:2 2:44 3:9}} "
#define FUNCTIONS "5:{1:1 2:5 3:5 4:3 5:30} 5:{1:2 2:6} "
#define SAMPLE	  "2:{1:[1 2] 2:[7]} "
#define TIMES	  "9:1700000000000000000 10:5000000000 11:{1:1 2:2} 12:10000000 "
#define WHOLE	  TYPE SAMPLE MAPPING LOCATIONS FUNCTIONS STRINGS TIMES

static struct dcm_batch *decode_with(const char *profile, const struct decode_options *o)
{
	struct buf b = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;

	pb_text__append(&b, profile);
	int r = pprof__decode(b.data, b.n, o, &batch, &err);
	if (r < 0)
		fail_msg("%s: %s", profile, err.text);
	buf__fini(&b);
	return batch;
}

static struct dcm_batch *decode(const char *profile)
{
	return decode_with(profile, NULL);
}

static void assert_same(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct dcm_hash x = batch__content(a), y = batch__content(b);

	assert_true(x.lo == y.lo && x.hi == y.hi);
}

static void assert_text(const struct dcm_batch *b, uint32_t string, const char *expected)
{
	assert_int_equal(b->strings[string].n, strlen(expected));
	assert_memory_equal(b->strings[string].p, expected, strlen(expected));
}

static void assert_type(const struct dcm_batch *b, uint32_t type, const char *expected)
{
	char text[1024];

	type__format(b, &b->types[type], text, sizeof(text));
	assert_string_equal(text, expected);
}

/*
 * ------------------------------------------------------------------------------------------------
 */

static void test_whole(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode(WHOLE);

	assert_int_equal(b->n_profiles, 1);
	assert_type(b, 0, "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta");
	assert_int_equal(b->profiles[0].time_ns, 1700000000000000000);
	assert_int_equal(b->profiles[0].duration_ns, 5000000000);
	assert_int_equal(b->profiles[0].period, 10000000);
	assert_int_equal(b->n_rows, 1);
	assert_int_equal(b->values[0], 7);
	assert_int_equal(b->stacks[b->row_stacks[0]].n, 2);
	const struct dcm_location *l = &b->locations[b->stack_locations[0]];
	assert_int_equal(l->addr_kind, DCM_ADDR_FILE_OFFSET);
	assert_int_equal(l->address, 0x401234 - 0x400000 + 0x1000);
	assert_int_equal(l->n_lines, 1);
	assert_int_equal(b->lines[l->line_off].line, 33);
	assert_text(b, b->functions[b->lines[l->line_off].function].name, "work");
	assert_int_equal(b->functions[b->lines[l->line_off].function].start_line, 30);
	l = &b->locations[b->stack_locations[1]];
	assert_int_equal(b->lines[l->line_off].column, 9);
	assert_int_equal(b->n_mappings, 1);
	assert_text(b, b->mappings[0].file, "/bin/app");
	assert_text(b, b->mappings[0].build_id, "ab12");
	/* Where it was mapped is this process's affair. */
	assert_int_equal(b->mappings[0].start, 0);
	assert_int_equal(b->mappings[0].limit, 0);
}

/* The same profile in other clothes. */
static void test_legal_forms(void **state)
{
	(void)state;
	static const char *const forms[] = {
		/* messages in another order */
		TIMES STRINGS FUNCTIONS LOCATIONS MAPPING SAMPLE TYPE,
		SAMPLE STRINGS TYPE LOCATIONS FUNCTIONS TIMES MAPPING,
		/* not packed, and mixed */
		TYPE "2:{1:1 1:2 2:7} " MAPPING LOCATIONS FUNCTIONS STRINGS TIMES,
		TYPE "2:{1:[1] 2:7 1:[] 1:2} " MAPPING LOCATIONS FUNCTIONS STRINGS TIMES,
		/* fields that nobody knows, groups, known ones that do not matter */
		WHOLE
		"99:5 98:'x' 97:#1 96:%1 95:(1:2 2:(3:4) 5:'y') 7:5 8:6 14:1 15:7 13:8 13:[7 8]",
		TYPE "2:{99:(1:(2:3)) 1:[1 2] 9:%7 2:[7]} " MAPPING LOCATIONS FUNCTIONS STRINGS TIMES,
		"95:(1:2) 95:() " WHOLE,
		/* ids that are large, sparse, and in no order */
		TYPE "2:{1:[18446744073709551615 700] 2:[7]} "
		     "3:{1:99999999999 2:0x400000 3:0x500000 4:0x1000 5:3 6:4} "
		     "4:{1:700 2:99999999999 3:0x402000 4:{1:12 2:44 3:9}} "
		     "4:{1:18446744073709551615 2:99999999999 3:0x401234 4:{1:5000000000 2:33}} "
		     "5:{1:5000000000 2:5 3:5 4:3 5:30} 5:{1:12 2:6} " STRINGS TIMES,
		/* the last of a field counts */
		TYPE "2:{1:[1 2] 2:[7]} " MAPPING
		     "4:{3:1 1:9 1:1 2:1 3:0x401234 4:{2:1 1:2 1:1 2:33}} "
		     "4:{1:2 2:1 3:0x402000 4:{1:2 2:44 3:9}} " FUNCTIONS STRINGS TIMES,
		/* a sample that says nothing */
		TYPE SAMPLE "2:{1:[2] 2:[0]} " MAPPING LOCATIONS FUNCTIONS STRINGS TIMES,
		/* one sample as two */
		TYPE "2:{1:[1 2] 2:[3]} 2:{1:[1 2] 2:[4]} " MAPPING LOCATIONS FUNCTIONS STRINGS TIMES,
	};
	CLEANUP(batch__unrefp) struct dcm_batch *whole = decode(WHOLE);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(forms[i]);
		assert_same(whole, b);
	}
}

static const struct refusal {
	const char *profile, *sentence;
} refusals[] = {
	{ "", "pprof: it is empty; look whether the program serves this profile, and has it on" },
	{ TYPE SAMPLE "6:'cpu'", "pprof: string_table[0] is not \"\"" },
	{ SAMPLE STRINGS, "pprof: it has 0 sample types; 1 to 16 are possible" },
	{ TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE TYPE STRINGS,
	  "pprof: it has 17 sample types; 1 to 16 are possible" },
	{ "1:{1:0 2:2} " STRINGS, "pprof: sample_type 0: its type is empty" },
	{ "1:{1:99 2:2} " STRINGS,
	  "pprof: sample_type 0: type is string 99 of a string_table of 9" },
	{ "1:{1:-1 2:2} " STRINGS,
	  "pprof: sample_type 0: type is string -1 of a string_table of 9" },
	{ "1:5 " STRINGS, "pprof: field 1 of the profile has wire type 0" },
	{ TYPE "11:{1:1 2:-7} " STRINGS,
	  "pprof: period_type 0: unit is string -7 of a string_table of 9" },
	{ TYPE "11:4 " STRINGS, "pprof: period_type is no message" },
	{ TYPE "9:-1 " STRINGS, "pprof: time_nanos is negative" },
	{ TYPE "10:-1 " STRINGS, "pprof: duration_nanos is negative" },
	{ TYPE "12:-1 " STRINGS, "pprof: period is negative" },
	{ TYPE "9:'x' " STRINGS, "pprof: time_nanos is no number" },
	{ TYPE "2:7 " STRINGS, "pprof: sample is no message" },
	{ TYPE "13:99 " STRINGS, "pprof: comment 0: it is string 99 of a string_table of 9" },
	{ TYPE "13:-9 " STRINGS,
	  "pprof: comment 0: it is string 4294967295 of a string_table of 9" },
	{ TYPE "2:{1:[9] 2:[7]} " MAPPING LOCATIONS FUNCTIONS STRINGS,
	  "pprof: sample 0: location id 9 does not exist" },
	{ TYPE SAMPLE "2:{1:[0] 2:[7]} " MAPPING LOCATIONS FUNCTIONS STRINGS,
	  "pprof: sample 1: location id 0 does not exist" },
	{ TYPE "2:{1:[1 99999999999] 2:[7]} " MAPPING LOCATIONS FUNCTIONS STRINGS,
	  "pprof: sample 0: location id 99999999999 does not exist" },
	{ TYPE "2:{1:[1]} " MAPPING LOCATIONS FUNCTIONS STRINGS,
	  "pprof: sample 0: 0 values for 1 sample types" },
	{ TYPE "2:{1:[1] 2:[1 2]} " MAPPING LOCATIONS FUNCTIONS STRINGS,
	  "pprof: sample 0: more values than the 1 sample types" },
	{ TYPE TYPE "2:{1:[1] 2:3} " MAPPING LOCATIONS FUNCTIONS STRINGS,
	  "pprof: sample 0: 1 values for 2 sample types" },
	{ TYPE "2:{1:#1 2:[1]} " STRINGS, "pprof: sample 0: location_id has wire type 1" },
	{ TYPE "2:{2:%1} " STRINGS, "pprof: sample 0: value has wire type 5" },
	{ TYPE "2:{2:[1] 3:4} " STRINGS, "pprof: sample 0: label has wire type 0" },
	{ TYPE "2:{2:[1] 3:{2:8}} " STRINGS, "pprof: sample 0: label.key is empty" },
	{ TYPE "2:{2:[1] 3:{1:-1 2:8}} " STRINGS,
	  "pprof: sample 0: label.key is string -1 of a string_table of 9" },
	{ TYPE "2:{2:[1] 3:{1:7 2:80}} " STRINGS,
	  "pprof: sample 0: label.str is string 80 of a string_table of 9" },
	{ TYPE "2:{2:[1] 3:{1:7 3:8 4:9}} " STRINGS,
	  "pprof: sample 0: label.num_unit is string 9 of a string_table of 9" },
	{ TYPE "2:{2:[1] 3:{1:'x'}} " STRINGS,
	  "pprof: sample 0: label.key has wire type 2, and is no number" },
	{ TYPE "3:{1:0} " STRINGS, "pprof: mapping 0: it has id 0, which means none" },
	{ TYPE MAPPING MAPPING STRINGS, "pprof: mapping 1: id 1 comes twice" },
	{ TYPE "3:{1:1 5:33} " STRINGS,
	  "pprof: mapping 0: filename is string 33 of a string_table of 9" },
	{ TYPE "3:{1:1 6:-3} " STRINGS,
	  "pprof: mapping 0: build_id is string -3 of a string_table of 9" },
	{ TYPE "3:{1:1 2:'x'} " STRINGS,
	  "pprof: mapping 0: memory_start has wire type 2, and is no number" },
	{ TYPE "5:{1:1 2:50} " STRINGS,
	  "pprof: function 0: name is string 50 of a string_table of 9" },
	{ TYPE "5:{1:1 3:50} " STRINGS,
	  "pprof: function 0: system_name is string 50 of a string_table of 9" },
	{ TYPE "5:{1:1 4:50} " STRINGS,
	  "pprof: function 0: filename is string 50 of a string_table of 9" },
	{ TYPE "5:{1:70000} 5:{1:70000} " STRINGS, "pprof: function 1: id 70000 comes twice" },
	{ TYPE "4:{1:1 2:5} " STRINGS, "pprof: location 0: mapping id 5 does not exist" },
	{ TYPE "4:{1:1 4:{1:5}} " STRINGS, "pprof: location 0: function id 5 does not exist" },
	{ TYPE "4:{1:1 4:5} " STRINGS, "pprof: location 0: line has wire type 0" },
	{ TYPE "4:{1:1 3:'x'} " STRINGS,
	  "pprof: location 0: address has wire type 2, and is no number" },
	{ TYPE "4:{1:1} 4:{1:1} " STRINGS, "pprof: location 1: id 1 comes twice" },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct buf b = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *batch = NULL;
		pb_text__append(&b, refusals[i].profile);
		int r = pprof__decode(b.data, b.n, NULL, &batch, &err);
		assert_string_equal(err.text, refusals[i].sentence);
		assert_true(r == -EINVAL || r == -E2BIG);
		assert_null(batch);
		buf__fini(&b);
	}
}

/* Wire faults, as raw bytes. */
static void test_wire_faults(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		const char *sentence;
	} faults[] = {
#define FAULT(s, sentence) { s, sizeof(s) - 1, sentence }
		FAULT("\x0a", "pprof: at byte 0: a number is cut off or longer than 64 bits"),
		FAULT("\x0a\x05\x01", "pprof: at byte 0: a field is longer than what holds it"),
		FAULT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		      "pprof: at byte 0: a field is longer than what holds it"),
		FAULT("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		      "pprof: at byte 0: a number is cut off or longer than 64 bits"),
		FAULT("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		      "pprof: at byte 0: a number is cut off or longer than 64 bits"),
		FAULT("\x00\x01", "pprof: at byte 0: a field has an impossible number"),
		FAULT("\xff\xff\xff\xff\x7f\x01",
		      "pprof: at byte 0: a field has an impossible number"),
		FAULT("\x80", "pprof: at byte 0: a field's tag is cut off or too long"),
		FAULT("\x0e", "pprof: at byte 1: a field has an unknown wire type"),
		FAULT("\x0c", "pprof: at byte 1: a group ends that has not begun"),
		FAULT("\x0d\x01\x02", "pprof: at byte 1: a number is cut off"),
		FAULT("\x0b\x08", "pprof: at byte 2: a number is cut off or longer than 64 bits"),
		FAULT("\x0b\x14", "pprof: at byte 2: a group ends with another's number"),
		FAULT("\x0b", "pprof: at byte 1: a group is cut off"),
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *batch = NULL;
		int r = pprof__decode((const uint8_t *)faults[i].bytes, faults[i].n, NULL, &batch, &err);
		assert_int_equal(r, -EINVAL);
		assert_string_equal(err.text, faults[i].sentence);
	}

	/* Groups in a row need no stack; nested ones are bounded. */
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	struct buf b = { 0 };
	for (int i = 0; i < 3000000; i++)
		buf__append(&b, "\xa3\x06\xa4\x06", 4);
	assert_int_equal(pprof__decode(b.data, b.n, NULL, &batch, &err), -EINVAL);
	assert_string_equal(err.text, "pprof: it has no string_table");
	buf__reset(&b);
	for (int i = 0; i < 3000000; i++)
		buf__append(&b, "\xa3\x06", 2);
	assert_int_equal(pprof__decode(b.data, b.n, NULL, &batch, &err), -EINVAL);
	assert_string_equal(err.text, "pprof: at byte 130: groups are nested too deep");
	buf__fini(&b);
}

/*
 * ------------------------------------------------------------------------------------------------
 */

/* One location in one mapping, and what its address is taken for. */
static const struct {
	const char *mapping, *location;
	unsigned addr_kind, kind;
	uint64_t address;
	int mapping_kind;      /* -1: none */
	const char *file, *id; /* of the mapping */
	uint64_t start;
} address_cases[] = {
#define CASE(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
	/* a file with a range; the end is outside */
	CASE("2:4096 3:8192 4:256 5:3", "3:4096", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, 256,
	     DCM_MAPPING_FILE, "/bin/app", "", 0),
	CASE("2:4096 3:8192 4:256 5:3", "3:8191", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, 4351,
	     DCM_MAPPING_FILE, "/bin/app", "", 0),
	CASE("2:4096 3:8192 4:256 5:3", "3:8192", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, 8192,
	     DCM_MAPPING_FILE, "/bin/app", "", 4096),
	CASE("2:4096 3:8192 4:256 5:3", "3:4095", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, 4095,
	     DCM_MAPPING_FILE, "/bin/app", "", 4096),
	CASE("2:4096 6:4", "3:0x100000", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, 0xff000,
	     DCM_MAPPING_FILE, "", "ab12", 0),
	/* the whole address space, and nothing known but the build id */
	CASE("3:-1 5:3", "3:0x1234", DCM_ADDR_VADDR, DCM_FRAME_NATIVE, 0x1234, DCM_MAPPING_FILE,
	     "/bin/app", "", 0),
	CASE("5:3 6:4", "3:0x1234", DCM_ADDR_VADDR, DCM_FRAME_NATIVE, 0x1234, DCM_MAPPING_FILE,
	     "/bin/app", "ab12", 0),
	CASE("5:3", "3:0x1234", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, 0x1234, DCM_MAPPING_FILE,
	     "/bin/app", "", 0),
	/* nothing known at all */
	CASE("7:1", "3:0x1234", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, 0x1234, -1, "", "", 0),
	/* the kernel, a module, the vdso, memory */
	CASE("2:0xffffffff81000000 3:-1 5:9", "3:0xffffffff81000010", DCM_ADDR_VADDR, DCM_FRAME_KERNEL,
	     0xffffffff81000010, DCM_MAPPING_KERNEL, "[kernel.kallsyms]_text", "", 0),
	CASE("2:0xffffffffc0000000 3:-1 5:10", "3:0xffffffffc0000010", DCM_ADDR_VADDR,
	     DCM_FRAME_KERNEL, 0xffffffffc0000010, DCM_MAPPING_MODULE, "[xfs]", "", 0),
	CASE("2:4096 3:8192 5:11", "3:4100", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, 4,
	     DCM_MAPPING_VDSO, "[vdso]", "", 0),
	CASE("2:4096 3:8192 5:12", "3:4100", DCM_ADDR_RUNTIME, DCM_FRAME_JIT, 4100,
	     DCM_MAPPING_ANON, "", "", 4096),
	CASE("2:4096 3:8192", "3:4100", DCM_ADDR_RUNTIME, DCM_FRAME_JIT, 4100, DCM_MAPPING_ANON, "",
	     "", 4096),
	/* a range upside down */
	CASE("2:8192 3:4096 5:3", "3:4100", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, 4100,
	     DCM_MAPPING_FILE, "/bin/app", "", 0),
	/* no address, though a mapping */
	CASE("2:4096 3:8192 5:3", "4:{1:1}", DCM_ADDR_NONE, DCM_FRAME_NATIVE, 0, DCM_MAPPING_FILE,
	     "/bin/app", "", 0),
	/* build ids: upper case, and what is none */
	CASE("2:4096 3:8192 5:3 6:13", "3:4096", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, 0,
	     DCM_MAPPING_FILE, "/bin/app", "00ffab", 0),
};

static void test_addresses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(address_cases) / sizeof(address_cases[0]); i++) {
		char profile[1024];
		snprintf(profile, sizeof(profile),
			 TYPE
			 "2:{1:1 2:1} 3:{1:1 %s} 4:{1:1 2:1 %s} " FUNCTIONS STRINGS
			 "6:'[kernel.kallsyms]_text' 6:'[xfs]' 6:'[vdso]' 6:'//anon' 6:'00FFab'",
			 address_cases[i].mapping, address_cases[i].location);
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(profile);
		const struct dcm_location *l = &b->locations[0];
		assert_int_equal(l->addr_kind, address_cases[i].addr_kind);
		assert_int_equal(l->kind, address_cases[i].kind);
		assert_int_equal(l->address, address_cases[i].address);
		assert_int_equal(l->mapping, address_cases[i].mapping_kind < 0 ? DCM_NONE : 0);
		if (address_cases[i].mapping_kind < 0)
			continue;
		assert_int_equal(b->mappings[0].kind, address_cases[i].mapping_kind);
		assert_int_equal(b->mappings[0].start, address_cases[i].start);
		assert_text(b, b->mappings[0].file, address_cases[i].file);
		assert_text(b, b->mappings[0].build_id, address_cases[i].id);
	}
}

/* A build id that is no hexadecimal number is a stand-in: told apart, but not written again. */
static void test_odd_build_ids(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode(
		TYPE "2:{1:[1 2] 2:1} 3:{1:1 2:1 3:9999 6:9} 3:{1:2 2:1 3:9999 6:10} "
		     "4:{1:1 2:1 3:10} 4:{1:2 2:2 3:10} " STRINGS
		     "6:'../../etc/passwd' 6:'Go/build-id'");
	assert_int_equal(b->n_mappings, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct dcm_str id = b->strings[b->mappings[i].build_id];
		assert_int_equal(id.n, 17);
		assert_int_equal(id.p[0], '~');
	}
	struct buf out = { 0 };
	assert_int_equal(pprof__encode_raw(b, 0, &out, NULL), 0);
	assert_null(memchr(out.data, '~', out.n));
	buf__fini(&out);
}

/* Two processes, two places in memory: one location. */
static void test_merge_by_offset(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *a = decode(WHOLE);
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode(
		TYPE SAMPLE "3:{1:1 2:0x7f0000000000 3:0x7f0000100000 4:0x1000 5:3 6:4} "
			    "4:{1:1 2:1 3:0x7f0000001234 4:{1:1 2:33}} "
			    "4:{1:2 2:1 3:0x7f0000002000 4:{1:2 2:44 3:9}} " FUNCTIONS STRINGS TIMES);

	assert_same(a, b);
	assert_true(batch_judge__same_stack(a, 0, b, 0));
}

static void test_notes_and_empty_functions(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode(TYPE "2:{1:[1 2 3 4] 2:1} 4:{1:1 4:{1:1}} 4:{1:2 4:{1:2}} "
					  "4:{1:3 4:{1:3} 4:{2:5}} 4:{1:4 4:{}} "
					  "5:{1:1 2:9} 5:{1:2 3:5} 5:{1:3} " STRINGS
					  "6:'[truncated: ring]'");
	const struct dcm_location *l = b->locations;

	assert_int_equal(l[0].kind, DCM_FRAME_NOTE);
	/* a system name is better than none */
	assert_int_equal(l[1].kind, DCM_FRAME_NATIVE);
	assert_text(b, b->functions[b->lines[l[1].line_off].function].name, "work");
	/* a function without any text is none; a line number alone is kept */
	assert_int_equal(l[2].n_lines, 1);
	assert_int_equal(b->lines[l[2].line_off].function, DCM_NONE);
	assert_int_equal(b->lines[l[2].line_off].line, 5);
	assert_int_equal(l[3].n_lines, 0);
}

/*
 * ------------------------------------------------------------------------------------------------
 */

/* "name=value, name=5unit" of a row's label set. */
static void assert_labels(const struct dcm_batch *b, uint64_t row, const char *expected)
{
	struct dcm_span s = b->label_sets[b->row_labels[row]];
	struct buf text = { 0 };

	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_label *l = &b->labels[s.off + i];
		buf__text(&text, i ? ", " : "");
		buf__str(&text, b->strings[l->name]);
		buf__byte(&text, '=');
		if (l->unit == DCM_NONE)
			buf__str(&text, b->strings[l->str]);
		else
			buf__printf(&text, "%" PRId64 "%.*s", l->num, STR_ARG(b->strings[l->unit]));
	}
	buf__byte(&text, '\0');
	assert_string_equal((const char *)text.data, expected);
	buf__fini(&text);
}

static void test_labels(void **state)
{
	(void)state;
	static const struct {
		const char *labels, *expected;
	} cases[] = {
		{ "3:{1:7 2:8}", "k=v" },
		{ "3:{1:7 3:5}", "k=5" },
		{ "3:{1:7 3:-5 4:9}", "k=-5bytes" },
		{ "3:{1:7 3:0}", "k=0" },
		{ "3:{1:7 4:9}", "k=0bytes" },
		{ "3:{1:7}", "" }, /* neither: an empty string */
		{ "3:{1:7 2:0}", "" },
		{ "3:{1:6 2:8} 3:{1:5 2:8}", "main=v, work=v" },
		{ "3:{1:7 2:8} 3:{1:7 2:6} 3:{1:7 3:4}", "k=v, k_2=main, k_3=4" },
		{ "3:{1:7 2:8} 3:{1:10 2:6} 3:{1:7 2:5}", "k=v, k_2=main, k_3=work" },
		{ "3:{1:11 2:8}", "exported_job=v" },
		{ "3:{1:11 2:8} 3:{1:12 2:6}", "exported_job=v, exported_job_2=main" },
		{ "3:{1:13 2:8}", "a_b_c=v" },
	};
	const struct dcm_label_text series = { STR("job"), STR("api") };
	const struct decode_options o = { .labels = &series, .n_labels = 1 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char profile[1024];
		snprintf(profile, sizeof(profile),
			 TYPE "2:{2:1 %s} " STRINGS
			      "6:'bytes' 6:'k_2' 6:'job' 6:'exported_job' 6:'a\nb\tc'",
			 cases[i].labels);
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode_with(profile, &o);
		assert_labels(b, 0, cases[i].expected);
		struct dcm_str job = batch__series_label(b, b->profiles[0].series, STR("job"));
		assert_true(str__eq(job, STR("api")));
	}
}

/* The same bytes again are the same set; other bytes of the same length are not. */
static void test_labels_again(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode(TYPE
				     "2:{2:1 3:{1:7 2:8}} 2:{2:1 3:{1:7 2:6}} 2:{2:1 3:{1:7 2:8}} "
				     "2:{2:1 3:{1:7 2:8} 3:{1:5 2:8}} 2:{2:1} " STRINGS);
	static const char *const expected[] = { "k=v", "k=main", "k=v", "k=v, work=v", "" };

	for (uint64_t i = 0; i < 5; i++)
		assert_labels(b, i, expected[i]);
	assert_int_equal(b->row_labels[0], b->row_labels[2]);
}

static void test_names_and_temporality(void **state)
{
	(void)state;
	static const struct {
		const char *profile, *type, *second;
	} cases[] = {
		{ TYPE STRINGS, "process_cpu:cpu:nanoseconds::", NULL },
		{ "1:{1:1 2:2} 1:{1:3 2:4} 6:'' 6:'inuse_objects' 6:'count' 6:'inuse_space' "
		  "6:'bytes' "
		  "11:{1:5 2:4} 6:'space'",
		  "memory:inuse_objects:count:space:bytes", "memory:inuse_space:bytes:space:bytes" },
		{ "1:{1:1 2:2} 6:'' 6:'goroutine' 6:'count'", "goroutine:goroutine:count::", NULL },
		{ "1:{1:1 2:2} 6:'' 6:'contentions' 6:'count' 10:5",
		  "contention:contentions:count:::delta", NULL },
		{ "1:{1:1 2:2} 6:'' 6:'odd type' 6:'a:b' 10:5", "odd_type:odd_type:a_b:::delta", NULL },
		/* what decima wrote itself */
		{ TYPE STRINGS "13:9 6:'decima: type mine:cpu:nanoseconds:p:u:delta'",
		  "mine:cpu:nanoseconds:p:u:delta", NULL },
		{ TYPE "10:7 " STRINGS "13:9 6:'decima: type mine:cpu:nanoseconds:p:u cumulative'",
		  "mine:cpu:nanoseconds:p:u", NULL },
		/* not so */
		{ TYPE STRINGS "13:9 6:'decima: type mine:other:nanoseconds:p:u:delta'",
		  "process_cpu:cpu:nanoseconds::", NULL },
		{ TYPE STRINGS "13:9 6:'decima: type mine:cpu:nanoseconds'",
		  "process_cpu:cpu:nanoseconds::", NULL },
		{ TYPE STRINGS "13:[9 9] 6:'decima: type mine:cpu:nanoseconds:p:u:delta'",
		  "process_cpu:cpu:nanoseconds::", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(cases[i].profile);
		assert_type(b, 0, cases[i].type);
		if (cases[i].second)
			assert_type(b, 1, cases[i].second);
	}
	/* Heap in use is a state, what was allocated a counter. */
	CLEANUP(batch__unrefp)
	struct dcm_batch *heap = decode(
		"1:{1:1 2:2} 1:{1:3 2:2} 6:'' 6:'inuse_space' 6:'bytes' 6:'alloc_space'");
	assert_int_equal(heap->types[0].temporality, DCM_GAUGE);
	assert_int_equal(heap->types[1].temporality, DCM_CUMULATIVE);
	/* A profile of a moment by pypprof, and the shortest time that adds. */
	CLEANUP(batch__unrefp)
	struct dcm_batch *moment = decode("1:{1:1 2:2} 6:'' 6:'HEAP' 6:'bytes' 10:1");
	CLEANUP(batch__unrefp)
	struct dcm_batch *time = decode("1:{1:1 2:2} 6:'' 6:'HEAP' 6:'bytes' 10:2");
	assert_int_equal(moment->types[0].temporality, DCM_GAUGE);
	assert_int_equal(time->types[0].temporality, DCM_DELTA);
}

/* What the caller says comes before comments and guesses. */
static void test_options(void **state)
{
	(void)state;
	const struct dcm_label_text labels[] = { { STR("job"), STR("api") }, { STR("empty"), STR("") } };
	const struct decode_options o = {
		.name = STR("block"),
		.labels = labels,
		.n_labels = 2,
		.time_ns = 42,
		.has_temporality = true,
		.temporality = DCM_CUMULATIVE,
	};
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode_with(
		TYPE STRINGS "10:5 13:[9 10] 6:'decima: type x:cpu:nanoseconds:::delta' "
			     "6:'decima: label job=other'",
		&o);

	assert_type(b, 0, "block:cpu:nanoseconds::");
	assert_int_equal(b->types[0].temporality, DCM_CUMULATIVE);
	assert_int_equal(b->profiles[0].time_ns, 42);
	assert_int_equal(b->series[b->profiles[0].series].n, 1);
	struct dcm_str job = batch__series_label(b, b->profiles[0].series, STR("job"));
	assert_true(str__eq(job, STR("api")));
}

/* Several profiles into one builder, as a scraper has them. */
static void test_read_into_builder(void **state)
{
	(void)state;
	static const struct decode_options o;
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	struct buf in = { 0 };

	pb_text__append(&in, WHOLE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pprof__read(in.data, in.n, &o, builder, NULL), 0);
	assert_int_equal(builder__seal(builder, &b, NULL), 0);
	assert_int_equal(b->n_profiles, 3);
	assert_int_equal(b->n_stacks, 1);
	buf__fini(&in);
}

/*
 * ------------------------------------------------------------------------------------------------
 */

static void test_compressed(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *plain = decode(WHOLE);
	struct buf raw = { 0 }, packed = { 0 };

	pb_text__append(&raw, WHOLE);
	/* One member, and two that each hold a part. */
	assert_int_equal(deflate__pack(raw.data, raw.n, 6, &packed), 0);
	for (int i = 0; i < 2; i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		assert_int_equal(pprof__decode(packed.data, packed.n, NULL, &b, NULL), 0);
		assert_same(plain, b);
		buf__reset(&packed);
		assert_int_equal(deflate__pack(raw.data, 10, 6, &packed), 0);
		assert_int_equal(deflate__pack(raw.data + 10, raw.n - 10, 6, &packed), 0);
	}
	/* Cut anywhere, or with something behind it: a sentence. */
	for (size_t n = 0; n < packed.n; n++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *b = NULL;
		assert_int_equal(pprof__decode(packed.data, n, NULL, &b, &err), -EINVAL);
		assert_int_equal(strncmp(err.text, "pprof: ", 7), 0);
	}
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;
	buf__text(&packed, "more");
	assert_int_equal(pprof__decode(packed.data, packed.n, NULL, &b, &err), -EINVAL);
	assert_string_equal(err.text, "pprof: 4 bytes follow its compressed data");
	buf__fini(&raw);
	buf__fini(&packed);
}

/* A kilobyte that says a megabyte, in one member and in many; limits of every table. */
static void test_bombs(void **state)
{
	(void)state;
	const struct decode_options o = { .max_bytes = 1 << 20 };
	struct buf zeros = { 0 }, packed = { 0 };
	struct dcm_batch *b = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	memset(buf__reserve(&zeros, 3 << 20), 0, 3 << 20);
	assert_int_equal(deflate__pack(zeros.data, 3 << 20, 9, &packed), 0);
	assert_int_equal(pprof__decode(packed.data, packed.n, &o, &b, &err), -E2BIG);
	assert_string_equal(err.text, "pprof: it unpacks to more than the 1048576 bytes that one "
				      "profile may have; split it up");
	/* The declared size is a lie. */
	memcpy(packed.data + packed.n - 4, "\x10\x00\x00\x00", 4);
	assert_int_equal(pprof__decode(packed.data, packed.n, &o, &b, NULL), -E2BIG);
	memcpy(packed.data + packed.n - 4, "\xff\xff\xff\xff", 4);
	assert_int_equal(pprof__decode(packed.data, packed.n, &o, &b, NULL), -E2BIG);
	buf__reset(&packed);
	for (int i = 0; i < 30; i++)
		assert_int_equal(deflate__pack(zeros.data, 100000, 9, &packed), 0);
	assert_int_equal(pprof__decode(packed.data, packed.n, &o, &b, NULL), -E2BIG);
	/* Exactly the limit is not too much. */
	buf__reset(&packed);
	assert_int_equal(deflate__pack(zeros.data, 1 << 20, 9, &packed), 0);
	assert_int_equal(pprof__decode(packed.data, packed.n, &o, &b, NULL), -EINVAL);
	buf__fini(&packed);
	buf__fini(&zeros);

	struct buf many = { 0 };
	pb_text__append(&many, TYPE STRINGS);
	for (int i = 0; i < 100000; i++)
		buf__append(&many, "\x32\x00", 2);
	assert_int_equal(pprof__decode(many.data, many.n, &o, &b, &err), -E2BIG);
	assert_string_equal(err.text,
			    "pprof: more entries in its tables than so many bytes should need");
	buf__fini(&many);
}

static void test_deep(void **state)
{
	(void)state;
	static const struct {
		const char *before, *each, *after;
		size_t n;
		const char *sentence;
	} cases[] = {
		{ TYPE LOCATIONS FUNCTIONS MAPPING STRINGS "2:{2:1 ", "1:1 ", "}", 4096, NULL },
		{ TYPE LOCATIONS FUNCTIONS MAPPING STRINGS "2:{2:1 ", "1:1 ", "}", 4097,
		  "pprof: sample 0: more than 4096 locations" },
		{ TYPE LOCATIONS FUNCTIONS MAPPING STRINGS "2:{2:1 1:[", "2 ", "]}", 4097,
		  "pprof: sample 0: more than 4096 locations" },
		{ TYPE STRINGS "2:{2:1 ", "3:{1:7 2:8}", "}", 256, NULL },
		{ TYPE STRINGS "2:{2:1 ", "3:{1:7 2:8}", "}", 257, "pprof: sample 0: more than 256 labels" },
		{ TYPE FUNCTIONS STRINGS "4:{1:1 ", "4:{1:1 2:3}", "}", 1024, NULL },
		{ TYPE FUNCTIONS STRINGS "4:{1:1 ", "4:{1:1 2:3}", "}", 1025,
		  "pprof: location 0: more than 1024 lines" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = { 0 }, b = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
		buf__text(&text, cases[i].before);
		for (size_t k = 0; k < cases[i].n; k++)
			buf__text(&text, cases[i].each);
		buf__text(&text, cases[i].after);
		pb_text__append(&b, (const char *)text.data);
		int r = pprof__decode(b.data, b.n, NULL, &batch, &err);
		assert_string_equal(err.text, cases[i].sentence ? cases[i].sentence : "");
		assert_int_equal(r == 0, cases[i].sentence == NULL);
		buf__fini(&text);
		buf__fini(&b);
	}
}

/*
 * ------------------------------------------------------------------------------------------------
 */

static struct dcm_batch *again(const struct dcm_batch *b, uint32_t profile)
{
	struct buf out = { 0 };
	struct dcm_batch *ret = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (pprof__encode(b, profile, &out, &err) < 0)
		fail_msg("encode: %s", err.text);
	if (pprof__decode(out.data, out.n, NULL, &ret, &err) < 0)
		fail_msg("decode: %s", err.text);
	buf__fini(&out);
	return ret;
}

static void round_trips(unsigned flags, unsigned n)
{
	unsigned n_profiles = 0;

	for (uint64_t seed = 0; seed < n; seed++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(seed, flags);
		for (uint32_t p = 0; p < b->n_profiles; p++) {
			CLEANUP(batch__unrefp) struct dcm_batch *got = again(b, p);
			CLEANUP(batch__unrefp) struct dcm_batch *want = pprof_lossy__new(b, p);
			struct dcm_hash x = batch__content(got), y = batch__content(want);
			if (x.lo != y.lo || x.hi != y.hi)
				fail_msg("seed %" PRIu64 " flags %u profile %u differs", seed, flags, p);
			n_profiles++;
		}
	}
	assert_true(n_profiles >= n);
}

static void test_round_trip(void **state)
{
	(void)state;
	round_trips(0, 150);
	round_trips(RANDOM_STAND_INS, 40);
}

static void test_round_trip_nasty(void **state)
{
	(void)state;
	round_trips(RANDOM_NASTY, 60);
}

/* Native frames in files: nothing is lost but what the profile's head cannot say. */
static void test_round_trip_exact(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = random_batch__new(seed, RANDOM_ONE_PROFILE | RANDOM_FILES_ONLY);
		CLEANUP(batch__unrefp) struct dcm_batch *got = again(b, 0);
		CLEANUP(batch__unrefp) struct dcm_batch *twice = again(got, 0);
		assert_same(got, twice);
		assert_int_equal(b->profiles[0].time_ns, got->profiles[0].time_ns);
		assert_int_equal(b->profiles[0].duration_ns, got->profiles[0].duration_ns);
		assert_int_equal(b->profiles[0].period, got->profiles[0].period);
		/* Hashes of stacks are what stores merge by: each that has a value is there. */
		for (uint32_t r = 0; r < got->n_rows; r++) {
			uint32_t s = 0;
			while (s < b->n_stacks && !batch_judge__same_stack(got, got->row_stacks[r], b, s))
				s++;
			assert_true(s < b->n_stacks);
		}
	}
}

/* All profiles of a batch as one. */
static void test_merge(void **state)
{
	(void)state;
	unsigned n_merged = 0;

	for (uint64_t seed = 0; seed < 80; seed++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(seed, 0);
		if (b->n_profiles == 0) {
			struct buf out = { 0 };
			struct dcm_error err = DCM_ERROR_INIT;
			assert_int_equal(pprof__encode(b, DCM_NONE, &out, &err), -EINVAL);
			assert_string_equal(err.text, "pprof: the batch has no profile");
			buf__fini(&out);
			continue;
		}
		CLEANUP(batch__unrefp) struct dcm_batch *got = again(b, DCM_NONE);
		CLEANUP(batch__unrefp) struct dcm_batch *want = pprof_lossy__new(b, DCM_NONE);
		struct dcm_hash x = batch__content(got), y = batch__content(want);
		if (x.lo != y.lo || x.hi != y.hi)
			fail_msg("seed %" PRIu64 " differs", seed);
		n_merged += b->n_profiles > 1;
	}
	assert_true(n_merged > 20);
}

static void test_encode_refusals(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode(WHOLE);
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };

	assert_int_equal(pprof__encode(b, 1, &out, &err), -EINVAL);
	assert_string_equal(err.text, "pprof: profile 1 is not one of the batch's 1");
	out.limit = 10;
	assert_int_equal(pprof__encode_raw(b, 0, &out, &err), -EFBIG);
	assert_string_equal(err.text, "pprof: it takes more than the limit of 10 bytes");
	buf__fini(&out);

	/* Two profiles of 16 types each, of which none is the other's. */
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *many = NULL;
	struct dcm_type types[16];
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 16; i++) {
			char name[16];
			snprintf(name, sizeof(name), "t%u", 16 * k + i);
			types[i] = (struct dcm_type){ .name = builder__string(builder, STR("x")),
						      .sample_type = builder__string(builder,
										     str__of(name)) };
		}
		builder__profile(builder,
				 &(struct dcm_profile){ .series = builder__series(builder, NULL, 0) },
				 types, 16);
	}
	assert_int_equal(builder__seal(builder, &many, NULL), 0);
	out = (struct buf){ 0 };
	assert_int_equal(pprof__encode(many, DCM_NONE, &out, &err), -EINVAL);
	assert_string_equal(
		err.text,
		"pprof: the profiles have more than 16 types together; write them one by one");
	assert_int_equal(pprof__encode(many, 1, &out, &err), 0);
	buf__fini(&out);
}

static void test_same_bytes(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(5, RANDOM_ONE_PROFILE);
	struct buf one = { 0 }, two = { 0 };

	assert_int_equal(pprof__encode(b, 0, &one, NULL), 0);
	assert_int_equal(pprof__encode(b, 0, &two, NULL), 0);
	assert_int_equal(one.n, two.n);
	assert_memory_equal(one.data, two.data, one.n);
	buf__fini(&one);
	buf__fini(&two);
}

/* Bytes changed and cut at random: an answer, and when it is a batch, one that can be written. */
static void test_damage(void **state)
{
	(void)state;
	struct random r = { 3 };
	unsigned n_fine = 0, n_refused = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = random_batch__new(seed % 20, RANDOM_ONE_PROFILE);
		struct buf raw = { 0 };
		assert_int_equal(pprof__encode_raw(b, 0, &raw, NULL), 0);
		for (uint64_t n = 1 + random__below(&r, 4); n; n--)
			raw.data[random__below(&r, raw.n)] = (uint8_t)random__next(&r);
		size_t cut = random__below(&r, 3) ? raw.n : random__below(&r, raw.n);
		CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
		if (pprof__decode(raw.data, cut, NULL, &got, NULL) == 0) {
			batch__unref(again(got, 0));
			n_fine++;
		} else {
			n_refused++;
		}
		buf__fini(&raw);
	}
	assert_true(n_fine > 20 && n_refused > 20);
}

static void test_no_memory(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(11, RANDOM_ONE_PROFILE);
	struct buf packed = { 0 };

	assert_int_equal(pprof__encode(b, 0, &packed, NULL), 0);
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *got = NULL;
		int r = pprof__decode(packed.data, packed.n, NULL, &got, &err);
		failmalloc__disarm();
		if (r == 0) {
			batch__unref(got);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_non_null(strstr(err.text, "memory"));
	}
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct buf out = { 0 };
		int r = pprof__encode(b, 0, &out, &err);
		failmalloc__disarm();
		buf__fini(&out);
		if (r == 0)
			continue;
		assert_int_equal(r, -ENOMEM);
		assert_non_null(strstr(err.text, "memory"));
	}
	buf__fini(&packed);
}

/* Labels that come twice, odd ids: the ways that no ordinary profile takes. */
static void test_no_memory_odd(void **state)
{
	(void)state;
	const struct dcm_label_text label = { STR("k"), STR("x") };
	const struct decode_options o = { .labels = &label, .n_labels = 1 };
	struct buf in = { 0 };

	pb_text__append(&in, TYPE "2:{1:1000000 2:1 3:{1:7 2:8} 3:{1:7 2:8} 3:{1:5 2:5}} 13:9 "
				  "4:{1:1000000} 4:{1:2000000} " STRINGS "6:'decima: label a=b'");
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *got = NULL;
		int r = pprof__decode(in.data, in.n, i % 2 ? &o : NULL, &got, NULL);
		failmalloc__disarm();
		batch__unref(got);
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
	buf__fini(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_legal_forms),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_wire_faults),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_odd_build_ids),
		cmocka_unit_test(test_merge_by_offset),
		cmocka_unit_test(test_notes_and_empty_functions),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_labels_again),
		cmocka_unit_test(test_names_and_temporality),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_read_into_builder),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_round_trip_nasty),
		cmocka_unit_test(test_round_trip_exact),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_encode_refusals),
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_memory_odd),
	};

	return cmocka_run_group_tests_name("pprof", tests, NULL, NULL);
}
