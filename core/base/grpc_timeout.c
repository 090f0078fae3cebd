/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/grpc_timeout.c - how long a caller waits for the answer
 */
#include "core/base/grpc_timeout.h"

#include <inttypes.h>
#include <stdio.h>

#define MS INT64_C(1000000)

enum { MOST = 99999999 };

int64_t grpc_timeout__read(struct dcm_str text)
{
	static const struct {
		char unit;
		int64_t ns;
	} units[] = { { 'n', 1 },	   { 'u', 1000 },	 { 'm', MS },
		      { 'S', 1000000000 }, { 'M', 60000000000 }, { 'H', 3600000000000 } };
	int64_t n = 0;

	if (text.n == 0)
		return INT64_MAX;
	if (text.n < 2 || text.n > 9)
		return -1;
	for (uint32_t i = 0; i + 1 < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -1;
		n = 10 * n + (text.p[i] - '0');
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == text.p[text.n - 1])
			return n > INT64_MAX / units[i].ns ? INT64_MAX : n * units[i].ns;
	return -1;
}

uint32_t grpc_timeout__format(int64_t ns, char ret[static GRPC_TIMEOUT_TEXT])
{
	int64_t ms = ns < MS ? 1 : ns / MS;

	return (uint32_t)snprintf(ret, GRPC_TIMEOUT_TEXT, "%" PRId64 "m", ms < MOST ? ms : MOST);
}
