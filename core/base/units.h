/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/units.h - durations, sizes, rates and times as people write them
 *
 * Durations: 1d2h3m4s5ms6us7ns in any subset, in that order (Prometheus' grammar plus us and ns;
 * `y`, `w` too); a bare 0 is allowed, a bare other number is not. Sizes: 64MiB, 10GB, 512 (bytes);
 * KiB MiB GiB TiB, kB KB MB GB TB, B. Either may be negative, so that a bound can be named in the
 * answer; a `y` is 365 days, and none has a fraction. Times: RFC 3339, Unix seconds (with a
 * fraction), `now`, `now-15m`.
 */
#ifndef DECIMA_BASE_UNITS_H
#define DECIMA_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

/* Each returns 0, -EINVAL (not of that form) or -ERANGE, and leaves *ret alone on failure. */
int units__parse_duration(struct dcm_str s, int64_t *ret_ns);
int units__parse_size(struct dcm_str s, int64_t *ret_bytes);
int units__parse_binary_size(struct dcm_str s, int64_t *ret_bytes); /* "64KB" is 64KiB */
int units__parse_int(struct dcm_str s, const char *unit, int64_t *ret); /* "19Hz" with unit "Hz", or "19" */
int units__parse_float(struct dcm_str s, double *ret);
int units__parse_time(struct dcm_str s, int64_t now_ns, int64_t *ret_ns);

/*
 * Exact forms that parse back to the same number: "10s", "1h30m", "15d" (years and weeks only where
 * they divide evenly: "2w"); the largest unit that divides evenly: "64MiB", "10GB", "1000B". Return
 * buf.
 */
const char *units__format_duration(int64_t ns, char buf[static 48]);
const char *units__format_size(int64_t bytes, char buf[static 32]);
/*
 * For people: three significant digits ("1.23s", "64.1MiB", "12.3k"; 1000 to 1023 bytes have four).
 * `unit` is pprof's: nanoseconds (and micro-, milli-, seconds), bytes, count; any other follows the
 * number, cut at 16 bytes.
 */
const char *units__format_value(double v, struct dcm_str unit, char buf[static 48]);
/* RFC 3339 in UTC with milliseconds. */
const char *units__format_time(int64_t ns, char buf[static 32]);

#endif
