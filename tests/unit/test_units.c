/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_units.c - format and parse are inverse over random numbers; dates against the C
 * library
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/str.h"
#include "core/base/units.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)

struct row {
	const char *text;
	int rc;
	int64_t v;
};

typedef int (*parse_fn)(struct dcm_str s, int64_t *ret);

static void check_rows(parse_fn parse, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t v = 4711;
		int rc = parse(str__of(rows[i].text), &v);

		if (rc != rows[i].rc || v != (rc ? 4711 : rows[i].v))
			fail_msg("\"%s\": %d, %lld", rows[i].text, rc, (long long)v);
	}
}
#define CHECK_ROWS(parse, rows) check_rows(parse, rows, sizeof(rows) / sizeof(rows[0]))

static void test_durations(void **state)
{
	static const struct row rows[] = {
		{ "0", 0, 0 },
		{ "0s", 0, 0 },
		{ "10s", 0, 10 * SECOND },
		{ "1h30m", 0, 5400 * SECOND },
		{ "1d2h3m4s5ms6us7ns", 0, 93784 * SECOND + 5006007 },
		{ "1y2w", 0, (365 + 14) * 86400 * SECOND },
		{ "-15m", 0, -900 * SECOND },
		{ "007s", 0, 7 * SECOND },
		{ "9223372036854775807ns", 0, INT64_MAX },
		{ "-9223372036854775808ns", 0, INT64_MIN },
		{ "9223372036854775808ns", -ERANGE, 0 },
		{ "-9223372036854775809ns", -ERANGE, 0 },
		{ "293y", -ERANGE, 0 },
		{ "99999999999999999999999s", -ERANGE, 0 },
		{ "18446744073709551615s18446744073709551615ns", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "5", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "1", -EINVAL, 0 },
		{ "00", -EINVAL, 0 },
		{ "1.5s", -EINVAL, 0 },
		{ " 1s", -EINVAL, 0 },
		{ "1s ", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "+1s", -EINVAL, 0 },
		{ "--1s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1m1h", -EINVAL, 0 },
		{ "1s1s", -EINVAL, 0 },
		{ "1s5", -EINVAL, 0 },
		{ "1sec", -EINVAL, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
	};

	(void)state;
	CHECK_ROWS(units__parse_duration, rows);
	assert_int_equal(units__parse_duration((struct dcm_str){ NULL, 0 }, &(int64_t){ 0 }), -EINVAL);
}

static void test_sizes(void **state)
{
	static const struct row rows[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "512B", 0, 512 },
		{ "64MiB", 0, INT64_C(64) << 20 },
		{ "10GB", 0, INT64_C(10000000000) },
		{ "1kB", 0, 1000 },
		{ "1KB", 0, 1000 },
		{ "1KiB", 0, 1024 },
		{ "20GiB", 0, INT64_C(20) << 30 },
		{ "3TiB", 0, INT64_C(3) << 40 },
		{ "3TB", 0, INT64_C(3000000000000) },
		{ "-1KiB", 0, -1024 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "8388608TiB", -ERANGE, 0 },
		{ "-8388608TiB", 0, INT64_MIN },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "MiB", -EINVAL, 0 },
		{ "1mib", -EINVAL, 0 },
		{ "1 MiB", -EINVAL, 0 },
		{ "1.5GiB", -EINVAL, 0 },
		{ "1M", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "99999999999999999999999QiB", -EINVAL, 0 },
	};

	(void)state;
	CHECK_ROWS(units__parse_size, rows);

	static const struct row binary[] = {
		{ "0", 0, 0 },
		{ "100MB", 0, INT64_C(100) << 20 },
		{ "100MiB", 0, INT64_C(100) << 20 },
		{ "3KB", 0, 3072 },
		{ "1GB", 0, INT64_C(1) << 30 },
		{ "2TB", 0, INT64_C(2) << 40 },
		{ "17B", 0, 17 },
		{ "1kB", -EINVAL, 0 },
	};
	CHECK_ROWS(units__parse_binary_size, binary);
}

static int parse_hz(struct dcm_str s, int64_t *ret)
{
	return units__parse_int(s, "Hz", ret);
}

static int parse_plain(struct dcm_str s, int64_t *ret)
{
	return units__parse_int(s, NULL, ret);
}

static void test_ints(void **state)
{
	static const struct row hz[] = {
		{ "19Hz", 0, 19 },
		{ "19", 0, 19 },
		{ "-3", 0, -3 },
		{ "9223372036854775807Hz", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "19kHz", -EINVAL, 0 },
		{ "19 Hz", -EINVAL, 0 },
		{ "Hz", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "99999999999999999999kHz", -EINVAL, 0 },
	};
	static const struct row plain[] = { { "19", 0, 19 }, { "19Hz", -EINVAL, 0 } };

	(void)state;
	CHECK_ROWS(parse_hz, hz);
	CHECK_ROWS(parse_plain, plain);
}

static void test_floats(void **state)
{
	static const char *const bad[] = { "",	  "-",	   ".5",    "5.", "1e", "1e+",
					   "inf", "nan",   "0x1p3", " 1", "1 ", "1,5",
					   "+1",  "1.5.2", "1e5.5", "--1" };
	struct random r = { 15 };
	char text[80];
	double v = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units__parse_float(str__of(bad[i]), &v), -EINVAL);
	assert_int_equal(units__parse_float(STR("1e400"), &v), -ERANGE);
	memset(text, '1', sizeof(text));
	assert_int_equal(units__parse_float((struct dcm_str){ text, 65 }, &v), -EINVAL);
	assert_true(v == 1);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t bits = random__next(&r);
		double want;

		memcpy(&want, &bits, sizeof(want));
		if (!isfinite(want))
			continue;
		snprintf(text, sizeof(text), i % 2 ? "%.17g" : "%.17E", want);
		assert_int_equal(units__parse_float(str__of(text), &v), 0);
		assert_true(v == want);
	}
	/* Not NUL-terminated where it ends. */
	assert_int_equal(units__parse_float((struct dcm_str){ "1.5999", 3 }, &v), 0);
	assert_true(v == 1.5);
}

/* Numbers at every magnitude, round ones among them. */
static int64_t some_number(struct random *r)
{
	static const int64_t factors[] = { 1,		1000,		1000000, SECOND,
					   60 * SECOND, 86400 * SECOND, 1024,	 1 << 30 };
	int64_t v = (int64_t)random__wide(r), scaled;

	if (random__below(r, 2) && !__builtin_mul_overflow((int64_t)random__below(r, 5000),
							   factors[random__below(r, 8)], &scaled))
		v = scaled;
	return random__below(r, 4) ? v : -v;
}

static void test_round_trip(void **state)
{
	static const int64_t edges[] = { 0, 1, -1, INT64_MAX, INT64_MIN };
	struct random r = { 16 };

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		int64_t v = i < 5 ? edges[i] : some_number(&r), back = 4711;
		char text[48];

		assert_int_equal(
			units__parse_duration(str__of(units__format_duration(v, text)), &back), 0);
		assert_true(back == v);
		back = 4711;
		assert_int_equal(units__parse_size(str__of(units__format_size(v, text)), &back), 0);
		assert_true(back == v);
	}
}

static void test_formats(void **state)
{
	char t[48];

	(void)state;
	assert_string_equal(units__format_duration(0, t), "0s");
	assert_string_equal(units__format_duration(10 * SECOND, t), "10s");
	assert_string_equal(units__format_duration(5400 * SECOND, t), "1h30m");
	assert_string_equal(units__format_duration(15 * 86400 * SECOND, t), "15d");
	assert_string_equal(units__format_duration(14 * 86400 * SECOND, t), "2w");
	assert_string_equal(units__format_duration(365 * 86400 * SECOND, t), "1y");
	assert_string_equal(units__format_duration(-1500000, t), "-1ms500us");
	assert_string_equal(units__format_size(0, t), "0B");
	assert_string_equal(units__format_size(64 << 20, t), "64MiB");
	assert_string_equal(units__format_size(INT64_C(10000000000), t), "10GB");
	assert_string_equal(units__format_size(1000, t), "1kB");
	assert_string_equal(units__format_size(1001, t), "1001B");
	assert_string_equal(units__format_size(-2048, t), "-2KiB");
}

static void test_values(void **state)
{
	static const struct {
		double v;
		const char *unit, *text;
	} rows[] = {
		{ 0, "nanoseconds", "0ns" },
		{ 1, "nanoseconds", "1ns" },
		{ 999, "nanoseconds", "999ns" },
		{ 1234567890, "nanoseconds", "1.23s" },
		{ -1234567890, "nanoseconds", "-1.23s" },
		{ 1.5e6, "nanoseconds", "1.50ms" },
		{ 999.7e6, "nanoseconds", "1.00s" },
		{ 59.99e9, "nanoseconds", "1.00min" },
		{ 90, "seconds", "1.50min" },
		{ 1.5, "milliseconds", "1.50ms" },
		{ 3, "microseconds", "3.00us" },
		{ 7200, "seconds", "2.00h" },
		{ 86400 * 12.34, "seconds", "12.3d" },
		{ 512, "bytes", "512B" },
		{ 1010, "bytes", "1010B" },
		{ 1024, "bytes", "1.00KiB" },
		{ 64.1 * 1048576, "bytes", "64.1MiB" },
		{ 1023.7 * 1024, "bytes", "1.00MiB" },
		{ 12345, "count", "12.3k" },
		{ 12, "count", "12" },
		{ 12.5, "count", "12.5" },
		{ 0.25, "count", "0.25" },
		{ 99.96, "count", "100" },
		{ 999.96, "count", "1.00k" },
		{ 999999, "count", "1.00M" },
		{ 12345, "", "12.3k" },
		{ 12345, "objects", "12.3k objects" },
		{ 5, "a unit that is far too long", "5 a unit that is f" },
		{ 1e300, "count", "1e+282E" },
		{ NAN, "count", "NaN" },
		{ INFINITY, "bytes", "inf" },
		{ -INFINITY, "bytes", "-inf" },
	};
	char t[48];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(units__format_value(rows[i].v, str__of(rows[i].unit), t),
				    rows[i].text);
}

/* Near enough to three digits, and never a fourth, for numbers of any size. */
static void test_values_are_near(void **state)
{
	static const struct {
		const char *name;
		double factor;
	} suffixes[] = { { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 },
			 { "PiB", 0x1p50 }, { "EiB", 0x1p60 }, { "B", 1 } };
	struct random r = { 17 };
	char t[48], *end;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		double v = (double)random__wide(&r), got;
		bool found = false;

		got = strtod(units__format_value(v, STR("bytes"), t), &end);
		for (size_t j = 0; j < sizeof(suffixes) / sizeof(suffixes[0]) && !found; j++) {
			found = strcmp(end, suffixes[j].name) == 0;
			if (found)
				got *= suffixes[j].factor;
		}
		assert_true(found);
		assert_true(fabs(got - v) <= v * 0.00501);
		assert_in_range(strcspn(t, "KMGTPEB"), 1, 4);
	}
}

static void test_times(void **state)
{
	static const int64_t now = 1700000000 * SECOND + 5;
	static const struct row rows[] = {
		{ "now", 0, now },
		{ "now-15m", 0, now - 900 * SECOND },
		{ "now+1s", 0, now + SECOND },
		{ "now-0", 0, now },
		{ "1700000000", 0, 1700000000 * SECOND },
		{ "1700000000.25", 0, 1700000000 * SECOND + 250000000 },
		{ "1.0000000019", 0, SECOND + 1 },
		{ "-1.5", 0, -1500000000 },
		{ "0", 0, 0 },
		{ "1970-01-01T00:00:00Z", 0, 0 },
		{ "1970-01-01T01:00:00+01:00", 0, 0 },
		{ "1969-12-31T23:59:59.5Z", 0, -500000000 },
		{ "2024-02-29T12:00:00.123456789z", 0, 1709208000 * SECOND + 123456789 },
		{ "2024-02-29 12:00:00-00:30", 0, 1709209800 * SECOND },
		{ "2016-12-31T23:59:60Z", 0, 1483228800 * SECOND },
		{ "2262-04-11T23:47:16.854775807Z", 0, INT64_MAX },
		{ "1677-09-21T00:12:43.145224192Z", 0, INT64_MIN },
		{ "2262-04-11T23:47:16.854775808Z", -ERANGE, 0 },
		{ "1677-09-21T00:12:43.145224191Z", -ERANGE, 0 },
		{ "9999-01-01T00:00:00Z", -ERANGE, 0 },
		{ "1700000000000", -ERANGE, 0 }, /* milliseconds */
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "now-999y", -ERANGE, 0 },
		{ "now+290y", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "now-", -EINVAL, 0 },
		{ "now--5m", -EINVAL, 0 },
		{ "now-5", -EINVAL, 0 },
		{ "now15m", -EINVAL, 0 },
		{ "nowhere", -EINVAL, 0 },
		{ "yesterday", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1.5s", -EINVAL, 0 },
		{ "1e9", -EINVAL, 0 },
		{ "2024-02-29", -EINVAL, 0 },
		{ "2023-02-29T00:00:00Z", -EINVAL, 0 },
		{ "1900-02-29T00:00:00Z", -EINVAL, 0 },
		{ "2024-13-01T00:00:00Z", -EINVAL, 0 },
		{ "2024-00-01T00:00:00Z", -EINVAL, 0 },
		{ "2024-01-32T00:00:00Z", -EINVAL, 0 },
		{ "2024-01-01T24:00:00Z", -EINVAL, 0 },
		{ "2024-01-01T00:60:00Z", -EINVAL, 0 },
		{ "2024-01-01T00:00:61Z", -EINVAL, 0 },
		{ "2024-01-01T00:00:00", -EINVAL, 0 },
		{ "2024-01-01T00:00:00.Z", -EINVAL, 0 },
		{ "2024-01-01T00:00:00+0100", -EINVAL, 0 },
		{ "2024-01-01T00:00:00+24:00", -EINVAL, 0 },
		{ "2024-01-01T00:00:00Zx", -EINVAL, 0 },
		{ "2024-1-01T00:00:00Z", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t v = 4711;
		int rc = units__parse_time(str__of(rows[i].text), now, &v);

		if (rc != rows[i].rc || v != (rc ? 4711 : rows[i].v))
			fail_msg("\"%s\": %d, %lld", rows[i].text, rc, (long long)v);
	}
	assert_int_equal(units__parse_time(STR("now+1s"), INT64_MAX, &(int64_t){ 0 }), -ERANGE);
}

/* The C library's calendar is the oracle, over all of int64 nanoseconds. */
static void test_times_against_gmtime(void **state)
{
	static const int64_t edges[] = { 0, 1, -1, -1000000, -999999, INT64_MAX, INT64_MIN };
	struct random r = { 18 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		int64_t ns = i < 7 ? edges[i] : (int64_t)random__next(&r), ms, back;
		char text[32], date[32], want[64];
		struct tm tm;
		time_t s;

		ms = ns / 1000000 - (ns % 1000000 < 0);
		s = ms / 1000 - (ms % 1000 < 0);
		gmtime_r(&s, &tm);
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(want, sizeof(want), "%s.%03dZ", date, (int)(ms - s * 1000));
		assert_string_equal(units__format_time(ns, text), want);
		if (ms < INT64_MIN / 1000000)
			continue; /* the milliseconds lie just outside */
		assert_int_equal(units__parse_time(str__of(text), 0, &back), 0);
		assert_true(back == ms * 1000000);
	}
}

/*
 * No text of the alphabet makes a parser read outside, and success means the number formats and
 * parses.
 */
static void test_garbage(void **state)
{
	static const char alphabet[] = "0123456789-+.:TZemsuhdywnoBKMGi ";
	struct random r = { 19 };
	unsigned n_ok = 0;

	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		uint32_t n = (uint32_t)random__below(&r, 9);
		char *p = malloc(n ? n : 1), text[48]; /* exact, so that ASan sees an overrun */
		struct dcm_str s = { p, n };
		int64_t v, back;
		double d;

		assert_non_null(p);
		random__text(&r, p, n, alphabet, sizeof(alphabet) - 1);
		if (units__parse_duration(s, &v) == 0) {
			assert_int_equal(
				units__parse_duration(str__of(units__format_duration(v, text)), &back), 0);
			assert_true(back == v);
			n_ok++;
		}
		n_ok += units__parse_size(s, &v) == 0;
		n_ok += units__parse_int(s, "Hz", &v) == 0;
		n_ok += units__parse_time(s, 0, &v) == 0;
		n_ok += units__parse_float(s, &d) == 0;
		free(p);
	}
	assert_true(n_ok > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),  cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_ints),	   cmocka_unit_test(test_floats),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_formats),
		cmocka_unit_test(test_values),	   cmocka_unit_test(test_values_are_near),
		cmocka_unit_test(test_times),	   cmocka_unit_test(test_times_against_gmtime),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
