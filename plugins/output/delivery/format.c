/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/format.c - the table of formats
 */
#include "plugins/output/delivery/format.h"

const char *const format_names[] = { "pprof", "folded", "speedscope", "html", NULL };

const struct format_kind formats[] = {
	{ ".pb.gz", { "application/octet-stream", 24 } },
	{ ".folded", { "text/plain; charset=utf-8", 25 } },
	{ ".speedscope.json", { "application/json", 16 } },
	{ ".html", { "text/html; charset=utf-8", 24 } },
};
