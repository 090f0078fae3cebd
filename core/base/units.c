/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/units.c - durations, sizes, rates and times as people write them
 *
 * Numbers are read as a sign and a magnitude, so that INT64_MIN has a text too. Dates: Howard
 * Hinnant's civil calendar algorithms (https://howardhinnant.github.io/date_algorithms.html), valid
 * for all of int64 nanoseconds (years 1677 to 2262). Floats go through strtod and printf: the
 * program never leaves the C locale's LC_NUMERIC.
 */
#include "core/base/units.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

#define NS_PER_S 1000000000
enum { FLOAT_MAX_BYTES = 64 };

struct scale {
	const char *name;
	uint64_t factor;
};

/*
 * In the order in which they are written; the first two only where they stand alone and divide
 * evenly.
 */
static const struct scale duration_scales[] = {
	{ "y", (uint64_t)365 * 86400 * NS_PER_S },
	{ "w", (uint64_t)7 * 86400 * NS_PER_S },
	{ "d", (uint64_t)86400 * NS_PER_S },
	{ "h", (uint64_t)3600 * NS_PER_S },
	{ "m", (uint64_t)60 * NS_PER_S },
	{ "s", NS_PER_S },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
};

static const struct scale size_scales[] = {
	{ "TiB", (uint64_t)1 << 40 },
	{ "GiB", (uint64_t)1 << 30 },
	{ "MiB", (uint64_t)1 << 20 },
	{ "KiB", (uint64_t)1 << 10 },
	{ "TB", 1000000000000 },
	{ "GB", 1000000000 },
	{ "MB", 1000000 },
	{ "kB", 1000 },
	{ "KB", 1000 },
	{ "B", 1 },
	{ "", 1 },
};

static const struct scale binary_scales[] = {
	{ "TiB", (uint64_t)1 << 40 },
	{ "GiB", (uint64_t)1 << 30 },
	{ "MiB", (uint64_t)1 << 20 },
	{ "KiB", (uint64_t)1 << 10 },
	{ "TB", (uint64_t)1 << 40 },
	{ "GB", (uint64_t)1 << 30 },
	{ "MB", (uint64_t)1 << 20 },
	{ "KB", (uint64_t)1 << 10 },
	{ "B", 1 },
	{ "", 1 },
};

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes one or more digits from the front of s. 0, -EINVAL (no digit) or -ERANGE. */
static int take_digits(struct dcm_str *s, uint64_t *ret)
{
	uint64_t v = 0;
	bool over = false;
	uint32_t i;

	for (i = 0; i < s->n && is_digit(s->p[i]); i++)
		over |= __builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(s->p[i] - '0'), &v);
	if (i == 0)
		return -EINVAL;
	s->p += i;
	s->n -= i;
	*ret = v;
	return over ? -ERANGE : 0;
}

static bool take_char(struct dcm_str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static int apply_sign(uint64_t magnitude, bool negative, int64_t *ret)
{
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = (int64_t)(negative ? 0 - magnitude : magnitude);
	return 0;
}

/* The scale named by the letters at the front of s, at or after `from`; n when there is none. */
static size_t take_scale(struct dcm_str *s, size_t from)
{
	uint32_t n = 0;

	while (n < s->n && !is_digit(s->p[n]))
		n++;
	for (size_t i = from; i < N_OF(duration_scales); i++) {
		if (!str__eq((struct dcm_str){ s->p, n }, str__of(duration_scales[i].name)))
			continue;
		s->p += n;
		s->n -= n;
		return i;
	}
	return N_OF(duration_scales);
}

int units__parse_duration(struct dcm_str s, int64_t *ret_ns)
{
	bool negative = take_char(&s, '-'), over = false;
	uint64_t total = 0, v, part;
	size_t next = 0, scale;
	int rc;

	if (str__eq(s, STR("0"))) {
		*ret_ns = 0;
		return 0;
	}
	do {
		rc = take_digits(&s, &v);
		if (rc == -EINVAL)
			return rc;
		scale = take_scale(&s, next);
		if (scale == N_OF(duration_scales))
			return -EINVAL;
		next = scale + 1;
		over |= rc != 0 || __builtin_mul_overflow(v, duration_scales[scale].factor, &part) ||
			__builtin_add_overflow(total, part, &total);
	} while (s.n > 0);
	return over ? -ERANGE : apply_sign(total, negative, ret_ns);
}

static int parse_size(struct dcm_str s, const struct scale *scales, size_t n, int64_t *ret_bytes)
{
	bool negative = take_char(&s, '-');
	uint64_t v;
	int rc = take_digits(&s, &v);

	if (rc == -EINVAL)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (!str__eq(s, str__of(scales[i].name)))
			continue;
		if (rc || __builtin_mul_overflow(v, scales[i].factor, &v))
			return -ERANGE;
		return apply_sign(v, negative, ret_bytes);
	}
	return -EINVAL;
}

int units__parse_size(struct dcm_str s, int64_t *ret_bytes)
{
	return parse_size(s, size_scales, N_OF(size_scales), ret_bytes);
}

int units__parse_binary_size(struct dcm_str s, int64_t *ret_bytes)
{
	return parse_size(s, binary_scales, N_OF(binary_scales), ret_bytes);
}

int units__parse_int(struct dcm_str s, const char *unit, int64_t *ret)
{
	bool negative = take_char(&s, '-');
	uint64_t v;
	int rc = take_digits(&s, &v);

	if (rc == -EINVAL || (s.n > 0 && !str__eq(s, str__of(unit))))
		return -EINVAL;
	return rc ? rc : apply_sign(v, negative, ret);
}

/* digits [. digits] [e [sign] digits]: strtod's grammar without hex, inf, nan and blanks. */
static bool is_float(struct dcm_str s)
{
	uint64_t ignored;

	take_char(&s, '-');
	if (take_digits(&s, &ignored) == -EINVAL)
		return false;
	if (take_char(&s, '.') && take_digits(&s, &ignored) == -EINVAL)
		return false;
	if (take_char(&s, 'e') || take_char(&s, 'E')) {
		if (!take_char(&s, '-'))
			take_char(&s, '+');
		if (take_digits(&s, &ignored) == -EINVAL)
			return false;
	}
	return s.n == 0;
}

int units__parse_float(struct dcm_str s, double *ret)
{
	char text[FLOAT_MAX_BYTES + 1];
	double v;
	char *end;

	if (s.n > FLOAT_MAX_BYTES || !is_float(s))
		return -EINVAL;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	v = strtod(text, &end);
	if (*end)
		return -EINVAL;
	if (!isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

/* Days from 1970-01-01 to a date of the proleptic Gregorian calendar. */
static int64_t days_of_civil(int64_t year, unsigned month, unsigned day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static void civil_of_days(int64_t days, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097; /* day of era */
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153; /* months since March */

	*ret_day = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
	*ret_month = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
	*ret_year = yoe + era * 400 + (*ret_month <= 2);
}

static unsigned days_in_month(unsigned year, unsigned month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (unsigned)(month == 2 && leap);
}

/* Exactly `width` digits within [low, high]. */
static bool take_field(struct dcm_str *s, uint32_t width, unsigned low, unsigned high, unsigned *ret)
{
	unsigned v = 0;

	if (s->n < width)
		return false;
	for (uint32_t i = 0; i < width; i++) {
		if (!is_digit(s->p[i]))
			return false;
		v = v * 10 + (unsigned)(s->p[i] - '0');
	}
	s->p += width;
	s->n -= width;
	*ret = v;
	return v >= low && v <= high;
}

/*
 * The digits behind a decimal point as nanoseconds; further ones are cut. False when there is no
 * digit.
 */
static bool take_fraction(struct dcm_str *s, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	uint32_t n = 0;

	for (; n < s->n && is_digit(s->p[n]); n++)
		if (n < 9)
			ns = ns * 10 + (uint64_t)(s->p[n] - '0');
	for (uint32_t i = n; i < 9; i++)
		ns *= 10;
	s->p += n;
	s->n -= n;
	*ret_ns = ns;
	return n > 0;
}

/* "Z" or "+hh:mm" at the end of a time, as seconds east of UTC. */
static bool take_offset(struct dcm_str *s, int64_t *ret_s)
{
	unsigned hours, minutes;
	bool west;

	if (take_char(s, 'Z') || take_char(s, 'z')) {
		*ret_s = 0;
		return s->n == 0;
	}
	west = take_char(s, '-');
	if (!west && !take_char(s, '+'))
		return false;
	if (!take_field(s, 2, 0, 23, &hours) || !take_char(s, ':') || !take_field(s, 2, 0, 59, &minutes))
		return false;
	*ret_s = (int64_t)(hours * 3600 + minutes * 60) * (west ? -1 : 1);
	return s->n == 0;
}

/* RFC 3339 section 5.6; a leap second reads as the second that follows. */
static int parse_rfc3339(struct dcm_str s, int64_t *ret_ns)
{
	unsigned year, month, day, hour, minute, second;
	uint64_t fraction_ns = 0;
	int64_t offset_s, seconds, ns;

	if (!take_field(&s, 4, 0, 9999, &year) || !take_char(&s, '-') ||
	    !take_field(&s, 2, 1, 12, &month) || !take_char(&s, '-') ||
	    !take_field(&s, 2, 1, days_in_month(year, month), &day))
		return -EINVAL;
	if (!take_char(&s, 'T') && !take_char(&s, 't') && !take_char(&s, ' '))
		return -EINVAL;
	if (!take_field(&s, 2, 0, 23, &hour) || !take_char(&s, ':') ||
	    !take_field(&s, 2, 0, 59, &minute) || !take_char(&s, ':') ||
	    !take_field(&s, 2, 0, 60, &second))
		return -EINVAL;
	if ((take_char(&s, '.') && !take_fraction(&s, &fraction_ns)) || !take_offset(&s, &offset_s))
		return -EINVAL;
	seconds = days_of_civil(year, month, day) * 86400 +
		  (int64_t)(hour * 3600 + minute * 60 + second) - offset_s;
	if (seconds < 0 && fraction_ns) { /* towards zero first: INT64_MIN's second is not whole */
		seconds++;
		fraction_ns -= NS_PER_S;
	}
	if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)fraction_ns, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

static int parse_unix(struct dcm_str s, int64_t *ret_ns)
{
	bool negative = take_char(&s, '-');
	uint64_t seconds, fraction_ns = 0, ns;
	int rc = take_digits(&s, &seconds);

	if (rc == -EINVAL || (take_char(&s, '.') && !take_fraction(&s, &fraction_ns)) || s.n > 0)
		return -EINVAL;
	if (rc || __builtin_mul_overflow(seconds, (uint64_t)NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, fraction_ns, &ns))
		return -ERANGE;
	return apply_sign(ns, negative, ret_ns);
}

int units__parse_time(struct dcm_str s, int64_t now_ns, int64_t *ret_ns)
{
	bool minus;
	int64_t shift_ns, ns;
	int rc;

	if (!str__starts(s, STR("now")))
		return s.n > 4 && s.p[4] == '-' ? parse_rfc3339(s, ret_ns) : parse_unix(s, ret_ns);
	s.p += 3;
	s.n -= 3;
	if (s.n == 0) {
		*ret_ns = now_ns;
		return 0;
	}
	minus = take_char(&s, '-');
	if ((!minus && !take_char(&s, '+')) || str__starts(s, STR("-")))
		return -EINVAL;
	rc = units__parse_duration(s, &shift_ns);
	if (rc)
		return rc;
	if (minus ? __builtin_sub_overflow(now_ns, shift_ns, &ns)
		  : __builtin_add_overflow(now_ns, shift_ns, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

static uint64_t magnitude_of(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

const char *units__format_duration(int64_t ns, char buf[static 48])
{
	uint64_t left = magnitude_of(ns);
	size_t n = 0;

	if (left == 0)
		return memcpy(buf, "0s", 3);
	if (ns < 0)
		buf[n++] = '-';
	for (size_t i = 0; i < N_OF(duration_scales); i++) {
		const struct scale *scale = &duration_scales[i];

		/* "1y2w1d" helps nobody: years and weeks are written when nothing else is. */
		if (left < scale->factor || (i < 2 && left % scale->factor != 0))
			continue;
		n += (size_t)snprintf(buf + n, 48 - n, "%llu%s",
				      (unsigned long long)(left / scale->factor), scale->name);
		left %= scale->factor;
	}
	return buf;
}

const char *units__format_size(int64_t bytes, char buf[static 32])
{
	uint64_t v = magnitude_of(bytes);
	const struct scale *best = &size_scales[N_OF(size_scales) - 2];

	for (size_t i = 0; i < N_OF(size_scales); i++) {
		const struct scale *scale = &size_scales[i];

		if (v != 0 && v % scale->factor == 0 && scale->factor > best->factor)
			best = scale;
	}
	snprintf(buf, 32, "%s%llu%s", bytes < 0 ? "-" : "", (unsigned long long)(v / best->factor),
		 best->name);
	return buf;
}

struct display_scale {
	const char *name;
	double factor;
};

static const struct display_scale display_ns[] = {
	{ "ns", 1 },	 { "us", 1e3 },	  { "ms", 1e6 },    { "s", 1e9 },
	{ "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 }, { NULL, 0 },
};
static const struct display_scale display_bytes[] = {
	{ "B", 1 },	   { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 },
	{ "TiB", 0x1p40 }, { "PiB", 0x1p50 }, { "EiB", 0x1p60 }, { NULL, 0 },
};
static const struct display_scale display_count[] = {
	{ "", 1 },     { "k", 1e3 },  { "M", 1e6 },  { "G", 1e9 },
	{ "T", 1e12 }, { "P", 1e15 }, { "E", 1e18 }, { NULL, 0 },
};

/* Decimals that make three significant digits of v in [0, 1000). */
static int decimals_of(double v)
{
	if (v < 9.995)
		return 2;
	return v < 99.95 ? 1 : 0;
}

/* A number below the next scale, or of the last one, as text. */
static void format_number(double size, double factor, char number[static 24])
{
	double shown = size / factor;

	if (shown >= 1e5) /* the last scale only */
		snprintf(number, 24, "%.3g", shown);
	else if (factor == 1 && shown == (double)(uint64_t)shown)
		snprintf(number, 24, "%.0f", shown);
	else if (factor == 1 && shown < 1)
		snprintf(number, 24, "%.3g", shown);
	else
		snprintf(number, 24, "%.*f", decimals_of(shown), shown);
}

static const char *format_scaled(double v, const struct display_scale *scale, struct dcm_str unit,
				 char buf[static 48])
{
	int n_unit = (int)(unit.n > 16 ? str__utf8_cut(unit.p, 16) : unit.n);
	double size = v < 0 ? -v : v;
	char number[24];

	while (scale[1].name && size >= scale[1].factor)
		scale++;
	format_number(size, scale->factor, number);
	/* What rounds up to the next scale belongs there: 59.99s is 1.00min. */
	if (scale[1].name && strtod(number, NULL) * scale->factor >= scale[1].factor) {
		scale++;
		snprintf(number, sizeof(number), "1.00");
	}
	snprintf(buf, 48, "%s%s%s%s%.*s", v < 0 ? "-" : "", number, scale->name, n_unit ? " " : "",
		 n_unit, n_unit ? unit.p : "");
	return buf;
}

const char *units__format_value(double v, struct dcm_str unit, char buf[static 48])
{
	static const struct {
		const char *name;
		double ns;
	} times[] = {
		{ "nanoseconds", 1 },
		{ "microseconds", 1e3 },
		{ "milliseconds", 1e6 },
		{ "seconds", 1e9 },
	};

	if (!isfinite(v)) {
		snprintf(buf, 48, "%s", isnan(v) ? "NaN" : v < 0 ? "-inf" : "inf");
		return buf;
	}
	for (size_t i = 0; i < N_OF(times); i++)
		if (str__eq(unit, str__of(times[i].name)))
			return format_scaled(v * times[i].ns, display_ns, STR(""), buf);
	if (str__eq(unit, STR("bytes")))
		return format_scaled(v, display_bytes, STR(""), buf);
	if (str__eq(unit, STR("count")))
		unit = STR("");
	return format_scaled(v, display_count, unit, buf);
}

const char *units__format_time(int64_t ns, char buf[static 32])
{
	int64_t ms = ns / 1000000 - (ns % 1000000 < 0), days, year;
	unsigned month, day, in_day_ms;

	days = ms / 86400000 - (ms % 86400000 < 0);
	in_day_ms = (unsigned)(ms - days * 86400000);
	civil_of_days(days, &year, &month, &day);
	snprintf(buf, 32, "%04lld-%02u-%02uT%02u:%02u:%02u.%03uZ", (long long)year, month, day,
		 in_day_ms / 3600000, in_day_ms / 60000 % 60, in_day_ms / 1000 % 60, in_day_ms % 1000);
	return buf;
}
